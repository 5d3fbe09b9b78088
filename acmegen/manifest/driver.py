"""The driver: a CUDA-like runtime API bound by name, and the maths library beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model

from acmegen.manifest.driver_roles import GRAPHS_OPTIONAL, GRAPHS_REQUIRED, OPTIONAL, REQUIRED
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


def _fields(required: Mapping[str, str], optional: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a model with one for each role."""
    return {
        **{
            role: (CppName, Field(description=f"Required: `{signature}`.", examples=[_example(role)]))
            for role, signature in required.items()
        },
        **{
            role: (
                CppName | None,
                Field(default=None, description=f"Optional: `{signature}`.", examples=[_example(role)]),
            )
            for role, signature in optional.items()
        },
    }


if TYPE_CHECKING:
    DriverFunctions = FunctionBindings
    GraphFunctions = FunctionBindings
else:
    DriverFunctions = create_model(
        "DriverFunctions",
        __base__=FunctionBindings,
        __doc__="The driver's functions by role. Signatures are checked when the generated code is compiled.",
        **_fields(REQUIRED, OPTIONAL),
    )
    GraphFunctions = create_model(
        "GraphFunctions",
        __base__=FunctionBindings,
        __doc__="The driver's functions for graphs by role, checked as the others are.",
        **_fields(GRAPHS_REQUIRED, GRAPHS_OPTIONAL),
    )


_CAPTURE_MODE_EXAMPLE = {
    "type": "simStreamCaptureMode",
    "mode_global": "simStreamCaptureModeGlobal",
    "mode_thread_local": "simStreamCaptureModeThreadLocal",
    "mode_relaxed": "simStreamCaptureModeRelaxed",
}
_CAPTURE_STATUS_EXAMPLE = {"type": "simStreamCaptureStatus", "active": "simStreamCaptureStatusActive"}
_GRAPH_FUNCTIONS_EXAMPLE = {role: _example(role) for role in GRAPHS_REQUIRED}


class CaptureModeBinding(Model):
    """The type that says which threads may not allocate memory during a capture, and its values."""

    type: CppType = Field(description="The type.", examples=[_CAPTURE_MODE_EXAMPLE["type"]])
    mode_global: CppValue = Field(description="No thread may.", examples=[_CAPTURE_MODE_EXAMPLE["mode_global"]])
    mode_thread_local: CppValue = Field(
        description="The thread that captures may not.", examples=[_CAPTURE_MODE_EXAMPLE["mode_thread_local"]]
    )
    mode_relaxed: CppValue = Field(description="All may.", examples=[_CAPTURE_MODE_EXAMPLE["mode_relaxed"]])


class CaptureStatusBinding(Model):
    """The type that says whether a stream captures, and its value for yes."""

    type: CppType = Field(description="The type.", examples=[_CAPTURE_STATUS_EXAMPLE["type"]])
    active: CppValue = Field(description="The stream captures.", examples=[_CAPTURE_STATUS_EXAMPLE["active"]])


class GraphsBinding(Model):
    """How the driver captures the work of streams and launches it again."""

    graph: CppType = Field(description="The type of captured work.", examples=["simGraph_t"])
    executable: CppType = Field(description="The type of its form that can be launched.", examples=["simGraphExec_t"])
    capture_mode: CaptureModeBinding = Field(description="How strict a capture is.", examples=[_CAPTURE_MODE_EXAMPLE])
    capture_status: CaptureStatusBinding = Field(
        description="Whether a stream captures.", examples=[_CAPTURE_STATUS_EXAMPLE]
    )
    functions: GraphFunctions = Field(
        description="The driver's functions for graphs by role.", examples=[_GRAPH_FUNCTIONS_EXAMPLE]
    )


_GRAPHS_EXAMPLE = {
    "graph": "simGraph_t",
    "executable": "simGraphExec_t",
    "capture_mode": _CAPTURE_MODE_EXAMPLE,
    "capture_status": _CAPTURE_STATUS_EXAMPLE,
    "functions": _GRAPH_FUNCTIONS_EXAMPLE,
}


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
    graphs: GraphsBinding | None = Field(
        default=None,
        description="Graphs, for `torch.accelerator.Graph`; without it the backend has none.",
        examples=[_GRAPHS_EXAMPLE],
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
