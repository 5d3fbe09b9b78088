"""The language of library entries: what expressions become, and where the mistakes in them are."""

from __future__ import annotations

import pytest

from acmegen.plan.expression_source import ExpressionError
from acmegen.plan.ops_grammar import (
    Kind,
    Operand,
    Scope,
    Value,
    compile_argument,
    compile_condition,
    compile_dtype,
    compile_size,
)

SCOPE = Scope(
    tensors={
        "x": Operand("x", "x_contiguous"),
        "w": Operand("w_given", "w_contiguous", optional=True),
        "out": Operand("out", "out", writable=True),
        "mask": Operand("mask", "mask", writable=True, optional=True),
    },
    values={
        "dim": Value(Kind.INT, "dim"),
        "dims": Value(Kind.OPTIONAL_SHAPE, "dims"),
        "shape": Value(Kind.SHAPE, "shape"),
        "alpha": Value(Kind.SCALAR, "alpha"),
        "eps": Value(Kind.FLOAT, "eps"),
        "flag": Value(Kind.BOOL, "flag"),
        "dtype_": Value(Kind.DTYPE, "dtype_"),
        "output_mask": Value(Kind.BOOLS, "output_mask"),
    },
)


@pytest.mark.parametrize(
    ("text", "cpp"),
    [
        ("stream", "stream.stream()"),
        ("x", "x_contiguous.const_data_ptr()"),
        ("w", "address_or_null(w_contiguous)"),
        ("out", "out.mutable_data_ptr()"),
        ("mask", "writable_address_or_null(mask)"),
        ("x.size(0)", "extent(x, 0)"),
        ("x.size(-1)", "extent(x, -1)"),
        ("x.stride(1)", "x_contiguous.stride(1)"),
        ("x.sizes", "x.sizes().data()"),
        ("x.strides", "x_contiguous.strides().data()"),
        ("x.numel", "x.numel()"),
        ("x.outer(dim)", "outer_extent(x, dim)"),
        ("x.inner(dim)", "inner_extent(x, dim)"),
        ("dtype(x)", "library_dtype(x.scalar_type())"),
        ("accumulate(x)", "library_dtype(accumulate_dtype(x.scalar_type()))"),
        ("product(x.sizes[:-1])", "c10::multiply_integers(slice(x.sizes(), 0, -1))"),
        ("product(shape[1:])", "c10::multiply_integers(slice(shape, 1))"),
        ("shape.size", "static_cast<int64_t>(shape.size())"),
        ("shape[-1]", "element(shape, -1)"),
        ("reduced_mask(dims, x)", "reduced_mask(dims, x)"),
        ("double(alpha)", "alpha.toDouble()"),
        ("int(alpha)", "alpha.toLong()"),
        ("double(dim)", "static_cast<double>(dim)"),
        ("eps", "eps"),
        ("-1", "-1"),
        ("1.0", "1.0"),
        ("1e-05", "1e-05"),
        ("true", "true"),
        ("flag", "flag"),
        ("output_mask[1]", "output_mask[1]"),
        ("simReduceSum", "simReduceSum"),
        ('constant("vendor::no_transpose")', "vendor::no_transpose"),
        ("x.size(0) * 2 + dim // 3", "((extent(x, 0) * 2) + (dim / 3))"),
    ],
)
def test_arguments(text: str, cpp: str) -> None:
    assert compile_argument(text, SCOPE) == cpp


@pytest.mark.parametrize(
    ("text", "cpp"),
    [
        ("flag == false", "(flag == false)"),
        ("not flag and x.dim >= 2", "(!flag && (x.dim() >= 2))"),
        ("dtype(x) == dtype_", "(x.scalar_type() == dtype_)"),
        (
            "dtype(x) == int64 or floating(x)",
            "((x.scalar_type() == c10::ScalarType::Long) || c10::isFloatingType(x.scalar_type()))",
        ),
        ("x.sizes[-shape.size:] == shape", "(slice(x.sizes(), -static_cast<int64_t>(shape.size())) == shape)"),
        ("w.sizes == shape", "(!w_given.defined() || (w_given.sizes() == shape))"),
    ],
)
def test_conditions(text: str, cpp: str) -> None:
    assert compile_condition(text, SCOPE) == cpp


def test_sizes_and_dtypes() -> None:
    assert compile_size("dim", SCOPE) == Value(Kind.INT, "dim")
    assert compile_size("x.sizes[:2]", SCOPE) == Value(Kind.SHAPE, "slice(x.sizes(), 0, 2)")
    assert compile_size("ones(2)", SCOPE).cpp == "at::IntArrayRef(at::DimVector(2, 1))"
    assert compile_dtype("x", SCOPE) == "x.scalar_type()"
    assert compile_dtype("accumulate(x)", SCOPE) == "accumulate_dtype(x.scalar_type())"


@pytest.mark.parametrize(
    ("text", "offset", "length", "words"),
    [
        ("x.size(", 6, 1, "not an expression"),
        ("y.size(0)", 0, 1, "there is no argument `y`"),
        ("dmi", 0, 3, "did you mean `dim`?"),
        ("unknown", 0, 7, 'constant("unknown")'),
        ("alpha", 0, 5, "`double(alpha)` or `int(alpha)`"),
        ("dims", 0, 4, "cannot be passed"),
        ("x.shape", 2, 5, "not `shape`"),
        ("x.view(1)", 2, 4, "not `view`"),
        ("x.size(0, 1)", 0, 12, "takes 1 argument, not 2"),
        ("x.size(eps)", 7, 3, "expected an integer"),
        ("x.size(dim=0)", 0, 13, "have no names"),
        ("lambda: 1", 0, 9, "not part of the language"),
        ("__import__('os')", 0, 10, "not a function of the language"),
        ("True", 0, 4, "write `true`"),
        ("'text'", 0, 6, "not part of the language"),
        ("1 << 2", 0, 6, "not part of the language"),
        ("flag < eps", 0, 10, "cannot compare"),
        ("constant(simFoo)", 9, 6, "in quotes"),
        ("constant('a); b(')", 9, 8, "in quotes"),
        ("99999999999999999999", 0, 20, "64-bit"),
        ("(" * 500 + "1" + ")" * 500, 0, 1, "not an expression"),
        ("-" * 500 + "1", 64, 437, "nested too deeply"),
        ("-" * 3000 + "1", 0, 3001, "nested too deeply"),
        ("1 + " * 2000 + "1", 4000, 4001, "longer than 4000 characters"),
        ("É", 0, 1, "there is no argument"),
    ],
)
def test_mistakes(text: str, offset: int, length: int, words: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_argument(text, SCOPE)
    assert words in f"{raised.value.message}; {raised.value.label}; {raised.value.help}"
    if len(text) < 100:
        assert (raised.value.offset, raised.value.length) == (offset, length)


def test_offsets_count_characters() -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_argument("x.size(ä)", SCOPE)
    assert (raised.value.offset, raised.value.length) == (7, 1)


def test_a_condition_is_a_truth_value() -> None:
    with pytest.raises(ExpressionError, match="expected a truth value, this is an integer"):
        compile_condition("x.numel", SCOPE)


def test_a_dtype_is_a_dtype() -> None:
    with pytest.raises(ExpressionError, match="expected a dtype"):
        compile_dtype("dim", SCOPE)


def test_an_attribute_that_is_misspelt_is_marked_and_has_one_sure_correction() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_argument("double(x.dims)", SCOPE)
    found = caught.value
    assert (found.offset, found.length, found.label, found.meant) == (9, 4, "did you mean `dim`?", "dim")
