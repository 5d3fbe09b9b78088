"""Names that follow from the device's name, so that every template spells them alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """The identifiers of one backend.

    Attributes:
        device: the device string, `acme`.
        upper: prefix of macros and environment variables, `ACME`.
        pascal: prefix of C++ classes, `Acme`.
        namespace: the C++ namespace and, by default, the op namespace, `acme`.
        package: the Python package, `torch_acme`.
        library: the shared library without `lib` and `.so`, by default the package, `torch_acme`.
        tileops_package: the TileOPs side's Python package, `tileops_acme`.
    """

    device: str
    upper: str
    pascal: str
    namespace: str
    package: str
    library: str
    tileops_package: str


def derive_names(
    device: str, package: str | None = None, namespace: str | None = None, library: str | None = None
) -> Names:
    """Derive every name from `device`; `package`, `namespace` and `library` override their defaults."""
    package = package or f"torch_{device}"
    return Names(
        device=device,
        upper=device.upper(),
        pascal="".join(part.capitalize() for part in device.split("_")),
        namespace=namespace or device,
        package=package,
        library=library or package,
        tileops_package=f"tileops_{device}",
    )
