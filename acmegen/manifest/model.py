"""What all models share: strictness, and the small types of which their fields are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from acmegen.diagnostics import codes, did_you_mean
from acmegen.manifest.dtypes import ALIASES, DTYPES, SETS, expand_dtypes

_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
_SIZE = re.compile(r"([0-9]+) ?([A-Za-z]+)")


class Model(BaseModel):
    """A mapping of a manifest: unknown keys are errors, values are never converted, nothing changes once loaded."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def refuse(code: str, message: str, **places: str) -> NoReturn:
    """Raise an error from inside a validator.

    Args:
        code: of the diagnostic.
        message: of the diagnostic.
        places: `label` and `help` of the diagnostic; `key`, a key of the validated mapping to point at instead of the
            whole; `other`, a second such key, which becomes a secondary place.
    """
    raise PydanticCustomError(code, "{message}", {"message": message, **places})


class _EmptySection:
    """Lets a section with nothing in it (`ops:` and no entries) be the empty collection."""

    def __init__(self, empty: Callable[[], object]) -> None:
        self._empty = empty

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        empty = self._empty
        return core_schema.no_info_before_validator_function(
            lambda value: empty() if value is None else value, handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": "null"}]}


class _OneOrMore:
    """Lets a list of one be written as its item."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: (value,) if isinstance(value, str) else value, handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        items = handler(schema)
        return {"anyOf": [items["items"], items]}


EMPTY_MAPPING = _EmptySection(dict)
EMPTY_LIST = _EmptySection(tuple)
ONE_OR_MORE = _OneOrMore()


class Matching:
    """Restricts a text to those that match `pattern` as a whole; `what` says in an error what it should be."""

    def __init__(self, pattern: str, code: str, what: str) -> None:
        self._pattern = re.compile(pattern)
        self._code = code
        self._what = what

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "pattern": f"^(?:{self._pattern.pattern})$"}

    def _check(self, value: str) -> str:
        if not self._pattern.fullmatch(value):
            refuse(self._code, f"`{value}` is not {self._what}")
        return value


def _size(value: object) -> object:
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = match.group(2) if match else ""
        if match is None or unit not in _UNITS:
            label = did_you_mean(unit, _UNITS)
            refuse(codes.BAD_SIZE, f"`{value}` is not a size", label=label, help="write a number of bytes, or `2MiB`")
        return int(match.group(1)) * _UNITS[unit]
    return value


def _not_negative(value: int) -> int:
    if not 0 <= value < 2**63:
        refuse(codes.BAD_SIZE, f"a size of {value} bytes is out of range")
    return value


def _power_of_two(value: int) -> int:
    if value < 1 or value & (value - 1):
        refuse(codes.BAD_SIZE, f"{value} is not a power of two")
    return value


def _dtype_among(known: tuple[str, ...]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            nearest = f"did you mean `{ALIASES[value]}`?" if value in ALIASES else did_you_mean(value, known)
            refuse(codes.UNKNOWN_DTYPE, f"unknown dtype `{value}`", label=nearest)
        return value

    return check


def _version_range(value: str) -> str:
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        refuse(codes.BAD_VERSION_RANGE, f"`{value}` is not a version range", help="write it as pip does: `>=2.9,<2.15`")
    return value


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse a list with the same value twice."""
    for index, value in enumerate(values):
        if value in values[:index]:
            refuse(codes.CONTRADICTION, f"`{value}` stands twice in the list")
    return values


def _single_line(value: str) -> str:
    if not value.strip() or "\n" in value or "\r" in value:
        refuse(codes.WRONG_VALUE, "this text is one line, and not an empty one")
    return value


_SIZE_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+ ?([KMGT]i)?B$"}]}

Size = Annotated[int, BeforeValidator(_size), AfterValidator(_not_negative), WithJsonSchema(_SIZE_SCHEMA)]
"""A number of bytes: an int, or text like `2MiB`."""

PowerOfTwo = Annotated[Size, AfterValidator(_power_of_two)]
"""A size that is a power of two."""

Line = Annotated[str, AfterValidator(_single_line)]
"""Free text of one line. It may hold anything else; whoever prints it has to make it inert."""

VersionRange = Annotated[str, AfterValidator(_version_range)]
"""A PEP 440 specifier."""

DtypeName = Annotated[str, AfterValidator(_dtype_among(DTYPES)), Field(json_schema_extra={"enum": [*DTYPES]})]
"""The name of one dtype."""

_DtypeOrSet = Annotated[
    str, AfterValidator(_dtype_among((*SETS, *DTYPES))), Field(json_schema_extra={"enum": [*SETS, *DTYPES]})
]

Dtypes = Annotated[tuple[_DtypeOrSet, ...], Field(min_length=1), AfterValidator(expand_dtypes)]
"""Names of dtypes and of sets of them; loaded as plain names, each once, in the order of `DTYPES`."""

CppName = Annotated[
    str,
    Matching(r"(::)?[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*", codes.BAD_NAME, "a C++ name"),
]
"""A C++ name, perhaps qualified: `simError_t`, `vendor::Status`."""

Header = Annotated[
    str,
    Matching(
        r"(?!.*(^|/)\.\.?(/|$))[A-Za-z0-9_+-][A-Za-z0-9_.+-]*(/[A-Za-z0-9_.+-]+)*",
        codes.BAD_PATH,
        "the name of a header, relative and with forward slashes",
    ),
]
"""A header as an #include names it: `vendor_runtime_api.h`, `acme/runtime.h`."""

LinkLibrary = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", codes.BAD_NAME, "the name of a library, without `lib`, folder and extension"
    ),
]
"""A library to link with, as after `-l`: `acmert`."""

Name = Annotated[str, Matching(r"[A-Za-z_][A-Za-z0-9_]*", codes.BAD_NAME, "a name")]
"""An identifier of a schema or of Python: an argument's or a parameter's name."""
