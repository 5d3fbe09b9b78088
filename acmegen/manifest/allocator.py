"""allocator.yaml: the device's memory and the pinned memory of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from acmegen.diagnostics import codes
from acmegen.manifest.model import (
    EMPTY_MAPPING,
    Model,
    PowerOfTwo,
    Size,
    is_power_of_two,
    refusal,
    refuse,
    refuse_all,
)
from acmegen.manifest.source import NodePath

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
    if not MIN_ALIGNMENT <= value <= MAX_ALIGNMENT or not is_power_of_two(value):
        help = "write a power of two from 16 bytes to 2MiB"
        refuse(codes.BAD_SIZE, "{value} is not an alignment", help=help, values={"value": ((), value)})
    return value


def _fraction(value: float) -> float:
    if not 0 < value <= 1:
        help = "write a part of the whole: above 0 and up to 1"
        refuse(codes.WRONG_VALUE, "{value} is out of range", help=help, values={"value": ((), value)})
    return value


def _threshold(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        help = "write a part of the whole: above 0 and below 1"
        refuse(codes.WRONG_VALUE, "{value} is out of range", help=help, values={"value": ((), value)})
    return value


def _divisions(value: int) -> int:
    if value > MAX_DIVISIONS or not is_power_of_two(value):
        help = f"write a power of two up to {MAX_DIVISIONS}; 1 is no such rounding"
        refuse(codes.WRONG_VALUE, "{value} is not a number of divisions", help=help, values={"value": ((), value)})
    return value


def _shown(size: int) -> str:
    """A size as a manifest would have it: `2MiB`."""
    return str(size) if size % MIB else f"{size // MIB}MiB"


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


class DeviceAllocator(Model):
    """The allocator of device memory."""

    kind: Literal["caching", "direct"] = Field(
        default="caching",
        description="`caching`: freed memory is kept and given out again in stream order. `direct`: each allocation is "
        "one of the driver's, released once no stream uses it any more; for drivers that pool by themselves.",
        examples=["direct"],
    )
    alignment: Annotated[Size, AfterValidator(_alignment)] = Field(
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
    def _nothing_contradicts(self) -> DeviceAllocator:
        refuse_all(self._pools_of_direct() if self.kind == "direct" else self._contradictions())
        return self

    def _pools_of_direct(self) -> Iterator[PydanticCustomError]:
        for field in sorted(self.model_fields_set & CACHING_ONLY):
            message = f"`{field}` is for `kind: caching`: a direct allocator keeps nothing"
            yield refusal(codes.CONTRADICTION, message, key=field, other="kind", other_label="the kind")

    def _contradictions(self) -> Iterator[PydanticCustomError]:
        for pool in ("small", "large"):
            if self._size(pool, "limit") > self._size(pool, "segment"):
                message = "an allocation of {size} does not fit into a segment of {other}"
                yield self._misfit(message, (pool, "limit"), (pool, "segment"), "the segment's size")
        if self.small.limit >= self.large.limit:
            message = "the limit of small allocations, {size}, is not below that of large ones, {other}"
            yield self._misfit(message, ("small", "limit"), ("large", "limit"), "the limit of large allocations")
        for pool, field in (("small", "segment"), ("large", "segment"), ("large", "round_to")):
            if self._size(pool, field) % self.alignment:
                message = "a segment of {size} is not a multiple of the alignment, {other}"
                yield self._misfit(message, (pool, field), ("alignment",), "the alignment")
        if self.max_split_size is not None and self.max_split_size <= self.large.segment:
            message = "a segment of {other}, for large allocations, could not be split"
            yield self._misfit(message, ("max_split_size",), ("large", "segment"), "the segment's size")

    def _misfit(self, message: str, size: NodePath, other: NodePath, other_label: str) -> PydanticCustomError:
        """The refusal of two sizes that do not go together, which stand in `message` as `{size}` and `{other}`."""
        values = {"size": (size, _shown(self._size(*size))), "other": (other, _shown(self._size(*other)))}
        places = {"key": size, "other": other, "other_label": other_label}
        return refusal(codes.CONTRADICTION, message, values=values, **places)

    def _size(self, *path: str | int) -> int:
        value: Any = self
        for name in path:
            value = getattr(value, str(name))
        return int(value)


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
