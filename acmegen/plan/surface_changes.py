"""What another torch or TileOPs than the lock's changes for one backend, as diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acmegen.diagnostics import Diagnostic, Severity, codes
from acmegen.facts import Facts
from acmegen.facts.near_names import near_names
from acmegen.facts.operators import Operators
from acmegen.facts.tileops import TileOpsInstall
from acmegen.plan.surface import (
    OPERATORS,
    OVERRIDES,
    TILEOPS,
    VIRTUAL_METHODS,
    Surface,
    declaration,
    qualified,
    qualified_class,
)

_NOTHING = "nothing that this backend uses differs"
# So many names are compared by their arguments when an operator is gone: it may have been renamed.
_CANDIDATES = 12


def surface_changes(
    versions: Mapping[str, str], surface: Surface, facts: Facts, accepted: bool = False
) -> tuple[Diagnostic, ...]:
    """What is installed against what a project was generated for.

    Args:
        versions: the lock's `facts`: versions and digests.
        surface: the lock's `surface`.
        facts: what is installed.
        accepted: whether another package is what the user wants, and so no error.

    Returns:
        Which package is another one, and warnings with what differs, by topic. Nothing when both packages have the
        lock's versions and whatever the backend uses of them is the same: another build does not matter then.
    """
    torch = tuple(_torch_changes(surface, facts))
    tileops = tuple(_tileops_changes(surface, facts.tileops)) if facts.tileops is not None else ()
    heads = (
        _head(codes.TORCH_CHANGED, "torch", versions.get("torch"), facts.digests["torch"], torch),
        _head(codes.TILEOPS_CHANGED, "TileOPs", versions.get("tileops"), facts.digests.get("tileops"), tileops),
    )
    found = [head for head in heads if head is not None]
    if accepted:
        found = [replace(head, severity=Severity.WARNING, help=None) for head in found]
    return (*found, *torch, *tileops)


def _head(
    code: str, package: str, old: str | None, new: str | None, changes: Sequence[Diagnostic]
) -> Diagnostic | None:
    """The error that `package` is another one; None when it is not, or was not used or is not used any more."""
    if old is None or new is None or (old == new and not changes):
        return None
    if old == new:
        message = f"another build of {package} {new} is installed than the one that this project was generated for"
        way_back = "install that build again"
    else:
        message = f"this project was generated for {package} {old}, and {package} {new} is installed"
        way_back = f"`pip install {package.lower()}=={old}`"
    return Diagnostic(
        code,
        message,
        notes=() if changes else (_NOTHING,),
        help=f"run `acmegen upgrade`, which carries it through; the way back is {way_back}",
    )


def _torch_changes(surface: Surface, facts: Facts) -> Iterator[Diagnostic]:
    version = facts.torch.public_version
    recorded = {name.removeprefix("aten::"): schema for name, schema in surface.get(OPERATORS, {}).items()}
    gone = [name for name in recorded if name not in facts.operators]
    if gone:
        yield Diagnostic(
            codes.OPERATORS_GONE,
            f"torch {version} lacks {_count(gone, 'operator')} that this backend serves",
            severity=Severity.WARNING,
            notes=tuple(_successor(name, recorded, facts.operators) for name in gone),
            help="take their entries out of the manifests or name the successors; entries of presets end by themselves",
        )
    changed = [
        f"`{name}` was `{schema}`, is `{facts.operators[name].schema}`"
        for name, schema in recorded.items()
        if name in facts.operators and facts.operators[name].schema != schema
    ]
    if changed:
        yield Diagnostic(
            codes.OPERATORS_CHANGED,
            f"torch {version} has another signature of {_count(changed, 'operator')} that this backend serves",
            severity=Severity.WARNING,
            notes=tuple(changed),
            help="your own kernels of them in `csrc/kernels/` may have to follow; all else is generated anew",
        )
    methods = tuple(_method_changes(surface, facts))
    if methods:
        yield Diagnostic(
            codes.METHODS_CHANGED,
            f"torch {version} differs in {_count(methods, 'virtual method')} of the classes that this backend derives "
            "from",
            severity=Severity.WARNING,
            notes=methods,
            help="overrides are generated for what torch declares; if one does not compile, look for a newer acmegen",
        )


def _successor(name: str, recorded: Mapping[str, str], operators: Operators) -> str:
    """The note on an operator that is gone: what it may be called now."""
    candidates = [near for near in near_names(name, operators, _CANDIDATES) if near not in recorded]
    arguments = recorded[name].removeprefix(name)
    for candidate in candidates:
        if operators[candidate].schema.removeprefix(candidate) == arguments:
            return f"`{name}` is gone; it may be `{candidate}` now, whose arguments are the same"
    if candidates:
        return f"`{name}` is gone; the nearest is `{operators[candidates[0]].schema}`"
    return f"`{name}` is gone"


def _method_changes(surface: Surface, facts: Facts) -> Iterator[str]:
    recorded, overrides = surface.get(VIRTUAL_METHODS, {}), surface.get(OVERRIDES, {})
    classes = {name.rpartition("::")[0] for name in recorded}
    declared = {
        qualified(name, method): declaration(method)
        for name, methods in facts.methods.items()
        if qualified_class(name) in classes
        for method in methods
    }
    for name, text in declared.items():
        if name not in recorded:
            how = "every backend has to override it" if text.endswith(" = 0") else "torch has a default for it"
            yield f"`{name}` is new: `{text}`; {how}"
    for name, old in recorded.items():
        ours = f"; overridden in `{overrides[name]}`" if name in overrides else ""
        if name not in declared:
            yield f"`{name}` is gone: `{old}`{ours}"
        elif declared[name] != old:
            yield f"`{name}` was `{old}`, is `{declared[name]}`{ours}"


def _tileops_changes(surface: Surface, installed: TileOpsInstall) -> Iterator[Diagnostic]:
    ops = installed.ops
    notes = []
    for key, signature in surface.get(TILEOPS, {}).items():
        if key not in ops:
            nearest = installed.nearest(key, 1)
            notes.append(f"`{key}` is gone" + "".join(f"; the nearest is `{near}`" for near in nearest))
        elif ops[key].signature != signature:
            notes.append(f"`{key}` was `{signature}`, is `{ops[key].signature}`")
    if notes:
        yield Diagnostic(
            codes.TILEOPS_OPS_CHANGED,
            f"TileOPs {installed.version} differs in {_count(notes, 'op')} that this backend serves",
            severity=Severity.WARNING,
            notes=tuple(notes),
            help="see whether their kernels in `tileops.yaml` still compute the same",
        )


def _count(things: Sequence[object], word: str) -> str:
    return f"{len(things)} {word}" + "s" * (len(things) != 1)
