"""The JSON Schemas: up to date, complete, and of one opinion with the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from acmegen.data import data_folder
from acmegen.manifest.schema import schemas
from acmegen.manifest.source import load_source, parse_source

FOLDER = data_folder("manifests") / "schema"
FLAGSHIP = data_folder("manifests") / "acme"


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(schemas()[name])
    return loaded


def data(text: str) -> Any:
    return plain(parse_source(Path("x.yaml"), text.encode()).data)


def plain(value: Any) -> Any:
    """The data with lists for tuples, as an editor sees it."""
    return json.loads(json.dumps(value))


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(name))


def test_the_committed_schemas_are_up_to_date() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert committed == schemas(), "run `acmegen schema`"


@pytest.mark.parametrize("name", schemas())
def test_schemas_are_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for child in node.values():
            yield from objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects(child)


@pytest.mark.parametrize("name", schemas())
def test_every_field_is_described_and_nothing_else_is_allowed(name: str) -> None:
    found = list(objects(schema(name)))
    assert found
    for model in found:
        assert model["additionalProperties"] is False, model["title"]
        assert model.get("description"), model["title"]
        for field, properties in model["properties"].items():
            assert properties.get("description"), (model["title"], field)


@pytest.mark.parametrize("path", sorted(FLAGSHIP.rglob("*.yaml")), ids=lambda path: path.name)
def test_the_flagship_satisfies_its_schemas(path: Path) -> None:
    loaded = load_source(path)
    kind = loaded.data["manifest"].split("/")[0]
    assert f"schema/{kind}.json" in loaded.text.splitlines()[0]
    validator(f"{kind}.json").validate(plain(loaded.data))


@pytest.mark.parametrize(
    "path", sorted((data_folder("manifests") / "presets").glob("*.yaml")), ids=lambda path: path.name
)
def test_presets_satisfy_their_schema(path: Path) -> None:
    loaded = plain(load_source(path).data)
    if path.stem == "simulator":
        validator("backend.json").validate({"manifest": "backend/v1", "name": "nova", **loaded})
    else:
        validator("ops.json").validate(loaded)


@pytest.mark.parametrize("size", ["512", "2MiB", "64 KiB", "1024B"])
def test_schemas_accept_sizes(size: str) -> None:
    validator("allocator.json").validate(data(f"manifest: allocator/v1\ndevice: {{alignment: {size}}}\n"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("allocator.json", "manifest: allocator/v1\ndevice: {alignment: 2MB}\n"),
        ("allocator.json", "manifest: allocator/v1\ndevice: {kind: slab}\n"),
        ("backend.json", "manifest: backend/v1\n"),
        ("backend.json", "manifest: backend/v1\nname: Nova\n"),
        ("backend.json", "manifest: backend/v1\nname: nova\nstreams: {pool_sise: 1}\n"),
        ("backend.json", "manifest: backend/v1\nname: nova\ndriver: {headers: [x.h]}\n"),
        ("ops.json", "manifest: ops/v1\nops: {relu: usr}\n"),
        ("ops.json", "manifest: ops/v1\nops: {relu: {expr: a, dtypes: [half]}}\n"),
        ("tileops.json", "manifest: tileops/v1\nops: {A: {mode: buildre}}\n"),
    ],
)
def test_schemas_refuse_what_the_models_refuse(name: str, text: str) -> None:
    assert list(validator(name).iter_errors(data(text)))


@pytest.mark.parametrize("text", ["manifest: ops/v1\nops:\n", "manifest: ops/v1\nops: {relu: user, tanh: {user: }}\n"])
def test_schemas_accept_short_forms_and_empty_sections(text: str) -> None:
    validator("ops.json").validate(data(text))
