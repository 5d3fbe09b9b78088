"""tileops.yaml against the installed TileOPs: what a kernel's expression may be."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.diagnostics import Diagnostic, codes
from acmegen.facts.tileops import TileOpsInput, TileOpsInstall, TileOpsOp, TileOpsParameter
from acmegen.manifest.load import load_project
from acmegen.plan.tileops import TileOpsPlan
from acmegen.plan.tileops_lowering import lower_tileops
from tests.unit.manifests import covered, diagnostics_of, write_manifests

NORM = TileOpsOp(
    key="RMSNormFwdOp",
    family="norm",
    inputs=(TileOpsInput("x", "T", False, False, False), TileOpsInput("weight", "T", True, False, False)),
    parameters=(TileOpsParameter("eps", "float", False, None),),
    outputs=("output",),
    reference="torch.nn.functional.rms_norm",
    signature_digest="",
    signature="",
)


def lower(folder: Path, text: str, version: str | None = "0.1.0") -> TileOpsPlan:
    project = load_project(write_manifests(folder, tileops=text))
    installed = None if version is None else TileOpsInstall(version, {NORM.key: NORM})
    plan = lower_tileops(project, installed)
    assert plan is not None
    return plan


def manifest(kernel: str) -> str:
    return f"manifest: tileops/v1\nops:\n  RMSNormFwdOp:\n    kernel: {kernel}\n"


def refused(folder: Path, text: str, version: str | None = "0.1.0") -> Diagnostic:
    (diagnostic,) = diagnostics_of(lambda: lower(folder, text, version))
    return diagnostic


def test_a_kernel_is_an_expression_of_inputs_and_params(tmp_path: Path) -> None:
    (kernel,) = lower(tmp_path, manifest('{expression: "torch.rsqrt(x * x + eps)"}')).kernels
    assert (kernel.function, kernel.modules) == ("rms_norm_fwd", frozenset({"torch"}))
    assert kernel.reference == "torch.nn.functional.rms_norm(x, weight=weight, eps=eps)"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x +", "not Python"),
        ("x + q", "`q` is neither an input nor a param"),
        ("__import__('os')", "`__import__` is neither"),
        ("x # comment", "not Python"),
        ("x) + (x", "not Python"),
        ("(yield)", "`yield` and `await`"),
        ("-" * 5000 + "x", "nested too deeply"),
    ],
)
def test_what_an_expression_cannot_be(tmp_path: Path, expression: str, words: str) -> None:
    text = manifest(f'{{expression: "{expression}"}}')
    found = refused(tmp_path, text)
    assert found.code == codes.TILEOPS_EXPRESSION
    named = re.match("`(q|__import__)`", found.message)
    assert covered(found.span, text) == (named[1] if named else expression)
    assert words in found.message


def test_a_builder_is_a_name_that_python_can_import(tmp_path: Path) -> None:
    assert lower(tmp_path, manifest("{python: 'mine.norm:build'}")).kernels[0].builder == ("mine.norm", "build")
    assert refused(tmp_path, manifest("{python: 'class.norm:build'}")).code == codes.BAD_NAME


def test_tileops_has_to_be_there_and_in_the_range(tmp_path: Path) -> None:
    text = manifest("{reference: true}")
    missing = refused(tmp_path, text, None)
    assert missing.code == codes.TILEOPS_MISSING
    assert missing.help is not None and "pip install" in missing.help and "--without-tileops" in missing.help
    assert refused(tmp_path, text, "0.2.0").code == codes.TILEOPS_OUT_OF_RANGE


def test_nothing_in_tileops_yaml_hides_anything_else_of_it(tmp_path: Path) -> None:
    without = replace(NORM, key="OtherFwdOp", reference="mine.norm")
    text = manifest("{expression: x + q}") + "  NoSuchOp: {kernel: {reference: true}}\n"
    text += "  OtherFwdOp: {kernel: {expression: x + r}}\n"
    project = load_project(write_manifests(tmp_path, tileops=text))
    installed = TileOpsInstall("0.2.0", {NORM.key: NORM, without.key: without})
    found = diagnostics_of(lambda: lower_tileops(project, installed))
    assert [one.code for one in found] == [
        *(codes.TILEOPS_OUT_OF_RANGE, codes.TILEOPS_EXPRESSION),
        *(codes.TILEOPS_UNKNOWN_OP, codes.TILEOPS_NO_REFERENCE, codes.TILEOPS_EXPRESSION),
    ]


def test_an_op_that_tileops_lacks(tmp_path: Path) -> None:
    found = refused(tmp_path, manifest("{reference: true}").replace("RMSNormFwdOp", "RMSNormFwdOps"))
    assert (found.code, found.label) == (codes.TILEOPS_UNKNOWN_OP, "did you mean `RMSNormFwdOp`?")
