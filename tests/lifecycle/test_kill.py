"""H5: SIGKILL at random times leaves the old tree or the new one. A few rounds here, hundreds with `make proofs`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from acmegen.output.compare import Action
from acmegen.output.journal import JOURNAL_FOLDER
from acmegen.output.lock import LOCK_NAME, digest
from acmegen.output.project_lock import hold_project
from acmegen.output.publish import publish
from tests.conftest import REPOSITORY, Acmegen
from tests.lifecycle.publishing import create, recovered, remove, replace, snapshot, texts

rounds = pytest.mark.parametrize("rounds", [20, pytest.param(400, marks=pytest.mark.slow)])

COMMON = {f"csrc/generated/{number % 7}/both-{number}.cpp": str(number) for number in range(60)}
TREES = (
    {**COMMON, **{f"a/{number % 3}/{number}.h": f"a {number}\n" * 50 for number in range(40)}, LOCK_NAME: "a\n"},
    {
        **{path: f"{text} of b\n" if int(text) % 2 else text for path, text in COMMON.items()},
        **{f"b/{number % 3}/{number}.h": f"b {number}\n" * 50 for number in range(40)},
        LOCK_NAME: "b\n",
    },
)


def actions(old: dict[str, str], new: dict[str, str]) -> Sequence[Action]:
    changed: list[Action] = [remove(path, digest(old[path].encode())) for path in old.keys() - new.keys()]
    for path, text in new.items():
        if path == LOCK_NAME or old.get(path) == text:
            continue
        changed.append(replace(path, text, digest(old[path].encode())) if path in old else create(path, text))
    return sorted(changed, key=lambda action: action.path)


def start(project: Path, changes: Sequence[Action], lock: str) -> int:
    """Publish in a child process, and nothing else; its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with hold_project(project, 0):
                publish(project, changes, lock)
            code = 0
        finally:
            os._exit(code)
    return child


def wait(child: int) -> int:
    """The exit code of a child process; the negative number of the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@rounds
def test_h5_publishing_is_killed(tmp_path: Path, rounds: int) -> None:
    project = tmp_path / "project"
    for path, text in {**TREES[0], "mine.txt": "mine\n"}.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    chance = random.Random(4)
    current, results = 0, Counter[str]()
    expected = []
    durations = []
    for tree in (1, 0):  # once each way, to know both trees and how long it takes
        started = time.monotonic()
        assert wait(start(project, actions(TREES[1 - tree], TREES[tree]), TREES[tree][LOCK_NAME])) == 0
        durations.append(time.monotonic() - started)
        expected.insert(0, texts(snapshot(project)))
    longest = max(durations)
    for _ in range(rounds):
        other = 1 - current
        child = start(project, actions(TREES[current], TREES[other]), TREES[other][LOCK_NAME])
        time.sleep(chance.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        code = wait(child)
        assert code in (0, -signal.SIGKILL)
        killed = code != 0
        longest *= 1.1 if killed else 0.8  # a busy machine is not always equally slow
        recovery = recovered(project)
        found = texts(snapshot(project))
        assert found in expected
        assert recovery is None or not recovery.saved
        state = "old" if found == expected[current] else "new"
        results[f"{'killed' if killed else 'finished'}, {recovery.outcome.value if recovery else 'tidy'}, {state}"] += 1
        current = expected.index(found)
    print(dict(results))
    assert results["killed, undone, old"] > rounds // 10, results


@dataclass
class Regenerations:
    """A real project whose manifests change to and fro, and what it is then."""

    project: Path
    acmegen: Acmegen

    def set(self, more: bool) -> None:
        """Add an entry to the manifests, or remove it."""
        manifest = self.project / "manifests/ops/mine.yaml"
        if more:
            manifest.write_text("manifest: ops/v1\nops:\n  trace: user\n  kthvalue: user\n  median: reference\n")
        else:
            manifest.unlink(missing_ok=True)

    def generated(self) -> dict[str, object]:
        found = texts(snapshot(self.project))
        return {path: entry for path, entry in found.items() if not path.startswith("manifests")}

    def complete(self, more: bool) -> dict[str, object]:
        self.set(more)
        result = self.acmegen("regen", self.project)
        assert result.returncode == 0, result.stderr
        return self.generated()

    def killed(self, chance: random.Random) -> bool:
        """Start a run and kill it: at any time, or while it is publishing."""
        command = [sys.executable, "-m", "acmegen", "regen", str(self.project)]
        with subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            if chance.random() < 0.2:
                time.sleep(chance.uniform(0, 3))
            else:
                while process.poll() is None and not (self.project / JOURNAL_FOLDER).exists():
                    time.sleep(0.0005)
                time.sleep(chance.uniform(0, 0.03))
            process.kill()
            return process.wait() != 0


@pytest.mark.parametrize("rounds", [2, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_h5_regen_is_killed(acmegen: Acmegen, project: Path, rounds: int) -> None:
    chance = random.Random(5)
    regenerations = Regenerations(project, acmegen)
    regenerations.complete(True)
    # The once file stays when its entry goes, so only now it is one tree or the other.
    less, more = regenerations.complete(False), regenerations.complete(True)
    assert less != more
    results = Counter[str]()
    old, new, wanted = more, less, False
    for _ in range(rounds):
        regenerations.set(wanted)
        killed = regenerations.killed(chance)
        recovery = recovered(project)
        found = regenerations.generated()
        assert found in (old, new)
        state = "old" if found == old else "new"
        results[f"{'killed' if killed else 'finished'}, {recovery.outcome.value if recovery else 'tidy'}, {state}"] += 1
        if state == "new":
            old, new, wanted = new, old, not wanted
    print(dict(results))
    assert acmegen("regen", project).returncode == 0
    assert acmegen("check", project).returncode == 0


FORMAT = """
from acmegen.render.format import Formatter, load_black
from acmegen.workers import workers
with workers(True, load_black) as executor:
    formatter = Formatter(executor)
    for number in range(100):
        formatter.add(f"{number}.py", "x = [" + "1, " * 3000 + f"{number}]\\n")
    formatter.finish()
"""


def test_a_killed_run_leaves_no_process_behind(tmp_path: Path) -> None:
    """The processes that run black end with the one that started them."""
    marker = str(tmp_path / "cache")
    process = subprocess.Popen(
        [sys.executable, "-c", FORMAT], cwd=REPOSITORY, env={**os.environ, "ACMEGEN_CACHE_DIR": marker}
    )
    while process.poll() is None and not pythons_with(marker) - {process.pid}:
        time.sleep(0.01)
    assert process.poll() is None, "it was too fast"
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while pythons_with(marker) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = pythons_with(marker)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert not left


def pythons_with(marker: str) -> set[int]:
    """The running processes that have `marker` in their environment."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:
            continue
    return found
