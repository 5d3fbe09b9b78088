"""allocator.yaml: the device's memory and the pinned memory of the host."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from acmegen.diagnostics import codes
from acmegen.manifest.model import EMPTY_MAPPING, Model, PowerOfTwo, refuse

MIN_ALIGNMENT = 16
MAX_ALIGNMENT = 2 * 1024**2


def _alignment(value: int) -> int:
    if not MIN_ALIGNMENT <= value <= MAX_ALIGNMENT:
        refuse(codes.BAD_SIZE, f"an alignment of {value} bytes is out of range", help="use 16 bytes to 2MiB")
    return value


class DeviceAllocator(Model):
    """The allocator of device memory."""

    kind: Literal["direct"] = Field(
        default="direct",
        description="`direct`: each allocation is one of the driver's, released once no stream uses it any more.",
    )
    alignment: Annotated[PowerOfTwo, AfterValidator(_alignment)] = Field(
        default=512, description="The alignment of each allocation, a power of two from 16 bytes to 2MiB."
    )


class HostAllocator(Model):
    """The allocator of pinned host memory."""

    kind: Literal["caching", "direct", "none"] = Field(
        default="caching",
        description="`caching`: freed blocks are kept for later. `direct`: each allocation is one of the driver's. "
        "`none`: ordinary memory, nothing is pinned.",
    )


class AllocatorManifest(Model):
    """How memory is allocated."""

    manifest: Literal["allocator/v1"] = Field(description="The kind and version of this file.")
    device: Annotated[DeviceAllocator, EMPTY_MAPPING] = Field(default=DeviceAllocator(), description="Device memory.")
    host: Annotated[HostAllocator, EMPTY_MAPPING] = Field(default=HostAllocator(), description="Pinned host memory.")
