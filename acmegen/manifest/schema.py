"""The JSON Schemas of the manifests, for editors, and of what is said of them, for programs."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from acmegen.diagnostics import diagnostics_schema
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.ops import OpsManifest
from acmegen.manifest.tileops import TileOpsManifest

_MODELS: dict[str, type[BaseModel]] = {
    "allocator.json": AllocatorManifest,
    "backend.json": BackendManifest,
    "ops.json": OpsManifest,
    "tileops.json": TileOpsManifest,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, str]:
    """The text of the schema of each kind of manifest, by file name."""
    return {name: json.dumps(_schema(model), indent=2) + "\n" for name, model in _MODELS.items()}


def schema_files() -> dict[str, str]:
    """All that belongs into `manifests/schema`: beside `schemas`, that of what `--format json` prints."""
    return {**schemas(), "diagnostics.json": diagnostics_schema()}


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return {"$schema": _DIALECT, **_described(model.model_json_schema(mode="validation"))}


def _described(node: Any) -> Any:
    """`node` with what pydantic leaves out: a title for each field that refers to another model, the only value of a
    field as its example, and that a mapping whose keys have a pattern has no other keys."""
    if isinstance(node, list):
        return [_described(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {name: _described(value) for name, value in node.items()}
    if "patternProperties" in result:
        result.setdefault("additionalProperties", False)
    for name, field in result.get("properties", {}).items():
        field.setdefault("title", name.replace("_", " ").title())
        if "const" in field:
            field.setdefault("examples", [field["const"]])
    return result
