"""Diagnostics: the registry of codes, their order, and the text form to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acmegen.diagnostics import (
    CODES,
    Diagnostic,
    DiagnosticError,
    Edit,
    Note,
    Severity,
    Span,
    codes,
    did_you_mean,
    explanation,
    format_text,
    format_texts,
    nearest,
)

PATH = Path("manifests/acme/ops/pointwise.yaml")
PACKAGE = Path(__file__).parents[2] / "acmegen"


def span(line: int, column: int, end_column: int, end_line: int | None = None, path: Path = PATH) -> Span:
    return Span(path, line, column, end_line or line, end_column)


def show(diagnostic: Diagnostic, text: str, colour: bool = False) -> str:
    return format_text(diagnostic, colour, {PATH: text})


# ---- the registry


def constants() -> dict[str, str]:
    return {name: value for name, value in vars(codes).items() if name.isupper() and isinstance(value, str)}


def test_every_code_has_one_name_and_one_explanation() -> None:
    text = (PACKAGE / "diagnostics" / "codes.py").read_text(encoding="utf-8")
    named = constants()
    assert sorted(re.findall(r"^([A-Z_]+) = \"ACME", text, re.MULTILINE)) == sorted(named)
    assert len(set(named.values())) == len(named)
    assert set(named.values()) == CODES
    assert {f"{code}.md" for code in CODES} == {path.name for path in (PACKAGE / "diagnostics/explanations").iterdir()}


@pytest.mark.parametrize("code", sorted(CODES))
def test_explanations_are_a_title_and_paragraphs(code: str) -> None:
    explained = explanation(code)
    assert re.fullmatch(r"ACME\d{3}", code)
    assert not explained.title.endswith(".")
    assert "\n" not in explained.title
    assert all(paragraph.endswith((".", ":")) for paragraph in explained.text.split("\n\n"))
    assert len(explained.text) > 60
    assert bool(explained.wrong) == bool(explained.right)


def test_there_is_no_explanation_of_what_is_no_code() -> None:
    with pytest.raises(KeyError):
        explanation("ACME999")


def test_every_code_in_the_package_is_registered_and_every_registered_one_is_used() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "diagnostics" / "codes.py"
    ]
    literal = {code for text in texts for code in re.findall(r"\"(ACME\d{3})\"", text)}
    named = {name for text in texts for name in re.findall(r"\bcodes\.([A-Z_]+)\b", text)}
    named |= {name for text in texts for name in constants() if re.search(rf"\b{name}\b", text)}
    assert literal <= CODES
    assert named <= constants().keys()
    assert literal | {constants()[name] for name in named} == CODES


# ---- order


def test_an_error_sorts_its_diagnostics_by_place_and_drops_repetitions() -> None:
    later = Diagnostic(codes.UNKNOWN_FIELD, "b", span(10, 1, 2))
    earlier = Diagnostic(codes.WRONG_TYPE, "c", span(9, 5, 6))
    placeless = Diagnostic(codes.FILE_UNREADABLE, "a")
    other = Diagnostic(codes.WRONG_TYPE, "d", span(1, 1, 2, path=Path("manifests/acme/backend.yaml")))
    error = DiagnosticError([later, earlier, placeless, other, later])
    assert error.diagnostics == (placeless, other, earlier, later)
    assert str(error).splitlines()[-1] == "manifests/acme/ops/pointwise.yaml:10:1: error[ACME012]: b"


# ---- text


def test_the_shape_of_a_diagnostic() -> None:
    text = "\n" * 6 + "    dtyeps: [float32]\n"
    diagnostic = Diagnostic(
        codes.UNKNOWN_FIELD, "unknown field `dtyeps`", span(7, 5, 11), label="did you mean `dtypes`?"
    )
    assert show(diagnostic, text) == (
        """\
error[ACME012]: unknown field `dtyeps`
  --> manifests/acme/ops/pointwise.yaml:7:5
   |
 7 |     dtyeps: [float32]
   |     ^^^^^^ did you mean `dtypes`?
   = help: `acmegen explain ACME012`"""
    )


def test_secondary_places_notes_and_help() -> None:
    text = "a: 1\n" * 12
    diagnostic = Diagnostic(
        codes.DUPLICATE_KEY,
        "`a` occurs twice",
        span(12, 1, 2),
        severity=Severity.WARNING,
        secondary=(Note(span(1, 1, 2), "first here"), Note(span(2, 1, 2, path=Path("absent.yaml")), "and here")),
        notes=("the last would win",),
        help="remove one",
    )
    assert show(diagnostic, text) == (
        """\
warning[ACME004]: `a` occurs twice
   --> manifests/acme/ops/pointwise.yaml:12:1
    |
  1 | a: 1
    | - first here
...
 12 | a: 1
    | ^
   ::: absent.yaml:2:1
    = note: and here
    = note: the last would win
    = help: remove one"""
    )


def test_places_in_one_line_share_it() -> None:
    text = "limit: 2, segment: 1, x: 3\nround_to: 5\n"
    others = (Note(span(1, 1, 6), "the limit"), Note(span(2, 1, 9), "the rounding"))
    diagnostic = Diagnostic(codes.CONTRADICTION, "m", span(1, 11, 18), label="too small", secondary=others, help="h")
    assert show(diagnostic, text) == (
        """\
error[ACME025]: m
  --> manifests/acme/ops/pointwise.yaml:1:11
   |
 1 | limit: 2, segment: 1, x: 3
   | ----- the limit
   |           ^^^^^^^ too small
 2 | round_to: 5
   | -------- the rounding
   = help: h"""
    )


def test_without_a_place() -> None:
    diagnostic = Diagnostic(codes.FILE_UNREADABLE, "there is no folder x", help="make one")
    assert format_text(diagnostic) == "error[ACME001]: there is no folder x\n   = help: make one"


def carets(text: str, column: int, end: int, line: int = 1) -> tuple[str, str]:
    shown = show(Diagnostic(codes.WRONG_TYPE, "m", span(line, column, end)), text).splitlines()
    return shown[3][4:], shown[4][4:]


def test_tabs_and_wide_characters_are_aligned() -> None:
    assert carets("\ta: b\n", 5, 6) == ("     a: b", "        ^")
    assert carets("日本: x y\n", 5, 6) == (" 日本: x y", "       ^")
    assert carets("a: 日本\n", 4, 6) == (" a: 日本", "    ^^^^")
    assert carets("a: 🚀 b\n", 6, 7) == (" a: 🚀 b", "       ^")
    assert carets("❤\ufe0f: x\n", 5, 6) == (" ❤\ufe0f: x", "     ^")
    assert carets("e\u0301: x\n", 5, 6) == (" e\u0301: x", "    ^")


def test_the_end_of_a_line_gets_a_caret() -> None:
    assert carets("a:\n", 3, 4) == (" a:", "   ^")
    assert carets("\n", 1, 2) == ("", " ^")


def test_a_span_of_several_lines_is_bracketed() -> None:
    diagnostic = Diagnostic(codes.WRONG_TYPE, "m", span(1, 4, 4, end_line=2), label="here")
    assert show(diagnostic, "a: [1,\n 2]\n").splitlines()[3:6] == [" 1 | / a: [1,", " 2 | |  2]", "   | |___^ here"]


def test_a_span_of_many_lines_is_cut_in_the_middle() -> None:
    text = "".join(f"line{number}:\n" for number in range(1, 21))
    shown = show(Diagnostic(codes.WRONG_TYPE, "m", span(3, 1, 7, end_line=20)), text).splitlines()
    assert shown[3:9] == [
        "  3 | / line3:",
        "  4 | | line4:",
        "  5 | | line5:",
        "    | | …",
        " 20 | | line20:",
        "    | |______^",
    ]


def test_a_span_beyond_the_end_of_a_file_has_no_lines() -> None:
    shown = show(Diagnostic(codes.WRONG_TYPE, "m", span(9, 1, 2), label="here"), "a\n").splitlines()
    assert shown[1:3] == ["  --> manifests/acme/ops/pointwise.yaml:9:1", "   = note: here"]


def test_a_whole_file_has_no_line_number() -> None:
    shown = show(Diagnostic(codes.UNKNOWN_FILE, "m", Span.of_file(PATH), help="h"), "a\n").splitlines()
    assert shown == ["error[ACME027]: m", "  --> manifests/acme/ops/pointwise.yaml", "   = help: h"]


def test_windows_line_ends_and_byte_order_marks_are_not_shown() -> None:
    assert carets("\ufeffa: 1\r\nb: 2\r\n", 1, 2, line=1) == (" a: 1", " ^")


def test_long_lines_are_cut_around_the_place() -> None:
    source, marks = carets("x" * 500 + "!" + "y" * 500, 501, 502)
    assert len(source) < 250
    assert source[marks.index("^")] == "!"
    assert source.endswith("…")


def test_control_characters_reach_no_terminal() -> None:
    shown = show(Diagnostic(codes.NOT_TEXT, "a\x1b[31m\nb", span(1, 4, 5)), "a: \x1b[2Jb\n")
    assert "\x1b" not in shown
    assert shown.splitlines()[0] == "error[ACME002]: a\ufffd[31m b"


def test_colours_on_demand_only_add_escape_sequences() -> None:
    diagnostic = Diagnostic(codes.WRONG_TYPE, "m", span(1, 1, 2), label="l", notes=("n",))
    plain, coloured = show(diagnostic, "a\n"), show(diagnostic, "a\n", colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31merror[ACME011]" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_several_are_counted_and_those_with_a_sure_fix() -> None:
    edits = (Edit(span(1, 1, 2), "b"),)
    plain, fixable = Diagnostic(codes.WRONG_TYPE, "m"), Diagnostic(codes.WRONG_TYPE, "m", edits=edits)
    warning = Diagnostic(codes.WRONG_TYPE, "m", severity=Severity.WARNING)

    def last(*diagnostics: Diagnostic) -> str:
        return format_texts(diagnostics).split("\n\n")[-1]

    assert last(plain) == "error[ACME011]: m\n   = help: `acmegen explain ACME011`"
    assert last(plain, plain, warning) == "2 errors, 1 warning"
    assert last(fixable) == "1 error, which `acmegen check --fix` can put right"
    assert last(fixable, fixable) == "2 errors, all of which `acmegen check --fix` can put right"
    assert last(plain, fixable) == "2 errors, 1 of which `acmegen check --fix` can put right"


# ---- suggestions


def test_suggestions() -> None:
    assert nearest("dtyeps", ["dtypes", "expr", "otherwise"]) == ("dtypes",)
    assert nearest("POLICY", ["policy"]) == ("policy",)
    assert nearest("zzz", ["dtypes"]) == ()
    assert nearest("no", ["norm"]) == () and nearest("ad", ["add"]) == ("add",)
    assert did_you_mean("dtyeps", ["dtypes"]) == "did you mean `dtypes`?"
    assert did_you_mean("zzz", ["dtypes"]) == ""
