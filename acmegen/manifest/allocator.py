"""allocator.yaml: the device's memory and the pinned memory of the host."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from acmegen.diagnostics import codes
from acmegen.manifest.model import EMPTY_MAPPING, Model, PowerOfTwo, Size, refuse

MIB = 1024**2
MIN_ALIGNMENT = 16
MAX_ALIGNMENT = 2 * MIB
MAX_DIVISIONS = 64

CACHING_ONLY = frozenset(
    {
        "small",
        "large",
        "roundup_power2_divisions",
        "max_split_size",
        "max_non_split_rounding",
        "garbage_collection_threshold",
    }
)


def _alignment(value: int) -> int:
    if not MIN_ALIGNMENT <= value <= MAX_ALIGNMENT:
        refuse(codes.BAD_SIZE, f"an alignment of {value} bytes is out of range", help="use 16 bytes to 2MiB")
    return value


def _fraction(value: float) -> float:
    if not 0 < value <= 1:
        refuse(codes.WRONG_VALUE, f"{value} is out of range", help="write a part of the whole: above 0 and up to 1")
    return value


def _threshold(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        refuse(codes.WRONG_VALUE, f"{value} is out of range", help="write a part of the whole: above 0 and below 1")
    return value


def _divisions(value: int) -> int:
    if not 1 <= value <= MAX_DIVISIONS or value & (value - 1):
        help = f"write a power of two up to {MAX_DIVISIONS}; 1 is no such rounding"
        refuse(codes.WRONG_VALUE, f"{value} is not a number of divisions", help=help)
    return value


def _positive(value: int) -> int:
    if value == 0:
        refuse(codes.BAD_SIZE, "this size cannot be 0")
    return value


PositiveSize = Annotated[Size, AfterValidator(_positive)]


class SmallAllocations(Model):
    """The pool of small allocations."""

    limit: PositiveSize = Field(
        default=1 * MIB, description="The largest allocation that is a small one.", examples=["512KiB"]
    )
    segment: PositiveSize = Field(
        default=2 * MIB, description="What is asked of the driver when the pool has to grow.", examples=["1MiB"]
    )

    @model_validator(mode="after")
    def _limit_fits(self) -> SmallAllocations:
        _check_limit(self.limit, self.segment)
        return self


class LargeAllocations(Model):
    """The pool of large allocations."""

    limit: PositiveSize = Field(
        default=10 * MIB,
        description="From this size on, an allocation gets a segment of its own size; smaller ones share segments.",
        examples=["8MiB"],
    )
    segment: PositiveSize = Field(
        default=20 * MIB,
        description="What is asked of the driver for an allocation below the limit.",
        examples=["32MiB"],
    )
    round_to: PowerOfTwo = Field(
        default=2 * MIB,
        description="Segments from the limit on are rounded up to a multiple of this power of two.",
        examples=["4MiB"],
    )

    @model_validator(mode="after")
    def _limit_fits(self) -> LargeAllocations:
        _check_limit(self.limit, self.segment)
        return self


def _check_limit(limit: int, segment: int) -> None:
    if limit > segment:
        message = f"an allocation of {limit} bytes does not fit into a segment of {segment}"
        refuse(codes.CONTRADICTION, message, key="limit", other="segment")


class DeviceAllocator(Model):
    """The allocator of device memory."""

    kind: Literal["caching", "direct"] = Field(
        default="caching",
        description="`caching`: freed memory is kept and given out again in stream order. `direct`: each allocation is "
        "one of the driver's, released once no stream uses it any more; for drivers that pool by themselves.",
        examples=["direct"],
    )
    alignment: Annotated[PowerOfTwo, AfterValidator(_alignment)] = Field(
        default=512,
        description="The alignment of each allocation, a power of two from 16 bytes to 2MiB.",
        examples=["4KiB"],
    )
    memory_fraction: Annotated[float, AfterValidator(_fraction)] = Field(
        default=1.0,
        description="The part of a device's memory that one process may use, above 0 and up to 1.",
        examples=[0.5],
    )
    history_size: int = Field(
        default=1_000_000,
        ge=1,
        le=2**31,
        description="The most events that the history of one device keeps.",
        examples=[100_000],
    )
    small: Annotated[SmallAllocations, EMPTY_MAPPING] = Field(
        default=SmallAllocations(), description="`caching` only: small allocations.", examples=[{"limit": "512KiB"}]
    )
    large: Annotated[LargeAllocations, EMPTY_MAPPING] = Field(
        default=LargeAllocations(),
        description="`caching` only: large allocations.",
        examples=[{"limit": "8MiB", "segment": "16MiB"}],
    )
    roundup_power2_divisions: Annotated[int, AfterValidator(_divisions)] = Field(
        default=1,
        description="`caching` only: sizes are rounded up to this many steps between two powers of two; 1 is off.",
        examples=[4],
    )
    max_split_size: PositiveSize | None = Field(
        default=None,
        description="`caching` only: blocks of this size and more are not split. By default all are.",
        examples=["256MiB"],
    )
    max_non_split_rounding: PositiveSize = Field(
        default=20 * MIB,
        description="`caching` only: how much larger a block that is not to be split may be than what it is used for.",
        examples=["32MiB"],
    )
    garbage_collection_threshold: Annotated[float | None, AfterValidator(_threshold)] = Field(
        default=None,
        description="`caching` only: cached memory is given back, oldest first, when more than this part of what the "
        "process may use is reserved. Above 0 and below 1; by default only when memory runs out.",
        examples=[0.8],
    )

    @model_validator(mode="after")
    def _only_caching_has_pools(self) -> DeviceAllocator:
        if self.kind == "direct":
            for field in sorted(self.model_fields_set & CACHING_ONLY):
                message = f"`{field}` is for `kind: caching`: a direct allocator keeps nothing"
                refuse(codes.CONTRADICTION, message, key=field, other="kind")
        return self

    @model_validator(mode="after")
    def _sizes_fit(self) -> DeviceAllocator:
        if self.small.limit >= self.large.limit:
            message = f"the limit of small allocations, {self.small.limit}, is not below {self.large.limit}"
            refuse(codes.CONTRADICTION, message, key=("small", "limit"), other=("large", "limit"))
        segments = (
            ("small", "segment", self.small.segment),
            ("large", "segment", self.large.segment),
            ("large", "round_to", self.large.round_to),
        )
        for pool, field, size in segments:
            if size % self.alignment:
                message = f"a segment of {size} bytes is not a multiple of the alignment, {self.alignment}"
                refuse(codes.CONTRADICTION, message, key=(pool, field), other="alignment")
        if self.max_split_size is not None and self.max_split_size <= self.large.segment:
            message = f"a segment of {self.large.segment} bytes, for large allocations, could not be split"
            refuse(codes.CONTRADICTION, message, key="max_split_size", other=("large", "segment"))
        return self


class HostAllocator(Model):
    """The allocator of pinned host memory."""

    kind: Literal["caching", "direct", "none"] = Field(
        default="caching",
        description="`caching`: freed blocks are kept for later. `direct`: each allocation is one of the driver's. "
        "`none`: there is no pinned memory, and asking for it is an error.",
        examples=["direct"],
    )


class AllocatorManifest(Model):
    """How memory is allocated."""

    manifest: Literal["allocator/v1"] = Field(description="The kind and version of this file.")
    device: Annotated[DeviceAllocator, EMPTY_MAPPING] = Field(
        default=DeviceAllocator(), description="Device memory.", examples=[{"kind": "direct"}]
    )
    host: Annotated[HostAllocator, EMPTY_MAPPING] = Field(
        default=HostAllocator(), description="Pinned host memory.", examples=[{"kind": "none"}]
    )
