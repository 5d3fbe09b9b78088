"""The list of runtime kernels against the generated header that declares them, and the preset that uses them."""

from __future__ import annotations

import re

import yaml

from acmegen.data import data_folder
from acmegen.facts import load_facts
from acmegen.plan.runtime_kernels import RUNTIME_KERNELS


def test_the_header_declares_each_kernel() -> None:
    header = data_folder("templates") / "backend/csrc/generated/native/NativeFunctions.h.jinja"
    declared = set(re.findall(r"(\w+)\(", header.read_text()))
    operators = load_facts().operators
    assert {operators[name].kernel_name for name in RUNTIME_KERNELS if name in operators} <= declared


def test_the_preset_lists_them_all() -> None:
    preset = yaml.safe_load((data_folder("manifests") / "presets/core.yaml").read_text())
    assert {name for name, kind in preset["ops"].items() if kind == "runtime"} == RUNTIME_KERNELS
