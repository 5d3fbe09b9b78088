"""`acmegen.lock`: what was generated, from what. Sorted JSON with relative paths, so that it diffs well."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from packaging.version import Version

from acmegen import __version__
from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes
from acmegen.output.files import read_file
from acmegen.output.unreadable import unreadable
from acmegen.render.outputs import Owner

LOCK_NAME = "acmegen.lock"
LOCK_FORMAT = 1
_RESTORE = "restore it from version control, or move it away and run `acmegen regen`, which writes it anew"
_RESOLVE = f"keep either side, as by `git checkout --ours {LOCK_NAME}`, and run `acmegen regen`, which writes it anew"
_REPLACE_LINK = "put the file that it leads to in its place; acmegen follows no links within a project"
_CONFLICT = re.compile(rb"^<{7} ", re.MULTILINE)


@dataclass(frozen=True)
class LockedFile:
    """One generated file.

    Attributes:
        owner: `owned`, `once` or `adopted`, a value of `render.outputs.Owner`.
        sha256: the digest of the text that acmegen wrote. A once or adopted file may hold another text by now; its
            digest is that of the pristine text, which acmegen wrote or merged last.
        template: the template that it came from, below `templates/backend/`.
        deleted: whether it is a once or adopted file that the user removed: it stays away until it is restored.
    """

    owner: str
    sha256: str
    template: str
    deleted: bool = False


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
        surface: what the backend uses of torch and TileOPs, in words: for each kind (`operators`, `virtual_methods`,
            `tileops`) the declaration by name.
    """

    acmegen: str
    manifests: str
    sources: Mapping[str, str]
    facts: Mapping[str, str]
    formatters: Mapping[str, str]
    files: Mapping[str, LockedFile] = field(default_factory=dict)
    surface: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def digest(data: bytes) -> str:
    """The sha256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_text_of(data: bytes, sha256: str) -> bool:
    """Whether `data` is the text with that digest, with the line ends that acmegen wrote or those of Windows."""
    return digest(data) == sha256 or digest(data.replace(b"\r\n", b"\n")) == sha256


def dump_lock(lock: Lock) -> str:
    """The text of the lock file: ASCII, since a path need not be text in any encoding."""
    data = {"lock": LOCK_FORMAT, **asdict(lock)}
    for entry in data["files"].values():
        if not entry["deleted"]:
            del entry["deleted"]
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def read_lock(project: Path) -> Lock | None:
    """The lock of `project`, or None where there is none.

    Raises:
        DiagnosticError: the file is not a lock, cannot be read, or is a link; or a newer acmegen wrote it.
    """
    path = project / LOCK_NAME
    try:
        text = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        help_text = _REPLACE_LINK if error.errno == errno.ELOOP else _RESTORE
        raise unreadable(codes.LOCK_UNREADABLE, path, error, help_text) from None
    try:
        data = json.loads(text)
        form = data.pop("lock")
        if isinstance(form, int) and form > LOCK_FORMAT:
            raise _newer(path, str(data.get("acmegen")))
        if form != LOCK_FORMAT:
            raise ValueError("it has a form that no acmegen wrote")
        files = {inside(name): _locked_file(entry) for name, entry in data.pop("files").items()}
        lock = Lock(**data, files=files)
        if not (isinstance(lock.acmegen, str) and isinstance(lock.manifests, str)):
            raise ValueError("`acmegen` or `manifests` is not text")
        for name in ("sources", "facts", "formatters"):
            _check_texts(name, getattr(lock, name))
        for kind, texts in lock.surface.items():
            _check_texts(kind, texts)
        if _release(lock.acmegen) > _release(__version__):
            raise _newer(path, lock.acmegen)
        return lock
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        help_text = _RESOLVE if _CONFLICT.search(text) else _RESTORE
        raise unreadable(codes.LOCK_UNREADABLE, path, error, help_text) from None


def inside(path: str) -> str:
    """`path`, if it is one that acmegen could have written."""
    if path.startswith("/") or "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError(f"`{path}` is not a path inside of the project")
    return path


def _locked_file(entry: Mapping[str, object]) -> LockedFile:
    file = LockedFile(**entry)  # type: ignore[arg-type]
    if file.owner not in (owner.value for owner in Owner):
        raise ValueError(f"`{file.owner}` is no owner")
    if not (isinstance(file.sha256, str) and isinstance(file.template, str) and isinstance(file.deleted, bool)):
        raise ValueError("the entry of a file has values of the wrong type")
    return file


def _check_texts(name: str, texts: object) -> None:
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"`{name}` does not map names to texts")


def _release(version: str) -> Version:
    """The version without its local part, which says nothing about what is newer."""
    return Version(Version(version).public)


def _newer(path: Path, version: str) -> DiagnosticError:
    return DiagnosticError(
        [
            Diagnostic(
                codes.OLDER_ACMEGEN,
                f"`{path}` was written by acmegen {version}, and this is the older acmegen {__version__}",
                Span.of_file(path),
                help=f"`pip install 'acmegen>={version}'`",
            )
        ]
    )
