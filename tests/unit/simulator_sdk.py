"""Builds the simulated SDK from its templates, and calls its maths library through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import torch
from torch import Tensor

from acmegen.data import data_folder
from acmegen.render.environment import environment

SDK = Path("third_party/sim")
CASES = Path(__file__).parent / "simulator"

SUCCESS, INVALID_VALUE, ASSERT = 0, 4, 10
TO_DEVICE, TO_HOST = 1, 2

DTYPES = {
    torch.float32: 0,
    torch.float64: 1,
    torch.float16: 2,
    torch.bfloat16: 3,
    torch.uint8: 4,
    torch.int8: 5,
    torch.int16: 6,
    torch.int32: 7,
    torch.int64: 8,
    torch.bool: 9,
}


def render_sdk(folder: Path) -> Path:
    """Render the SDK's templates, which need no plan, into `folder`; gives the SDK's root."""
    templates = data_folder("templates") / "backend"
    for template in sorted((templates / SDK).rglob("*.jinja")):
        path = template.relative_to(templates)
        target = folder / path.with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(environment().get_template(f"backend/{path.as_posix()}").render())
    return folder / SDK


def build_sdk(root: Path) -> Path:
    """Build the shared library with the SDK's own CMake project; any warning is an error. Gives its path."""
    build = root / "build"
    configure = ["cmake", "-S", str(root), "-B", str(build), "-DCMAKE_CXX_FLAGS=-Werror"]
    for command in (configure, ["cmake", "--build", str(build)]):
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
    return build / "libsim.so"


def build_cases(root: Path, library: Path) -> Path:
    """Build the program of tests/unit/simulator against the SDK; gives its path."""
    program = root / "build" / "cases"
    sources = [str(path) for path in sorted(CASES.glob("*.cpp"))]
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{root / 'include'}", *sources]
    command += [str(library), f"-Wl,-rpath,{library.parent}", "-pthread", "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return program


class Refused(Exception):
    """A call gave a status that is not success."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Operand:
    """A tensor's storage in device memory. Its strides and its offset in the storage are those of the host's tensor."""

    def __init__(self, sdk: Sdk, host: Tensor) -> None:
        self.host = host
        self.sdk = sdk
        self.size = host.untyped_storage().nbytes()
        base = ctypes.c_void_p()
        sdk.check(sdk.library.simMalloc(ctypes.byref(base), ctypes.c_size_t(self.size)))
        self.base = base.value or 0
        self._copy(self.base, host.untyped_storage().data_ptr(), TO_DEVICE)

    @property
    def address(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.base + self.host.storage_offset() * self.host.element_size())

    def read(self) -> Tensor:
        """What is there now, with the host tensor's shape and strides."""
        storage = torch.UntypedStorage(self.size)
        self._copy(storage.data_ptr(), self.base, TO_HOST)
        host = self.host
        result = torch.empty(0, dtype=host.dtype).set_(storage, host.storage_offset(), host.size(), host.stride())
        self.free()
        return result

    def free(self) -> None:
        self.sdk.check(self.sdk.library.simFree(ctypes.c_void_p(self.base)))

    def _copy(self, target: int, source: int, kind: int) -> None:
        pointers = ctypes.c_void_p(target), ctypes.c_void_p(source)
        self.sdk.check(self.sdk.library.simMemcpyAsync(*pointers, ctypes.c_size_t(self.size), kind, None))
        self.sdk.check(self.sdk.library.simStreamSynchronize(None))


class Sdk:
    """The loaded library. Python values become the C types that its functions take."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def check(self, status: int) -> None:
        if status != SUCCESS:
            raise Refused(status)

    def upload(self, host: Tensor) -> Operand:
        return Operand(self, host)

    def call(self, name: str, *arguments: object) -> None:
        """Call `name` on the default stream and wait. Integers become int64_t, and None a null pointer."""
        self.check(getattr(self.library, name)(None, *map(_argument, arguments)))
        self.check(self.library.simStreamSynchronize(None))


def _argument(value: object) -> object:
    match value:
        case Operand():
            return value.address
        case torch.dtype():
            return ctypes.c_int(DTYPES[value])
        case bool():
            return ctypes.c_bool(value)
        case int():
            return ctypes.c_int64(value)
        case float():
            return ctypes.c_double(value)
        case None:
            return ctypes.c_void_p(None)
        case _:
            return value
