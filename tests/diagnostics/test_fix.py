"""`check --fix`: the suggested edits, made in the text, with all else of it left alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from acmegen.data import data_folder
from acmegen.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Edit,
    Span,
    apply_edits,
    codes,
    compatible_edits,
    explanation,
    sure_fix,
    text_at,
)
from acmegen.manifest.edits import removed, replaced
from acmegen.manifest.source import parse_source
from acmegen.output.fix import Fix, make_edits, read_manifests
from acmegen.pipeline import fix_manifests
from tests.diagnostics.corpus import BACKEND, stage

PATH = Path("ops.yaml")


def fixed(tmp_path: Path, **files: str | bytes) -> tuple[list[Fix], Callable[[str], bytes]]:
    """What `--fix` does to manifests: the keywords are file names without `.yaml`, with `__` for a slash."""
    for name, content in {"backend": BACKEND, **files}.items():
        path = tmp_path / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    fixes = list(fix_manifests(tmp_path))
    return fixes, lambda name: (tmp_path / name).read_bytes()


# ---- what is sure


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("dtyeps", ["dtypes", "expr"], "dtypes"),
        ("Policy", ["policy", "police"], "policy"),
        ("add.Tensr", ["add.Tensor", "add.Scalar"], "add.Tensor"),
        ("ad.Tensor", ["add.Tensor", "and.Tensor"], None),
        ("conv2d", ["conv1d", "conv3d"], None),
        ("calloc", ["malloc"], None),
        ("float23", ["float32", "float16"], None),
        ("lmit", ["limit"], "limit"),
        ("expresion", ["expression", "expr"], "expression"),
        ("ab", ["abs"], None),
        ("completely", ["different"], None),
        ("x", [], None),
        ("a" * 1000, ["a" * 1001], None),
    ],
)
def test_only_what_is_no_doubt_a_slip_is_sure(name: str, candidates: list[str], expected: str | None) -> None:
    assert sure_fix(name, candidates) == expected


# ---- texts


def edit(line: int, column: int, end_column: int, text: str, path: Path = PATH) -> Edit:
    return Edit(Span(path, line, column, line, end_column), text)


def test_edits_are_made_at_their_places_whatever_the_line_ends() -> None:
    text = "a: 1\r\nb: 22\rc: 日本\n"
    edits = [edit(1, 4, 5, "one"), edit(3, 4, 6, "x"), edit(2, 1, 2, "B")]
    assert apply_edits(text, edits) == "a: one\r\nB: 22\rc: x\n"
    assert text_at(text, edits[1].span) == "日本"


def test_of_overlapping_edits_the_first_wins_and_those_of_one_diagnostic_go_together() -> None:
    first = Diagnostic(codes.WRONG_VALUE, "a", edits=(edit(1, 1, 5, "x"),))
    second = Diagnostic(codes.WRONG_VALUE, "b", edits=(edit(1, 4, 8, "y"), edit(2, 1, 2, "y")))
    third = Diagnostic(codes.WRONG_VALUE, "c", edits=(edit(2, 1, 2, "z"), edit(1, 1, 5, "z", Path("other.yaml"))))
    assert compatible_edits([first, second, third]) == (*first.edits, *third.edits)


@pytest.mark.parametrize(
    ("text", "path", "key", "new", "expected"),
    [
        ("a: half\n", ("a",), False, "float16", "a: float16\n"),
        ("a: 'half' # c\n", ("a",), False, "float16", "a: 'float16' # c\n"),
        ('"half": 1\n', ("half",), True, "float16", '"float16": 1\n'),
        ("a: [x, half]\n", ("a", 1), False, "float16", "a: [x, float16]\n"),
        ("a: half\n", ("a",), False, "true", None),  # plain, it would be no text
        ("a: half\n", ("a",), False, "a: b", None),
        ("a: &b half\n", ("a",), False, "float16", None),
        ("a: !!str half\n", ("a",), False, "float16", None),
        ('a: "h\\x61lf"\n', ("a",), False, "float16", None),
        ("a: >\n  half\n", ("a",), False, "float16", None),
        ("a: 1\nb: 2\n", ("a",), True, "b", None),  # two of one name
        ("a: 1\n", ("a",), False, "2", None),
        ("a: 1\n", ("b",), False, "2", None),
    ],
)
def test_values_and_keys_are_replaced_where_they_are_written_plainly(
    text: str, path: tuple[str | int, ...], key: bool, new: str, expected: str | None
) -> None:
    edits = replaced(parse_source(PATH, text.encode()), path, new, key)
    assert (apply_edits(text, edits) if edits else None) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nb: 2\na: 1\nc: 3\n", "a: 1\nb: 2\nc: 3\n"),
        ("a: 1\r\na: 1\r\n", "a: 1\r\n"),
        ("a:\na:\nb: 1\n", "a:\nb: 1\n"),
        ("x: {a: 1, b: 2, a: 1}\n", "x: {a: 1, b: 2}\n"),
        ("x:\n- a: 1\n  a: 1\n- b: 2\n", "x:\n- a: 1\n- b: 2\n"),
        ("a: 1\na: 2\n", None),  # which one?
        ("a: 1\na: true\n", None),
        (f"a: {'9' * 500}\na: {'8' * 500}\n", None),
        ("a: [1]\na: [1]\n", None),
        ("a: 1\na: 1 # why\n", None),
        ("a: 1\na: &b 1\nc: *b\n", None),
        ("a: 1\na: 1", None),
    ],
)
def test_g2_a_key_that_stands_twice_with_one_value_is_removed(before: str, after: str | None) -> None:
    diagnostics = parse_source(PATH, before.encode()).diagnostics
    (found,) = (diagnostic for diagnostic in diagnostics if diagnostic.code == codes.DUPLICATE_KEY)
    assert (apply_edits(before, found.edits) if found.edits else None) == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a: [x, y, x]\n", ("a", 2), "a: [x, y]\n"),
        ("a: [x,x , y]\n", ("a", 1), "a: [x , y]\n"),
        ("a: [x, y]\n", ("a", 0), "a: [y]\n"),
        ("a:\n  - x\n  - x\nb: 1\n", ("a", 1), "a:\n  - x\nb: 1\n"),
        ("a: [\n  x,\n  x\n]\n", ("a", 1), "a: [\n  x,\n]\n"),
        ("a:\n  - x\n  - x # why\n", ("a", 1), None),
        ("a: [x]\n", ("a", 0), None),
        ("a: x\n", ("a",), None),
    ],
)
def test_an_item_is_removed_where_nothing_else_is_touched(
    before: str, path: tuple[str | int, ...], after: str | None
) -> None:
    edits = removed(parse_source(PATH, before.encode()), path)
    assert (apply_edits(before, edits) if edits else None) == after


# ---- files


def test_g8_comments_layout_quotes_line_ends_and_the_byte_order_mark_stay(tmp_path: Path) -> None:
    wrong = (
        "\ufeff# Ops.\r\nmanifest: ops/v1\r\n\r\nops:\r\n"
        "  'add.Tensr':   # the sum\r\n"
        '    "expr":  "self + alpha * other"\r\n'
        "    dtyeps: [ half,float32 ]  # fast\r\n"
        "  nonzero: refernce\r\n"
    )
    right = wrong.replace("Tensr", "Tensor").replace("dtyeps", "dtypes").replace("half", "float16")
    right = right.replace("refernce", "reference")
    fixes, read = fixed(tmp_path, ops__ops=wrong)
    assert read("ops/ops.yaml") == right.encode()
    # What is below a misspelt field shows once the field is right.
    assert [fix.before for fix in fixes] == ["'add.Tensr'", "dtyeps", "refernce", "half"]


@pytest.mark.parametrize(
    "code",
    ["ACME012", "ACME013", "ACME018", "ACME022", "ACME024", "ACME100", "ACME103", "ACME303"],
)
def test_examples_that_are_slips_become_right(code: str, tmp_path: Path) -> None:
    stage(explanation(code).wrong, tmp_path / "fixed")
    stage(explanation(code).right, tmp_path / "right")
    assert list(fix_manifests(tmp_path / "fixed"))
    assert list(read_manifests(tmp_path / "fixed").values()) == list(read_manifests(tmp_path / "right").values())


def test_swapped_letters_in_the_flagship_are_put_right(tmp_path: Path) -> None:
    flagship = data_folder("manifests") / "acme"
    random = Random(7)
    restored = 0
    for number in range(16):
        folder = tmp_path / str(number)
        shutil.copytree(flagship, folder)
        path = folder / random.choice(("backend.yaml", "allocator.yaml", "tileops.yaml", "ops/library.yaml"))
        right = path.read_text()
        word = random.choice(list(re.finditer(r"\b[a-zA-Z_]{4,}(?=:)", right)))
        at = random.randrange(word.start() + 1, word.end() - 1)
        path.write_text(right[:at] + right[at + 1] + right[at] + right[at + 2 :])
        if list(fix_manifests(folder)):
            assert path.read_text() == right
            restored += 1
    assert restored >= 12


def test_a_rename_to_a_name_that_is_there_is_not_made(tmp_path: Path) -> None:
    text = "manifest: ops/v1\nops:\n  nonzero: reference\n  nonzro: fallback\n"
    fixes, read = fixed(tmp_path, ops__ops=text)
    assert fixes == []
    assert read("ops/ops.yaml") == text.encode()


def test_what_is_right_or_has_no_sure_fix_is_not_touched(tmp_path: Path) -> None:
    text = "manifest: ops/v1\nops:\n  nonzero: {reference: {}, fallback: {}}\n"
    assert fixed(tmp_path, ops__ops=text)[0] == []
    before = (tmp_path / "ops" / "ops.yaml").stat()
    assert list(fix_manifests(tmp_path)) == []
    assert (tmp_path / "ops" / "ops.yaml").read_text() == text
    after = (tmp_path / "ops" / "ops.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_permissions_stay_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "backend.yaml"
    path.write_text("manifest: backend/v1\nname: nova\nfallback: {polcy: cpu}\n")
    path.chmod(0o640)
    assert len(list(fix_manifests(tmp_path))) == 1
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["backend.yaml"]


def test_a_file_that_changed_meanwhile_is_refused_and_no_other_is_written(tmp_path: Path) -> None:
    first, second = tmp_path / "allocator.yaml", tmp_path / "backend.yaml"
    first.write_text("manifest: allocator/v1\n")
    second.write_text("manifest: backend/v1\n")
    before = read_manifests(tmp_path)
    second.write_text("manifest: backend/v1 # saved by an editor\n")
    found = Diagnostic(codes.WRONG_VALUE, "m", edits=tuple(edit(1, 1, 9, "x", path) for path in (first, second)))
    with pytest.raises(DiagnosticError) as raised:
        make_edits([found], before)
    assert [(each.code, each.span) for each in raised.value.diagnostics] == [
        (codes.MANIFEST_CHANGED, Span.of_file(second))
    ]
    assert first.read_text() == "manifest: allocator/v1\n"


def test_presets_are_never_edited(tmp_path: Path) -> None:
    core = data_folder("manifests") / "presets" / "core.yaml"
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "core.yaml").symlink_to(core)
    (tmp_path / "backend.yaml").write_text(BACKEND)
    assert list(read_manifests(tmp_path)) == [tmp_path / "backend.yaml"]
    assert read_manifests(core.parent) == {}
    text = core.read_bytes()
    assert make_edits([Diagnostic(codes.WRONG_VALUE, "m", edits=(edit(1, 1, 2, "x", core),))], {}) == ()
    assert core.read_bytes() == text
