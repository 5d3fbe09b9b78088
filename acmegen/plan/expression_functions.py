"""The functions that an expression may call: their arity, the dtypes they are defined for, and what they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acmegen.plan.expression_nodes import Category, Value

_FLOATING = frozenset({Category.FLOATING})
_ANALYTIC = frozenset({Category.FLOATING, Category.COMPLEX})
_REAL = frozenset({Category.INTEGRAL, Category.FLOATING})
_ORDERED = frozenset({Category.BOOLEAN, Category.INTEGRAL, Category.FLOATING})
_EVERY = frozenset(Category)


@dataclass(frozen=True)
class Function:
    """One function.

    Attributes:
        arity: how many arguments it takes.
        categories: the categories of dtypes that it is defined for.
        value: what it gives.
        meaning: one line for documentation and error messages.
    """

    arity: int
    categories: frozenset[Category]
    meaning: str
    value: Value = Value.NUMBER


FUNCTIONS: Mapping[str, Function] = {
    # Exponentials and logarithms.
    "exp": Function(1, _ANALYTIC, "e to the power of x"),
    "exp2": Function(1, _FLOATING, "2 to the power of x"),
    "expm1": Function(1, _FLOATING, "exp(x) - 1, exact near 0"),
    "log": Function(1, _ANALYTIC, "natural logarithm"),
    "log1p": Function(1, _FLOATING, "log(1 + x), exact near 0"),
    "log2": Function(1, _FLOATING, "logarithm to base 2"),
    "log10": Function(1, _FLOATING, "logarithm to base 10"),
    "pow": Function(2, _REAL, "x to the power of y; integers wrap around"),
    "sqrt": Function(1, _ANALYTIC, "square root"),
    "rsqrt": Function(1, _FLOATING, "1 / sqrt(x)"),
    # Trigonometry, in radians.
    "sin": Function(1, _ANALYTIC, "sine"),
    "cos": Function(1, _ANALYTIC, "cosine"),
    "tan": Function(1, _ANALYTIC, "tangent"),
    "asin": Function(1, _FLOATING, "inverse sine"),
    "acos": Function(1, _FLOATING, "inverse cosine"),
    "atan": Function(1, _FLOATING, "inverse tangent"),
    "atan2": Function(2, _FLOATING, "angle of the point (y, x), in the order atan2(y, x)"),
    "hypot": Function(2, _FLOATING, "sqrt(x*x + y*y) without overflow"),
    "sinh": Function(1, _ANALYTIC, "hyperbolic sine"),
    "cosh": Function(1, _ANALYTIC, "hyperbolic cosine"),
    "tanh": Function(1, _ANALYTIC, "hyperbolic tangent"),
    "asinh": Function(1, _FLOATING, "inverse hyperbolic sine"),
    "acosh": Function(1, _FLOATING, "inverse hyperbolic cosine"),
    "atanh": Function(1, _FLOATING, "inverse hyperbolic tangent"),
    # Special functions.
    "erf": Function(1, _FLOATING, "error function"),
    "erfc": Function(1, _FLOATING, "1 - erf(x), exact for large x"),
    "lgamma": Function(1, _FLOATING, "logarithm of the absolute value of the gamma function"),
    "sigmoid": Function(1, _FLOATING, "1 / (1 + exp(-x))"),
    # Rounding. Whole numbers are returned as they are.
    "floor": Function(1, _REAL, "largest whole number that is not above x"),
    "ceil": Function(1, _REAL, "smallest whole number that is not below x"),
    "round": Function(1, _REAL, "nearest whole number, halves to the even one"),
    "trunc": Function(1, _REAL, "x without its fraction"),
    "frac": Function(1, _REAL, "x - trunc(x)"),
    # Division.
    "floor_div": Function(2, _REAL, "x // y as Python defines it"),
    "trunc_div": Function(2, _REAL, "the quotient rounded toward 0"),
    "remainder": Function(2, _REAL, "x % y as Python defines it: the sign of y"),
    "fmod": Function(2, _REAL, "the remainder of C: the sign of x"),
    # Sign and order.
    "abs": Function(1, _REAL, "absolute value"),
    "sign": Function(1, _ORDERED, "-1, 0 or 1; 0 for NaN"),
    "copysign": Function(2, _FLOATING, "x with the sign of y"),
    "min": Function(2, _ORDERED, "the smaller one; NaN if either is"),
    "max": Function(2, _ORDERED, "the larger one; NaN if either is"),
    "fmin": Function(2, _ORDERED, "the smaller one; the other one if one is NaN"),
    "fmax": Function(2, _ORDERED, "the larger one; the other one if one is NaN"),
    # Questions.
    "isnan": Function(1, _EVERY, "whether x is NaN", Value.TRUTH),
    "isinf": Function(1, _ORDERED, "whether x is an infinity", Value.TRUTH),
    "isfinite": Function(1, _ORDERED, "whether x is neither NaN nor an infinity", Value.TRUTH),
    "signbit": Function(1, _ORDERED, "whether the sign of x is negative, also for -0.0", Value.TRUTH),
}

# Operators that are not defined for every dtype. What is not listed here is.
OPERATOR_CATEGORIES: Mapping[str, frozenset[Category]] = {
    "-": frozenset({Category.INTEGRAL, Category.FLOATING, Category.COMPLEX}),
    "/": _ANALYTIC,
    "//": _REAL,
    "%": _REAL,
    "~": frozenset({Category.BOOLEAN, Category.INTEGRAL}),
    "&": frozenset({Category.BOOLEAN, Category.INTEGRAL}),
    "|": frozenset({Category.BOOLEAN, Category.INTEGRAL}),
    "^": frozenset({Category.BOOLEAN, Category.INTEGRAL}),
    "<<": frozenset({Category.INTEGRAL}),
    ">>": frozenset({Category.INTEGRAL}),
    "<": _ORDERED,
    "<=": _ORDERED,
    ">": _ORDERED,
    ">=": _ORDERED,
}
