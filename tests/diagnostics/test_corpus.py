"""Each case against its golden files, in each form; and that the corpus is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from acmegen.diagnostics import CODES, DOCUMENTS, Diagnostic, explanation, format_document, format_text, text_at
from acmegen.diagnostics.json_document import DIAGNOSTICS_SCHEMA
from acmegen.facts.torch_install import find_torch
from acmegen.pipeline import resolve
from tests.diagnostics.corpus import GOLDENS, MANIFESTS, Case, cases, diagnostics_of, stage

CASES = list(cases())
SARIF_SCHEMA = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
# The forms that have golden files for every case, and the cases that have them in the other two.
EVERYWHERE = ("text", "json")
SELECTED = ("ACME004", "ACME018", "ACME023", "ACME200_no_torch", "ACME441_stale")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def torch_version() -> str:
    return find_torch().public_version


def printed(form: str, diagnostics: tuple[Diagnostic, ...], folder: Path, torch_version: str) -> str:
    """The diagnostics in one form; the versions of torch and of TileOPs are left open."""
    if form == "text":
        text = "\n\n".join(format_text(diagnostic, base=folder) for diagnostic in diagnostics) + "\n"
    else:
        text = format_document(form, diagnostics, folder, "0")
    return re.sub(r"TileOPs \d+(\.\d+)+", "TileOPs VERSION", text.replace(torch_version, "VERSION"))


def golden_files(case: Case) -> Iterator[tuple[str, Path]]:
    for form in ("text", *DOCUMENTS):
        if form in EVERYWHERE or case.name in SELECTED:
            yield form, GOLDENS / f"{case.name}.{'txt' if form == 'text' else form}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(
    case: Case, folder: Path, torch_version: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = diagnostics_of(case, monkeypatch)
    assert {diagnostic.code for diagnostic in found} == set(case.codes)
    check_spans(found, folder)
    check_words(found)
    for form in DOCUMENTS:
        check_document(form, format_document(form, found, folder, "0"), len(found))
    for form, path in golden_files(case):
        text = printed(form, found, folder, torch_version)
        if request.config.getoption("--update-goldens"):
            path.write_text(text, encoding="utf-8")
        else:
            assert text == path.read_text(encoding="utf-8"), f"{path.name}: see --update-goldens"
    if request.config.getoption("--update-goldens"):
        pytest.fail("the golden files were written; look at the difference")


def check_spans(diagnostics: tuple[Diagnostic, ...], folder: Path) -> None:
    """Each place is in its file, and each edit changes something there."""
    assert list(diagnostics) == sorted(diagnostics, key=lambda diagnostic: diagnostic.sort_key)
    for diagnostic in diagnostics:
        spans = [diagnostic.span] if diagnostic.span else []
        for span in [*spans, *(note.span for note in diagnostic.secondary), *(edit.span for edit in diagnostic.edits)]:
            if span.is_file:
                continue
            lines = re.split(r"\r\n|\r|\n", span.path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff"))
            assert (span.line, span.column) < (span.end_line, span.end_column)
            assert 1 <= span.column <= len(lines[span.line - 1]) + 1
            assert span.end_line <= len(lines)
            assert span.end_column <= len(lines[span.end_line - 1]) + 2  # the place behind a line's end is one wide
        for edit in diagnostic.edits:
            text = edit.span.path.read_text(encoding="utf-8")
            assert text_at(text, edit.span) != edit.replacement


def check_words(diagnostics: tuple[Diagnostic, ...]) -> None:
    """The style of all messages: one line without a full stop, in small letters, with the user's text in backquotes."""
    for diagnostic in diagnostics:
        label, remedy = diagnostic.label, diagnostic.help or ""
        for text in (diagnostic.message, label, remedy, *diagnostic.notes, *(n.message for n in diagnostic.secondary)):
            plain = re.sub(r"`[^`]*`", "``", text)
            assert "\n" not in text
            assert not text.endswith((".", "!"))
            assert not re.match(r"[A-Z][a-z]+ ", text) or text.startswith(("TileOPs ", "Python "))
            assert text.count("`") % 2 == 0
            assert not re.search(r"\b(illegal|forbidden|please|oops|invalid)\b", plain, re.IGNORECASE), text
        assert not diagnostic.message.endswith("?")


def check_document(form: str, text: str, count: int) -> None:
    """What programs rely on: schemas, and one command a line."""
    assert text.isascii() or form == "github"
    assert text.endswith("\n")
    if form == "json":
        document: Any = json.loads(text)
        jsonschema.Draft202012Validator(DIAGNOSTICS_SCHEMA).validate(document)
        assert len(document["diagnostics"]) == document["errors"] + document["warnings"] == count
    elif form == "sarif":
        document = json.loads(text)
        jsonschema.Draft4Validator(SARIF_SCHEMA).validate(document)
        assert len(document["runs"][0]["results"]) == count
    else:
        assert len(text.splitlines()) == count
        assert all(re.fullmatch(r"::(error|warning) [^:\r\n]*::[^\r\n]+", line) for line in text.splitlines())


def test_every_code_has_a_case() -> None:
    covered = {code for case in CASES for code in case.codes}
    assert covered == CODES
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_golden_file_has_a_case() -> None:
    assert {path for case in CASES for _, path in golden_files(case)} == set(GOLDENS.iterdir())


@pytest.mark.parametrize("code", sorted(code for code in CODES if explanation(code).right))
def test_what_an_explanation_calls_right_is(code: str) -> None:
    stage(explanation(code).right, MANIFESTS)
    assert resolve(MANIFESTS).differences == ()
