"""Builds native.cpp against the installed torch and a generated backend, and loads it into this process."""

from __future__ import annotations

import ctypes
import importlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = Path(__file__).resolve().with_name("native.cpp")
FUNCTIONS = (
    *("malloc_and_free", "allocate_and_free", "empty", "add", "launch", "launch_and_synchronize"),
    *("hand_over", "hand_over_and_wait", "record_event", "replay"),
)


def load_native(device: str) -> ctypes.CDLL:
    """Compile native.cpp and load it. The backend of `device` must be installed editably: its headers are needed."""
    package = importlib.import_module(f"torch_{device}")
    assert package.__file__ is not None
    project = Path(package.__file__).parent.parent
    backend = Path(package._C.__file__).parent / "lib" / f"libtorch_{device}.so"
    torch_folder = Path(torch.__file__).parent
    command = [
        *(os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden"),
        f"-DNAMESPACE={device}",
        f"-DSTREAM={''.join(part.capitalize() for part in device.split('_'))}Stream",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        *("-isystem", str(torch_folder / "include"), "-I", str(project / "csrc")),
        *(flag for path in sorted(project.glob("third_party/*/include")) for flag in ("-I", str(path))),
        str(SOURCE),
        *(str(backend), "-L", str(torch_folder / "lib"), "-ltorch_cpu", "-lc10"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libnative.so"
        subprocess.run([*command, "-o", str(library)], check=True)
        native = ctypes.CDLL(str(library))
    for name in FUNCTIONS:
        getattr(native, name).restype = ctypes.c_double
    return native
