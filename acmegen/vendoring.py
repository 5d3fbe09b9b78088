"""Export a project for another repository, under its own names or others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes
from acmegen.manifest.load import TILEOPS
from acmegen.output import verify
from acmegen.output.licenses import license_texts
from acmegen.output.lock import LOCK_NAME, Lock, LockedFile, digest, dump_lock, read_lock
from acmegen.output.pristine import is_pristine, pristine_of, pristine_path
from acmegen.output.provenance import Provenance, template_digests
from acmegen.output.vendor import ignored_in, project_files, with_digests
from acmegen.pipeline import Generation, generate
from acmegen.plan.names import Names
from acmegen.plan.renaming import NewNames, rename
from acmegen.render.environment import render_template
from acmegen.render.outputs import Owner
from acmegen.render.renamed import RenamedProject, renamed_project

__all__ = ["Export", "NewNames", "export_project"]

# What is no trace of a device that is called `acme`.
_ACMEGEN = re.compile(rb"acmegen|ACMEGEN")

VERIFY_NAME = "verify.py"
README_NAME = "VENDORED.md"


@dataclass(frozen=True)
class Export:
    """What is exported.

    Attributes:
        files: all files, by path.
        names: of the backend.
        left: places, `path:line`, where the old name is still told: in names that acmegen did not give.
    """

    files: Mapping[str, bytes]
    names: Names
    left: tuple[str, ...] = ()


def export_project(
    project: Path, manifests: Path, generation: Generation, chosen: NewNames, contact: str = ""
) -> Export:
    """What `project`, which is up to date, is as an export.

    Args:
        project: the project's folder.
        manifests: the folder that it is generated from.
        generation: what the manifests give.
        chosen: other names for the backend.
        contact: whom to tell of mistakes, a line for its reader.

    Raises:
        DiagnosticError: a name cannot be one, the project has a file where the export puts one of its own, a licence
            has no text, or a symbolic link would have to be exported.
    """
    lock = read_lock(project)
    if lock is None:
        raise ValueError("the project is not up to date: it has no lock")
    files = project_files(project, lock, manifests)
    names = generation.names
    left: tuple[str, ...] = ()
    if chosen:
        renaming = rename(names, chosen)
        names = renaming.new
        other = generate(manifests, project, renaming=renaming)
        renamed = renamed_project(renaming, generation.tree, other.tree, files)
        files = renamed_files(renamed, lock, files)
        lock = renamed_lock(renamed, replace(other.lock, files=lock.files), files)
        left = _left(generation.names.device, files) if names.device != generation.names.device else ()
    # The manifests stay behind; this is where they would be looked for.
    lock = replace(lock, manifests="manifests")
    readme = render_template(
        f"vendor/{README_NAME}.jinja", names=names, lock=lock, contact=contact, tileops=TILEOPS in lock.sources
    )
    added = {LOCK_NAME: dump_lock(lock), README_NAME: readme, VERIFY_NAME: inspect.getsource(verify)}
    if taken := sorted({*added, verify.PROVENANCE_NAME} & files.keys()):
        help_text = "give it another name, or add it to the project's `.gitignore`"
        raise DiagnosticError(
            Diagnostic(
                codes.EXPORT_NAME_TAKEN,
                f"`{project / path}` has the name of a file that the export adds",
                Span.of_file(project / path),
                help=help_text,
            )
            for path in taken
        )
    files = files | license_texts(files) | {path: text.encode() for path, text in added.items()}
    provenance = Provenance(
        names=asdict(names),
        renamed=bool(chosen),
        contact=contact,
        acmegen=lock.acmegen,
        installed=lock.facts,
        manifests=lock.sources,
        templates=template_digests(lock),
        ignored=ignored_in(project),
        files=with_digests(files),
    )
    return Export(files | {verify.PROVENANCE_NAME: provenance.text.encode()}, names, left)


def renamed_files(renamed: RenamedProject, lock: Lock, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a project under the new names: acmegen's from the new tree, the user's with exchanged words."""
    users = _users_paths(renamed, lock)
    result = {path: file.text.encode() for path, file in renamed.new.items() if path not in users}
    for path, data in files.items():
        entry = lock.files.get(path)
        if entry is not None and entry.owner == Owner.OWNED.value and not is_pristine(path):
            continue
        new = _renamed_path(renamed, path)
        if new in result:
            message = f"two files of the project would be `{new}` under the new names, one of them `{path}`"
            raise DiagnosticError([Diagnostic(codes.EXPORT_NAME_TAKEN, message, help="give one of them another name")])
        result[new] = _renamed_text(renamed, pristine_of(path) or path, data)
    return result


def _users_paths(renamed: RenamedProject, lock: Lock) -> set[str]:
    """The new paths of generated files that are the user's, also of those that he deleted."""
    return {renamed.path(path) for path, entry in lock.files.items() if entry.owner != Owner.OWNED.value}


def _renamed_path(renamed: RenamedProject, path: str) -> str:
    source = pristine_of(path)
    return renamed.path(path) if source is None else pristine_path(renamed.path(source))


def _renamed_text(renamed: RenamedProject, path: str, data: bytes) -> bytes:
    """The contents under the new names; what is no text stays as it is."""
    try:
        return data if b"\0" in data else renamed.text(path, data.decode()).encode()
    except UnicodeDecodeError:
        return data


def renamed_lock(renamed: RenamedProject, lock: Lock, files: Mapping[str, bytes]) -> Lock:
    """`lock`, whose entries are the project's, for the renamed `files`."""
    users = _users_paths(renamed, lock)
    entries = {
        path: LockedFile(Owner.OWNED.value, digest(files[path]), file.template)
        for path, file in renamed.new.items()
        if path not in users
    }
    for path, entry in lock.files.items():
        new = _renamed_path(renamed, path)
        if entry.deleted:
            entries[new] = replace(entry, sha256=digest(renamed.new[new].text.encode()))
        elif is_pristine(path):
            entries[new] = replace(entry, sha256=digest(files[new]))
        elif entry.owner != Owner.OWNED.value:
            # The digest of a file that is the user's is that of its pristine text.
            entries[new] = replace(entry, sha256=digest(files[pristine_path(new)]))
    sources = {renamed.renaming.text(path): sha256 for path, sha256 in lock.sources.items()}
    return replace(lock, files=dict(sorted(entries.items())), sources=dict(sorted(sources.items())))


def _left(old: str, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Where the name `old` still stands."""
    name = re.compile(re.escape(old.encode()), re.IGNORECASE)
    places = []
    for path, data in files.items():
        if name.search(_ACMEGEN.sub(b"", path.encode(errors="surrogateescape"))):
            places.append(path)
        for number, line in enumerate(data.split(b"\n"), 1):
            if name.search(_ACMEGEN.sub(b"", line)):
                places.append(f"{path}:{number}")
    return tuple(places)
