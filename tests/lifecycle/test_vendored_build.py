"""Two exports of a project, built in an environment without acmegen: one passes its tests, both meet in a process."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.conftest import Acmegen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(5400)]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def clean_site(folder: Path) -> Path:
    """Links to what is installed here, but for acmegen and for backends."""
    folder.mkdir()
    installed = Path(sysconfig.get_paths()["purelib"])
    left_out = {"acmegen"}
    for found in distributions(path=[str(installed)]):
        if any(point.group in ("torch.backends", "tileops.backends") for point in found.entry_points):
            left_out |= {path.parts[0] for path in found.files or ()}
    for entry in installed.iterdir():
        if entry.name not in left_out and not entry.name.startswith(("acmegen-", "_acmegen", "__editable__")):
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the Python of an environment without acmegen."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "clean.pth").write_text(f"{clean_site(folder / 'site')}\n")

    def run(*command: object, cwd: Path = folder, **environment: str) -> subprocess.CompletedProcess[str]:
        outer = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [python, *map(str, command)], cwd=cwd, env=outer | environment, capture_output=True, text=True
        )

    assert "No module named 'acmegen'" in run("-c", "import acmegen").stderr
    return run


@pytest.fixture(scope="module")
def exports(acmegen: Acmegen, new_project: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two exports, `acme` and, of other names, `nova`."""
    folder = tmp_path_factory.mktemp("exports")
    others = ("--name", "nova", "--cpp-namespace", "nova_backend", "--library", "nova_device")
    for name, options in (("acme", ()), ("nova", others)):
        result = acmegen("vendor", "export", new_project("acme"), folder / name, *options)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def built(run: Run, exports: Path) -> Path:
    """The exports, built as their VENDORED.md says."""
    for name in ("acme", "nova"):
        for side in (".", f"tileops_{name}"):
            command = ("-m", "pip", "install", "--no-build-isolation", "--no-deps", "-e", side)
            result = run(*command, cwd=exports / name, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
            assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return exports


def test_b7_b13_two_backends_in_one_process(run: Run, built: Path) -> None:
    """Another device name and another C++ namespace."""
    libraries = {"acme": "libtorch_acme.so", "nova": "libnova_device.so"}
    for first, second in (("acme", "nova"), ("nova", "acme")):
        program = (
            f"import torch_{first}, torch\ntry:\n import torch_{second}\nexcept ImportError as error:\n print(error)"
        )
        use = f"print(torch.ones(2, device='{first}').add(1).tolist())"
        result = run("-c", f"{program}\n{use}", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        assert result.returncode == 0, result.stderr
        error, value = result.stdout.splitlines()
        for named in (f"`{first}`", f"`{second}`", *libraries.values()):
            assert named in error
        assert value == "[2.0, 2.0]"

        find = "next(path for path in map(pathlib.Path, open('/proc/self/maps').read().split()) if path.name == '{}')"
        program = (
            f"import torch, pathlib, sysconfig, torch_{first}\n"
            f"package = pathlib.Path(sysconfig.get_paths()['purelib']) / 'torch_{second}'\n"
            f"torch.ops.load_library(str(package / 'lib' / '{libraries[second]}'))\n"
            f"print({find.format(libraries[first])})\n"
        )
        result = run("-c", f"{program}\n{use}", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        assert result.returncode == 0, result.stderr
        path, value = result.stdout.splitlines()
        assert result.stderr.count("Warning") == 1
        for named in (f"`{first}`", f"`{second}`", path, libraries[second]):
            assert named in result.stderr
        assert value == "[2.0, 2.0]"


def test_b13_import_torch_survives_two_autoloaded_backends(run: Run, built: Path) -> None:
    result = run("-W", "always", "-c", "import torch; print(torch._C._get_privateuse1_backend_name())")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in ("acme", "nova")
    assert result.stderr.count("RuntimeWarning") == 1
    assert "`acme`" in result.stderr and "`nova`" in result.stderr


def test_export_passes_its_tests_without_acmegen(run: Run, built: Path) -> None:
    """Last, since it takes the other backend away."""
    assert run("-m", "pip", "uninstall", "--yes", "torch_acme", "tileops_acme").returncode == 0
    result = run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=built / "nova")
    assert result.returncode == 0, result.stdout[-8000:]
    assert "skipped" not in result.stdout.splitlines()[-1]
    verified = run("-I", "-S", "verify.py", cwd=built / "nova")
    assert verified.returncode == 0, verified.stdout
