"""The driver: a CUDA-like runtime API bound by name, and the maths library beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, create_model

from acmegen.manifest.driver_roles import OPTIONAL, REQUIRED
from acmegen.manifest.dtypes import DTYPES
from acmegen.manifest.model import EMPTY_LIST, CppName, CppType, CppValue, DtypeName, Header, LinkLibrary, Model

Headers = Annotated[tuple[Header, ...], Field(min_length=1)]


class StatusBinding(Model):
    """The type that the driver's functions return, and the values of it that matter."""

    type: CppType = Field(description="The status type that every function returns.", examples=["simError_t"])
    success: CppValue = Field(description="The value for success.", examples=["simSuccess"])
    not_ready: CppValue = Field(
        description="The value of a query whose work has not finished.", examples=["simErrorNotReady"]
    )
    out_of_memory: CppValue = Field(
        description="The value for memory that ran out.", examples=["simErrorMemoryAllocation"]
    )
    message: CppName = Field(
        description="The function from a status to its text, `const char*(status)`.", examples=["simGetErrorString"]
    )


class MemcpyKindBinding(Model):
    """The type that tells a copy its direction, and its values."""

    type: CppType = Field(description="The type.", examples=["simMemcpyKind"])
    host_to_device: CppValue = Field(description="From the host to the device.", examples=["simMemcpyHostToDevice"])
    device_to_host: CppValue = Field(description="From the device to the host.", examples=["simMemcpyDeviceToHost"])
    device_to_device: CppValue = Field(
        description="Between two addresses of devices.", examples=["simMemcpyDeviceToDevice"]
    )


class FunctionBindings(Model):
    """The driver's functions by role; the fields are the roles of `driver_roles`."""

    def bound(self) -> dict[str, str]:
        """The roles that are bound, with the driver's name for each."""
        return {role: symbol for role, symbol in self.model_dump().items() if symbol is not None}


def _example(role: str) -> str:
    """A vendor's name for the function: `get_device` -> `simGetDevice`."""
    return "sim" + "".join(word.capitalize() for word in role.split("_"))


if TYPE_CHECKING:
    DriverFunctions = FunctionBindings
else:
    DriverFunctions = create_model(
        "DriverFunctions",
        __base__=FunctionBindings,
        __doc__="The driver's functions by role. Signatures are checked when the generated code is compiled.",
        **{
            role: (CppName, Field(description=f"Required: `{signature}`.", examples=[_example(role)]))
            for role, signature in REQUIRED.items()
        },
        **{
            role: (
                CppName | None,
                Field(default=None, description=f"Optional: `{signature}`.", examples=[_example(role)]),
            )
            for role, signature in OPTIONAL.items()
        },
    )


class DriverBinding(Model):
    """A runtime API that is bound by name."""

    headers: Headers = Field(description="Headers that declare the API.", examples=[["sim_runtime.h"]])
    link: Annotated[tuple[LinkLibrary, ...], EMPTY_LIST] = Field(
        default=(), description="Libraries to link with, as after `-l`.", examples=[["sim"]]
    )
    status: StatusBinding = Field(
        description="The status type and its values.",
        examples=[
            {
                "type": "simError_t",
                "success": "simSuccess",
                "not_ready": "simErrorNotReady",
                "out_of_memory": "simErrorMemoryAllocation",
                "message": "simGetErrorString",
            }
        ],
    )
    stream: CppType = Field(description="The type of a stream.", examples=["simStream_t"])
    event: CppType = Field(description="The type of an event.", examples=["simEvent_t"])
    memcpy_kind: MemcpyKindBinding = Field(
        description="The direction of a copy.",
        examples=[
            {
                "type": "simMemcpyKind",
                "host_to_device": "simMemcpyHostToDevice",
                "device_to_host": "simMemcpyDeviceToHost",
                "device_to_device": "simMemcpyDeviceToDevice",
            }
        ],
    )
    event_disable_timing: CppValue = Field(
        description="The flag that creates an event without times.", examples=["simEventDisableTiming"]
    )
    functions: DriverFunctions = Field(
        description="The driver's functions by role.", examples=[{role: _example(role) for role in REQUIRED}]
    )


class LibraryBinding(Model):
    """The vendor's maths library, which `library` kernels call. Its functions return the driver's status type."""

    headers: Headers = Field(description="Headers that declare the library.", examples=[["sim_blas.h"]])
    link: Annotated[tuple[LinkLibrary, ...], EMPTY_LIST] = Field(
        default=(), description="Libraries to link with, as after `-l`.", examples=[["sim"]]
    )
    dtype: CppType = Field(description="The type that tells a function its dtype.", examples=["simDataType_t"])
    dtypes: dict[DtypeName, CppValue] = Field(
        description=f"The library's value for each dtype that it knows; the keys are dtypes ({', '.join(DTYPES)}).",
        examples=[{"float32": "simFloat32"}],
    )


class DriverPreset(Model):
    """A driver that comes with acmegen: the file of `manifests/presets` behind a short name."""

    driver: DriverBinding = Field(description="The binding.")
    library: LibraryBinding | None = Field(default=None, description="The maths library beside it.")
