"""What is left of a manifest that has mistakes, so that the rest of it can be checked in the same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

# Mappings whose entries say nothing about each other.
_ENTRIES = ("ops", "custom")


@dataclass(frozen=True)
class StandIns:
    """What takes the place of what is wrong, where to leave it out would make other mistakes or hide some.

    Attributes:
        fields: of the manifest, by name.
        entries: for each mapping of entries, one of which is nothing wrong whatever its key is.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    entries: Mapping[str, Any] = field(default_factory=dict)


def salvage(model: type[M], data: Mapping[str, Any], stand_ins: StandIns) -> M | None:
    """The model of `data` without the entries and fields that are wrong; None when too little would be left.

    Only to find more mistakes: nothing is generated from it.

    Args:
        model: of the manifest.
        data: of the manifest, in which something is wrong.
        stand_ins: what takes the place of what is wrong; there are none for other parts.
    """
    rest = dict(data)
    while True:
        try:
            return model.model_validate(rest)
        except ValidationError as error:
            wrong = {_place(detail["loc"], detail.get("ctx", {})) for detail in error.errors(include_url=False)}
        fields = stand_ins.fields
        if any(not place or place[0] not in {**rest, **fields} for place in wrong):
            return None
        before = rest
        rest = _without(rest, wrong, stand_ins.entries)
        rest |= {name: value for name, value in fields.items() if (name,) in {place[:1] for place in wrong}}
        if rest == before:
            return None


def _place(location: tuple[int | str, ...], context: Mapping[str, Any]) -> tuple[int | str, ...]:
    """The field, or the entry, that an error at `location` is about; of one about the whole, the field it names."""
    key = context.get("key", ())
    return location[:2] or (key[:2] if isinstance(key, tuple) else (key,))


def _without(
    data: Mapping[str, Any], wrong: set[tuple[int | str, ...]], stand_ins: Mapping[str, Any]
) -> dict[str, Any]:
    """`data` without what `wrong` names: entries of `_ENTRIES`, and all else by its field."""
    entries = {location for location in wrong if location[0] in _ENTRIES and len(location) == 2}
    rest = {}
    for name, value in data.items():
        keys = {location[1] for location in entries if location[0] == name}
        if keys and isinstance(value, dict):
            rest[name] = _right_entries(value, keys, stand_ins.get(name))
        elif not any(location[0] == name for location in wrong):
            rest[name] = value
    return rest


def _right_entries(entries: Mapping[str, Any], wrong: set[int | str], stand_in: Any) -> dict[str, Any]:
    """`entries` with `stand_in` for those that are wrong; without those where that is wrong too, whose key then is."""
    return {
        key: stand_in if key in wrong else entry
        for key, entry in entries.items()
        if key not in wrong or (stand_in is not None and entry != stand_in)
    }
