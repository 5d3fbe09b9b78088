"""Properties of manifests: data that is built from the models, and texts in every style of YAML."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.manifest.load import load_project
from acmegen.manifest.schema import schemas
from acmegen.manifest.source import Source, parse_source
from acmegen.pipeline import resolve
from tests.fuzz.harness import check_diagnostics
from tests.fuzz.mutations import TEXTS, VALUES

SCHEMAS = {name.removesuffix(".json"): json.loads(text) for name, text in schemas().items()}
# What is wrong with the shape of a manifest, which the schemas describe.
SHAPE = frozenset({codes.WRONG_TYPE, codes.UNKNOWN_FIELD, codes.MISSING_FIELD, codes.YAML_SYNTAX})

patient = settings(suppress_health_check=list(HealthCheck))
# Texts for fields, those that a pattern lets through: names, schemas, sizes, expressions.
WORDS = (
    "x",
    "nova",
    "add.Tensor",
    "relu",
    "f(Tensor x) -> Tensor",
    "g.out(Tensor x, int n=1) -> (Tensor, Tensor)",
    "2MiB",
)
WORDS += (
    "a::B",
    "c/d.h",
    "lib",
    "m.n:f",
    "a + b",
    "x.sizes[:-1]",
    "dtype(x)",
    "core",
    "float32",
    ">=2",
    "MIT",
    "日本 \U0001f600",
)
CHARACTERS = "ab01'\"\\:#-.,日😀\x00\x85\u2028\ufeff{}[]&*!|>%@`~ \n\t\r"

JUNK = st.sampled_from([*VALUES, *TEXTS]).filter(lambda value: value == value)


def values(schema: Mapping[str, Any], definitions: Mapping[str, Any], junk: float = 0.0) -> st.SearchStrategy[Any]:
    """Data that satisfies `schema`, the form of which pydantic gives; `junk` of all values are anything instead."""

    def below(inner: Mapping[str, Any]) -> st.SearchStrategy[Any]:
        return values(inner, definitions, junk)

    def plain() -> st.SearchStrategy[Any]:
        if "$ref" in schema:
            return below(definitions[schema["$ref"].rpartition("/")[2]])
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return st.one_of([below(option) for option in schema[word]])
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        match schema.get("type"):
            case "object" if "properties" in schema:
                required = set(schema.get("required", ()))
                fields = {name: below(field) for name, field in schema["properties"].items()}
                return st.fixed_dictionaries(
                    {name: field for name, field in fields.items() if name in required},
                    optional={name: field for name, field in fields.items() if name not in required},
                )
            case "object":
                names, entry = schema.get("propertyNames", {}), schema.get("additionalProperties")
                if "patternProperties" in schema:
                    ((pattern, entry),) = schema["patternProperties"].items()
                    names = {"pattern": pattern}
                return st.dictionaries(values({"type": "string", **names}, definitions), below(entry or {}), max_size=3)
            case "array":
                return st.lists(below(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
            case "string":
                examples = schema.get("examples", [])
                return st.sampled_from(
                    [*examples, *(word for word in WORDS if re.search(schema.get("pattern", ""), word))]
                )
            case "integer":
                return st.integers(schema.get("minimum", -5), schema.get("maximum", 10**6))
            case "number":
                return st.floats(0.01, 0.99)
            case "boolean":
                return st.booleans()
        return st.none()

    return plain() if not junk else st.integers(0, 9).flatmap(lambda chance: JUNK if chance < 10 * junk else plain())


def manifests(junk: float = 0.0) -> st.SearchStrategy[dict[str, Any]]:
    kinds = {kind: values(schema, schema.get("$defs", {}), junk) for kind, schema in SCHEMAS.items()}
    return st.fixed_dictionaries(
        {"backend.yaml": kinds["backend"]},
        optional={"allocator.yaml": kinds["allocator"], "ops/x.yaml": kinds["ops"], "tileops.yaml": kinds["tileops"]},
    )


def dumped(data: Any) -> str:
    """JSON, which is YAML but for its pairs of surrogates."""
    text = json.dumps(data, ensure_ascii=False)
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return text.replace("-Infinity", "-.inf").replace("Infinity", ".inf").replace("NaN", ".nan")


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(dumped(data))
    return folder


@patient
@given(manifests())
def test_what_satisfies_the_schemas_has_the_shape_of_the_models(files: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), files)
        try:
            load_project(folder)
        except DiagnosticError as error:
            assert [one for one in error.diagnostics if one.code in SHAPE] == []
            check_diagnostics(error.diagnostics, folder)


@patient
@given(manifests(junk=0.25))
@example({"backend.yaml": {"manifest": "backend/v1", "name": "no", "cpp_library": "\n"}})
def test_whatever_is_written_ends_in_success_or_in_diagnostics_with_places(files: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), files)
        try:
            resolve(folder)
        except DiagnosticError as error:
            check_diagnostics(error.diagnostics, folder)


PLAIN_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS), inner, max_size=4),
    max_leaves=12,
)


def as_loaded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(as_loaded, value))
    return {key: as_loaded(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(st.dictionaries(st.text(CHARACTERS), PLAIN_DATA, min_size=1, max_size=4))
def test_data_comes_back_as_it_was_written(data: dict[str, Any]) -> None:
    assert parse_source(Path("x.yaml"), dumped(data).encode()).data == as_loaded(data)


VISIBLE = st.text("ab'\"\\:#-日😀{}[]&*!|>%@` \n\t", min_size=1, max_size=40)


@pytest.mark.parametrize("style", [None, "'", '"', "|", ">"])
@given(text=VISIBLE, width=st.sampled_from([5, 20, 1000]), ascii_only=st.booleans())
def test_each_character_of_a_text_has_its_place(style: str | None, text: str, width: int, ascii_only: bool) -> None:
    written = yaml.safe_dump({"k": text}, default_style=style, width=width, allow_unicode=not ascii_only)
    source = parse_source(Path("x.yaml"), written.encode())
    value = source.data["k"]
    if not isinstance(value, str):
        return
    for index, character in enumerate(value):
        if not character.isspace():
            assert at(source, index) in (character, "\\"), (written, index)


def at(source: Source, index: int) -> str:
    """The character at which `Source.slice` says that the one at `index` of the value of `k` is written."""
    span = source.slice(("k",), index, index + 1)
    return source.text.split("\n")[span.line - 1][span.column - 1]
