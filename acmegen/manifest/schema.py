"""The JSON Schemas of the manifests, for editors."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

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
    """The text of each schema, by file name."""
    return {name: json.dumps(_schema(model), indent=2) + "\n" for name, model in _MODELS.items()}


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return {"$schema": _DIALECT, **model.model_json_schema(mode="validation")}
