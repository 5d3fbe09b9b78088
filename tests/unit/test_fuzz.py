"""A seeded part of the fuzzer, and its own judgement. `python -m tests.fuzz` runs as many cases as one likes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from acmegen import pipeline
from acmegen.diagnostics import Diagnostic, DiagnosticError, Edit, Note, Span, codes
from acmegen.pipeline import resolve
from tests.fuzz import harness as harness_module
from tests.fuzz.harness import Failure, Harness, check_diagnostics
from tests.fuzz.mutations import damaged, mutated
from tests.fuzz.projects import projects
from tests.unit.rendering import write_tree

CASES = 500
BATCHES = 10


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_manifests_end_in_success_or_diagnostics(batch: int) -> None:
    harness = Harness("tests")
    for index in range(batch, CASES, BATCHES):
        try:
            harness.run(index)
        except Failure as failure:
            pytest.fail(f"python -m tests.fuzz --seed tests --show {index}\n{failure}", pytrace=False)
    assert harness.outcomes["refused"] > harness.outcomes["accepted"] > 0
    assert len(harness.codes) > 5


@pytest.mark.parametrize("name", projects())
def test_what_the_fuzzer_starts_from_is_right(name: str, tmp_path: Path) -> None:
    assert resolve(write_tree(tmp_path, dict(projects()[name]))).plan.ops.served


def test_cases_are_the_same_for_a_seed() -> None:
    harness = Harness("a")
    assert harness.files(7) == Harness("a").files(7) != Harness("b").files(7)
    chance, files = random.Random(1), dict(projects()["kinds"])
    assert mutated(chance, files) != {name: text.encode() for name, text in files.items()}
    assert damaged(random.Random(2), "a: 1\n") != damaged(random.Random(3), "a: 1\n")


# ---- a case that ends badly is told apart


def run_with(monkeypatch: pytest.MonkeyPatch, resolve: object) -> str:
    """The failure of a case in which `resolve` takes the place of the real one."""
    monkeypatch.setattr(pipeline, "resolve", resolve)
    with pytest.raises(Failure) as raised:
        Harness("tests").run(0)
    return str(raised.value)


def test_a_traceback_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: Path) -> object:
        raise KeyError("x")

    assert "KeyError" in run_with(monkeypatch, broken)


def test_a_case_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(folder: Path) -> object:
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    monkeypatch.setattr(harness_module, "LIMIT", 0.2)
    assert "in slow" in run_with(monkeypatch, slow)


def test_a_file_that_is_written_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def writes(folder: Path) -> object:
        (folder / "new").write_text("x")
        raise DiagnosticError([Diagnostic(codes.UNKNOWN_FILE, "m", Span.of_file(folder))])

    assert run_with(monkeypatch, writes) == "a file was written"


@pytest.mark.parametrize(
    ("diagnostic", "words"),
    [
        (Diagnostic(codes.WRONG_VALUE, "m", Span(Path("a.yaml"), 9, 1, 9, 2)), "no such place"),
        (Diagnostic(codes.WRONG_VALUE, "m", Span(Path("a.yaml"), 1, 9, 1, 10)), "no such place"),
        (Diagnostic(codes.WRONG_VALUE, "m", Span(Path("a.yaml"), 1, 2, 1, 2)), "no such place"),
        (Diagnostic(codes.WRONG_VALUE, "m", Span(Path("/elsewhere/b.yaml"), 1, 1, 1, 2)), "another file"),
        (Diagnostic(codes.WRONG_VALUE, "two\nlines"), "not a message"),
        (Diagnostic(codes.WRONG_VALUE, ""), "not a message"),
        (
            Diagnostic(codes.WRONG_VALUE, "m", secondary=(Note(Span(Path("a.yaml"), 9, 1, 9, 2), "n"),)),
            "no such place",
        ),
        (Diagnostic(codes.WRONG_VALUE, "m", edits=(Edit(Span(Path("a.yaml"), 9, 1, 9, 2), "x"),)), "no such place"),
    ],
)
def test_a_bad_place_or_message_is_a_failure(
    diagnostic: Diagnostic, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifests").mkdir()
    monkeypatch.chdir(tmp_path / "manifests")
    Path("a.yaml").write_text("a: 1\n")
    check_diagnostics((Diagnostic(codes.WRONG_VALUE, "m", Span(Path("a.yaml"), 1, 4, 1, 5)),), Path())
    with pytest.raises(Failure, match=words):
        check_diagnostics((diagnostic,), Path())


def test_a_refusal_without_a_reason_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no word why"):
        check_diagnostics((), tmp_path)
