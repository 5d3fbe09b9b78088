"""The JSON Schemas: up to date, complete, and of one opinion with the models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import jsonschema
import pytest
import yaml
from pydantic import BaseModel, TypeAdapter

from acmegen.data import data_folder
from acmegen.manifest.model import Model
from acmegen.manifest.schema import schema_files, schemas
from acmegen.manifest.source import load_source, parse_source
from acmegen.render.starter import starter_manifests

FOLDER = data_folder("manifests") / "schema"
FLAGSHIP = data_folder("manifests") / "acme"
PRESETS = data_folder("manifests") / "presets"


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
    assert committed == schema_files(), "run `acmegen schema`"


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


def fields(name: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Each field that an editor shows: its path, its schema, and whether it is required."""
    for model in objects(schema(name)):
        for field, properties in model["properties"].items():
            yield f"{model['title']}.{field}", properties, field in model.get("required", ())


@pytest.mark.parametrize("name", schemas())
def test_every_model_is_described_and_allows_nothing_else(name: str) -> None:
    found = list(objects(schema(name)))
    assert found
    for model in found:
        assert model["additionalProperties"] is False, model["title"]
        assert model.get("description"), model["title"]


@pytest.mark.parametrize("name", schemas())
def test_every_field_has_a_title_a_description_a_default_and_an_example(name: str) -> None:
    for path, properties, required in fields(name):
        assert properties.get("title"), path
        assert properties.get("description"), path
        assert properties.get("examples"), path
        assert required != ("default" in properties), path


@pytest.mark.parametrize("name", schemas())
def test_every_example_and_every_default_is_one(name: str) -> None:
    whole = schema(name)
    count = 0
    for path, properties, _ in fields(name):
        check = jsonschema.Draft202012Validator({**properties, "$defs": whole.get("$defs", {})})
        defaults = [properties["default"]] if properties.get("default") is not None else []
        for value in (*properties["examples"], *defaults):
            assert [error.message for error in check.iter_errors(value)] == [], path
            count += 1
    assert count > 10


def models() -> Iterator[type[BaseModel]]:
    """Every model that a schema is made of."""
    found: list[type[BaseModel]] = [Model]
    for model in found:
        found += [below for below in model.__subclasses__() if below not in found]
        if model.__module__.startswith("acmegen.manifest.") and model.model_fields:
            yield model


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model.__name__)
def test_the_models_take_every_example(model: type[BaseModel]) -> None:
    for field in model.model_fields.values():
        annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        for example in field.examples or ():
            TypeAdapter(annotation).validate_python(as_loaded(example), strict=True)


def as_loaded(value: Any) -> Any:
    """The data as a manifest gives it: sequences are tuples."""
    if isinstance(value, list):
        return tuple(map(as_loaded, value))
    return {key: as_loaded(item) for key, item in value.items()} if isinstance(value, dict) else value


def check_jsonschema(kind: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """What an editor's validator, which has nothing of ours, says of manifests."""
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(FOLDER / f"{kind}.json"), *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("kind", ["backend", "allocator", "ops", "tileops"])
def test_check_jsonschema_passes_every_shipped_manifest(kind: str) -> None:
    shipped = [*sorted(FLAGSHIP.rglob("*.yaml")), *sorted(PRESETS.glob("*.yaml"))]
    paths = [path for path in shipped if load_source(path).data.get("manifest") == f"{kind}/v1"]
    assert paths
    result = check_jsonschema(kind, *paths)
    assert result.returncode == 0, result.stdout + result.stderr


def test_check_jsonschema_finds_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "backend.yaml"
    path.write_text("manifest: backend/v1\nname: nova\nstreams: {pool_sise: 3}\n")
    result = check_jsonschema("backend", path)
    assert (result.returncode, "pool_sise" in result.stdout) == (1, True)


def problems(name: str, value: Any) -> list[str]:
    return [error.message for error in validator(name).iter_errors(value)]


@pytest.mark.parametrize("path", sorted(FLAGSHIP.rglob("*.yaml")), ids=lambda path: path.name)
def test_the_flagship_names_its_schemas_for_editors(path: Path) -> None:
    loaded = load_source(path)
    kind = loaded.data["manifest"].split("/")[0]
    first = loaded.text.splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).resolve() == (FOLDER / f"{kind}.json").resolve()


def test_a_new_backend_s_manifests_name_the_schemas_that_come_with_them() -> None:
    starter = starter_manifests("nova")
    assert len(starter) > 3
    for path, text in starter.items():
        first, _, kind = text.splitlines()[0].rpartition("/")
        assert first.startswith("# yaml-language-server: $schema="), path
        # `new-backend` writes the schemas into manifests/schema.
        target = PurePosixPath(path).parent / first.partition("=")[2] / kind
        assert os.path.normpath(target) == f"schema/{yaml.safe_load(text)['manifest'].split('/')[0]}.json"
        assert kind in schemas()


def test_the_simulator_s_binding_satisfies_the_schema_of_a_backend() -> None:
    binding = plain(load_source(PRESETS / "simulator.yaml").data)
    assert problems("backend.json", {"manifest": "backend/v1", "name": "nova", **binding}) == []


@pytest.mark.parametrize("size", ["512", "2MiB", "64 KiB", "1024B"])
def test_schemas_accept_sizes(size: str) -> None:
    assert problems("allocator.json", data(f"manifest: allocator/v1\ndevice: {{alignment: {size}}}\n")) == []


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
        ("ops.json", "manifest: ops/v1\nops: {'a b': user}\n"),
        ("ops.json", "manifest: ops/v1\ncustom: {f: user}\n"),
        ("tileops.json", "manifest: tileops/v1\nops: {A B: {kernel: {reference: true}}}\n"),
        ("ops.json", "manifest: ops/v1\nops: {relu: {expr: a, dtypes: [half]}}\n"),
        ("tileops.json", "manifest: tileops/v1\nops: {A: {mode: buildre}}\n"),
    ],
)
def test_schemas_refuse_what_the_models_refuse(name: str, text: str) -> None:
    assert problems(name, data(text)) != []


@pytest.mark.parametrize("text", ["manifest: ops/v1\nops:\n", "manifest: ops/v1\nops: {relu: user, tanh: {user: }}\n"])
def test_schemas_accept_short_forms_and_empty_sections(text: str) -> None:
    assert problems("ops.json", data(text)) == []
