"""The parts of a `library` entry: how results and temporaries are allocated, and what comes before the call."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from acmegen.diagnostics import codes
from acmegen.manifest.model import EMPTY_LIST, Model, Name, refuse

Expression = str | int | float | bool
"""An expression over the operator's arguments; a number needs no quotes."""

Expressions = Annotated[tuple[Expression, ...], EMPTY_LIST]


class Allocation(Model):
    """How a result or a temporary is allocated: like a tensor argument, or with sizes and a dtype. It is contiguous."""

    like: Name | None = Field(
        default=None, description="The tensor argument whose shape and dtype it has; it is missing when that one is."
    )
    sizes: Annotated[tuple[str | int, ...] | None, EMPTY_LIST] = Field(
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
            refuse(codes.CONTRADICTION, "either `like` or `sizes` and `dtype` give the shape")
        if (self.sizes is None) != (self.dtype is None):
            refuse(codes.CONTRADICTION, "`sizes` and `dtype` come together")
        return self


class CopyStep(Model):
    """A copy, with broadcasting, from a tensor argument to an output."""

    copy_: Name = Field(alias="copy", description="The tensor argument that is copied.")
    to: Name = Field(description="The output that starts as the copy.")


class CallStep(Model):
    """A call of another function of the library."""

    library: Name = Field(description="The function's name.")
    args: Expressions = Field(default=(), description="Its arguments.")


Step = Annotated[
    Annotated[CopyStep, Tag("<copy>")] | Annotated[CallStep, Tag("<library>")],
    Discriminator(lambda value: _step_tag(value)),
]
"""What is done before the call: `{copy: self, to: out}`, or another call."""


def _step_tag(value: Any) -> str:
    has_copy = "copy" in value if isinstance(value, dict) else isinstance(value, CopyStep)
    return "<copy>" if has_copy else "<library>"
