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

    limit: PositiveSize = Field(default=1 * MIB, description="The largest allocation that is a small one.")
    segment: PositiveSize = Field(default=2 * MIB, description="What is asked of the driver when the pool has to grow.")

    @model_validator(mode="after")
    def _limit_fits(self) -> SmallAllocations:
        _check_limit(self, self.limit, self.segment)
        return self


class LargeAllocations(Model):
    """The pool of large allocations."""

    limit: PositiveSize = Field(
        default=10 * MIB,
        description="From this size on, an allocation gets a segment of its own size; smaller ones share segments.",
    )
    segment: PositiveSize = Field(
        default=20 * MIB, description="What is asked of the driver for an allocation below the limit."
    )
    round_to: PowerOfTwo = Field(
        default=2 * MIB, description="Segments from the limit on are rounded up to a multiple of this power of two."
    )

    @model_validator(mode="after")
    def _limit_fits(self) -> LargeAllocations:
        _check_limit(self, self.limit, self.segment)
        return self


def _check_limit(model: Model, limit: int, segment: int) -> None:
    if limit > segment:
        message = f"an allocation of {limit} bytes does not fit into a segment of {segment}"
        refuse(codes.CONTRADICTION, message, **_places(model, "limit", "segment"))


def _places(model: Model, *fields: str) -> dict[str, str]:
    """The places of a contradiction between `fields`: those that were written, and not left to their defaults."""
    return dict(zip(("key", "other"), (field for field in fields if field in model.model_fields_set), strict=False))


class DeviceAllocator(Model):
    """The allocator of device memory."""

    kind: Literal["caching", "direct"] = Field(
        default="caching",
        description="`caching`: freed memory is kept and given out again in stream order. `direct`: each allocation is "
        "one of the driver's, released once no stream uses it any more; for drivers that pool by themselves.",
    )
    alignment: Annotated[PowerOfTwo, AfterValidator(_alignment)] = Field(
        default=512, description="The alignment of each allocation, a power of two from 16 bytes to 2MiB."
    )
    memory_fraction: Annotated[float, AfterValidator(_fraction)] = Field(
        default=1.0, description="The part of a device's memory that one process may use, above 0 and up to 1."
    )
    history_size: int = Field(
        default=1_000_000, ge=1, le=2**31, description="The most events that the history of one device keeps."
    )
    small: Annotated[SmallAllocations, EMPTY_MAPPING] = Field(
        default=SmallAllocations(), description="`caching` only: small allocations."
    )
    large: Annotated[LargeAllocations, EMPTY_MAPPING] = Field(
        default=LargeAllocations(), description="`caching` only: large allocations."
    )
    roundup_power2_divisions: Annotated[int, AfterValidator(_divisions)] = Field(
        default=1,
        description="`caching` only: sizes are rounded up to this many steps between two powers of two; 1 is off.",
    )
    max_split_size: PositiveSize | None = Field(
        default=None, description="`caching` only: blocks of this size and more are not split. By default all are."
    )
    max_non_split_rounding: PositiveSize = Field(
        default=20 * MIB,
        description="`caching` only: how much larger a block that is not to be split may be than what it is used for.",
    )
    garbage_collection_threshold: Annotated[float | None, AfterValidator(_threshold)] = Field(
        default=None,
        description="`caching` only: cached memory is given back, oldest first, when more than this part of what the "
        "process may use is reserved. Above 0 and below 1; by default only when memory runs out.",
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
            refuse(codes.CONTRADICTION, message, **_places(self, "small", "large"))
        segments = (("small", self.small.segment), ("large", self.large.segment), ("large", self.large.round_to))
        for field, size in segments:
            if size % self.alignment:
                message = f"a segment of {size} bytes is not a multiple of the alignment, {self.alignment}"
                refuse(codes.CONTRADICTION, message, **_places(self, field, "alignment"))
        if self.max_split_size is not None and self.max_split_size <= self.large.segment:
            message = f"a segment of {self.large.segment} bytes, for large allocations, could not be split"
            refuse(codes.CONTRADICTION, message, **_places(self, "max_split_size", "large"))
        return self


class HostAllocator(Model):
    """The allocator of pinned host memory."""

    kind: Literal["caching", "direct", "none"] = Field(
        default="caching",
        description="`caching`: freed blocks are kept for later. `direct`: each allocation is one of the driver's. "
        "`none`: there is no pinned memory, and asking for it is an error.",
    )


class AllocatorManifest(Model):
    """How memory is allocated."""

    manifest: Literal["allocator/v1"] = Field(description="The kind and version of this file.")
    device: Annotated[DeviceAllocator, EMPTY_MAPPING] = Field(default=DeviceAllocator(), description="Device memory.")
    host: Annotated[HostAllocator, EMPTY_MAPPING] = Field(default=HostAllocator(), description="Pinned host memory.")
