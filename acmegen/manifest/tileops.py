"""tileops.yaml: the backend as a target of TileOPs."""

from __future__ import annotations

import keyword
import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from acmegen.diagnostics import codes
from acmegen.manifest.model import EMPTY_MAPPING, Line, Matching, Model, Name, Size, VersionRange, refuse


def _no_keyword(value: str) -> str:
    for name in value.replace(":", ".").split("."):
        if keyword.iskeyword(name):
            refuse(codes.BAD_NAME, f"`{name}` is a keyword of Python")
    return value


_NAME = "[A-Za-z_][A-Za-z0-9_]*"

PythonFunction = Annotated[
    str,
    Matching(
        rf"{_NAME}(\.{_NAME})*:{_NAME}",
        codes.BAD_NAME,
        "a Python function, such as `package.module:function`",
    ),
    AfterValidator(_no_keyword),
]


def _visible(value: str) -> str:
    for character in value:
        if unicodedata.category(character) == "Cf":
            message = f"the character U+{ord(character):04X}, which cannot be seen, cannot stand in an expression"
            refuse(codes.WRONG_VALUE, message, help=f"in a string write `\\u{ord(character):04x}`")
    return value


PythonExpression = Annotated[Line, AfterValidator(_visible)]
"""One expression, which is printed as it is: it says what it seems to say."""


class TileOpsKernel(Model):
    """What computes an op: exactly one of the three fields."""

    expression: PythonExpression | None = Field(
        default=None,
        description="A Python expression of the op's inputs and params, which may call `torch` and `math`: an operator "
        "of this backend, or any of torch's functions.",
        examples=["torch.ops.my_device.rms_norm(x, weight, eps)", "torch.nn.functional.silu(input, inplace=inplace)"],
    )
    python: PythonFunction | None = Field(
        default=None, description="A builder of yours, `module:function`.", examples=["my_kernels.norm:build_rms_norm"]
    )
    reference: Literal[True] | None = Field(
        default=None, description="The op's reference, run on the device.", examples=[True]
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> TileOpsKernel:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{name}`" for name in given) or "none"
            message = f"a kernel is one of `expression`, `python` and `reference`, and this has {found}"
            places = dict(zip(("other", "key"), given, strict=False)) if given else {}
            refuse(codes.KERNEL_KIND, message, **places, other_label="the first one")
        return self


class TileOpsEntry(Model):
    """How one op of TileOPs is served."""

    mode: Literal["builder"] = Field(
        default="builder", description="`builder`: this target takes the whole op.", examples=["builder"]
    )
    kernel: TileOpsKernel = Field(description="What computes the op.", examples=[{"reference": True}])
    reference: PythonExpression | None = Field(
        default=None,
        description="A Python expression like a kernel's that computes the same on CPU tensors, for the generated "
        "tests; by default a call of the function that TileOPs' manifest names as the op's reference.",
        examples=["torch.nn.functional.softmax(x, dim=dim, dtype=dtype)"],
    )


class DeviceFacts(Model):
    """What TileOPs' choice of kernels may know of a device; the fields are those of its `DeviceFacts`."""

    arch: int = Field(default=0, ge=0, description="The architecture, a number of the vendor's.", examples=[90])
    sm_count: int = Field(default=1, ge=1, description="The number of compute units.", examples=[64])
    smem_budget: Size = Field(
        default=64 * 1024, description="Memory shared by one block of threads.", examples=["128KiB"]
    )


class TileOpsManifest(Model):
    """The TileOPs side of the backend."""

    manifest: Literal["tileops/v1"] = Field(description="The kind and version of this file.")
    target: Name | None = Field(
        default=None, description="TileOPs' name of this target; by default the device's name.", examples=["my_device"]
    )
    device_type: Name | None = Field(
        default=None, description="torch's device type; by default the device's name.", examples=["my_device"]
    )
    device_facts: Annotated[DeviceFacts, EMPTY_MAPPING] = Field(
        default=DeviceFacts(),
        description="What TileOPs' choice of kernels may know of a device.",
        examples=[{"arch": 90, "sm_count": 64, "smem_budget": "128KiB"}],
    )
    requires: VersionRange = Field(
        default=">=0.1,<0.2", description="The supported TileOPs versions.", examples=[">=0.1,<0.2"]
    )
    ops: Annotated[dict[Name, TileOpsEntry], EMPTY_MAPPING] = Field(
        default={},
        description="The ops that this target serves, by the key in TileOPs' manifest.",
        examples=[{"SiLUFwdOp": {"kernel": {"reference": True}}}],
    )
