"""YAML text -> data and places."""

from __future__ import annotations

import hashlib
import math
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes
from acmegen.manifest import source as source_module
from acmegen.manifest.source import MAX_BYTES, Source, load_source, parse_source
from acmegen.manifest.values import MAX_MISTAKES, resolve_scalar
from tests.unit.manifests import covered, diagnostics_of

PATH = Path("some/manifest.yaml")


def parse(text: str | bytes) -> Source:
    return parse_source(PATH, text if isinstance(text, bytes) else text.encode())


def errors(text: str | bytes) -> tuple[Diagnostic, ...]:
    """What is wrong with `text`, whether reading could go on after it or not."""
    try:
        return parse(text).diagnostics
    except DiagnosticError as error:
        return error.diagnostics


def error(text: str | bytes) -> Diagnostic:
    (only,) = errors(text)
    return only


@pytest.fixture(params=["c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers: the C one, and the one that is there when PyYAML was built without libyaml."""
    if request.param == "python":
        loader = type("_Loader", (yaml.SafeLoader,), {"resolve": source_module._Loader.resolve, "nodes": 0})
        monkeypatch.setattr(source_module, "_Loader", loader)


@pytest.mark.parametrize(
    "word", ["no", "on", "off", "yes", "y", "n", "No", "ON", "12:30", "1_000", "2001-01-01", "=", "<"]
)
def test_g1_words_that_yaml_1_1_converts_are_text(word: str, parser: None) -> None:
    assert parse(f"{word}: {word}").data == {word: word}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("010", 10),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e-5", 1e-5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5E+3", -1500.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("0o8", "0o8"),
        ("-0x1", "-0x1"),
        ("1e", "1e"),
        (".", "."),
        ("tRUE", "tRUE"),
        ("inf", "inf"),
    ],
)
def test_g3_scalars_follow_the_core_schema(text: str, value: object) -> None:
    result = resolve_scalar(text)
    assert result == value
    assert type(result) is type(value)


def test_nan_is_a_number() -> None:
    result = resolve_scalar(".NaN")
    assert isinstance(result, float)
    assert math.isnan(result)


def test_quotes_make_text(parser: None) -> None:
    assert parse("a: '1'\nb: \"true\"\nc: |\n  5\n").data == {"a": "1", "b": "true", "c": "5\n"}


def test_sequences_are_tuples(parser: None) -> None:
    assert parse("a: [1, [x]]\nb:\n- y\n").data == {"a": (1, ("x",)), "b": ("y",)}


def test_g2_a_duplicate_key_shows_both_places(parser: None) -> None:
    text = "ops:\n  relu: user\n  gelu: user\n  'relu': reference\n"
    found = error(text)
    assert found.code == codes.DUPLICATE_KEY
    assert found.span is not None
    assert (found.span.line, found.span.column) == (4, 3)
    assert [(note.span.line, note.span.column) for note in found.secondary] == [(2, 3)]


def test_all_duplicates_are_reported() -> None:
    assert len(errors("a: 1\na: 2\na: 3\nb: {c: 1, c: 2}\n")) == 3


def test_of_equal_keys_the_first_counts(parser: None) -> None:
    source = parse("a: {b: 1}\na: 2\n1: x\n'1': y\n")
    assert source.data == {"a": {"b": 1}, "1": "y"}
    assert source.span(("a",)).line == 1
    assert source.span(("a", "b")).column == 8
    assert source.span(("1",), key=True).line == 4


def test_g5_an_alias_bomb_ends_fast_with_a_limit(parser: None) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join(['*' + before] * 9)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    start = time.process_time()
    found = error("\n".join(lines))
    assert time.process_time() - start < 1
    assert found.code == codes.YAML_LIMIT
    assert found.span is not None


def test_aliases_within_the_limit_work(parser: None) -> None:
    assert parse("a: &x [1]\nb: *x\n").data == {"a": (1,), "b": (1,)}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("ops: &a\n  cosh: *a\n", "&a"),
        ("ops: &a\n  cosh:\n    expr: *a\n", "&a"),
        ("ops: &a\n- 1\n- *a\n", "&"),
        ("ops: &a\n- *a\n", "&"),
        ("&a\nops: *a\n", "&a"),
    ],
)
def test_an_alias_in_block_style_may_contain_itself_too(text: str, place: str, parser: None) -> None:
    found = error(text)
    assert (found.code, covered(found.span, text)) == (codes.YAML_LIMIT, place)


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ("a: &a 1\nb:\n  c: *a\n", ("b",), "c"),
        ("a: &a 1\nb:\n- *a\n", ("b",), "-"),
        ("a: &a x\nb:\n  *a : *a\n", ("b",), "*"),
    ],
)
def test_a_collection_ends_behind_its_start_though_an_alias_ends_it(
    text: str, path: tuple[str], place: str, parser: None
) -> None:
    assert covered(parse(text).span(path), text) == place


def test_what_grows_without_end_is_said_once(parser: None) -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    text = "a: &a [1]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise(names)
    )
    assert (error(text).code, error(text).span.line) == (codes.YAML_LIMIT, 6)  # type: ignore[union-attr]


def test_an_alias_that_contains_itself_is_refused(parser: None) -> None:
    assert error("a: &x [*x]").code == codes.YAML_LIMIT


@pytest.mark.parametrize("text", ["a: " + "[" * 500 + "]" * 500, "a: " + "[" * 100_000, "- " * 5_000])
def test_deep_nesting_is_refused(text: str) -> None:
    assert error(text).code == codes.YAML_LIMIT


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['x']",
        "!!python/name:os.system",
        "!!binary aGk=",
        "!!set {a}",
        "!mine 5",
        "!!int x",
    ],
)
def test_g6_tags_are_refused(value: str, parser: None) -> None:
    found = error(f"a: 1\nb: {value}\n")
    assert found.code == codes.YAML_TAG
    assert found.span is not None
    assert found.span.line == 2


def test_standard_tags_on_fitting_values_are_fine(parser: None) -> None:
    assert parse("a: !!str 5\nb: !!int 5\nc: !!seq [x]\n").data == {"a": "5", "b": 5, "c": ("x",)}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the file is empty"),
        ("# only a comment\n", 1, "the file is empty"),
        ("- a\n- b\n", 1, "a manifest is a mapping, and this is a list"),
        ("text\n", 1, "a manifest is a mapping, and this is a single value"),
        ("a: 1\n---\nb: 2\n", 2, "a manifest is one document, and a second one starts here"),
    ],
)
def test_g17_not_one_mapping_is_a_one_line_message(text: str, line: int, message: str, parser: None) -> None:
    found = error(text)
    assert (found.code, found.message) == (codes.NOT_ONE_MAPPING, message)
    assert found.span is not None
    assert found.span.line == line


@pytest.mark.parametrize("key", ["true", "null", "5", "1.5", "[a]", "{a: b}", "~"])
def test_keys_are_text(key: str) -> None:
    found = error(f"a: 1\n? {key}\n: 2\n")
    assert found.code == codes.KEY_NOT_TEXT
    assert found.span is not None
    assert (found.span.line, found.span.column) == (2, 3)


def test_merge_keys_are_refused() -> None:
    text = "a: &a {x: 1, y: 2}\nb:\n  x: 3\n  <<: *a\n"
    assert error(text).code == codes.KEY_NOT_TEXT
    source = parse(text)
    assert source.data["b"] == {"x": 3, "y": 2}  # what was meant, so that nothing looks left out
    assert (source.span(("b", "x")).line, source.span(("b", "y")).line) == (3, 1)
    assert not source.doubtful


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a: {{b}: 1}\n", ["{{b}: 1}"]),
        ("a: {<<: [x]}\n", ["{<<: [x]}"]),
        ("a: !!binary aGk=\n", ["!!binary aGk="]),
        (f"a: {'9' * 500}\n", ["9" * 500]),
        ("a: {b: 1}\na: {c: 1}\n", ["{b: 1}"]),
        ("a: 1\na: 2\n", []),
    ],
)
def test_places_where_the_data_may_not_be_what_was_meant(text: str, places: list[str]) -> None:
    source = parse(text)
    assert [covered(span, text) for span in source.doubtful] == places
    assert source.diagnostics


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"a: 1\nb: \xff\n", 2, 4), (b"a: x\x00\n", 1, 5), (b"a: \x1b[0m\n", 1, 4), ("a: é\u2028b\n".encode(), 1, 5)],
)
def test_what_is_not_text_is_refused_at_its_place(data: bytes, line: int, column: int) -> None:
    found = error(data)
    assert found.code == codes.NOT_TEXT
    assert found.span is not None
    assert (found.span.line, found.span.column) == (line, column)


def test_a_tab_that_indents_is_named(parser: None) -> None:
    found = error("a:\n\tb: 1\n")
    assert (found.code, found.message) == (codes.YAML_SYNTAX, "a tab cannot indent YAML")


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "a: 'x\n", "*foo", "%", "a: 1\n b: 2\n", "{", 'a: "\\q"'])
def test_syntax_errors_have_a_place(text: str, parser: None) -> None:
    found = error(text)
    assert found.code == codes.YAML_SYNTAX
    assert found.span is not None


def test_byte_order_mark_and_windows_line_ends_are_fine(parser: None) -> None:
    loaded = parse("\ufeffa: 1\r\nb: x\r\n".encode())
    assert loaded.data == {"a": 1, "b": "x"}
    assert (loaded.span(("b",)).line, loaded.span(("b",)).column) == (2, 4)


def test_a_number_that_is_too_long_is_refused() -> None:
    assert error("a: " + "9" * 10_000).code == codes.WRONG_VALUE


@pytest.mark.parametrize("number", ["9" * 500, "-" + "9" * 500, "0x" + "f" * 1_000_000, "0o" + "7" * 500])
def test_numbers_that_no_field_takes_are_refused(number: str) -> None:
    found = error(f"a: {number}\n")
    assert (found.code, found.message) == (codes.WRONG_VALUE, "the number is too long")


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "[",
            "{",
            "- ",
            "? ",
            "- - - \n",
            "a: 1\n",
            "- a\n",
            "? a\n",
            "[],",
            "&a ",
            "!x ",
            "'",
            '"',
            "|",
            "\n",
            "--- \n",
        ),
        *("*a ", "- &a b\n- *a\n", "[a,", "{a: ", "key: [", '"\\x41"', '"a\\\n', "> \n", ": ", "#"),
    ],
)
def test_a_file_of_4_mb_of_anything_gets_a_message_soon(unit: str) -> None:
    text = unit * (MAX_BYTES // len(unit.encode()))
    start = time.process_time()
    found = errors(text)
    assert time.process_time() - start < 2  # half a second
    assert 1 <= len(found) <= MAX_MISTAKES + 1
    assert all(diagnostic.span is not None for diagnostic in found)


def test_values_are_counted_while_the_file_is_read(parser: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_VALUES", 50)
    assert parse("a: [" + "1, " * 46 + "1]").data["a"] == (1,) * 47
    found = error("a: [" + "1, " * 60 + "1]")
    assert (found.code, found.message) == (codes.YAML_LIMIT, "more than 50 values")


def test_mistakes_beyond_a_hundred_are_counted_and_not_shown() -> None:
    found = errors("a: 1\n" * 200)
    assert len(found) == MAX_MISTAKES + 1
    assert found[-1].message == "more than 100 mistakes; the rest is not shown"


def test_deep_nesting_without_the_c_parser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = type("_Loader", (yaml.SafeLoader,), {"resolve": source_module._Loader.resolve, "nodes": 0})
    monkeypatch.setattr(source_module, "_Loader", loader)
    assert error("- " * 5_000).code == codes.YAML_LIMIT


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_named_where_they_name_themselves(encoding: str) -> None:
    found = error("a: 1\n".encode(encoding))
    assert found.code == codes.NOT_TEXT
    if encoding in ("utf-16", "utf-32"):
        assert found.message == f"the file is {encoding.upper()}; manifests are UTF-8"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("%YAML 1.2\n---\na: no\n", {"a": "no"}),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", {"a": 1}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("a: 1\rb: 2\r", {"a": 1, "b": 2}),
        ("a: 'c\td'\n", {"a": "c\td"}),
        ("a: 'x\n\n  y'\n", {"a": "x\ny"}),
        ("'a b': 1\n? c\n: 2\n", {"a b": 1, "c": 2}),
        ("a: \U0001f600\n", {"a": "\U0001f600"}),
        ('a: "\\U0001F600 \\x00"\n', {"a": "\U0001f600 \x00"}),
    ],
)
def test_yaml_that_is_unusual_and_fine(text: str, data: dict[str, object], parser: None) -> None:
    assert parse(text).data == data


@pytest.mark.parametrize("text", ["%YAML 2.0\n---\na: 1\n", "%YAML 1.2\na: 1\n", "a: 1\n... x\n", "a: @x", "a: `x`"])
def test_directives_and_markers_that_are_wrong(text: str, parser: None) -> None:
    assert error(text).code == codes.YAML_SYNTAX


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "loop", tmp_path / "dangling", Path("/dev/zero")):
        start = time.process_time()
        (found,) = diagnostics_of(lambda path=path: load_source(path))  # type: ignore[misc]
        assert time.process_time() - start < 1
        assert found.code == codes.FILE_UNREADABLE
        assert found.span is not None and found.span.path == path


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"# " + b"x" * (10 * 1024 * 1024))
    (found,) = diagnostics_of(lambda: load_source(path))
    assert found.code == codes.FILE_UNREADABLE


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_missing_file_and_a_folder_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    (found,) = diagnostics_of(lambda: load_source(path))
    assert found.code == codes.FILE_UNREADABLE
    assert found.span == Span.of_file(path)


SPANS = """\
name: nova   # a comment
ops:
  add.Tensor:
    expr: "a + b"
    dtypes: [float32, "int64"]
  empty:

  flow: {x: 1,
    y: 2}
  text: |
    two
    lines
last: é x
"""


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        (("name",), False, "nova"),
        (("name",), True, "name"),
        (("ops", "add.Tensor"), True, "add.Tensor"),
        (("ops", "add.Tensor", "expr"), False, '"a + b"'),
        (("ops", "add.Tensor", "dtypes", 1), False, '"int64"'),
        (("ops", "add.Tensor", "dtypes"), False, '[float32, "int64"]'),
        (("ops", "empty"), False, "empty"),
        (("last",), False, "é x"),
    ],
)
def test_spans_cover_what_they_name(path: tuple[str | int, ...], key: bool, expected: str, parser: None) -> None:
    assert covered(parse(SPANS).span(path, key), SPANS) == expected


def test_a_block_mapping_ends_with_its_last_value() -> None:
    span = parse(SPANS).span(("ops", "add.Tensor"))
    assert (span.line, span.column, span.end_line, span.end_column) == (4, 5, 5, 31)


def test_a_path_to_nothing_is_a_key_error() -> None:
    for path in (("absent",), ("name", "x"), ("ops", 0), ("ops", "add.Tensor", "dtypes", 2)):
        with pytest.raises(KeyError):
            parse(SPANS).span(path)


STYLES = r"""
plain: x + bad
folded plain: x +
  bad
  + y
single: 'x + ''it'' + bad'
double: "x\t+ \x62ad \u0062ad \"q\" bad"
joined: "x \
  + bad"
anchored: &a !!str "x + bad"
literal: |
  x
    + bad
folded: >-
  x
  + bad

  + y
indented: |2
    x + bad
chomped: >+
  x + bad

wide: "日本 + bad"
last: bad
"""


@pytest.mark.parametrize(
    "name",
    [
        *("plain", "folded plain", "single", "joined", "anchored", "literal", "folded", "indented", "chomped"),
        *("wide", "last"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_slices_point_into_text_in_every_style(name: str, ends: str, parser: None) -> None:
    text = STYLES.replace("\n", ends)
    loaded = parse(text)
    value = loaded.data[name]
    start = value.rindex("bad") if name == "single" else value.index("bad")
    span = loaded.slice((name,), start, start + 3)
    assert covered(span, text) == "bad"
    key = loaded.slice((name,), 0, 3, key=True)
    assert covered(key, text) == name[:3]


def test_slices_of_escapes_cover_the_escape(parser: None) -> None:
    loaded = parse(STYLES)
    value = loaded.data["double"]
    assert value == 'x\t+ bad bad "q" bad'
    shown = [covered(loaded.slice(("double",), at, at + 1), STYLES) for at in range(len(value))]
    # Each starts at the character or at its escape.
    assert [text[0] for text in shown] == list("x\\+ \\ad \\ad \\q\\ bad")


def test_a_slice_over_several_lines_ends_where_its_text_ends() -> None:
    loaded = parse(STYLES)
    value = loaded.data["folded"]
    span = loaded.slice(("folded",), 0, len(value))
    lines = STYLES.split("\n")
    assert (lines[span.line - 1][span.column - 1], lines[span.end_line - 1][: span.end_column - 1]) == ("x", "  + y")
    assert loaded.slice(("plain",), 99, 120).end_column == len("plain: x + bad") + 1
    assert parse("a: ''").slice(("a",), 0, 1) == parse("a: ''").span(("a",))


def test_the_digest_is_of_the_bytes() -> None:
    assert parse("a: 1\n").digest == hashlib.sha256(b"a: 1\n").hexdigest()
    assert parse("a: 1\n").digest != parse("a: 1\r\n").digest


@pytest.mark.parametrize(
    ("text", "line", "place", "words"),
    [
        ("ops:\n  sin: user\n  cosh:reference\n", 3, ":", "a space is missing after `:`"),
        ("ops:\n  cosh:reference\n\n  acosh: user\n", 2, ":", "a space is missing after `:`"),
        ("manifest:ops/v1\nops:\n", 1, ":", "a space is missing after `:`"),
        ("ops:\n  acosh: user: {}\n", 2, ":", "has a key and a value already"),
        ('ops:\n  acosh: say "x: y"\n', 2, ":", "has a key and a value already"),
        ("ops:\n  a: user\n    b: user\n", 3, ":", "a key cannot stand here"),
    ],
)
def test_a_key_where_none_can_stand(text: str, line: int, place: str, words: str, parser: None) -> None:
    found = error(text)
    assert found.span is not None
    assert (found.code, found.span.line, covered(found.span, text)) == (codes.YAML_SYNTAX, line, place)
    assert words in found.message
    assert [edit.replacement for edit in found.edits] == [": "] * ("space" in words)
