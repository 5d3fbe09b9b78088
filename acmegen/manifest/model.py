"""What all models share: strictness, and the small types of which their fields are made."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
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

from acmegen.cpp_keywords import CPP_KEYWORDS
from acmegen.diagnostics import codes, did_you_mean, nearest, quote, sure_fix
from acmegen.manifest.dtypes import ALIASES, DTYPES, SETS, expand_dtypes
from acmegen.manifest.values import describe

_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
_SIZE = re.compile(r"([0-9]+) ?([A-Za-z]+)")


class Model(BaseModel):
    """A mapping of a manifest: unknown keys are errors, values are never converted, nothing changes once loaded."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def refusal(code: str, message: str, **details: Any) -> PydanticCustomError:
    """An error to raise from inside a validator.

    Args:
        code: of the diagnostic.
        message: of the diagnostic.
        details: `label` and `help` of the diagnostic; `key`, a key of the validated mapping to point at instead of the
            whole, or a path in it; `other`, a second such place, and `other_label`, what is there; `replacement`, the
            text that no doubt was meant, for the value, or for `key` where there is one, and empty where the item
            should go; `values`, for each name that stands in braces in the message a path and the value there, which
            is shown as it was written, or as it is where it was left to its default. Of the places, those count that
            were written: the first is where the diagnostic is, the other is a secondary place.
    """
    return PydanticCustomError(code, "{message}", {"message": message, **details})


def refuse(code: str, message: str, **details: Any) -> NoReturn:
    """Raise a `refusal`."""
    raise refusal(code, message, **details)


def refuse_all(refusals: Iterable[PydanticCustomError]) -> None:
    """Raise all `refusals` at once, unless there are none."""
    if several := tuple(refusals):
        raise PydanticCustomError("refusals", "{count} refusals", {"count": len(several), "refusals": several})


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


class TextOrNumber:
    """Lets a value be text or one of the scalars `others`, with one error for anything else."""

    def __init__(self, *others: type) -> None:
        self._types = (str, *others)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._check, handler(source))

    def _check(self, value: object) -> object:
        if type(value) not in self._types:
            refuse(codes.WRONG_TYPE, f"expected an expression, found {describe(value)}")
        return value


EMPTY_MAPPING = _EmptySection(dict)
EMPTY_LIST = _EmptySection(tuple)
ONE_OR_MORE = _OneOrMore()


_MAX_NAME = 200


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
        if len(value) > _MAX_NAME:
            refuse(self._code, f"this has more than {_MAX_NAME} characters")
        if not self._pattern.fullmatch(value):
            refuse(self._code, f"{quote(value)} is not {self._what}")
        return value


def _size(value: object) -> object:
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = match.group(2) if match else ""
        if match is None or unit not in _UNITS:
            near = nearest(unit, _UNITS)
            label = f"did you mean `{match.group(1)}{near[0]}`?" if match and near else ""
            meant = [known for known in _UNITS if known.lower() == unit.lower()]
            refuse(
                codes.BAD_SIZE,
                f"{quote(value)} is text, not a size" if value.isdecimal() else f"{quote(value)} is not a size",
                label=label,
                help="leave out the quotes" if value.isdecimal() else "write a number of bytes, or `2MiB`",
                replacement=value.replace(unit, meant[0]) if meant else None,
            )
        return int(match.group(1)) * _UNITS[unit]
    return value


def _not_negative(value: int) -> int:
    if not 0 <= value < 2**63:
        refuse(codes.BAD_SIZE, "a size of {value} bytes is out of range", values={"value": ((), value)})
    return value


def is_power_of_two(value: int) -> bool:
    """Whether it is 1, 2, 4 and so on."""
    return value > 0 and not value & (value - 1)


def _power_of_two(value: int) -> int:
    if not is_power_of_two(value):
        refuse(codes.BAD_SIZE, "{value} is not a power of two", values={"value": ((), value)})
    return value


def _dtype_among(known: tuple[str, ...]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            meant = ALIASES.get(value) or sure_fix(value, known)
            label = f"did you mean `{meant}`?" if meant else did_you_mean(value, known)
            refuse(codes.UNKNOWN_DTYPE, f"unknown dtype {quote(value)}", label=label, replacement=meant)
        return value

    return check


def _version_range(value: str) -> str:
    try:
        specifiers = SpecifierSet(value)
    except InvalidSpecifier:
        specifiers = SpecifierSet()
    # `===` takes any text, and compares it as text.
    if not specifiers or any(specifier.operator == "===" for specifier in specifiers):
        help = "write it as pip does: `>=2.9,<2.15`"
        refuse(codes.BAD_VERSION_RANGE, f"{quote(value)} is not a version range", help=help)
    if not is_satisfiable(specifiers):
        refuse(codes.BAD_VERSION_RANGE, f"no version is in the range {quote(value)}")
    return "".join(value.split())


def is_satisfiable(specifiers: SpecifierSet) -> bool:
    """Whether any version is in the range: each piece of one starts at a bound, or right above one."""
    candidates = ["0.dev0"]
    for specifier in specifiers:
        bound = Version(specifier.version.removesuffix(".*"))
        *first, last = bound.release
        next_release = f"{bound.epoch}!{'.'.join(map(str, (*first, last + 1)))}"
        # The bound, and what comes next: of its own kind, longer by one part, and without what it may cover (`2.*`).
        candidates += (str(bound), _counted_up(str(bound)), f"{bound.epoch}!{bound.base_version.split('!')[-1]}.0.0.1")
        candidates += (next_release, f"{bound.base_version}.post{(bound.post or 0) + 1}")
    return any(specifiers.contains(candidate, prereleases=True) for candidate in candidates)


def _counted_up(version: str) -> str:
    """The version with its last number raised by one: `2.9rc1` -> `2.9rc2`."""
    return re.sub(r"[0-9]+$", lambda number: str(int(number.group()) + 1), version)


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse a list with the same value twice."""
    for index, value in enumerate(values):
        if value in values[:index]:
            first = values.index(value)
            message = f"{quote(value)} stands twice in the list"
            places = {"key": (index,), "other": (first,), "other_label": "first here"}
            refuse(codes.CONTRADICTION, message, **places, replacement="")
    return values


def _single_line(value: str) -> str:
    if not value.strip() or len(value.splitlines()) > 1:
        refuse(codes.WRONG_VALUE, "this text is one line, and not an empty one")
    for character in value:
        if character != "\t" and unicodedata.category(character) in _NEVER_IN_A_LINE:
            refuse(codes.WRONG_VALUE, f"the character U+{ord(character):04X} cannot stand in this text")
    return value


_NEVER_IN_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})


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

_CPP_NAME = Matching(r"(::)?[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*", codes.BAD_NAME, "a C++ name")
_BUILT_IN_TYPES = frozenset({"bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned"})
_BUILT_IN_VALUES = frozenset({"false", "nullptr", "true"})


def _no_keyword(*allowed: str) -> AfterValidator:
    def check(value: str) -> str:
        for part in value.split("::"):
            if part in CPP_KEYWORDS and value not in allowed:
                refuse(codes.BAD_NAME, f"`{part}` is a keyword of C++")
        return value

    return AfterValidator(check)


CppName = Annotated[str, _CPP_NAME, _no_keyword()]
"""The C++ name of a function, perhaps qualified: `simMalloc`, `vendor::copy`."""

CppType = Annotated[str, _CPP_NAME, _no_keyword(*_BUILT_IN_TYPES)]
"""The C++ name of a type, perhaps qualified: `simError_t`, `vendor::Status`, `int`."""

CppValue = Annotated[str, _CPP_NAME, _no_keyword(*_BUILT_IN_VALUES)]
"""The C++ name of a value, perhaps qualified: `simSuccess`, `vendor::Status::kOk`."""

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
