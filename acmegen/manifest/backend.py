"""backend.yaml: the device as a whole."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from acmegen.diagnostics import codes, quote
from acmegen.manifest.driver import DriverBinding, LibraryBinding
from acmegen.manifest.model import EMPTY_MAPPING, Dtypes, Line, Model, VersionRange, distinct, refuse
from acmegen.manifest.names import DeviceName, LibraryName, NamespaceName, PackageName

AutocastDtype = Literal["float16", "bfloat16", "float32"]


def _license(value: str) -> str:
    try:
        return canonicalize_license_expression(value)
    except InvalidLicenseExpression:
        refuse(codes.BAD_LICENSE, f"{quote(value)} is not an SPDX licence expression", help="for example `Apache-2.0`")


def _priorities(values: tuple[int, ...]) -> tuple[int, ...]:
    if values[0] != 0:
        refuse(codes.WRONG_VALUE, "the first priority is the default one, which is 0 in torch")
    return distinct(values)


# Drivers know a handful around 0; C++ passes them as `int`.
Priority = Annotated[int, Field(ge=-128, le=127)]
Priorities = Annotated[tuple[Priority, ...], Field(min_length=1, max_length=8), AfterValidator(_priorities)]


class Devices(Model):
    """The devices of one process."""

    max: int = Field(
        default=16, ge=1, le=64, description="The largest number of devices that one process can use.", examples=[8]
    )


class Streams(Model):
    """The stream pools."""

    pool_size: int = Field(
        default=32, ge=1, le=64, description="Streams in the pool of each device and priority.", examples=[8]
    )
    priorities: Priorities = Field(
        default=(0, -1),
        description="The priorities of streams: the default, 0, first; lower numbers are more urgent.",
        examples=[[0, -1, -2]],
    )


class Fallback(Model):
    """What serves the operators that no manifest names."""

    policy: Literal["reference", "cpu", "error", "user"] = Field(
        default="cpu",
        description="`reference`: torch's CPU kernel on the device's memory in place (the driver must give the host "
        "access to it). `cpu`: torch's CPU kernel on copies. `error`: a NotImplementedError. `user`: a boxed function "
        "of yours.",
        examples=["reference"],
    )


class Autocast(Model):
    """Automatic mixed precision."""

    default: AutocastDtype = Field(
        default="bfloat16", description="The dtype when `torch.autocast` is given none.", examples=["float16"]
    )
    dtypes: Annotated[tuple[AutocastDtype, ...], Field(min_length=1), AfterValidator(distinct)] = Field(
        default=("bfloat16", "float16"), description="The dtypes that autocast may use.", examples=[["bfloat16"]]
    )

    @model_validator(mode="after")
    def _default_is_supported(self) -> Autocast:
        if self.default not in self.dtypes:
            message = f"the default `{self.default}` is not among the dtypes"
            refuse(codes.CONTRADICTION, message, key="default", other="dtypes", other_label="the dtypes")
        return self


def _driver_kind(value: Any) -> str:
    # Tags are no keys of any manifest, so that they never stand for a place in one.
    return "<name>" if isinstance(value, str) else "<binding>"


Driver = Annotated[
    Annotated[Literal["simulator"], Tag("<name>")] | Annotated[DriverBinding, Tag("<binding>")],
    Discriminator(_driver_kind),
]


class BackendManifest(Model):
    """The device: its names, its driver, and what it can do."""

    manifest: Literal["backend/v1"] = Field(description="The kind and version of this file.")
    name: DeviceName = Field(
        description="The device string that `torch.device` takes: lower-case letters and single underscores.",
        examples=["my_device"],
    )
    description: Line = Field(
        default="A PyTorch backend.",
        description="One line about the device, for package metadata.",
        examples=["PyTorch on the accelerators of a vendor."],
    )
    python_package: PackageName | None = Field(
        default=None, description="The Python package; by default `torch_` and the name.", examples=["torch_my_device"]
    )
    cpp_namespace: NamespaceName | None = Field(
        default=None,
        description="The C++ namespace, and that of operators of your own; by default the name.",
        examples=["my_device"],
    )
    cpp_library: LibraryName | None = Field(
        default=None,
        description="The shared library with all C++, without `lib` and `.so`; by default the Python package.",
        examples=["torch_my_device"],
    )
    license: Annotated[str, AfterValidator(_license)] = Field(
        default="Apache-2.0", description="An SPDX expression, printed into each generated file.", examples=["MIT"]
    )
    torch: VersionRange = Field(
        default=">=2.9,<2.15",
        description="The torch versions that this backend supports, as a PEP 440 specifier.",
        examples=[">=2.13,<2.15"],
    )
    devices: Annotated[Devices, EMPTY_MAPPING] = Field(
        default=Devices(), description="The devices of one process.", examples=[{"max": 8}]
    )
    driver: Driver = Field(
        default="simulator",
        description="The device's runtime API: `simulator`, or the binding of a CUDA-like runtime by name.",
        examples=["simulator"],
    )
    library: LibraryBinding | None = Field(
        default=None,
        description="The vendor's maths library, which `library` kernels call. The simulator brings its own.",
        examples=[{"headers": ["my_blas.h"], "dtype": "myDataType_t", "dtypes": {"float32": "myFloat32"}}],
    )
    dtypes: Dtypes = Field(
        default=("all", "complex"),
        validate_default=True,
        description="The dtypes that the device claims to support.",
        examples=[["floating", "int64", "bool"]],
    )
    streams: Annotated[Streams, EMPTY_MAPPING] = Field(
        default=Streams(), description="The stream pools.", examples=[{"pool_size": 8, "priorities": [0, -1, -2]}]
    )
    fallback: Annotated[Fallback, EMPTY_MAPPING] = Field(
        default=Fallback(),
        description="What serves the operators that no manifest names.",
        examples=[{"policy": "reference"}],
    )
    autocast: Annotated[Autocast, EMPTY_MAPPING] = Field(
        default=Autocast(),
        description="Automatic mixed precision.",
        examples=[{"default": "float16", "dtypes": ["float16"]}],
    )
    generator: Literal["philox"] = Field(
        default="philox", description="The random number generator.", examples=["philox"]
    )

    @model_validator(mode="after")
    def _packages_differ(self) -> BackendManifest:
        if self.python_package is not None and self.python_package.lower() == f"tileops_{self.name}":
            refuse(
                codes.RESERVED_NAME,
                f"`{self.python_package}` is taken: it is the package of the TileOPs side",
                key="python_package",
            )
        return self

    @model_validator(mode="after")
    def _libraries_differ(self) -> BackendManifest:
        name = self.cpp_library or self.python_package or f"torch_{self.name}"
        vendors = [binding.link for binding in (self.driver, self.library) if not isinstance(binding, str | None)]
        if any(name in link for link in vendors):
            message = f"`{name}` is a library of the vendor's; call the backend's otherwise by `cpp_library`"
            given = [key for key in ("cpp_library", "python_package", "name") if getattr(self, key) is not None]
            refuse(codes.RESERVED_NAME, message, key=given[0])
        return self
