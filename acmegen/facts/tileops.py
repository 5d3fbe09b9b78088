"""The installed TileOPs: its version and its op manifest, read from its data files without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from acmegen.diagnostics import Diagnostic, DiagnosticError
from acmegen.diagnostics.codes import TILEOPS_UNREADABLE
from acmegen.facts.cache import cached, digest
from acmegen.facts.near_names import near_names

# Belongs to the cache's key: raise it whenever the document of `_read_ops` changes.
FORMAT = 3

# The spec file that holds types instead of ops.
_TYPES = "types.yaml"


@dataclass(frozen=True)
class TileOpsInput:
    """One entry of `signature.inputs`.

    Attributes:
        name: as in the manifest.
        dtype: the manifest's dtype expression (`T`, `float32`).
        optional: whether a call can leave it out, always or depending on a parameter; a builder then gets None.
        keyword_only: whether the op's `forward` takes it by name; a builder gets it by position all the same.
        mutated: whether the op may write to it.
    """

    name: str
    dtype: str
    optional: bool
    keyword_only: bool
    mutated: bool


@dataclass(frozen=True)
class TileOpsParameter:
    """One entry of `signature.params`: `default` counts only when it is not `required`."""

    name: str
    type: str
    required: bool
    default: Any


@dataclass(frozen=True)
class TileOpsOp:
    """One op of TileOPs' manifest.

    Attributes:
        key: the name that a builder registers for, which is the op class's (`RMSNormFwdOp`).
        family: its module below `tileops` (`norm`).
        inputs: in the order in which a builder gets them.
        parameters: passed to a builder by keyword.
        outputs: the names, in order.
        reference: the Python function that the manifest names as the op's meaning (`torch.nn.functional.rms_norm`);
            empty where there is none.
        signature_digest: changes with anything in the signature that a builder can depend on.
        signature: the same on one line, for people.
    """

    key: str
    family: str
    inputs: tuple[TileOpsInput, ...]
    parameters: tuple[TileOpsParameter, ...]
    outputs: tuple[str, ...]
    reference: str
    signature_digest: str
    signature: str


@dataclass(frozen=True)
class TileOpsInstall:
    """The installed TileOPs.

    Attributes:
        version: of the distribution (`0.1.0`).
        ops: all ops by key.
    """

    version: str
    ops: Mapping[str, TileOpsOp]

    @property
    def digest(self) -> str:
        """A digest of all signatures."""
        return digest(f"{key} {op.signature_digest}".encode() for key, op in sorted(self.ops.items()))

    def nearest(self, key: str, n: int = 3) -> tuple[str, ...]:
        """Up to `n` keys that `key` may have been meant to be."""
        return near_names(key, self.ops, n)


def signature_digest(signature: Mapping[str, Any]) -> str:
    """The digest of an entry's `signature`, as TileOPs' `load_manifest()` gives it.

    The order of inputs, parameters and outputs counts, the order of the words that describe each does not.
    """
    ordered = [list((signature.get(section) or {}).items()) for section in ("inputs", "params", "outputs")]
    text = json.dumps([*ordered, signature.get("forall") or {}], sort_keys=True, default=str)
    return digest([text.encode()])


def signature_text(signature: Mapping[str, Any]) -> str:
    """An entry's `signature` on one line: `(x: T [N], bias: T [N] optional=True; eps: float) -> (y: T [N]) where …`."""

    def values(section: str) -> str:
        return ", ".join(f"{name}: {_words(value)}" for name, value in (signature.get(section) or {}).items())

    taken = "; ".join(filter(None, (values("inputs"), values("params"))))
    types = ", ".join(f"{name}: {value}" for name, value in (signature.get("forall") or {}).items())
    return f"({taken}) -> ({values('outputs')})" + (f" where {types}" if types else "")


def _words(value: Mapping[str, Any]) -> str:
    plain = [str(value[key]) for key in ("dtype", "type", "shape") if key in value]
    others = [f"{key}={word}" for key, word in sorted(value.items()) if key not in ("dtype", "type", "shape")]
    return " ".join(plain + others)


def find_tileops() -> TileOpsInstall | None:
    """The TileOPs of this environment; None when it is not installed.

    Raises:
        DiagnosticError: it is there, but its op manifest is not in the form of TileOPs 0.1.
    """
    try:
        spec = importlib.util.find_spec("tileops")
        version = importlib.metadata.version("tileops")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return read_tileops(Path(spec.origin).parent, version)


def read_tileops(root: Path, version: str) -> TileOpsInstall:
    """Read the op manifest of the TileOPs whose package folder is `root`.

    Raises:
        DiagnosticError: it cannot be read.
    """
    folder = root / "manifest" / "spec"
    try:
        sources = {path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml")) if path.name != _TYPES}
    except OSError as error:
        raise _unreadable(version, str(error)) from None
    if not sources:
        raise _unreadable(version, f"`{folder}` holds no op manifest")
    parts = (part for name, text in sources.items() for part in (name.encode(), text))
    key = digest([str(FORMAT).encode(), *parts])
    try:
        rows = cached("tileops", key, lambda: _read_ops(sources.values()))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise _unreadable(version, f"the op manifest has another form than TileOPs 0.1's: {error!r}") from None
    return TileOpsInstall(version, {key: _op(key, row) for key, row in rows.items()})


def _unreadable(version: str, note: str) -> DiagnosticError:
    return DiagnosticError(
        [
            Diagnostic(
                TILEOPS_UNREADABLE,
                f"cannot read the op manifest of TileOPs {version}",
                notes=(note,),
                help="install a TileOPs that this acmegen knows: `pip install tileops==0.1.0`",
            )
        ]
    )


def _read_ops(sources: Iterable[bytes]) -> dict[str, Any]:
    """The rows of `TileOpsOp`, by key."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = {key: entry for text in sources for key, entry in (yaml.load(text, Loader=loader) or {}).items()}
    return {key: _row(entry) for key, entry in sorted(entries.items())}


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    signature = entry["signature"]
    return {
        "family": entry["family"],
        "inputs": [
            {
                "name": name,
                "dtype": tensor["dtype"],
                "optional": bool(tensor.get("optional", False)),
                "keyword_only": bool(tensor.get("kw_only", False)),
                "mutated": bool(tensor.get("mutated", False)),
            }
            for name, tensor in (signature.get("inputs") or {}).items()
        ],
        "parameters": [
            {
                "name": name,
                "type": parameter.get("type", "Tensor"),
                "required": not ("default" in parameter or parameter.get("optional", False)),
                "default": parameter.get("default"),
            }
            for name, parameter in (signature.get("params") or {}).items()
        ],
        "outputs": list(signature["outputs"]),
        "reference": entry.get("ref_api", ""),
        "signature_digest": signature_digest(signature),
        "signature": signature_text(signature),
    }


def _op(key: str, row: Mapping[str, Any]) -> TileOpsOp:
    return TileOpsOp(
        key=key,
        family=row["family"],
        inputs=tuple(TileOpsInput(**values) for values in row["inputs"]),
        parameters=tuple(TileOpsParameter(**values) for values in row["parameters"]),
        outputs=tuple(row["outputs"]),
        reference=row["reference"],
        signature_digest=row["signature_digest"],
        signature=row["signature"],
    )
