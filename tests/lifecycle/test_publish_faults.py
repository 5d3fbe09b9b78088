"""H5, H6: whichever operation on a file fails or is the last one, the project is the old one or the new one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output import files
from acmegen.output.publish import Outcome, Recovery
from tests.lifecycle.publishing import (
    SCENARIOS,
    Crash,
    Disk,
    Scenario,
    Snapshot,
    no_space,
    on_disk,
    recovered,
    snapshot,
    texts,
)

each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


class Trial:
    """A scenario in folders of its own, made again and again."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder, self.count = scenario, folder, 0
        project = self.fresh()
        self.old = snapshot(project)
        with on_disk(Disk(), scenario.links) as disk:
            scenario.publish(project)
        self.operations = disk.log
        self.new = texts(snapshot(project))
        self.untouched = [path for path, entry in snapshot(project).items() if entry and entry == self.old.get(path)]
        assert (self.new != texts(self.old)) and len(self.operations) > 5

    def fresh(self) -> Path:
        self.count += 1
        project = self.folder / str(self.count)
        self.scenario.make(project)
        return project

    def crashed(self, at: int, torn: bool = False) -> Path:
        project = self.fresh()
        with on_disk(Disk(at, torn=torn), self.scenario.links), pytest.raises(Crash):
            self.scenario.publish(project)
        return project

    def state(self, found: Snapshot) -> str:
        """Which tree it is; a file that is the same in both has its old time."""
        if found == self.old:
            return "old"
        assert texts(found) == self.new
        assert all(found[path] == self.old[path] for path in self.untouched)
        return "new"


@pytest.fixture
def trial(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    """Trials do not wait for the disk, which takes long, and shows only when the plug is pulled."""
    monkeypatch.setattr(files, "sync", lambda paths: None)
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Trial(scenario, Path(folder))


@each_scenario
def test_h6_an_operation_that_fails_changes_nothing(trial: Trial) -> None:
    states = Counter[str]()
    for number in range(len(trial.operations)):
        for torn in (False, True):
            project = trial.fresh()
            disk = Disk(number, no_space, forever=False, torn=torn)
            expected = "new"  # only what is left of the run's own files was not removed
            with on_disk(disk, trial.scenario.links):
                try:
                    trial.scenario.publish(project)
                except DiagnosticError as error:
                    assert "no space left on device" in str(error), disk.log[number]
                    (code,) = {diagnostic.code for diagnostic in error.diagnostics}
                    expected = {codes.NOT_WRITTEN: "old", codes.JOURNAL_LEFT: "new"}[code]
            if expected == "new":
                recovered(project)
            state = trial.state(snapshot(project))
            assert state == expected, disk.log[number]
            states[state] += 1
    assert states["old"] > 0 and states["new"] > 0


@each_scenario
def test_h6_when_nothing_can_be_undone_either_the_next_run_does_it(trial: Trial) -> None:
    for number in range(len(trial.operations)):
        project = trial.fresh()
        with on_disk(Disk(number, no_space), trial.scenario.links), suppress(DiagnosticError):
            trial.scenario.publish(project)
        recovered(project)
        assert trial.state(snapshot(project)) in ("old", "new")


@each_scenario
def test_h5_a_crash_at_any_operation(trial: Trial) -> None:
    states = Counter[str]()
    for number in range(len(trial.operations)):
        for torn in (False, True):
            project = trial.crashed(number, torn)
            recovery = recovered(project)
            state = trial.state(snapshot(project))
            assert recovery in (None, Recovery(Outcome.UNDONE if state == "old" else Outcome.FINISHED))
            states[state] += 1
            assert recovered(project) is None
    assert states["old"] > 0 and states["new"] > 0


@each_scenario
def test_h5_a_crash_at_any_operation_of_the_recovery(trial: Trial) -> None:
    for number in range(len(trial.operations)):
        project = trial.crashed(number)
        with on_disk(Disk()) as disk:
            recovered(project)
        for again in range(len(disk.log)):
            project = trial.crashed(number)
            with on_disk(Disk(again), trial.scenario.links), pytest.raises(Crash):
                recovered(project)
            recovered(project)
            trial.state(snapshot(project))
            assert recovered(project) is None
