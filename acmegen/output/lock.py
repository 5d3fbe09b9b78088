"""`acmegen.lock`: what was generated, from what. Sorted JSON with relative paths, so that it diffs well."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, codes

LOCK_NAME = "acmegen.lock"
LOCK_FORMAT = 1


@dataclass(frozen=True)
class LockedFile:
    """One generated file: its owner, the digest of the text that acmegen wrote, and the template it came from."""

    owner: str
    sha256: str
    template: str


@dataclass(frozen=True)
class Lock:
    """The record of one generation.

    Attributes:
        acmegen: the version that wrote the tree.
        manifests: the manifests' folder, relative to the project.
        sources: digests of the manifests, by their path below that folder.
        facts: versions and digests of what was installed: torch, its schemas, TileOPs.
        formatters: versions of black and clang-format.
        files: the tree, by path.
    """

    acmegen: str
    manifests: str
    sources: Mapping[str, str]
    facts: Mapping[str, str]
    formatters: Mapping[str, str]
    files: Mapping[str, LockedFile] = field(default_factory=dict)


def digest(data: bytes) -> str:
    """The sha256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def dump_lock(lock: Lock) -> str:
    """The text of the lock file: ASCII, since a path need not be text in any encoding."""
    return json.dumps({"lock": LOCK_FORMAT, **asdict(lock)}, indent=1, sort_keys=True) + "\n"


def read_lock(project: Path) -> Lock | None:
    """The lock of `project`, or None where there is none.

    Raises:
        DiagnosticError: the file is not a lock of a format that this acmegen knows.
    """
    path = project / LOCK_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(error)) from None
    try:
        data = json.loads(text)
        if data.pop("lock") != LOCK_FORMAT:
            raise ValueError("it was written by another version of acmegen")
        files = {_inside(name): _locked_file(entry) for name, entry in data.pop("files").items()}
        lock = Lock(**data, files=files)
        if not isinstance(lock.manifests, str):
            raise TypeError("`manifests` is not a path")
        return lock
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(path, str(error)) from None


def _inside(path: str) -> str:
    """`path`, if it is one that acmegen could have written."""
    if path.startswith("/") or "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError(f"{path!r} is not a path inside of the project")
    return path


def _locked_file(entry: Mapping[str, object]) -> LockedFile:
    file = LockedFile(**entry)  # type: ignore[arg-type]
    if not all(isinstance(value, str) for value in (file.owner, file.sha256, file.template)):
        raise TypeError("an owner, a digest or a template is not text")
    return file


def _unreadable(path: Path, reason: str) -> DiagnosticError:
    return DiagnosticError(
        [
            Diagnostic(
                codes.LOCK_UNREADABLE,
                f"cannot read `{path}`: {reason}",
                help="restore it from version control, or remove it and run `acmegen regen --force`",
            )
        ]
    )
