"""pydantic's `loc` -> the place in the data that it means.

A `loc` is no path into the data: the tags of unions stand in it, `[key]` for the key of a mapping, and an index where
a single value was written for a list of one. Model and data are walked together, so that no name that a user may
choose is ever taken for one of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from acmegen.manifest.source import NodePath

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Where an error is.

    Attributes:
        path: the node in the data.
        key: whether it is the key, not the value.
        fields: the names that the mapping may have in which the node stands; empty where any may stand in it.
        inner: the names that the node may have itself, where it should be such a mapping.
    """

    path: NodePath
    key: bool = False
    fields: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()


def locate(model: type[BaseModel], data: Any, location: Location, of_key: bool = False) -> Place:
    """The place that `location` means in `data`, which was checked against `model`.

    Where the data ends before the location does, it is the last node that is there.

    Args:
        model: the model of the whole.
        data: what it was given.
        location: pydantic's.
        of_key: whether its last item says that the error is about the key before.
    """
    annotation: Any = model
    path: list[str | int] = []
    fields: tuple[str, ...] = ()
    for item in location[:-1] if of_key else location:
        members = _tagged(annotation)
        if item in members:
            annotation = members[item]
            continue
        fields = _fields(annotation)
        annotation = _step(annotation, item)
        if isinstance(data, tuple):
            known = isinstance(item, int) and item < len(data)
        else:
            known = isinstance(data, dict) and item in data
        if not known:
            break
        data = data[item]
        path.append(item)
    return Place(tuple(path), of_key, fields, _fields(annotation))


def _tagged(annotation: Any) -> dict[str | int, Any]:
    """The members of a discriminated union, by tag; empty for anything else."""
    members: dict[str | int, Any] = {}
    for member in _members(annotation):
        for metadata in getattr(member, "__metadata__", ()):
            if isinstance(metadata, Tag):
                members[metadata.tag] = get_args(member)[0]
    return members


def _members(annotation: Any) -> Iterator[Any]:
    """What `annotation` may be: itself, or each member of the union that it is."""
    if get_origin(annotation) is Annotated and get_origin(get_args(annotation)[0]) in (Union, UnionType):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        yield from (member for member in get_args(annotation) if member is not NoneType)
    else:
        yield annotation


def _bare(annotation: Any) -> Any:
    """`annotation` without metadata, and without the None that it may be instead."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    members = list(_members(annotation))
    return annotation if len(members) > 1 or members[0] is annotation else _bare(members[0])


def _fields(annotation: Any) -> tuple[str, ...]:
    annotation = _bare(annotation)
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return ()
    return tuple(field.alias or name for name, field in annotation.model_fields.items())


def _step(annotation: Any, item: str | int) -> Any:
    """The type of what stands at `item` of something of type `annotation`; None where nothing does."""
    annotation = _bare(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {field.alias or name: field for name, field in annotation.model_fields.items()}
        # The metadata matter only as far as they are tags, which stand on the members of a union.
        return fields[str(item)].annotation if item in fields else None
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return arguments[1]
    return arguments[0] if arguments else None
