"""The journal of one run: what it will change, the new texts, and what was there before.

It lies in `.acmegen/run/journal` and is in one of three states:

- without a list: texts are being staged, nothing in the project has changed;
- with the list as `steps.json`: files may have been replaced, and the run is undone;
- with the list as `done.json`: the run is complete, and what is left is to tidy up.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from acmegen.diagnostics import codes
from acmegen.output import files
from acmegen.output.files import read_file
from acmegen.output.lock import inside
from acmegen.output.run_folder import RUN_FOLDER, remove_run_folder, run_folder
from acmegen.output.unreadable import unreadable

JOURNAL_FOLDER = f"{RUN_FOLDER}/journal"


class State(Enum):
    """How far a run has come."""

    STAGING = None
    CHANGING = "steps.json"
    DONE = "done.json"


@dataclass(frozen=True)
class Step:
    """One file: its path, and the digests of what is there before and after; None where there is nothing."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class Journal:
    """The journal of `project`.

    Attributes:
        project: the project's folder.
        steps: the files that change, in order.
        folders: the folders that the run makes, outermost first.
        state: how far the run has come.
    """

    project: Path
    steps: tuple[Step, ...] = ()
    folders: tuple[str, ...] = ()
    state: State = State.STAGING

    @property
    def folder(self) -> Path:
        """The folder of the journal."""
        return self.project / JOURNAL_FOLDER

    def staged(self, index: int) -> Path:
        """The new text of a step."""
        return self.folder / f"new-{index}"

    def backup(self, index: int) -> Path:
        """What was there before a step."""
        return self.folder / f"old-{index}"

    def start(self) -> None:
        """Write the list: from now on the project may change. All texts are staged and on the disk."""
        text = {"journal": 1, "folders": self.folders, "steps": [asdict(step) for step in self.steps]}
        unfinished = self.folder / "unfinished"
        files.write(unfinished, json.dumps(text, indent=1).encode())
        files.sync([unfinished])
        files.replace(unfinished, self.folder / str(State.CHANGING.value))
        folder = run_folder(self.project)
        files.sync([self.folder, folder, folder.parent, self.project])

    def complete(self) -> None:
        """Say that all is done: from now on the run is not undone any more."""
        files.replace(self.folder / str(State.CHANGING.value), self.folder / str(State.DONE.value))

    def is_empty(self) -> bool:
        """Whether nothing is in it: the run had not begun, or was done."""
        return not any(self.folder.iterdir())

    def remove(self) -> None:
        """Remove the journal, its list last: until then it says what is to be done, which may be done again."""
        if self.folder.is_dir():
            files.sync([self.folder])
        lists = {self.folder / str(state.value) for state in State if state.value}
        for path in sorted(self.folder.glob("*"), key=lambda path: (path in lists, path)):
            files.unlink(path)
        files.remove_folder(self.folder)
        remove_run_folder(self.project)


def left_journal(project: Path) -> bool:
    """Whether `project` has a journal: a run is going on, or was interrupted."""
    return (run_folder(project) / "journal").is_dir()


def read_journal(project: Path) -> Journal | None:
    """The journal of `project`, or None where there is none.

    Raises:
        DiagnosticError: it is not a journal that acmegen wrote.
    """
    if not left_journal(project):
        return None
    for state in (State.DONE, State.CHANGING):
        path = project / JOURNAL_FOLDER / str(state.value)
        try:
            data = json.loads(read_file(path))
            if data["journal"] != 1:
                raise ValueError("it was written by another version of acmegen")
            steps = tuple(Step(inside(step["path"]), step["old"], step["new"]) for step in data["steps"])
            return Journal(project, steps, tuple(map(inside, data["folders"])), state)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            help_text = f"restore the project from version control and remove `{JOURNAL_FOLDER}` in it"
            what = "the journal of an interrupted run"
            raise unreadable(codes.JOURNAL_UNREADABLE, path, error, help_text, what) from None
    return Journal(project)
