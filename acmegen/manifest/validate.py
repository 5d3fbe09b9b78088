"""Data -> model, with each of pydantic's errors turned into a diagnostic at the YAML node that caused it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from acmegen.diagnostics import Diagnostic, DiagnosticError, Note, codes, did_you_mean
from acmegen.manifest.source import NodePath, Source, describe

M = TypeVar("M", bound=BaseModel)
Location = tuple[str | int, ...]

# What pydantic calls a type -> the words of a message.
_EXPECTED = {
    "string_type": "text",
    "bool_type": "`true` or `false`",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_LIMITS = {"greater_than_equal": "{ge} or more", "less_than_equal": "{le} or less"}


def validate(model: type[M], source: Source) -> M:
    """Check the data of `source` against `model`.

    Raises:
        DiagnosticError: all that is wrong with it, each at its place.
    """
    try:
        return model.model_validate(source.data)
    except ValidationError as error:
        raise DiagnosticError(_diagnostics(model, source, error.errors(include_url=False))) from error


def _diagnostics(model: type[BaseModel], source: Source, errors: list[ErrorDetails]) -> Iterator[Diagnostic]:
    missing: dict[NodePath, list[str]] = {}
    for error in errors:
        if error["type"] == "missing":
            path = node_path(source, error["loc"][:-1])
            missing.setdefault(path, []).append(str(error["loc"][-1]))
        elif error["type"] != "too_short" or not _has_inner(error["loc"], errors):
            # A list whose items were refused looks too short as well.
            yield _diagnostic(model, source, error)
    for path, fields in missing.items():
        kind = "driver function" if _holds_driver_functions(path) else "field"
        names = ", ".join(f"`{name}`" for name in fields)
        message = f"missing {kind}{'s' * (len(fields) > 1)} {names}"
        yield Diagnostic(codes.MISSING_FIELD, message, source.span(path), label="in this mapping")


def _holds_driver_functions(path: NodePath) -> bool:
    return path[-2:] in (("driver", "functions"), ("graphs", "functions"))


def _has_inner(location: Location, errors: Iterable[ErrorDetails]) -> bool:
    return any(len(error["loc"]) > len(location) and error["loc"][: len(location)] == location for error in errors)


def node_path(source: Source, location: Location) -> NodePath:
    """The path in the data that pydantic's `location` means: what names no key or index there is pydantic's own."""
    data: Any = source.data
    path: list[str | int] = []
    for item in location:
        if isinstance(data, tuple):
            known = isinstance(item, int) and item < len(data)
        else:
            known = isinstance(data, dict) and item in data
        if known:
            data = data[item]
            path.append(item)
    return tuple(path)


def _diagnostic(model: type[BaseModel], source: Source, error: ErrorDetails) -> Diagnostic:
    location, kind, value = error["loc"], error["type"], error["input"]
    context: dict[str, Any] = error.get("ctx", {})
    path = node_path(source, location)
    span = source.span(path, key=location[-1:] == ("[key]",))
    if kind.startswith("ACME"):
        if "key" in context:
            span = source.span((*path, context["key"]), key=True)
        secondary = (Note(source.span((*path, context["other"]), key=True), "and here"),) if "other" in context else ()
        label, remedy = context.get("label", ""), context.get("help")
        return Diagnostic(kind, context["message"], span, label=label, secondary=secondary, help=remedy)
    if kind == "extra_forbidden":
        name = str(location[-1])
        what = "driver function" if _holds_driver_functions(path[:-1]) else "field"
        label = did_you_mean(name, _fields(model, location[:-1]))
        return Diagnostic(codes.UNKNOWN_FIELD, f"unknown {what} `{name}`", source.span(path, key=True), label=label)
    if kind in _EXPECTED:
        message = f"expected {_EXPECTED[kind]}, found {describe(value)}"
        return Diagnostic(codes.WRONG_TYPE, message, span)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        expected = context["expected"].replace("'", "`").replace("True", "`true`")
        if isinstance(value, (bool, int, float, dict, tuple)) or value is None:
            return Diagnostic(codes.WRONG_TYPE, f"expected {expected}, found {describe(value)}", span)
        label = did_you_mean(str(value), choices)
        return Diagnostic(codes.WRONG_VALUE, f"expected {expected}, found `{value}`", span, label=label)
    if kind in _LIMITS:
        limit = _LIMITS[kind].format(**context)
        return Diagnostic(codes.WRONG_VALUE, f"{value} is out of range, which is {limit}", span)
    if kind in ("too_short", "string_too_short"):
        return Diagnostic(codes.WRONG_VALUE, "this cannot be empty", span)
    if kind == "too_long":
        return Diagnostic(codes.WRONG_VALUE, f"this has more than {context['max_length']} items", span)
    return Diagnostic(codes.WRONG_VALUE, error["msg"][:1].lower() + error["msg"][1:], span)


def _fields(model: type[BaseModel], location: Location) -> Iterable[str]:
    """The fields of the model that stands at `location` of `model`."""
    current: Any = model
    for item in location:
        current = _step(current, item)
    if not (isinstance(current, type) and issubclass(current, BaseModel)):
        return ()
    return [field.alias or name for name, field in current.model_fields.items()]


def _step(annotation: Any, item: str | int) -> Any:
    if get_origin(annotation) is Annotated:
        return _step(get_args(annotation)[0], item)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(item))
        return field.annotation if field else None
    arguments = get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        tagged = [member for member in arguments if Tag(str(item)) in getattr(member, "__metadata__", ())]
        if tagged:
            return get_args(tagged[0])[0]
        return next((step for member in arguments if (step := _step(member, item)) is not None), None)
    if get_origin(annotation) is dict:
        return arguments[1]
    return arguments[0] if arguments else None
