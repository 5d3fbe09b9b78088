"""Three-way merges: the results of `git merge-file`, without git."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from acmegen.output.merge import Merged, marked_lines, merge_texts

BASE = "".join(f"line {number}\n" for number in range(1, 13))


def changed(**lines: str) -> str:
    """`BASE` with other texts for the lines given as `_4="text"`."""
    return "".join(lines.get(f"_{number}", line + "\n") for number, line in enumerate(BASE.splitlines(), start=1))


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        (BASE, BASE, BASE),
        (changed(_2="mine\n"), BASE, changed(_2="mine\n")),
        (BASE, changed(_2="new\n"), changed(_2="new\n")),
        (changed(_2="mine\n"), changed(_9="new\n"), changed(_2="mine\n", _9="new\n")),
        (changed(_2="mine\n"), changed(_4="new\n"), changed(_2="mine\n", _4="new\n")),
        (changed(_2="same\n"), changed(_2="same\n"), changed(_2="same\n")),
        (changed(_2=""), changed(_2=""), changed(_2="")),
        (changed(_2="mine\nmine\n"), changed(_4=""), changed(_2="mine\nmine\n", _4="")),
        ("mine\n" + BASE, BASE + "new\n", "mine\n" + BASE + "new\n"),
        (BASE.removesuffix("\n"), changed(_1="new\n"), changed(_1="new\n").removesuffix("\n")),
        ("", BASE, ""),
        (BASE, "", ""),
        (changed(_2="a form feed\f is no line end\n"), BASE, changed(_2="a form feed\f is no line end\n")),
    ],
)
def test_what_does_not_overlap_is_merged(ours: str, theirs: str, merged: str) -> None:
    assert merge_texts(BASE, ours, theirs) == Merged(merged, 0)


def test_what_overlaps_is_marked() -> None:
    merged = merge_texts(BASE, changed(_2="mine\n", _9="also mine\n"), changed(_2="new\n"))
    marked = "<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> acmegen\n"
    assert merged == Merged(changed(_2=marked, _9="also mine\n"), 1)
    assert marked_lines(merged.text) == (2,)


def test_lines_that_touch_are_a_conflict() -> None:
    assert merge_texts(BASE, changed(_2="mine\n"), changed(_3="new\n")).conflicts == 1


def test_what_both_sides_agree_on_is_not_in_the_conflict() -> None:
    merged = merge_texts("old\n", "both\nmine\n", "both\nnew\n")
    assert merged.text == "both\n<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> acmegen\n"


def test_conflicts_that_hardly_anything_keeps_apart_are_one() -> None:
    assert merge_texts(BASE, changed(_2="mine\n", _6="mine\n"), changed(_2="new\n", _6="new\n")).conflicts == 1
    assert merge_texts(BASE, changed(_2="mine\n", _7="mine\n"), changed(_2="new\n", _7="new\n")).conflicts == 2
    gap = "}\n" * 9
    assert merge_texts(f"a\n{gap}b\n", f"mine\n{gap}mine\n", f"new\n{gap}new\n").conflicts == 1


def test_what_both_sides_changed_alike_keeps_conflicts_no_further_apart() -> None:
    ours, theirs = changed(_2="mine\n", _4="", _8="mine\n"), changed(_2="new\n", _4="", _8="new\n")
    assert merge_texts(BASE, ours, theirs).conflicts == 2
    ours, theirs = changed(_2="mine\n", _4="", _5="", _8="mine\n"), changed(_2="new\n", _4="", _5="", _8="new\n")
    assert merge_texts(BASE, ours, theirs).conflicts == 1


def test_a_last_line_without_an_end_does_not_run_into_a_marker() -> None:
    merged = merge_texts("old", "mine", "new")
    assert merged.text == "<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> acmegen\n"


def test_h11_line_ends_of_windows_are_no_conflict_and_stay() -> None:
    ours = changed(_2="mine\n").replace("\n", "\r\n")
    assert merge_texts(BASE, ours, changed(_9="new\n")).text == changed(_2="mine\n", _9="new\n").replace("\n", "\r\n")
    merged = merge_texts(BASE, ours, changed(_2="new\n"))
    assert "\n" not in merged.text.replace("\r\n", "")
    assert marked_lines(merged.text) == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<<<<<<< yours\n",
        "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> acmegen\n",
        "a title\n=======\n",
        "x <<<<<<< yours\n",
    ],
)
def test_only_whole_conflicts_of_ours_count(text: str) -> None:
    assert marked_lines(text) == ()


# ---- against git


@st.composite
def edited(draw: st.DrawFn, base: Sequence[str], side: str) -> list[str]:
    """`base` after a few edits; new lines are the side's own, or such as the other side may write too."""
    lines = list(base)
    for edit in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(lines)))
        end = min(len(lines), start + draw(st.integers(0, 3)))
        shared = draw(st.booleans())
        count = draw(st.integers(0, 3))
        lines[start:end] = [f"{'both' if shared else side} {edit} {number}\n" for number in range(count)]
    return lines


@st.composite
def three_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    base = [f"line {number}\n" for number in range(draw(st.integers(0, 20)))]
    texts = ["".join(lines) for lines in (base, draw(edited(base, "mine")), draw(edited(base, "new")))]
    return tuple(text.removesuffix("\n" * draw(st.booleans())) for text in texts)  # type: ignore[return-value]


def git_merge(folder: Path, base: str, ours: str, theirs: str) -> tuple[str, int]:
    for name, text in (("base", base), ("yours", ours), ("acmegen", theirs)):
        (folder / name).write_text(text, newline="")
    labels = ["-L", "yours", "-L", "base", "-L", "acmegen"]
    command = ["git", "merge-file", "-p", *labels, "yours", "base", "acmegen"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return result.stdout, result.returncode


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(texts=three_texts())
@example(texts=("a\nb\nc\nd\ne\n", "mine\na\nb\nc\ne\nmore\n", "b\nc\ne\nnew\n"))
def test_results_are_those_of_git(tmp_path: Path, texts: tuple[str, str, str]) -> None:
    """Texts whose lines occur once, in one order: where lines repeat or move, a diff has a choice."""
    _, ours, theirs = (text.splitlines() for text in texts)
    assume([line for line in ours if line in theirs] == [line for line in theirs if line in ours])
    merged = merge_texts(*texts)
    assert (merged.text, merged.conflicts) == git_merge(tmp_path, *texts)


REPETITIVE = st.lists(st.sampled_from(["a\n", "b\n", "}\n", "\n", "x = 1;\n"]), max_size=15).map("".join)


@given(base=REPETITIVE, ours=REPETITIVE, theirs=REPETITIVE)
def test_one_side_alone_or_both_alike_never_conflict(base: str, ours: str, theirs: str) -> None:
    assert merge_texts(base, ours, base) == Merged(ours, 0)
    assert merge_texts(base, base, theirs) == Merged(theirs, 0)
    assert merge_texts(base, ours, ours) == Merged(ours, 0)


@given(data=st.data(), base=st.lists(st.sampled_from(["a\n", "b\n", "}\n", "\n"]), max_size=12), theirs=REPETITIVE)
def test_no_line_that_the_user_wrote_is_lost(data: st.DataObject, base: list[str], theirs: str) -> None:
    ours = "".join(data.draw(edited(base, "mine")))
    merged = merge_texts("".join(base), ours, theirs).text.splitlines()
    assert [line for line in merged if "mine" in line] == [line for line in ours.splitlines() if "mine" in line]
