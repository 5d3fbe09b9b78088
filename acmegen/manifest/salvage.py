"""What is left of a manifest that has mistakes, so that the rest of it can be checked in the same run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

# Mappings whose entries say nothing about each other.
_ENTRIES = ("ops", "custom")


def salvage(model: type[M], data: Mapping[str, Any], stand_ins: Mapping[str, Any]) -> M | None:
    """The model of `data` without the entries and fields that are wrong; None when too little would be left.

    Only to find more mistakes: nothing is generated from it.

    Args:
        model: of the manifest.
        data: of the manifest, in which something is wrong.
        stand_ins: what takes the place of a field that is wrong, where to leave it out would make other mistakes.
    """
    rest = dict(data)
    while True:
        try:
            return model.model_validate(rest)
        except ValidationError as error:
            wrong = {_place(detail["loc"], detail.get("ctx", {})) for detail in error.errors(include_url=False)}
        if any(not place or place[0] not in {**rest, **stand_ins} for place in wrong):
            return None
        fields = {place[0] for place in wrong}
        before, rest = (
            rest,
            _without(rest, wrong) | {name: value for name, value in stand_ins.items() if name in fields},
        )
        if rest == before:
            return None


def _place(location: tuple[int | str, ...], context: Mapping[str, Any]) -> tuple[int | str, ...]:
    """The field, or the entry, that an error at `location` is about; of one about the whole, the field it names."""
    key = context.get("key", ())
    return location[:2] or (key[:2] if isinstance(key, tuple) else (key,))


def _without(data: Mapping[str, Any], wrong: set[tuple[int | str, ...]]) -> dict[str, Any]:
    """`data` without what `wrong` names: entries of `_ENTRIES`, and all else by its field."""
    entries = {location for location in wrong if location[0] in _ENTRIES and len(location) == 2}
    fields = {location[0] for location in wrong - entries}
    return {
        name: {key: entry for key, entry in value.items() if (name, key) not in entries}
        if isinstance(value, dict) and any(location[0] == name for location in entries)
        else value
        for name, value in data.items()
        if name not in fields
    }
