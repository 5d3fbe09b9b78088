"""The arguments and options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from acmegen.cli.formats import print_text
from acmegen.diagnostics import Diagnostic, DiagnosticError, Severity, codes, command_for, shown_folder
from acmegen.output.journal import left_journal
from acmegen.output.lock import LOCK_NAME, read_lock
from acmegen.output.project_lock import Holder, current_holder, hold_project
from acmegen.output.publish import Outcome, recover
from acmegen.output.verify import PROVENANCE_NAME


def project_around(place: Path) -> Path | None:
    """The project that `place`, which is absolute, is or lies in; None where there is none."""
    return next((folder for folder in (place, *place.parents) if os.path.lexists(folder / LOCK_NAME)), None)


def current_project() -> Path:
    """The project around the current folder; that folder where there is none, or where it has manifests itself."""
    project = None if Path("manifests").is_dir() else project_around(Path.cwd())
    return Path(os.path.relpath(project)) if project is not None else Path()


def _default_project() -> Path:
    """The current project; the current folder with --manifests, from which a project may be made right here."""
    # Parameters that stand on the command line are read before those that are left out.
    made_here = click.get_current_context().params.get("manifests") is not None
    return Path() if made_here else current_project()


project_argument = click.argument("project", type=click.Path(file_okay=False, path_type=Path), default=_default_project)
manifests_option = click.option(
    "--manifests",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The manifests' folder [default: the one in the lock, or PROJECT/manifests].",
)
force_option = click.option("--force", is_flag=True, help="Overwrite generated files that were edited.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
diff_option = click.option("--diff", is_flag=True, help="Write nothing; print what would change as a unified diff.")
wait_option = click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another acmegen that is changing the project.",
)


@contextmanager
def changing(project: Path, wait: float, dry_run: bool = False) -> Iterator[None]:
    """Hold `project` for a command that changes it, and put in order first what an interrupted run left.

    With `dry_run` nothing is held, and such a run is only warned of.

    Raises:
        DiagnosticError: another process holds the project, or it cannot be written.
    """
    if dry_run:
        warn_of_journal(project)
        yield
        return
    with hold_project(project, wait, lambda holder: _say_that_it_waits(project, holder)):
        recovery = recover(project)
        if recovery is not None:
            what = "undone" if recovery.outcome is Outcome.UNDONE else "complete, and is tidied up"
            click.echo(f"An earlier run was interrupted; it is {what}.", err=True)
            for note in recovery.notes:
                click.echo(f"  {note}", err=True)
        yield


def _say_that_it_waits(project: Path, holder: Holder | None) -> None:
    click.echo(f"Waiting for {holder or 'another acmegen'}, which is changing {shown_folder(project)}.", err=True)


def warn_of_journal(project: Path) -> tuple[Diagnostic, ...]:
    """Say, for a command that changes nothing, that a run on `project` is going on or was interrupted, if so."""
    warnings = tuple(interruption(project))
    print_text(warnings)
    return warnings


def interruption(project: Path) -> Iterator[Diagnostic]:
    """The warning that a run on `project` is going on or was interrupted, if so."""
    if not left_journal(project):
        return
    if holder := current_holder(project):
        message = f"{holder} is changing `{shown_folder(project)}` right now"
        help_text = "run the command again when that is done"
    else:
        message = f"a run that changed `{shown_folder(project)}` was interrupted, so it may be half changed"
        help_text = f"`{command_for('acmegen doctor', project)}` puts it in order"
    yield Diagnostic(codes.RUN_INTERRUPTED, message, severity=Severity.WARNING, help=help_text)


def paths_in_project(paths: Sequence[Path]) -> tuple[Path, list[str]]:
    """The project around `paths`, which are given as from the current folder, and the paths relative to it.

    Raises:
        DiagnosticError: a path is in no project, or two are in different ones.
    """
    found: dict[Path, list[str]] = {}
    for path in paths:
        # Not resolved: a link that is in the place of a file is what is spoken of.
        absolute = Path(os.path.normpath(Path.cwd() / path))
        project = project_around(absolute)
        if project is None:
            message, help_text = f"`{path}` is in no project: no folder above it has an `{LOCK_NAME}`", None
            raise DiagnosticError([Diagnostic(codes.NOT_GENERATED, message, help=help_text)])
        found.setdefault(project, []).append(absolute.relative_to(project).as_posix())
    if len(found) > 1:
        message = f"`{paths[0]}` and others are in different projects"
        raise DiagnosticError([Diagnostic(codes.NOT_GENERATED, message, help="run the command once for each project")])
    project, files = found.popitem()
    return Path(os.path.relpath(project)), files


def manifests_folder(project: Path, chosen: Path | None) -> Path:
    """The folder of the manifests that `project` is generated from.

    Raises:
        click.UsageError: there is none.
    """
    if project.is_symlink() and not project.is_dir():
        raise click.UsageError(f"{project} is a symbolic link that leads nowhere")
    if chosen is not None:
        return chosen
    lock = read_lock(project)
    name = shown_folder(project)
    folder = project / (lock.manifests if lock is not None else "manifests")
    if (project / PROVENANCE_NAME).is_file() and not folder.is_dir():
        raise click.UsageError(f"{name} is an export, which has no manifests; change the project that it comes from")
    if lock is not None and not folder.is_dir():
        raise click.UsageError(
            f"there is no folder {folder}, where {LOCK_NAME} says the manifests are; bring it back, or name it with "
            "--manifests"
        )
    if not folder.is_dir():
        raise click.UsageError(
            f"{name} has no {LOCK_NAME} and no manifests folder; name it with --manifests, or make a project with "
            "`acmegen new-backend NAME`"
        )
    return folder
