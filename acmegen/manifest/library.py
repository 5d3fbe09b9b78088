"""The parts of a `library` entry: how results and temporaries are allocated, and what comes before the call."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from acmegen.diagnostics import codes, did_you_mean, sure_fix
from acmegen.manifest.model import EMPTY_LIST, CppName, Model, Name, TextOrNumber, refuse
from acmegen.manifest.values import describe

Expression = Annotated[str | int | float | bool, TextOrNumber(int, float, bool)]
"""An expression over the operator's arguments; a number needs no quotes."""

_Size = Annotated[str | int, TextOrNumber(int)]

Expressions = Annotated[tuple[Expression, ...], EMPTY_LIST]


class Allocation(Model):
    """How a result or a temporary is allocated: like a tensor argument, or with sizes and a dtype. It is contiguous."""

    like: Name | None = Field(
        default=None,
        description="The tensor argument whose shape and dtype it has; it is missing when that one is.",
        examples=["self"],
    )
    sizes: Annotated[tuple[_Size, ...] | None, EMPTY_LIST] = Field(
        default=None,
        description="The sizes: each an integer, or a list of integers that is spliced in.",
        examples=[["x.sizes[:-1]", 1]],
    )
    dtype: str | None = Field(
        default=None,
        description="A tensor argument whose dtype it has, `accumulate(x)`, or an argument that is a dtype.",
        examples=["accumulate(input)"],
    )
    when: str | None = Field(
        default=None,
        description="The condition without which it is missing: the library gets a null pointer, the caller no tensor.",
        examples=["output_mask[0]"],
    )

    @model_validator(mode="after")
    def _one_shape(self) -> Allocation:
        if (self.like is None) == (self.sizes is None):
            message = "either `like`, or `sizes` and `dtype`, give the shape"
            refuse(codes.CONTRADICTION, message, key="like", other="sizes", other_label="the other shape")
        if (self.sizes is None) != (self.dtype is None):
            refuse(codes.CONTRADICTION, "`sizes` and `dtype` come together", key="sizes", other="dtype")
        return self


class CopyStep(Model):
    """A copy, with broadcasting, from a tensor argument to an output."""

    copy_: Name = Field(alias="copy", description="The tensor argument that is copied.", examples=["self"])
    to: Name = Field(description="The output that starts as the copy.", examples=["out"])


class CallStep(Model):
    """A call of another function of the library."""

    library: CppName = Field(description="The function's name.", examples=["simMemset"])
    args: Expressions = Field(default=(), description="Its arguments.", examples=[["stream", "out", 0]])


_STEPS = ("copy", "library")


def _one_step(value: Any) -> Any:
    """Refuse a step that is not exactly one of the two."""
    if not isinstance(value, dict):
        refuse(codes.WRONG_TYPE, f"expected a mapping with `copy` or `library`, found {describe(value)}")
    found = [key for key in value if key in _STEPS]
    if len(found) > 1:
        message, places = "a step copies or calls, and this does both", {"key": found[1], "other": found[0]}
        refuse(codes.KERNEL_KIND, message, **places, other_label="the first one")
    if not found:
        key = next((key for key in value if sure_fix(key, _STEPS)), None)
        meant = sure_fix(key, _STEPS) if key else None
        place = {"key": key, "label": did_you_mean(key, _STEPS), "replacement": meant} if key else {}
        refuse(codes.KERNEL_KIND, "a step is `{copy: …, to: …}` or `{library: …, args: […]}`", **place)
    return value


def _step_tag(value: Any) -> str:
    return "<copy>" if "copy" in value else "<library>"


# Tags are no keys of any manifest, so that they never stand for a place in one.
Step = Annotated[
    Annotated[CopyStep, Tag("<copy>")] | Annotated[CallStep, Tag("<library>")],
    Discriminator(_step_tag),
    BeforeValidator(_one_step),
]
"""What is done before the call: `{copy: self, to: out}`, or another call."""
