"""Schemas of custom operators: the part of torch's schema language that they may use."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

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
        "launch",
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
_MACROS = frozenset({"assert", "errno", "linux", "unix"})
# What the generated functions call their own variables, after those of the operator.
_DERIVED = re.compile(r"out[0-9]+|.*_(buffer|contiguous|given|scratch)")
# The words of TorchScript, whose parser reads schemas.
_WORDS = frozenset(
    """
    False None True and as assert break class continue def del elif else for global if import in is not or pass raise
    return while with
    """.split()  # noqa: SIM905
)
# Attributes of what `torch.ops.NAMESPACE` and `torch.ops.NAMESPACE.NAME` are, which hide an operator of that name.
_HIDDEN_NAMES = frozenset({"_dir", "name"})
_HIDDEN_OVERLOADS = frozenset(
    {"_dir", "_has_torchbind_op_overload", "_op", "_overload_names", "_qualified_op_name", "_schemas"}
    | {"default", "op", "op_overloads", "overloads"}
)
_ARGUMENT = re.compile(
    r"(?P<type>[A-Za-z]+)(?P<alias>\([a-z]!\))?(?P<suffix>(\[\])?\??) +(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"( *= *(?P<default>\S+))?"
)
_INTEGER = r"-?[0-9]+"
_FLOAT = r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
# What a default value may be, by the argument's type. `None` is one of each optional type as well.
_DEFAULTS: Mapping[str, re.Pattern[str]] = {
    "int": re.compile(_INTEGER),
    "float": re.compile(_FLOAT),
    "bool": re.compile("True|False"),
    "str": re.compile(r"'[A-Za-z0-9_ ./-]*'"),
    "Scalar": re.compile(f"{_FLOAT}|True|False"),
    "int[]": re.compile(r"\[\]"),
    "float[]": re.compile(r"\[\]"),
}
_RETURN = re.compile(r"Tensor(?P<alias>\([a-z]!\))?( +(?P<name>[A-Za-z_][A-Za-z0-9_]*))?")
_SCHEMA = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(\.(?P<overload>[A-Za-z_][A-Za-z0-9_]*))?\(", re.DOTALL)


_MAX_MISTAKES = 20  # of one schema; more are not looked for


class SchemaError(TextError):
    """A schema that is not in the language."""


def parse_schema(schema: str, namespace: str) -> Operator:
    """Read the schema of a custom operator, given without its namespace.

    Raises:
        SchemaError: it uses what custom operators cannot have; the further ones are in it.
    """
    head = _SCHEMA.match(schema)
    arrow = schema.rfind("->")
    close = schema.rfind(")", 0, arrow)
    if head is None or arrow < 0 or close < head.end() - 1:
        raise SchemaError("write a schema as `name(Tensor x, …) -> Tensor`", 0, len(schema))
    base, overload = head.group("name"), head.group("overload") or ""
    errors = list(_wrong_name(base, head.start("name")))
    if overload:
        errors += _wrong_overload(overload, head.start("overload"))
    arguments = _arguments(schema, head.end(), close, errors)
    returns = _returns(schema, arrow + 2, errors)
    if errors:
        first, *further = errors
        first.further = tuple(further)
        raise first
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


def _wrong_word(name: str, offset: int) -> Iterator[SchemaError]:
    if name in _WORDS:
        yield SchemaError(f"`{name}` is a word of torch's schema language", offset, len(name))


def _wrong_name(name: str, offset: int) -> Iterator[SchemaError]:
    yield from _wrong_word(name, offset)
    if name in _HIDDEN_NAMES or name.startswith("__"):
        yield SchemaError(f"an operator called `{name}` cannot be reached through `torch.ops`", offset, len(name))


def _wrong_overload(name: str, offset: int) -> Iterator[SchemaError]:
    yield from _wrong_word(name, offset)
    if name in _HIDDEN_OVERLOADS or name.startswith("__"):
        yield SchemaError(f"an overload cannot be called `{name}`", offset, len(name))


def _cpp_name(name: str) -> str:
    """A C++ name for an argument that means nothing else where it is used. Two arguments never get the same."""
    stem = name.rstrip("_")
    taken = stem in CPP_KEYWORDS | _USED_BY_TEMPLATES | _MACROS or _DERIVED.fullmatch(stem)
    # Types and macros have capitals.
    return f"{name}_" if taken or name.startswith("__") or any(map(str.isupper, name)) else name


def _arguments(schema: str, start: int, end: int, errors: list[SchemaError]) -> tuple[Argument, ...]:
    """The arguments in `schema[start:end]`; those that are wrong are left out, and noted in `errors`."""
    arguments: list[Argument] = []
    keyword_only = False
    before = len(errors)
    for offset, text in _pieces(schema, start, end):
        if len(errors) >= _MAX_MISTAKES:
            break
        if text == "*":
            keyword_only = True
            continue
        match = _ARGUMENT.fullmatch(text)
        if match is None:
            errors.append(SchemaError("write an argument as `Tensor x` or `float eps=1e-5`", offset, len(text)))
            continue
        found = list(_wrong_argument(match, offset, arguments, keyword_only))
        errors += found
        if not found:
            arguments.append(_argument(match, keyword_only))
    if len(errors) == before and not any(argument.is_tensor_like for argument in arguments):
        errors.append(
            SchemaError("a custom operator needs a tensor argument: it says where to run", start, end - start)
        )
    return tuple(arguments)


def _argument(match: re.Match[str], keyword_only: bool) -> Argument:
    name, type_, is_mutable = match["name"], match["type"] + match["suffix"], match["alias"] is not None
    return Argument(
        name=name,
        cpp_name=_cpp_name(name),
        type=type_,
        cpp_type="at::Tensor &" if is_mutable else _TYPES[type_],
        default=match["default"],
        is_mutable=is_mutable,
        is_out=False,
        keyword_only=keyword_only,
    )


def _wrong_argument(
    match: re.Match[str], offset: int, before: Sequence[Argument], keyword_only: bool
) -> Iterator[SchemaError]:
    """What is wrong with the argument that `match` is of a text at `offset`, after the arguments `before`."""
    type_, default, length = match["type"] + match["suffix"], match["default"], len(match.group())
    if type_ not in _TYPES:
        message = f"a custom operator cannot have an argument of type `{type_}`"
        yield SchemaError(message, offset, match.end("suffix"), wrong=type_, known=_TYPES)
    elif match["alias"] is not None and type_ != "Tensor":
        yield SchemaError("only a `Tensor` can be written to", offset, length)
    elif default is not None and not _is_default(type_, default):
        message = f"`{default}` is not a default value for the type `{type_}`"
        yield SchemaError(message, offset + match.start("default"), len(default))
    if default is None and not keyword_only and before and before[-1].default is not None:
        yield SchemaError("an argument without a default value follows one that has one", offset, length)
    name, place = match["name"], offset + match.start("name")
    yield from _wrong_word(name, place)
    if any(argument.name == name for argument in before):
        yield SchemaError(f"two arguments are called `{name}`", place, len(name))


def _is_default(type_: str, default: str) -> bool:
    if type_.endswith("?") and default == "None":
        return True
    plain = type_.removesuffix("?")
    values = _DEFAULTS.get(plain)
    if values is None or not values.fullmatch(default):
        return False
    if plain == "int":
        return -(2**63) <= int(default) < 2**63 if len(default) < 32 else False
    if plain in ("float", "Scalar") and default not in ("True", "False"):
        # torch reads what a double can hold, and neither more nor less.
        value = float(default)
        return math.isfinite(value) and (value != 0 or not re.search("[1-9]", re.split("[eE]", default)[0]))
    return True


def _returns(schema: str, start: int, errors: list[SchemaError]) -> tuple[Return, ...]:
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
            message, word = "a custom operator returns `Tensor`, or `(Tensor, Tensor)`", piece.split(" ")[0]
            wrong = "" if word == "Tensor" else word
            errors.append(SchemaError(message, offset, len(wrong or piece), wrong=wrong, known=["Tensor"]))
            continue
        if match.group("name") is not None:
            errors += _wrong_word(match.group("name"), offset + match.start("name"))
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
