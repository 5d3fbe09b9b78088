"""ops/*.yaml: how each operator is served."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from acmegen.diagnostics import codes, did_you_mean, quote, sure_fix
from acmegen.manifest.library import Allocation, Expressions, Step
from acmegen.manifest.model import (
    EMPTY_LIST,
    EMPTY_MAPPING,
    ONE_OR_MORE,
    CppName,
    Dtypes,
    Line,
    Model,
    Name,
    distinct,
    refuse,
)
from acmegen.manifest.names import NamespaceName
from acmegen.manifest.presets import operator_presets

Kind: TypeAlias = Literal["expr", "library", "user", "reference", "fallback", "composite", "runtime", "unsupported"]
Otherwise: TypeAlias = Literal["fallback", "error"]

MAX_NAME = 100
"""The most characters in the name of an operator: a file is named after it."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OPERATOR = re.compile(rf"{_NAME}(\.{_NAME})?")
_SCHEMA = re.compile(rf"({_NAME}(?:\.{_NAME})?)\(.*\) *-> *\S.*", re.DOTALL)


def _operator_name(name: str) -> str:
    if name.startswith("aten::") and _OPERATOR.fullmatch(name[6:]):
        refuse(
            codes.BAD_OPERATOR_NAME, f"{quote(name)} has a namespace", label="leave out `aten::`", replacement=name[6:]
        )
    if not _OPERATOR.fullmatch(name) or len(name) > MAX_NAME:
        refuse(
            codes.BAD_OPERATOR_NAME, f"{quote(name)} is not the name of an operator", help="for example `add.Tensor`"
        )
    return name


def _preset(name: str) -> str:
    known = operator_presets()
    if name not in known:
        listed = ", ".join(f"`{preset}`" for preset in known)
        refuse(
            codes.UNKNOWN_PRESET,
            f"unknown preset {quote(name)}",
            label=did_you_mean(name, known),
            help=f"there are {listed}",
            replacement=sure_fix(name, known),
        )
    return name


def _schema(schema: str) -> str:
    if not _SCHEMA.fullmatch(schema):
        refuse(
            codes.BAD_OPERATOR_NAME,
            f"{quote(schema)} is not an operator's schema",
            help='without a namespace, for example "rms_norm(Tensor x, float eps) -> Tensor"',
        )
    if len(schema_name(schema)) > MAX_NAME:
        refuse(codes.BAD_NAME, f"the operator's name is longer than {MAX_NAME} characters")
    return schema


OperatorName = Annotated[
    str, AfterValidator(_operator_name), Field(json_schema_extra={"pattern": f"^(?:{_OPERATOR.pattern})$"})
]
"""`name` or `name.overload`, as in torch's schemas."""

PresetName = Annotated[str, AfterValidator(_preset)]
"""A set of operators that comes with acmegen."""

_SCHEMA_PATTERN = rf"^{_NAME}(\.{_NAME})?\([\s\S]*\) *-> *\S[\s\S]*$"

Schema = Annotated[str, AfterValidator(_schema), Field(json_schema_extra={"pattern": _SCHEMA_PATTERN})]
"""An operator's schema without namespace. Only its outline is checked here."""


class NoOptions(Model):
    """A kernel kind that needs to know nothing else."""


class Entry(Model):
    """How one operator, or one structured group, is served."""

    kind: ClassVar[Kind]
    shorthand: ClassVar[bool] = False


class ExprEntry(Entry):
    """A scalar expression, applied to each element."""

    kind: ClassVar[Kind] = "expr"

    expr: str = Field(
        min_length=1,
        description="The expression. It names the operator's own arguments; `a`, `b`, `c` are its first three tensors.",
        examples=["a + alpha * b"],
    )
    dtypes: Dtypes = Field(
        default=("all",),
        validate_default=True,
        description="The dtypes that the expression serves.",
        examples=[["floating", "int64"]],
    )
    otherwise: Otherwise = Field(default="fallback", description="What serves the other dtypes.", examples=["error"])
    arguments: Annotated[dict[Name, Name], EMPTY_MAPPING] = Field(
        default={},
        description="Names for the expression: alias -> the operator's argument.",
        examples=[{"g": "grad_output"}],
    )


class LibraryEntry(Entry):
    """A function of the vendor's maths library."""

    kind: ClassVar[Kind] = "library"

    library: CppName = Field(description="The function's name.", examples=["simGemm"])
    args: Expressions = Field(
        default=(),
        description="The function's arguments, each an expression over the operator's arguments.",
        examples=[["stream", "dtype(self)", "self.size(0)", "self", "out"]],
    )
    dtypes: Dtypes = Field(description="The dtypes that the function serves.", examples=[["floating"]])
    otherwise: Otherwise = Field(default="fallback", description="What serves the other dtypes.", examples=["error"])
    layouts: Annotated[dict[Name, Literal["strided", "contiguous"]], EMPTY_MAPPING] = Field(
        default={},
        description="The layout that the function needs of a tensor argument; a copy is made where it has another.",
        examples=[{"self": "strided"}],
    )
    requires: Annotated[tuple[str, ...], EMPTY_LIST] = Field(
        default=(),
        description="Conditions on the arguments without which the function does not serve a call.",
        examples=[["half_to_float == false"]],
    )
    outputs: Annotated[tuple[Allocation, ...], EMPTY_LIST] = Field(
        default=(),
        description="How each result is allocated, for operators that are not structured.",
        examples=[[{"like": "self"}]],
    )
    scratch: Annotated[dict[Name, Allocation], EMPTY_MAPPING] = Field(
        default={},
        description="Temporary tensors, by the name that the arguments use.",
        examples=[{"rstd": {"sizes": ["x.sizes[:-1]"], "dtype": "accumulate(x)"}}],
    )
    before: Annotated[tuple[Step, ...], EMPTY_LIST] = Field(
        default=(),
        description="What is done before the call: copies and other calls.",
        examples=[[{"copy": "self", "to": "out"}]],
    )


class UserEntry(Entry):
    """A kernel that you write; its declaration, registration and a stub are generated."""

    kind: ClassVar[Kind] = "user"
    shorthand: ClassVar[bool] = True

    user: Annotated[NoOptions, EMPTY_MAPPING] = Field(description="No options.", examples=[{}])


class ReferenceEntry(Entry):
    """torch's CPU kernel, run on the device's memory in place."""

    kind: ClassVar[Kind] = "reference"
    shorthand: ClassVar[bool] = True

    reference: Annotated[NoOptions, EMPTY_MAPPING] = Field(description="No options.", examples=[{}])


class FallbackEntry(Entry):
    """torch's CPU kernel, run on copies."""

    kind: ClassVar[Kind] = "fallback"
    shorthand: ClassVar[bool] = True

    fallback: Annotated[NoOptions, EMPTY_MAPPING] = Field(description="No options.", examples=[{}])


class CompositeEntry(Entry):
    """torch's own decomposition into other operators."""

    kind: ClassVar[Kind] = "composite"
    shorthand: ClassVar[bool] = True

    composite: Annotated[NoOptions, EMPTY_MAPPING] = Field(description="No options.", examples=[{}])


class RuntimeEntry(Entry):
    """A kernel of the generated runtime: storage, copies, views and random numbers."""

    kind: ClassVar[Kind] = "runtime"
    shorthand: ClassVar[bool] = True

    runtime: Annotated[NoOptions, EMPTY_MAPPING] = Field(description="No options.", examples=[{}])


class UnsupportedEntry(Entry):
    """An operator that the device does not have: calling it is a NotImplementedError."""

    kind: ClassVar[Kind] = "unsupported"

    unsupported: Line = Field(description="Why, in one line.", examples=["no RNN engine on this device"])


class CustomFields(Model):
    """What an operator of your own needs beside its kernel."""

    namespace: NamespaceName | None = Field(
        default=None,
        description="The operator's namespace; by default the backend's C++ namespace.",
        examples=["my_device"],
    )
    like: Annotated[tuple[Name, ...], ONE_OR_MORE] = Field(
        default=(),
        description="The meta function: each result has the shape and dtype of the argument named here in its place.",
        examples=["x", ["x", "weight"]],
    )
    meta: Literal["user"] | None = Field(
        default=None, description="`user`: you write the meta function in Python.", examples=["user"]
    )
    backward: OperatorName | None = Field(
        default=None,
        description="The operator of this manifest that computes the gradient.",
        examples=["rms_norm_backward"],
    )

    @model_validator(mode="after")
    def _one_meta_function(self) -> CustomFields:
        if self.like and self.meta is not None:
            message, places = "`like` and `meta` both give the meta function", {"key": "meta", "other": "like"}
            refuse(codes.CONTRADICTION, message, **places, other_label="the other one")
        return self


class CustomExprEntry(CustomFields, ExprEntry):
    """An operator of your own, served by an expression."""


class CustomLibraryEntry(CustomFields, LibraryEntry):
    """An operator of your own, served by the vendor's maths library."""


class CustomUserEntry(CustomFields, UserEntry):
    """An operator of your own, served by a kernel that you write."""


_ENTRIES: tuple[type[Entry], ...] = (
    ExprEntry,
    LibraryEntry,
    UserEntry,
    ReferenceEntry,
    FallbackEntry,
    CompositeEntry,
    RuntimeEntry,
    UnsupportedEntry,
)
KINDS: tuple[str, ...] = tuple(entry.kind for entry in _ENTRIES)
_SHORTHANDS = tuple(entry.kind for entry in _ENTRIES if entry.shorthand)
_CUSTOM_KINDS = ("expr", "library", "user")
_MODELS: tuple[type[Model], ...] = (*_ENTRIES, CustomFields)
_FIELDS = frozenset(name for model in _MODELS for name in model.model_fields)


class _OneKind:
    """Spells a shorthand out, and refuses an entry that does not name exactly one of `kinds`."""

    def __init__(self, kinds: tuple[str, ...], shorthands: tuple[str, ...]) -> None:
        self._kinds = kinds
        self._shorthands = shorthands

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._spell_out, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"enum": list(self._shorthands)}, handler(schema)]}

    def _spell_out(self, value: Any) -> Any:
        if isinstance(value, str):
            return {self._shorthand(value): {}}
        if not isinstance(value, dict):
            refuse(codes.KERNEL_KIND, "an entry is a kernel kind, or a mapping that has one", help=self._help)
        found = [key for key in value if key in KINDS]
        if len(found) > 1:
            listed = " and ".join(f"`{kind}`" for kind in found)
            message = f"an entry has one kernel kind, and this has {listed}"
            refuse(codes.KERNEL_KIND, message, key=found[1], other=found[0], other_label="the first one")
        if not found:
            for key in value:
                if key not in _FIELDS and (label := did_you_mean(key, self._kinds)):
                    meant = sure_fix(key, self._kinds)
                    refuse(
                        codes.KERNEL_KIND, f"unknown kernel kind {quote(key)}", key=key, label=label, replacement=meant
                    )
            refuse(codes.KERNEL_KIND, "this entry has no kernel kind", help=self._help)
        if found[0] not in self._kinds:
            message = f"an operator of your own cannot be served by `{found[0]}`"
            refuse(codes.KERNEL_KIND, message, key=found[0], help=self._help)
        return value

    @property
    def _help(self) -> str:
        return f"add one of {', '.join(f'`{kind}`' for kind in self._kinds)}"

    def _shorthand(self, value: str) -> str:
        if value in self._shorthands:
            return value
        if value in self._kinds:
            refuse(codes.KERNEL_KIND, f"`{value}` needs a value: `{{{value}: …}}`")
        if value in KINDS:
            refuse(codes.KERNEL_KIND, f"an operator of your own cannot be served by `{value}`", help=self._help)
        refuse(
            codes.KERNEL_KIND,
            f"unknown kernel kind {quote(value)}",
            label=did_you_mean(value, self._shorthands),
            replacement=sure_fix(value, self._shorthands),
        )


def _tag(value: Any) -> str:
    # Tags are no keys of any manifest, so that they never stand for a place in one.
    kind = next((key for key in value if key in KINDS), "") if isinstance(value, dict) else value.kind
    return f"<{kind}>"


OperatorEntry: TypeAlias = Annotated[
    Annotated[ExprEntry, Tag("<expr>")]
    | Annotated[LibraryEntry, Tag("<library>")]
    | Annotated[UserEntry, Tag("<user>")]
    | Annotated[ReferenceEntry, Tag("<reference>")]
    | Annotated[FallbackEntry, Tag("<fallback>")]
    | Annotated[CompositeEntry, Tag("<composite>")]
    | Annotated[RuntimeEntry, Tag("<runtime>")]
    | Annotated[UnsupportedEntry, Tag("<unsupported>")],
    Discriminator(_tag),
    _OneKind(KINDS, _SHORTHANDS),
]
CustomEntry: TypeAlias = Annotated[
    Annotated[CustomExprEntry, Tag("<expr>")]
    | Annotated[CustomLibraryEntry, Tag("<library>")]
    | Annotated[CustomUserEntry, Tag("<user>")],
    Discriminator(_tag),
    _OneKind(_CUSTOM_KINDS, ("user",)),
]


class OpsManifest(Model):
    """Operators and how they are served."""

    manifest: Literal["ops/v1"] = Field(description="The kind and version of this file.")
    include: Annotated[tuple[PresetName, ...], AfterValidator(distinct), EMPTY_LIST] = Field(
        default=(),
        description="Presets whose entries count where the project has none of its own.",
        examples=[["core"]],
    )
    ops: Annotated[dict[OperatorName, OperatorEntry], EMPTY_MAPPING] = Field(
        default={},
        description="torch's operators: `name.overload` -> a kernel kind, or a mapping that has one.",
        examples=[{"add.Tensor": {"expr": "a + alpha * b"}, "nonzero": "reference"}],
    )
    custom: Annotated[dict[Schema, CustomEntry], EMPTY_MAPPING] = Field(
        default={},
        description="Operators of your own: schema -> a mapping with a kernel kind.",
        examples=[{"scale(Tensor x, float factor) -> Tensor": {"like": "x", "expr": "x * factor"}}],
    )


def schema_name(schema: str) -> str:
    """`name` or `name.overload` of a schema that `OpsManifest` accepted."""
    match = _SCHEMA.fullmatch(schema)
    if match is None:
        raise ValueError(schema)
    return match.group(1)
