"""What is left of a manifest that has mistakes, so that the rest of it can be checked in the same run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

# Mappings whose entries say nothing about each other.
_ENTRIES = ("ops", "custom")
# Without what is wrong here, the rest would mean something else.
_ESSENTIAL = frozenset({"manifest", "name", "driver", "library", "fallback"})


def salvage(model: type[M], data: Mapping[str, Any]) -> M | None:
    """The model of `data` without the entries and fields that are wrong; None when too little would be left.

    Only to find more mistakes: nothing is generated from it.
    """
    rest = dict(data)
    while True:
        try:
            return model.model_validate(rest)
        except ValidationError as error:
            wrong = {detail["loc"][:2] for detail in error.errors(include_url=False, include_context=False)}
        for location in wrong:
            if not location or location[0] in _ESSENTIAL or location[0] not in rest:
                return None
        before, rest = rest, _without(rest, wrong)
        if rest == before:
            return None


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
