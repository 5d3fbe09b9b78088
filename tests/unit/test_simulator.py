"""The simulated SDK's build and runtime: each case of the C++ program in simulator/ runs in a process of its own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from acmegen.data import data_folder
from tests.unit.simulator_sdk import CASES

NAMES = [
    name
    for file in sorted(CASES.glob("*_cases.cpp"))
    for name in re.findall(r"^CASE\((\w+)\)", file.read_text(), re.MULTILINE)
]


def test_there_are_cases() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 70


@pytest.mark.parametrize("case", NAMES)
def test_runtime(simulator_program: Path, case: str) -> None:
    environment = {"PATH": "/usr/bin"}
    result = subprocess.run([simulator_program, case], env=environment, capture_output=True, text=True, timeout=90)
    assert result.returncode == 0, result.stderr


def test_the_program_refuses_an_unknown_case(simulator_program: Path) -> None:
    assert subprocess.run([simulator_program, "no_such_case"], capture_output=True).returncode == 1


def test_exactly_the_bound_symbols_are_exported(simulator_library: Path) -> None:
    binding = yaml.safe_load((data_folder("manifests") / "presets" / "simulator.yaml").read_text())
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", simulator_library], capture_output=True, text=True, check=True
    )
    exported = {name for kind, name in (line.split()[1:3] for line in listing.stdout.splitlines()) if kind == "T"}
    driver = binding["driver"]
    runtime = {
        *driver["functions"].values(),
        *driver["graphs"]["functions"].values(),
        driver["status"]["message"],
    }
    include = simulator_library.parent.parent / "include"
    declared = {
        name
        for header in ("sim_blas.h", "sim_debug.h")
        for name in re.findall(r"^SIM_API [\w ]+\b(sim\w+)\(", (include / header).read_text(), re.MULTILINE)
    }
    assert exported == runtime | declared


def test_the_headers_are_c(simulator_root: Path) -> None:
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"]
    for header in ("sim_blas.h", "sim_debug.h"):
        subprocess.run([*command, str(simulator_root / "include" / header)], check=True)


def test_each_setting_is_documented(simulator_root: Path) -> None:
    pattern = re.compile(r"\bSIM_[A-Z]+(?:_[A-Z]+)*\b")
    settings = set(re.findall(r'"(SIM_\w+)"', (simulator_root / "src" / "settings.cpp").read_text()))
    documented = set(pattern.findall((simulator_root / "include" / "sim_debug.h").read_text()))
    assert len(settings) == 14
    assert settings == documented - {"SIM_API", "SIM_DEBUG_H"}
    assert settings < set(pattern.findall((simulator_root / "README.md").read_text()))


def test_the_sdk_is_neutral(simulator_root: Path) -> None:
    files = [simulator_root / "CMakeLists.txt", simulator_root / "README.md"]
    for file in [*files, *simulator_root.glob("include/*"), *simulator_root.glob("src/*")]:
        assert not re.search(r"acme|torch", file.read_text(), re.IGNORECASE), file
