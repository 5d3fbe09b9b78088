"""Schemas of custom operators: the part of torch's schema language that they may use."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acmegen.cpp_keywords import CPP_KEYWORDS
from acmegen.facts.operators import Argument, Operator, Return
from acmegen.plan.text_error import TextError

_TYPES: Mapping[str, str] = {
    "Tensor": "const at::Tensor &",
    "Tensor?": "const std::optional<at::Tensor> &",
    "Tensor[]": "at::TensorList",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "at::IntArrayRef",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "at::ArrayRef<double>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "c10::string_view",
    "str?": "std::optional<c10::string_view>",
    "Scalar": "const at::Scalar &",
    "Scalar?": "const std::optional<at::Scalar> &",
    "ScalarType": "at::ScalarType",
    "ScalarType?": "std::optional<at::ScalarType>",
}
# What the generated functions call or define beside their parameters.
_USED_BY_TEMPLATES = frozenset(
    {
        "address_or_null",
        "accumulate_dtype",
        "below_autograd",
        "common_device",
        "contiguous",
        "context",
        "element",
        "empty_tensor",
        "extent",
        "given",
        "gradients",
        "guard",
        "handle",
        "inner_extent",
        "is_one_of",
        "iterator",
        "joined",
        "library_dtype",
        "make_iterator",
        "meta_like",
        "meta_tensor",
        "operator_handle",
        "optional",
        "outer_extent",
        "reduced_mask",
        "result",
        "results",
        "saved",
        "slice",
        "stream",
        "target_device",
        "writable_address_or_null",
    }
)
_ARGUMENT = re.compile(
    r"(?P<type>[A-Za-z]+)(?P<alias>\([a-z]!\))?(?P<suffix>(\[\])?\??) +(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"( *= *(?P<default>\S+))?"
)
_INTEGER = r"[-+]?[0-9]+"
_FLOAT = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
# What a default value may be, by the argument's type. `None` is one of each optional type as well.
_DEFAULTS: Mapping[str, re.Pattern[str]] = {
    "int": re.compile(_INTEGER),
    "float": re.compile(_FLOAT),
    "bool": re.compile("True|False"),
    "str": re.compile(r"'[A-Za-z0-9_ ./-]*'"),
    "Scalar": re.compile(f"{_FLOAT}|True|False"),
    "int[]": re.compile(rf"\[\]|{_INTEGER}"),
    "float[]": re.compile(rf"\[\]|{_FLOAT}"),
}
_RETURN = re.compile(r"Tensor(?P<alias>\([a-z]!\))?( +(?P<name>[A-Za-z_][A-Za-z0-9_]*))?")
_SCHEMA = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(\.(?P<overload>[A-Za-z_][A-Za-z0-9_]*))?\(", re.DOTALL)


class SchemaError(TextError):
    """A schema that is not in the language."""


def parse_schema(schema: str, namespace: str) -> Operator:
    """Read the schema of a custom operator, given without its namespace.

    Raises:
        SchemaError: it uses what custom operators cannot have.
    """
    head = _SCHEMA.match(schema)
    arrow = schema.rfind("->")
    close = schema.rfind(")", 0, arrow)
    if head is None or arrow < 0 or close < head.end() - 1:
        raise SchemaError("write a schema as `name(Tensor x, …) -> Tensor`", 0, len(schema))
    arguments = _arguments(schema, head.end(), close)
    returns = _returns(schema, arrow + 2)
    base, overload = head.group("name"), head.group("overload") or ""
    mutable = any(argument.is_mutable for argument in arguments)
    name = f"{base}.{overload}" if overload else base
    identifier = f"{namespace}_{base}" + (f"_{overload}" if overload else "")
    return Operator(
        namespace=namespace,
        name=name,
        base=base,
        overload=overload,
        kernel_name=identifier,
        ops_class=identifier,
        header="",
        schema=" ".join(schema.split()),
        arguments=arguments,
        returns=returns,
        cpp_return_type=_return_type(returns),
        variant="mutable" if mutable else "functional",
        dispatch=frozenset(),
        composite_implicit=False,
        composite_explicit=False,
        is_view=False,
        has_derivative=False,
        group=None,
    )


def _arguments(schema: str, start: int, end: int) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    keyword_only = False
    for offset, text in _pieces(schema, start, end):
        if text == "*":
            keyword_only = True
            continue
        match = _ARGUMENT.fullmatch(text)
        if match is None:
            raise SchemaError("write an argument as `Tensor x` or `float eps=1e-5`", offset, len(text))
        type_ = match.group("type") + match.group("suffix")
        if type_ not in _TYPES:
            raise SchemaError(f"a custom operator cannot have an argument of type `{type_}`", offset, len(text))
        is_mutable = match.group("alias") is not None
        if is_mutable and type_ != "Tensor":
            raise SchemaError("only a `Tensor` can be written to", offset, len(text))
        default = match.group("default")
        if default is not None and not _is_default(type_, default):
            raise SchemaError(f"`{default}` is not a default value for the type `{type_}`", offset, len(text))
        name = match.group("name")
        if any(argument.name == name for argument in arguments):
            raise SchemaError(f"two arguments are called `{name}`", offset, len(text))
        arguments.append(
            Argument(
                name=name,
                cpp_name=f"{name}_" if name in CPP_KEYWORDS | _USED_BY_TEMPLATES else name,
                type=type_,
                cpp_type="at::Tensor &" if is_mutable else _TYPES[type_],
                default=default,
                is_mutable=is_mutable,
                is_out=False,
                keyword_only=keyword_only,
            )
        )
    if not any(argument.is_tensor_like for argument in arguments):
        raise SchemaError("a custom operator needs a tensor argument: it says where to run", start, end - start)
    return tuple(arguments)


def _is_default(type_: str, default: str) -> bool:
    if type_.endswith("?") and default == "None":
        return True
    values = _DEFAULTS.get(type_.removesuffix("?"))
    return values is not None and values.fullmatch(default) is not None


def _returns(schema: str, start: int) -> tuple[Return, ...]:
    text = schema[start:].strip()
    begin = schema.index(text, start) if text else start
    if text == "()":
        return ()
    if text.startswith("(") and text.endswith(")"):
        pieces = list(_pieces(schema, begin + 1, begin + len(text) - 1))
    else:
        pieces = [(begin, text)]
    returns = []
    for offset, piece in pieces:
        match = _RETURN.fullmatch(piece)
        if match is None:
            raise SchemaError("a custom operator returns `Tensor`, or `(Tensor, Tensor)`", offset, len(piece))
        returns.append(Return(match.group("name"), "Tensor", match.group("alias") is not None))
    return tuple(returns)


def _return_type(returns: tuple[Return, ...]) -> str:
    types = ["at::Tensor &" if value.is_mutable else "at::Tensor" for value in returns]
    if len(types) == 1:
        return types[0]
    return f"std::tuple<{', '.join(types)}>" if types else "void"


def _pieces(schema: str, start: int, end: int) -> list[tuple[int, str]]:
    """The comma-separated pieces of `schema[start:end]`, each with its offset, without spaces around it."""
    pieces: list[tuple[int, str]] = []
    offset = start
    if not schema[start:end].strip():
        return pieces
    for raw in schema[start:end].split(","):
        stripped = raw.strip()
        pieces.append((offset + len(raw) - len(raw.lstrip()), stripped))
        offset += len(raw) + 1
    return pieces
