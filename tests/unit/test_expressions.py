"""The expression language, its printing as host C++, and the lowering of `expr` entries."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.facts.operators import Operators, load_operators
from acmegen.facts.torch_install import find_torch
from acmegen.plan.dialects import host
from acmegen.plan.expression_functions import FUNCTIONS
from acmegen.plan.expression_nodes import (
    Binary,
    Call,
    Category,
    Convert,
    Literal,
    Operand,
    Present,
    Select,
    TextIs,
    Unary,
    Value,
)
from acmegen.plan.expression_source import MAX_LENGTH
from acmegen.plan.expressions import (
    ArgumentKind,
    Expression,
    ExpressionArgument,
    ExpressionError,
    check_expression,
)
from acmegen.plan.pointwise import PointwiseKernel, lower_expr, plan_pointwise

ARGUMENTS = {
    "self": ExpressionArgument(ArgumentKind.TENSOR),
    "other": ExpressionArgument(ArgumentKind.TENSOR),
    "mask": ExpressionArgument(ArgumentKind.TENSOR),
    "alpha": ExpressionArgument(ArgumentKind.NUMBER),
    "limit": ExpressionArgument(ArgumentKind.NUMBER, optional=True),
    "flag": ExpressionArgument(ArgumentKind.TRUTH),
    "mode": ExpressionArgument(ArgumentKind.TEXT),
    "sizes": ExpressionArgument(ArgumentKind.OTHER),
}
ALIASES = {"a": "self", "b": "other"}
NUMBER, TRUTH = Value.NUMBER, Value.TRUTH
FLOAT = ("float32", "float16")


def check(text: str, dtypes: tuple[str, ...] = FLOAT) -> Expression:
    return check_expression(text, ARGUMENTS, dtypes, ALIASES)


def printed(text: str, dtypes: tuple[str, ...] = FLOAT) -> host.HostLambda:
    names = {name: name for name in ARGUMENTS}
    return host.host_lambda(check(text, dtypes), ARGUMENTS, names, dtypes)


def body(text: str, dtypes: tuple[str, ...] = FLOAT) -> str:
    return printed(text, dtypes).body


def error(text: str, dtypes: tuple[str, ...] = FLOAT) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        check(text, dtypes)
    return caught.value


class TestTree:
    def test_operators_follow_pythons_precedence(self) -> None:
        self_, other, alpha = Operand("self", NUMBER), Operand("other", NUMBER), Operand("alpha", NUMBER)
        product = Binary("*", alpha, other, NUMBER)
        assert check("self + alpha * other").root == Binary("+", self_, product, NUMBER)

    def test_aliases_are_other_names_of_arguments(self) -> None:
        assert check("a - b").root == check("self - other").root

    def test_an_arguments_own_name_wins_over_an_alias_and_a_constant(self) -> None:
        arguments = {**ARGUMENTS, "b": ExpressionArgument(ArgumentKind.NUMBER), "e": ARGUMENTS["alpha"]}
        root = check_expression("self * b + e", arguments, FLOAT, ALIASES).root
        product = Binary("*", Operand("self", NUMBER), Operand("b", NUMBER), NUMBER)
        assert root == Binary("+", product, Operand("e", NUMBER), NUMBER)

    def test_constants(self) -> None:
        assert check("self * pi").root == Binary("*", Operand("self", NUMBER), Literal(math.pi), NUMBER)
        assert check("self < -inf").root == Binary(
            "<", Operand("self", NUMBER), Unary("-", Literal(math.inf), NUMBER), TRUTH
        )

    def test_chained_comparisons(self) -> None:
        first = Binary("<", Literal(-1), Operand("self", NUMBER), TRUTH)
        second = Binary("<", Operand("self", NUMBER), Literal(1), TRUTH)
        assert check("-1 < self < 1").root == Binary("and", first, second, TRUTH)

    def test_integer_division_is_a_function(self) -> None:
        self_, other = Operand("self", NUMBER), Operand("other", NUMBER)
        assert check("self // other").root == Call("floor_div", (self_, other), NUMBER)
        assert check("self % other").root == Call("remainder", (self_, other), NUMBER)
        assert check("self ** other").root == Call("pow", (self_, other), NUMBER)

    def test_a_tensor_that_is_only_asked_is_a_truth_value(self) -> None:
        expression = check("self if mask else other")
        assert expression.truth_tensors == {"mask"}
        assert expression.tensors == ("self", "other", "mask")
        assert expression.root == Select(
            Operand("mask", TRUTH), Operand("self", NUMBER), Operand("other", NUMBER), NUMBER
        )

    def test_a_tensor_that_is_also_computed_with_is_a_number(self) -> None:
        expression = check("self if self else other")
        assert expression.truth_tensors == frozenset()
        assert isinstance(expression.root, Select)
        assert expression.root.condition == Convert(Operand("self", NUMBER), TRUTH)

    def test_sides_of_a_choice_become_alike(self) -> None:
        root = check("other if self == 0 else self > 0").root
        assert isinstance(root, Select)
        assert root.if_false == Convert(Binary(">", Operand("self", NUMBER), Literal(0), TRUTH), NUMBER)

    def test_a_comparison_gives_a_truth_value(self) -> None:
        assert check("self == other").root.value is TRUTH
        assert check("self == other if flag else mask").root.value is NUMBER

    def test_questions_are_collected_once(self) -> None:
        expression = check(
            'min(self, limit) if present(limit) and mode == "x" '
            'else self if mode != "x" else other if present(limit) else 0'
        )
        assert expression.conditions == (Present("limit"), TextIs("mode", "x"))
        assert expression.scalars == ("limit",)

    def test_line_breaks_and_indentation_do_not_matter(self) -> None:
        assert check("\n  self\n    + other\n").root == check("self + other").root


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "dtypes", "messages"),
        [
            ("frca(self) + lgo(slef)", FLOAT, ["function `frca`", "function `lgo`", "name `slef`"]),
            ("exp(slef, othr) if (q > 1) else self", FLOAT, ["`exp` takes", "name `slef`", "name `othr`", "name `q`"]),
            ("a < slef < b", FLOAT, ["name `slef`"]),
            ("sqrt(self) + 2.5 * exp(slef)", ("int64",), ["`sqrt` is not defined", "name `slef`"]),
            ("2.5 + sqrt(self)", ("int64", "float32"), ["`2.5` is not a value"]),
            ("sqrt(self) + slef @ othr", FLOAT, ["name `slef`", "matrix multiplication", "name `othr`"]),
            ("-slef ** othr and not (self == 'x')", FLOAT, ["name `slef`", "name `othr`", "a string literal"]),
            (" + ".join(f"q{index}" for index in range(100)), FLOAT, ["unknown name"] * 20),
        ],
    )
    def test_all_that_is_wrong_in_one_expression_is_said(
        self, text: str, dtypes: tuple[str, ...], messages: list[str]
    ) -> None:
        first = error(text, dtypes)
        found = [one.message for one in (first, *first.further)]
        assert len(found) == len(messages), found
        assert all(words in message for words, message in zip(messages, found, strict=True)), found

    @pytest.mark.parametrize(
        ("text", "marked", "message"),
        [
            ("self + othr", "othr", "unknown name `othr`"),
            ("self + sqrt", "sqrt", "unknown name `sqrt`"),
            ("sqr(self)", "sqr", "unknown function `sqr`"),
            ("self + exp(self, other)", "exp(self, other)", "`exp` takes 1 argument, not 2"),
            ("atan2(self)", "atan2(self)", "`atan2` takes 2 arguments, not 1"),
            ("exp(x=self)", "exp(x=self)", "`exp` takes its arguments by position"),
            ("max(*self)", "max(*self)", "`max` takes its arguments by position"),
            ("self.exp()", "self.exp", "`self.exp` is not a function"),
            ("self + other.real", "other.real", "`other.real` is not part of the expression language"),
            ("self[0]", "self[0]", "`self[0]` is not part of the expression language"),
            ("[self]", "[self]", "`[self]` is not part of the expression language"),
            ("lambda: self", "lambda: self", "`lambda: self` is not part of the expression language"),
            ("self @ other", "self @ other", "matrix multiplication is not a scalar operation"),
            ("self is None", "self is None", "`is` and `in` are not part of the expression language"),
            ("self == None", "None", "`None` is not a value"),
            ("self + 1j", "1j", "`1j` is not a number of the expression language"),
            ('self + "x"', '"x"', "a string can only be compared with a string argument"),
            ('self == "x"', 'self == "x"', "a string literal can only be compared for equality with a string argument"),
            ('self if mode < "x" else 0', 'mode < "x"', "a string literal can only be compared for equality"),
            ("self + mode", "mode", "`mode` is a string"),
            ("self + sizes", "sizes", "`sizes` is of a type that expressions don't know"),
            ("self if present(other) else 0", "present(other)", "`other` is not optional: it is always present"),
            ("self if present(1) else 0", "present(1)", "`present` takes the name of an optional argument"),
            ("alpha + 1", "alpha + 1", "the expression uses no tensor argument"),
            ("self + 99999999999999999999", "99999999999999999999", "does not fit into 64 bits"),
        ],
    )
    def test_message_and_place(self, text: str, marked: str, message: str) -> None:
        caught = error(text)
        assert message in caught.message
        assert text[caught.offset :][: caught.length] == marked

    def test_place_is_in_characters_of_the_given_text(self) -> None:
        text = '\n   self if mode == "ä€" else othr'
        caught = error(text)
        assert text[caught.offset :][: caught.length] == "othr"

    @pytest.mark.parametrize(
        ("text", "offset"), [("self +", 5), ("self + * other", 7), ("(self", 0), ("", 0), ("   ", 0), ("self other", 5)]
    )
    def test_not_an_expression(self, text: str, offset: int) -> None:
        caught = error(text)
        assert "expression" in caught.message
        assert 0 <= caught.offset <= max(len(text) - 1, 0)
        assert caught.length >= 1

    @pytest.mark.parametrize("text", ["-" * 3000 + "self", "(" * 1500 + "self" + ")" * 1500, "self\0"])
    def test_hostile_text_is_an_error_like_any_other(self, text: str) -> None:
        assert error(text).message

    def test_too_long(self) -> None:
        assert f"longer than {MAX_LENGTH} characters" in error("self + " * 1000 + "self").message

    def test_suggestions(self) -> None:
        assert error("self + othr").label == "did you mean `other`?"
        assert error("sqr(self)").label == "did you mean `sqrt`?"
        assert error("self + sqrt").help == "`sqrt` is a function: write `sqrt(…)`"


class TestDtypes:
    @pytest.mark.parametrize(
        ("text", "dtype", "message"),
        [
            ("sqrt(self)", "int64", "`sqrt` is not defined for `int64`"),
            ("self / other", "int32", "`/` is not defined for `int32`"),
            ("self & other", "float32", "`&` is not defined for `float32`"),
            ("self << other", "bool", "`<<` is not defined for `bool`"),
            ("-self", "bool", "`-` is not defined for `bool`"),
            ("self < other", "complex64", "`<` is not defined for `complex64`"),
            ("self * 2.5", "int64", "`2.5` is not a value of `int64`"),
            ("self * 300", "uint8", "`300` is not a value of `uint8`"),
            ("self * -1", "uint8", "`-1` is not a value of `uint8`"),
            ("self * inf", "int8", "`inf` is not a value of `int8`"),
        ],
    )
    def test_refused(self, text: str, dtype: str, message: str) -> None:
        assert error(text, (dtype,)).message == message

    @pytest.mark.parametrize(
        ("text", "dtype"),
        [
            ("self / other", "complex64"),
            ("self & ~other", "bool"),
            ("self // other", "int16"),
            ("self * 255", "uint8"),
            ("max(self, other)", "bool"),
            ("sqrt(self)", "complex128"),
        ],
    )
    def test_accepted(self, text: str, dtype: str) -> None:
        assert check(text, (dtype,)).tensors

    def test_help_names_the_sets(self) -> None:
        assert "[floating, complex]" in (error("sqrt(self)", ("int64",)).help or "")


class TestDocumentation:
    def test_every_function_is_documented(self) -> None:
        text = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text(encoding="utf-8")
        documented = re.findall(r"^\| `(\w+)\(([^)]*)\)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
        assert documented == [
            (
                name,
                ", ".join("xyz"[: function.arity]),
                function.meaning,
                ", ".join(category.value for category in Category if category in function.categories),
            )
            for name, function in FUNCTIONS.items()
        ]


class TestHost:
    def test_the_dialect_has_every_function(self) -> None:
        assert host.FUNCTIONS.keys() == FUNCTIONS.keys()

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("self + alpha * other", "self + alpha * other"),
            ("(self + alpha) * other", "(self + alpha) * other"),
            ("self - (other - alpha)", "self - (other - alpha)"),
            ("self - other - alpha", "self - other - alpha"),
            ("self / (other * alpha)", "self / (other * alpha)"),
            ("-(self + other)", "-(self + other)"),
            ("-(-self)", "-(-self)"),
            ("self * 2.5 + 1", "self * T(2.5) + T(1)"),
            ("self == -inf", "self == -std::numeric_limits<T>::infinity()"),
            ("self + nan", "self + std::numeric_limits<T>::quiet_NaN()"),
            ("exp(-self)", "std::exp(-self)"),
            ("max(self, 0)", "math::maximum<T>(self, T(0))"),
            ("0 if self <= alpha else other", "self <= alpha ? T(0) : other"),
            ("(self if flag else other) * 2", "(flag ? self : other) * T(2)"),
            ("not (self == 0 and other == 0)", "!(self == T(0) && other == T(0))"),
            ("self == 0 or other == 0 and flag", "self == T(0) || (other == T(0) && flag)"),
            ("(self != 0) != (other != 0)", "T(self != T(0)) != T(other != T(0))"),
            ("(self > 0) - (self < 0)", "T(self > T(0)) - T(self < T(0))"),
            ("other if self else 0", "self ? other : T(0)"),
            ("True if self == 0 else False", "self == T(0) ? true : false"),
        ],
    )
    def test_bodies(self, text: str, expected: str) -> None:
        assert body(text) == expected

    def test_narrow_integers_are_cut_before_they_are_compared(self) -> None:
        assert body("self + other > 0", ("int16", "int64")) == "T(self + other) > T(0)"
        assert body("self + other > 0", ("int32", "int64")) == "self + other > T(0)"
        assert body("self if self * other else 0", ("uint8",)) == "T(self * other) != T(0) ? self : T(0)"

    def test_bits(self) -> None:
        assert body("self & ~other", ("int32",)) == "self & math::invert<T>(other)"
        assert body("(self + 1) & other", ("int32",)) == "(self + T(1)) & other"
        assert body("self << 1 >> other", ("int32",)) == "math::shift_right<T>(math::shift_left<T>(self, T(1)), other)"

    def test_products_of_truth_values(self) -> None:
        assert body("self * other", ("bool", "int32")) == "math::multiply<T>(self, other)"

    def test_parts(self) -> None:
        lambda_ = printed('min(self, limit) if present(limit) and mode == "x" else other if mask and flag else alpha')
        assert lambda_.captures == (
            host.Capture("has_limit", "limit.has_value()"),
            host.Capture("mode_is_x", 'mode == "x"'),
            host.Capture("alpha", "scalar<T>(alpha)"),
            host.Capture("limit", "scalar<T>(limit)"),
            host.Capture("flag", "flag"),
        )
        assert lambda_.parameters == (
            host.Parameter("self", "T"),
            host.Parameter("other", "T"),
            host.Parameter("mask", "bool"),
        )
        assert lambda_.result_type == "T"
        assert lambda_.body == "has_limit && mode_is_x ? math::minimum<T>(self, limit) : mask && flag ? other : alpha"

    def test_names_of_questions_differ(self) -> None:
        captures = printed('self if mode == "a-b" else other if mode == "a.b" else 0 if mode == "" else 1').captures
        assert [capture.name for capture in captures] == ["mode_is_a_b", "mode_is_a_b_", "mode_is_empty"]

    def test_strings_cannot_leave_their_literal(self) -> None:
        captures = printed("self if mode == 'a\"\\\\\\n?ä' else 0").captures
        assert captures[0].initializer == 'mode == "a\\042\\134\\012\\077\\303\\244"'


@pytest.fixture(scope="module")
def operators() -> Operators:
    return load_operators(find_torch())


def lower(operators: Operators, name: str, text: str, dtypes: tuple[str, ...] = FLOAT) -> PointwiseKernel:
    return lower_expr(operators[name], operators.group_of(name), text, dtypes)


class TestLowering:
    def test_structured_group(self, operators: Operators) -> None:
        kernel = lower(operators, "add.Tensor", "a + alpha * b", ("float32", "bfloat16", "int64"))
        assert kernel.name == "add_Tensor"
        assert kernel.declared == ", const at::Scalar & alpha"
        assert kernel.dtypes == ("Float", "BFloat16", "Long")
        assert kernel.computing_types == ("float", "int64_t")
        assert kernel.operands == ("1", "2")
        assert kernel.dtype == "iterator.common_dtype()"
        assert (kernel.inplace, kernel.out) == ("add_.Tensor", "add.out")

    def test_unused_parameters_have_no_name_in_the_definition(self, operators: Operators) -> None:
        kernel = lower(operators, "add.Tensor", "self + other")
        assert kernel.defined == ", const at::Scalar & /*alpha*/"

    def test_inputs_that_the_meta_function_exchanges(self, operators: Operators) -> None:
        kernel = lower(operators, "threshold_backward", "0 if self <= threshold else grad_output")
        assert [parameter.name for parameter in kernel.loop.parameters] == ["grad_output", "self"]
        assert kernel.operands == ("2", "1")

    def test_wrapped_numbers_are_elements(self, operators: Operators) -> None:
        kernel = lower(operators, "eq.Scalar", "self == other")
        assert kernel.operands == ("1", "2")
        assert kernel.loop.captures == ()
        assert kernel.loop.result_type == "bool"

    def test_optional_tensors_take_no_place_when_they_are_absent(self, operators: Operators) -> None:
        kernel = lower(operators, "clamp.Tensor", "min(max(self, min) if present(min) else self, max)")
        assert kernel.operands == (
            "1",
            "min.has_value() ? 2 : kAbsent",
            "max.has_value() ? 2 + min.has_value() : kAbsent",
        )
        assert [parameter.name for parameter in kernel.parameters] == ["min", "max"]

    def test_conditions_leave_the_dtype_to_the_output(self, operators: Operators) -> None:
        kernel = lower(operators, "where.self", "self if condition else other")
        assert kernel.dtype == "iterator.dtype()"
        assert kernel.truth_tensors == ("condition",)

    def test_strings_for_the_tests(self, operators: Operators) -> None:
        kernel = lower(operators, "gelu", 'tanh(self) if approximate == "tanh" else erf(self)')
        assert kernel.texts == {"approximate": ("tanh",)}

    @pytest.mark.parametrize("name", ["mm", "index.Tensor", "mse_loss", "aminmax", "topk"])
    def test_what_is_not_elementwise_is_refused(self, operators: Operators, name: str) -> None:
        with pytest.raises(ExpressionError, match="not computed element by element"):
            lower(operators, name, "self")

    def test_room_in_the_loops(self, operators: Operators) -> None:
        many = replace(operators["relu"], arguments=operators["relu"].arguments * 8)
        many = replace(
            many, arguments=tuple(replace(it, name=f"x{i}", cpp_name=f"x{i}") for i, it in enumerate(many.arguments))
        )
        with pytest.raises(ExpressionError, match="at most 7 tensors"):
            lower_expr(many, None, " + ".join(f"x{i}" for i in range(8)), FLOAT)

    def test_kernels_of_other_namespaces_are_not_among_those_of_torch(self, operators: Operators) -> None:
        kernel = lower_expr(operators["relu"], None, "max(self, 0)", FLOAT, namespace="mine")
        assert plan_pointwise([kernel]).torch_kernels == ()


class TestShards:
    def test_each_kernel_is_in_one_file(self, operators: Operators) -> None:
        names = ["sin", "cos", "tan", "exp", "log", "sqrt", "erf", "tanh", "sigmoid", "floor", "ceil"]
        plan = plan_pointwise(lower(operators, name, "self") for name in names)
        assert [kernel.name for kernel in plan.kernels] == sorted(names)
        assert sorted(kernel.name for shard in plan.shards for kernel in shard.kernels) == sorted(names)

    def test_a_new_kernel_changes_one_file(self, operators: Operators) -> None:
        names = ["sin", "cos", "tan", "exp", "log", "sqrt", "erf", "tanh", "sigmoid", "floor", "ceil"] * 3
        kernels = [lower(operators, name, "self") for name in names]
        before = plan_pointwise(kernels)
        after = plan_pointwise([*kernels, lower(operators, "log2", "self")])
        assert len(before.shards) == len(after.shards) > 1
        assert sum(old != new for old, new in zip(before.shards, after.shards, strict=True)) == 1
