"""Lower tileops.yaml: each op against the installed TileOPs' manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from acmegen.diagnostics import Diagnostic, DiagnosticError, codes, did_you_mean, quote, sure_fix
from acmegen.facts.tileops import TileOpsInstall, TileOpsOp
from acmegen.manifest.load import TILEOPS, Project
from acmegen.manifest.source import NodePath
from acmegen.manifest.tileops import TileOpsEntry, TileOpsManifest
from acmegen.plan.text_error import TextError
from acmegen.plan.tileops import (
    TileOpsInput,
    TileOpsKernel,
    TileOpsPlan,
    builder_name,
    unknown_names,
)

# Where so many ops are unknown, the manifest was written for another TileOPs.
_SUGGESTIONS = 25


def lower_tileops(project: Project, installed: TileOpsInstall | None) -> TileOpsPlan | None:
    """The TileOPs target that `project` declares; None without a tileops.yaml.

    Raises:
        DiagnosticError: TileOPs is missing or not in the declared range, it lacks an op, or an expression names
            something that is neither an input nor a param of its op.
    """
    manifest = project.tileops
    if manifest is None:
        return None
    if installed is None:
        raise DiagnosticError([_not_installed(project)])
    diagnostics = list(_out_of_range(project, manifest, installed))
    kernels = []
    unknown = 0
    for key, entry in sorted(manifest.ops.items()):
        fact = installed.ops.get(key)
        if fact is None:
            diagnostics.append(_unknown_op(project, installed, key, suggest=unknown < _SUGGESTIONS))
            unknown += 1
            continue
        kernel = _kernel(project, fact, entry, diagnostics)
        if kernel is not None:
            kernels.append(kernel)
    if diagnostics:
        raise DiagnosticError(diagnostics)
    return TileOpsPlan(
        target=manifest.target or project.backend.name,
        device_type=manifest.device_type or project.backend.name,
        requires=manifest.requires,
        device_facts=manifest.device_facts.model_dump(),
        kernels=tuple(kernels),
    )


def _not_installed(project: Project) -> Diagnostic:
    return Diagnostic(
        codes.TILEOPS_MISSING,
        "TileOPs is not installed, and this manifest needs its op signatures",
        project.span(TILEOPS, "manifest"),
        help="`pip install --ignore-requires-python tileops`, or do without: remove this manifest, or make "
        "the project with `acmegen new-backend --without-tileops`",
    )


def _out_of_range(project: Project, manifest: TileOpsManifest, installed: TileOpsInstall) -> Iterator[Diagnostic]:
    if not SpecifierSet(manifest.requires).contains(installed.version, prereleases=True):
        yield Diagnostic(
            codes.TILEOPS_OUT_OF_RANGE,
            f"TileOPs {installed.version} is installed, which is not in `{manifest.requires}`",
            project.span(TILEOPS, "requires"),
            help="install a TileOPs from the range, or widen it",
        )


def _unknown_op(project: Project, installed: TileOpsInstall, key: str, *, suggest: bool) -> Diagnostic:
    """TileOPs has no op of that name. To `suggest` others takes some milliseconds."""
    meant = sure_fix(key, installed.ops) if suggest else None
    return Diagnostic(
        codes.TILEOPS_UNKNOWN_OP,
        f"TileOPs {installed.version} has no op {quote(key)}",
        project.span(TILEOPS, "ops", key, key=True),
        label=did_you_mean(key, installed.ops) if suggest else "",
        edits=project.renamed(TILEOPS, ("ops", key), meant) if meant else (),
    )


def _kernel(
    project: Project, fact: TileOpsOp, entry: TileOpsEntry, diagnostics: list[Diagnostic]
) -> TileOpsKernel | None:
    """The plan of one op; None, with the reason in `diagnostics`, when it cannot be had."""
    key, before = fact.key, len(diagnostics)
    reference = entry.reference or _call_of_reference(fact)
    if reference is None:
        diagnostics.append(
            Diagnostic(
                codes.TILEOPS_NO_REFERENCE,
                f"the reference of `{key}` is `{fact.reference}`, which is not a function of torch's",
                project.span(TILEOPS, "ops", key, key=True),
                help="write `reference:`, an expression of torch's that computes the same on CPU tensors",
            )
        )
    expression, builder = entry.kernel.expression, None
    if entry.kernel.python is not None:
        module, function = entry.kernel.python.split(":")
        builder = (module, function)
    elif entry.kernel.reference:
        expression = reference
    known = frozenset(_names(fact))
    written: list[tuple[str, NodePath]] = []
    if entry.reference is not None:
        written.append((entry.reference, ("ops", key, "reference")))
    if entry.kernel.expression is not None:
        written.append((entry.kernel.expression, ("ops", key, "kernel", "expression")))
    for text, path in written:
        for error in _mistakes(key, text, known):
            diagnostics.append(error.diagnostic(codes.TILEOPS_EXPRESSION, project.sources[TILEOPS], path))
    if reference is None or len(diagnostics) > before:
        return None
    return TileOpsKernel(
        op=key,
        function=builder_name(key),
        inputs=tuple(TileOpsInput(value.name, value.optional) for value in fact.inputs),
        params=tuple(value.name for value in fact.parameters),
        expression=expression,
        builder=builder,
        reference=reference,
    )


def _mistakes(key: str, text: str, known: frozenset[str]) -> Iterator[TextError]:
    """What is wrong with an expression of the op `key`: that it is not Python, or the names that mean nothing there."""
    try:
        names = unknown_names(text, known)
    except SyntaxError as error:
        yield TextError(f"the expression is not Python: {error.msg}", 0, len(text))
        return
    listed = ", ".join(f"`{value}`" for value in sorted(known))
    for name in names:
        # Neither an attribute nor the name of an argument, which look alike.
        place = re.search(rf"(?<![.\w]){name}\b(?!\s*=[^=])", text)
        start, length = (place.start(), len(name)) if place else (0, len(text))
        message = f"`{name}` is neither an input nor a param of `{key}`"
        help = f"it has {listed}; `torch` and `math` can be used too"
        yield TextError(message, start, length, help, wrong=name, known=known)


def _call_of_reference(fact: TileOpsOp) -> str | None:
    """The call of the op's reference: its first input by position, the rest by name, as torch's functions take them."""
    if not fact.reference.startswith("torch.") or not fact.inputs:
        return None
    first, *rest = _names(fact)
    return f"{fact.reference}({', '.join([first, *(f'{name}={name}' for name in rest)])})"


def _names(fact: TileOpsOp) -> list[str]:
    """The op's inputs, then its params."""
    return [value.name for value in fact.inputs] + [value.name for value in fact.parameters]
