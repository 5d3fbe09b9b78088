"""TileOPs' op manifest, in a small package and in the installed one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

from acmegen.diagnostics import DiagnosticError
from acmegen.facts.tileops import TileOpsInput, TileOpsParameter, find_tileops, read_tileops, signature_digest

NORM = """
RMSNormFwdOp:
  family: norm
  ref_api: torch.nn.functional.rms_norm
  signature:
    forall: {B: Shape, T: "DType[float16]"}
    params:
      normalized_shape: {type: "list[int]"}
      eps: {type: "float | None", default: null, kw_only: true}
    inputs:
      x: {dtype: T, shape: "[*B]"}
      weight: {dtype: T, shape: "[*B]", optional: "elementwise_affine"}
      out: {dtype: T, shape: "[*B]", kw_only: true, mutated: true}
    outputs:
      output: {dtype: T, shape: "[*B]"}
"""
NO_INPUTS = """
AlibiFwdOp:
  family: rope
  signature:
    outputs:
      output: {dtype: float32, shape: "[N]"}
"""


def make_tileops(root: Path, **specs: str) -> Path:
    (root / "manifest" / "spec").mkdir(parents=True)
    for name, text in specs.items():
        (root / "manifest" / "spec" / f"{name}.yaml").write_text(text)
    return root


def test_an_op(tmp_path: Path) -> None:
    install = read_tileops(make_tileops(tmp_path, norm=NORM, rope=NO_INPUTS, types="adts: {}"), "0.1.0")
    assert list(install.ops) == ["AlibiFwdOp", "RMSNormFwdOp"]
    op = install.ops["RMSNormFwdOp"]
    assert (op.key, op.family, op.outputs) == ("RMSNormFwdOp", "norm", ("output",))
    assert (op.reference, install.ops["AlibiFwdOp"].reference) == ("torch.nn.functional.rms_norm", "")
    assert op.inputs == (
        TileOpsInput("x", "T", False, False, False),
        TileOpsInput("weight", "T", True, False, False),
        TileOpsInput("out", "T", False, True, True),
    )
    assert op.parameters == (
        TileOpsParameter("normalized_shape", "list[int]", True, None),
        TileOpsParameter("eps", "float | None", False, None),
    )
    assert install.ops["AlibiFwdOp"].inputs == ()
    assert install.nearest("RmsNormFwd") == ("RMSNormFwdOp",)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('{dtype: T, shape: "[*B]"}', '{shape: "[*B]", dtype: T}', True),
        ("family: norm", "family: norms", True),
        ("      x: {", "      y: {", False),
        ("float16", "float32", False),
        ("default: null", "default: 1.0e-6", False),
        ('      normalized_shape: {type: "list[int]"}\n', "", False),
    ],
)
def test_what_the_digest_depends_on(old: str, new: str, same: bool) -> None:
    assert old in NORM
    before, after = (yaml.safe_load(text)["RMSNormFwdOp"]["signature"] for text in (NORM, NORM.replace(old, new)))
    assert (signature_digest(before) == signature_digest(after)) == same


def test_the_order_of_inputs_counts() -> None:
    signature = yaml.safe_load(NORM)["RMSNormFwdOp"]["signature"]
    reordered = {**signature, "inputs": dict(reversed(signature["inputs"].items()))}
    assert signature_digest(signature) != signature_digest(reordered)


@pytest.mark.parametrize("text", ["A: {family: x}", "- a", "A: [", "A: 1"])
def test_another_form(tmp_path: Path, text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_tileops(make_tileops(tmp_path, norm=text), "9.9.9")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "ACME300"
    assert diagnostic.message == "cannot read the op manifest of TileOPs 9.9.9"


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="cannot read the op manifest"):
        read_tileops(tmp_path, "9.9.9")


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert find_tileops() is None


@pytest.mark.skipif(importlib.util.find_spec("tileops") is None, reason="TileOPs is not installed")
def test_the_installed_tileops() -> None:
    """Its own reader is the judge."""
    manifest = importlib.import_module("tileops.manifest").load_manifest()
    install = find_tileops()
    assert install is not None
    assert install.ops.keys() == manifest.keys()
    for key, op in install.ops.items():
        signature = manifest[key]["signature"]
        assert [value.name for value in op.inputs] == list(signature.get("inputs", {}))
        assert [value.name for value in op.parameters] == list(signature.get("params", {}))
        assert op.signature_digest == signature_digest(signature)
