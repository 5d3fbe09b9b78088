"""Data -> model, with each of pydantic's errors turned into a diagnostic at the YAML node that caused it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from acmegen.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Edit,
    Note,
    Span,
    codes,
    did_you_mean,
    quote,
    sure_fix,
    text_at,
)
from acmegen.manifest.edits import removed, replaced
from acmegen.manifest.locate import Place, locate
from acmegen.manifest.source import NodePath, Source
from acmegen.manifest.values import describe

M = TypeVar("M", bound=BaseModel)

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
_NO_SPACE = re.compile(r"[^\s:]+:[^\s:]")
_LIMITS = {"greater_than_equal": "{ge} or more", "less_than_equal": "{le} or less"}

KINDS = {
    "backend/v1": "backend.yaml",
    "allocator/v1": "allocator.yaml",
    "ops/v1": "ops/*.yaml",
    "tileops/v1": "tileops.yaml",
}
"""Which file each kind of manifest belongs in."""


def validate(model: type[M], source: Source) -> M:
    """Check the data of `source` against `model`.

    Raises:
        DiagnosticError: all that is wrong with it, each at its place. When it is another kind of manifest, only that,
            since all else would follow from it.
    """
    try:
        return model.model_validate(source.data)
    except ValidationError as error:
        errors = list(_each(error.errors(include_url=False)))
        kind = [error for error in errors if error["loc"] == ("manifest",) and error["input"] in [*KINDS]]
        raise DiagnosticError(_diagnostics(model, source, kind or errors)) from error


def check_value(kind: Any, value: object) -> None:
    """Check one value that is not from a file against `kind`, a type that refuses with codes of ours.

    Raises:
        DiagnosticError: it is wrong.
    """
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        found = error.errors()[0]
        context = found["ctx"]
        raise DiagnosticError([Diagnostic(found["type"], context["message"], help=context.get("help"))]) from error


def _each(errors: Iterable[ErrorDetails]) -> Iterator[ErrorDetails]:
    """`errors`, and each of those that one validator raised together."""
    for error in errors:
        if error["type"] == "refusals":
            for refusal in error["ctx"]["refusals"]:
                yield {**error, "type": refusal.type, "ctx": refusal.context}
        else:
            yield error


def _diagnostics(model: type[BaseModel], source: Source, errors: list[ErrorDetails]) -> Iterator[Diagnostic]:
    missing: dict[NodePath, list[str]] = {}
    misspelt: set[tuple[NodePath, str]] = set()
    for error in errors:
        location = error["loc"]
        if error["type"] == "missing":
            path = locate(model, source.data, location[:-1]).path
            missing.setdefault(path, []).append(str(location[-1]))
        elif error["type"] != "too_short" or not _has_inner(location, errors):
            # A list whose items were refused looks too short as well.
            place = locate(model, source.data, location, of_key=_is_key(error))
            if error["type"] == "extra_forbidden" and (meant := sure_fix(str(location[-1]), place.fields)):
                misspelt.add((place.path[:-1], meant))
            yield _diagnostic(source, error, place)
    for path, required in missing.items():
        # A field that is there under a misspelt name has been reported.
        fields = [name for name in required if (path, name) not in misspelt]
        if not fields:
            continue
        names = ", ".join(f"`{name}`" for name in fields)
        message = f"missing {_what(path)}{'s' * (len(fields) > 1)} {names}"
        yield Diagnostic(codes.MISSING_FIELD, message, source.span(path), label="in this mapping")


def _has_inner(location: tuple[str | int, ...], errors: Iterable[ErrorDetails]) -> bool:
    return any(len(error["loc"]) > len(location) and error["loc"][: len(location)] == location for error in errors)


def _is_key(error: ErrorDetails) -> bool:
    """Whether pydantic refused the key of a mapping. A field that is called so is one that it does not know."""
    return error["loc"][-1:] == ("[key]",) and error["type"] != "extra_forbidden"


def _what(mapping: NodePath) -> str:
    functions = (("driver", "functions"), ("graphs", "functions"))
    return "driver function" if mapping[-2:] in functions else "field"


def _diagnostic(source: Source, error: ErrorDetails, place: Place) -> Diagnostic:
    kind, value, path = error["type"], error["input"], place.path
    context: dict[str, Any] = error.get("ctx", {})
    span = source.span(path, key=place.key)
    if kind.startswith("ACME"):
        return _refusal(source, kind, context, place)
    if kind == "extra_forbidden":
        name = str(path[-1])
        label, meant = did_you_mean(name, place.fields), sure_fix(name, place.fields)
        edits = replaced(source, path, meant, key=True) if meant else ()
        message = f"unknown {_what(path[:-1])} {quote(name)}"
        return Diagnostic(codes.UNKNOWN_FIELD, message, source.span(path, key=True), label=label, edits=edits)
    if kind in _EXPECTED:
        return _wrong_type(source, _EXPECTED[kind], value, place)
    if kind == "literal_error":
        return _not_a_choice(source, path, value, context["expected"], span)
    if kind in _LIMITS:
        limit = _LIMITS[kind].format(**context)
        shown = quote(source.written(path) or value)
        return Diagnostic(codes.WRONG_VALUE, f"{shown} is out of range, which is {limit}", span)
    if kind in ("too_short", "string_too_short"):
        return Diagnostic(codes.WRONG_VALUE, "this cannot be empty", span)
    if kind == "too_long":
        return Diagnostic(codes.WRONG_VALUE, f"this has more than {context['max_length']} items", span)
    return Diagnostic(codes.WRONG_VALUE, error["msg"][:1].lower() + error["msg"][1:], span)


def _wrong_type(source: Source, expected: str, value: object, place: Place) -> Diagnostic:
    written, span = source.written(place.path), source.span(place.path, key=place.key)
    fraction = isinstance(value, float) and expected == "a whole number"
    found = quote(written) if fraction and written is not None else describe(value)
    right = None  # what is written, as what was expected
    if isinstance(value, str | int | float) and written:
        if expected == "a list":
            right = f"[{written}]"
        elif expected == "a mapping" and (len(place.inner) == 1 or "kind" in place.inner):
            right = f"{{{'kind' if 'kind' in place.inner else place.inner[0]}: {written}}}"
    remedy = f"write {quote(right)}" if right else None
    if expected == "a mapping" and isinstance(value, str) and _NO_SPACE.match(value):
        right, remedy = None, "a space is missing after `:`"
    if expected == "text" and isinstance(value, bool | int | float):
        remedy = "put it in quotes"
    edits = (Edit(span, right),) if right and text_at(source.text, span) == written else ()
    return Diagnostic(codes.WRONG_TYPE, f"expected {expected}, found {found}", span, help=remedy, edits=edits)


def _refusal(source: Source, code: str, context: dict[str, Any], place: Place) -> Diagnostic:
    """What a validator of ours said, through `refuse`. Of the places that it names, those count that were written."""
    named = [(*place.path, *_steps(context[word])) for word in ("key", "other") if word in context]
    written = [path for path in named if _is_written(source, path)]
    key = place.key if not named else True
    target = written[0] if written else place.path
    notes = tuple(Note(_place(source, path), context.get("other_label", "and here")) for path in written[1:])
    meant = context.get("replacement")
    edits: tuple[Edit, ...] = ()
    if meant is not None:
        edits = replaced(source, target, meant, key) if meant else removed(source, target)
    return Diagnostic(
        code,
        _message(source, context, place.path),
        _place(source, target) if written else source.span(place.path, key=place.key),
        label=context.get("label", ""),
        secondary=notes,
        help=context.get("help"),
        edits=edits,
    )


def _message(source: Source, context: dict[str, Any], path: NodePath) -> str:
    """The message, with the values that it speaks of as they were written."""
    message: str = context["message"]
    if "values" not in context:
        return message
    values: dict[str, tuple[NodePath, object]] = context["values"]
    return message.format(
        **{name: quote(source.written((*path, *inner)) or value) for name, (inner, value) in values.items()}
    )


def _steps(place: Any) -> NodePath:
    return place if isinstance(place, tuple) else (place,)


def _is_written(source: Source, path: NodePath) -> bool:
    try:
        source.span(path)
    except KeyError:
        return False
    return True


def _place(source: Source, path: NodePath) -> Span:
    """The place of a key, or of an item of a list."""
    return source.span(path, key=isinstance(path[-1], str))


def _not_a_choice(source: Source, path: NodePath, value: Any, expected: str, span: Span) -> Diagnostic:
    choices = re.findall(r"'([^']*)'", expected)
    words = expected.replace("'", "`").replace("True", "`true`")
    if not isinstance(value, str):
        found = f"`{str(value).lower()}`" if isinstance(value, bool) else describe(value)
        return Diagnostic(codes.WRONG_TYPE, f"expected {words}, found {found}", span)
    label, meant = did_you_mean(value, choices), sure_fix(value, choices)
    remedy = None
    if path == ("manifest",) and value in KINDS:
        label, meant, remedy = "", None, f"a manifest of this kind belongs in {KINDS[value]}"
    edits = replaced(source, path, meant) if meant else ()
    message = f"expected {words}, found {quote(value)}"
    return Diagnostic(codes.WRONG_VALUE, message, span, label=label, help=remedy, edits=edits)
