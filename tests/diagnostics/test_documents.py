"""The forms for programs, in what the corpus does not reach: escapes, paths, and places of every sort."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acmegen.diagnostics import Diagnostic, Edit, Note, Severity, Span, codes, format_document, shown_path

BASE = Path("/home/user/project")
FILE = Path("manifests/ops/a b,c:d.yaml")


def github(*diagnostics: Diagnostic) -> str:
    return format_document("github", diagnostics, BASE, "1")


def document(form: str, *diagnostics: Diagnostic) -> Any:
    return json.loads(format_document(form, diagnostics, BASE, "1"))


def test_paths_are_relative_to_the_working_directory() -> None:
    assert shown_path(Path("./manifests/../m/a.yaml"), BASE) == "m/a.yaml"
    assert shown_path(BASE / "m" / "a.yaml", BASE) == "m/a.yaml"
    assert shown_path(Path("/usr/lib/core.yaml"), BASE) == "/usr/lib/core.yaml"
    assert shown_path(Path("../other/a.yaml"), BASE) == "../other/a.yaml"


def test_github_escapes_what_would_end_a_property_or_a_command() -> None:
    found = Diagnostic(codes.WRONG_VALUE, "50% of\r\nlines", Span(FILE, 3, 5, 3, 9), help="a, b: c")
    assert github(found) == (
        "::error file=manifests/ops/a b%2Cc%3Ad.yaml,line=3,endLine=3,col=5,endColumn=8,"
        "title=ACME013%3A a value is not allowed::50%25 of%0D%0Alines%0Ahelp: a, b: c\n"
    )


def test_github_without_a_place_or_with_a_long_one() -> None:
    assert github(Diagnostic(codes.TORCH_MISSING, "m", help="h")) == (
        "::error title=ACME200%3A torch is not installed::m%0Ahelp: h\n"
    )
    long = Diagnostic(codes.WRONG_TYPE, "m", Span(FILE, 3, 5, 4, 2), severity=Severity.WARNING)
    assert github(long).startswith("::warning file=manifests/ops/a b%2Cc%3Ad.yaml,line=3,endLine=4,title=")


def test_github_names_other_places_in_the_text() -> None:
    note = Note(Span(Path("b.yaml"), 7, 1, 7, 2), "first here")
    found = Diagnostic(codes.DUPLICATE_KEY, "m", Span.of_file(FILE), label="l", secondary=(note,), notes=("n",))
    assert github(found).endswith("::m; l%0Ab.yaml:7:1: first here%0Anote: n%0Ahelp: `acmegen explain ACME004`\n")


def test_a_file_name_that_is_no_text_is_printed_in_every_form() -> None:
    found = Diagnostic(codes.WRONG_VALUE, "m", Span(Path("m/\udcff.yaml"), 1, 1, 1, 2))
    assert document("json", found)["diagnostics"][0]["span"]["file"] == "m/\udcff.yaml"
    location = document("sarif", found)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "m/%FF.yaml"
    assert "file=m/\udcff.yaml" in github(found)


def test_nothing_wrong_is_a_document_too() -> None:
    assert github() == ""
    assert document("json") == {"version": 1, "acmegen": "1", "errors": 0, "warnings": 0, "diagnostics": []}
    (run,) = document("sarif")["runs"]
    assert run["results"] == []


def test_the_example_in_the_documentation_is_what_is_printed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    shown = json.loads(text.partition("```json\n")[2].partition("```")[0])
    span = Span(Path("manifests/ops/pointwise.yaml"), 7, 5, 7, 11)
    found = Diagnostic(
        codes.UNKNOWN_FIELD,
        "unknown field `dtyeps`",
        span,
        label="did you mean `dtypes`?",
        edits=(Edit(span, "dtypes"),),
    )
    assert {**document("json", found), "acmegen": shown["acmegen"]} == shown


def test_json_counts_by_severity() -> None:
    warning = Diagnostic(codes.WRONG_VALUE, "m", severity=Severity.WARNING)
    shown = document("json", warning, Diagnostic(codes.WRONG_VALUE, "n"))
    assert (shown["errors"], shown["warnings"]) == (1, 1)


def test_sarif_has_uris_rules_related_places_and_fixes() -> None:
    span = Span(FILE, 3, 5, 3, 9)
    preset = Note(Span(Path("/usr/lib/ä.yaml"), 1, 1, 1, 3), "here")
    found = Diagnostic(codes.WRONG_VALUE, "m", span, secondary=(preset,), edits=(Edit(span, "right"),))
    (run,) = document("sarif", found, Diagnostic(codes.BAD_NAME, "n"))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [codes.WRONG_VALUE, codes.BAD_NAME]
    first, second = run["results"]
    assert (first["ruleIndex"], second["ruleIndex"]) == (0, 1)
    assert "locations" not in second
    region = {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9}
    artifact = {"uri": "manifests/ops/a%20b%2Cc%3Ad.yaml", "uriBaseId": "%SRCROOT%"}
    assert first["locations"] == [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
    assert first["relatedLocations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///usr/lib/%C3%A4.yaml"
    }
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": "right"}}]
