"""`PROVENANCE.json`: what a vendored tree was generated from, and the digest of each file in it. See `verify.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from acmegen.data import data_folder
from acmegen.diagnostics import codes
from acmegen.output.files import read_file
from acmegen.output.lock import Lock, digest, inside
from acmegen.output.pristine import PRISTINE_TEMPLATE
from acmegen.output.unreadable import unreadable
from acmegen.output.verify import PROVENANCE_NAME

PROVENANCE_FORMAT = 1


@dataclass(frozen=True)
class Provenance:
    """Where a vendored tree comes from. Sorted, and without times, hosts and paths of a machine.

    Attributes:
        names: of the backend, as it is exported.
        renamed: whether the project has other names.
        contact: whom to tell of mistakes; empty when that was not said.
        acmegen: the version that generated it.
        installed: torch and TileOPs that it was generated for, with digests of what was read from them.
        manifests: digests of the manifests.
        templates: digests of the templates.
        ignored: rules for what a build leaves behind, as `verify.is_ignored` takes them.
        files: the digest of each file.
    """

    names: Mapping[str, str]
    renamed: bool
    contact: str
    acmegen: str
    installed: Mapping[str, str]
    manifests: Mapping[str, str]
    templates: Mapping[str, str]
    ignored: tuple[str, ...]
    files: Mapping[str, str]

    @property
    def text(self) -> str:
        """The text of the file: ASCII, since a path need not be text in any encoding."""
        return json.dumps({"provenance": PROVENANCE_FORMAT, **asdict(self)}, indent=1, sort_keys=True) + "\n"


def template_digests(lock: Lock) -> dict[str, str]:
    """The digests of the templates that the files of `lock` come from, and of what those import."""
    folder = data_folder("templates")
    used = {f"backend/{entry.template}" for entry in lock.files.values() if entry.template != PRISTINE_TEMPLATE}
    shared = {path.relative_to(folder).as_posix() for path in (folder / "macros").rglob("*.jinja")}
    return {path: digest((folder / path).read_bytes()) for path in sorted(used | shared)}


def exported_names(folder: Path) -> Mapping[str, str] | None:
    """The names of the backend that was exported to `folder`, if they are not those of its project."""
    try:
        data = json.loads(read_file(folder / PROVENANCE_NAME))
        return {str(field): str(name) for field, name in data["names"].items()} if data["renamed"] else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # `exported_files` says what is wrong


def exported_files(folder: Path) -> dict[str, str]:
    """The digests that the PROVENANCE.json in `folder` gives, and its own; none when there is no such file.

    Raises:
        DiagnosticError: it cannot be read.
    """
    path = folder / PROVENANCE_NAME
    try:
        text = read_file(path)
        data = json.loads(text)
        if data["provenance"] != PROVENANCE_FORMAT:
            raise ValueError("it was written by another version of acmegen")
        files = {inside(name): str(sha256) for name, sha256 in data["files"].items()}
        files[PROVENANCE_NAME] = digest(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        help_text = "restore it from version control, or export into an empty folder"
        raise unreadable(codes.PROVENANCE_UNREADABLE, path, error, help_text) from None
    return files
