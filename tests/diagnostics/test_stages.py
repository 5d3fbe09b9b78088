"""What is wrong in one place hides nothing elsewhere, and makes nothing else look wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from acmegen.diagnostics import DiagnosticError, codes, format_texts
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.driver import DriverPreset
from acmegen.manifest.load import STAND_INS
from acmegen.manifest.model import Model
from acmegen.manifest.ops import OpsManifest
from acmegen.manifest.salvage import salvage
from acmegen.pipeline import resolve
from tests.diagnostics.corpus import stage

UNKNOWN = "# ops/ops.yaml\nmanifest: ops/v1\nops:\n  no_such_operator: reference\n"


def found(folder: Path, manifests: str) -> list[str]:
    stage(manifests, folder)
    with pytest.raises(DiagnosticError) as raised:
        resolve(folder)
    return [diagnostic.code for diagnostic in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("# allocator.yaml\nmanifest: allocator/v1\ndevice: {kind: best}\n", codes.WRONG_VALUE),
        ("# allocator.yaml\nmanifest: [\n", codes.YAML_SYNTAX),
        ("# backend.yaml\nmanifest: backend/v1\nname: nova\nlicense: none of them\n", codes.BAD_LICENSE),
        ("# backend.yaml\nmanifest: backend/v1\nname: nova\nstreems: {}\n", codes.UNKNOWN_FIELD),
        ("# ops/a.yaml\nmanifest: ops/v1\nops:\n  abs: {expr: 1}\n", codes.WRONG_TYPE),
        ("# ops/a.yaml\n- 1\n", codes.NOT_ONE_MAPPING),
        ("# ops/a.yaml\nmanifest: ops/v1\ninclude: [corr]\n", codes.UNKNOWN_PRESET),
        ("# tileops.yaml\nmanifest: tileops/v1\nrequires: new\n", codes.BAD_VERSION_RANGE),
        ("# other.yaml\n{}\n", codes.UNKNOWN_FILE),
    ],
)
def test_a_wrong_manifest_does_not_hide_an_unknown_operator(tmp_path: Path, wrong: str, code: str) -> None:
    assert sorted(found(tmp_path, wrong + UNKNOWN)) == sorted([code, codes.UNKNOWN_OPERATOR])


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("  relu: user\n  relu: reference\n", codes.DUPLICATE_KEY),
        ("  relu: &relu {reference: {}}\n  sigmoid: {<<: *relu}\n", codes.KEY_NOT_TEXT),
        ("  1: reference\n", codes.KEY_NOT_TEXT),
        ("  relu: !!binary aGVsbG8=\n", codes.YAML_TAG),
        ("  relu: {expr: !!binary aGVsbG8=, dtypes: [float32]}\n", codes.YAML_TAG),
        ("  !mine relu: reference\n", codes.YAML_TAG),
        (f"  relu: {{expr: {'9' * 500}, dtypes: [float32]}}\n", codes.WRONG_VALUE),
        (f"  relu: {{expr: self, dtypes: [{'9' * 500}]}}\n", codes.WRONG_VALUE),
    ],
)
def test_a_fault_of_yaml_hides_nothing_else_of_its_file(tmp_path: Path, wrong: str, code: str) -> None:
    others = "  gelu: {reference: {}, dtyeps: [float32]}\n  abs: {expr: 1}\n"
    expected = [code, codes.UNKNOWN_OPERATOR, codes.UNKNOWN_FIELD, codes.WRONG_TYPE]
    assert sorted(found(tmp_path, UNKNOWN + others + wrong)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # The first of two equal keys is checked, the second one is not.
        ("# ops/ops.yaml\nmanifest: ops/v1\nops: {relu: reference}\nops: {rellu: 7}\n", codes.DUPLICATE_KEY),
        # What the first mapping lacks, the second one may have.
        (
            "# backend.yaml\nmanifest: backend/v1\nname: nova\n"
            "driver: {headers: [a.h], link: [a]}\ndriver: {functions: {}}\n",
            codes.DUPLICATE_KEY,
        ),
        # A placeholder of a template is a mapping in a mapping.
        ("# backend.yaml\nmanifest: backend/v1\nname: {{ name }}\n", codes.KEY_NOT_TEXT),
        ("# backend.yaml\nmanifest: backend/v1\nname: nova\nlicense: !!binary aGVsbG8=\n", codes.YAML_TAG),
        ("# ops/ops.yaml\nmanifest: ops/v1\nops: {relu: reference, neg: {1: x}}\n", codes.KEY_NOT_TEXT),
    ],
)
def test_nothing_follows_from_a_fault_of_yaml(tmp_path: Path, text: str, code: str) -> None:
    assert found(tmp_path, text) == [code]


@pytest.mark.parametrize(
    ("backend", "code"),
    [
        ("manifest: backend/v1\nname: class\n", codes.BAD_NAME),
        ("manifest: backend/v1\nname: cuda\n", codes.RESERVED_NAME),
        ("manifest: backend/v1\n", codes.MISSING_FIELD),
        ("manifest: backend/v1\nname: nova\ndriver: simulater\n", codes.WRONG_VALUE),
        ("manifest: backend/v1\nname: nova\ndriver: 5\n", codes.WRONG_TYPE),
        ("manifest: backend/v1\nname: nova\nlibrary: 5\n", codes.WRONG_TYPE),
        ("manifest: backend/v1\nname: nova\nfallback: {policy: refrence}\n", codes.WRONG_VALUE),
        ("manifest: backend/v1\nname: nova\npython_package: tileops_nova\n", codes.RESERVED_NAME),
        ("manifest: backend/v1\nname: nova\ncpp_library: sim_blas\nlibrary:\n  {headers: [a.h], link: [sim_blas], "
         "dtype: t, dtypes: {}}\n", codes.RESERVED_NAME),
        ("manifest: backend/v2\nname: nova\n", codes.WRONG_VALUE),
        ("manifest: ops/v1\nname: nova\n", codes.WRONG_VALUE),
        ("name: nova\n", codes.MISSING_FIELD),
        ("name: {{\n", codes.YAML_SYNTAX),
    ],
)  # fmt: skip
def test_a_backend_that_is_wrong_hides_nothing_of_the_operators_and_makes_none_of_them_wrong(
    tmp_path: Path, backend: str, code: str
) -> None:
    others = """  mm: {library: simGemm, dtypes: [floating], args: [stream, self, mat2, out]}
  abs: {expr: abs(self), dtypes: [floating]}
custom:
  "twice(Tensor x) -> Tensor": {expr: x + x, dtypes: [float32], like: x, backward: twice_backward}
  "twice_backward(Tensor grad) -> Tensor": {user: {}, like: grad}
"""
    expected = [code, codes.UNKNOWN_OPERATOR]
    assert sorted(found(tmp_path, f"# backend.yaml\n{backend}{UNKNOWN}{others}")) == sorted(expected)


def test_an_entry_that_is_wrong_may_have_a_name_that_is_not_known_too(tmp_path: Path) -> None:
    text = """# ops/ops.yaml
manifest: ops/v1
ops:
  mul.Tensr: {expr: self * other, dtypes: [flaot32]}
  add.Tensor: {expr: self + other, dtypes: [flaot32]}
  add.out: 5
# tileops.yaml
manifest: tileops/v1
ops:
  GELUFwdOpp: {kernel: {referenec: true}}
  SiLUFwdOp: {kernel: {referenec: true}}
"""
    expected = [codes.UNKNOWN_DTYPE] * 2 + [codes.UNKNOWN_OPERATOR, codes.KERNEL_KIND, codes.TILEOPS_UNKNOWN_OP]
    assert sorted(found(tmp_path, text)) == sorted([*expected, codes.UNKNOWN_FIELD, codes.UNKNOWN_FIELD])


def test_a_manifest_in_the_file_of_another_kind_is_that_one_mistake(tmp_path: Path) -> None:
    text = "# ops/a.yaml\nmanifest: tileops/v1\nops: {no_such_op: user}\n"
    assert found(tmp_path, text) == [codes.WRONG_VALUE]


def test_an_entry_that_is_left_out_is_not_missed_by_another(tmp_path: Path) -> None:
    text = """# ops/ops.yaml
manifest: ops/v1
custom:
  "twice(Tensor x) -> Tensor": {user: {}, like: x, backward: twice_backward}
  "twice_backward(Tensor grad) -> Tensor": {user: {}, lik: grad}
"""
    assert found(tmp_path, text) == [codes.UNKNOWN_FIELD]


def test_torch_that_is_missing_and_manifests_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acmegen.facts.torch_install._spec_root", lambda: None)
    wrong = "# allocator.yaml\nmanifest: allocator/v1\ndevice: {kind: best}\n"
    assert sorted(found(tmp_path, wrong)) == sorted([codes.WRONG_VALUE, codes.TORCH_MISSING])


@pytest.mark.parametrize(
    ("model", "data", "rest"),
    [
        (OpsManifest, {"manifest": "ops/v1", "ops": {"a": "user", "b": 1}}, {"ops": {"a": {}, "b": {}}}),
        (OpsManifest, {"manifest": "ops/v1", "custom": {"f(Tensor x) -> Tensor": 1}}, {}),
        (OpsManifest, {"manifest": "ops/v1", "ops": {"a b": "user", "b": "user"}}, {"ops": {"b": {"user": {}}}}),
        (OpsManifest, {"manifest": "ops/v1", "ops": 7, "include": ("core",)}, {"include": ["core"]}),
        (OpsManifest, {"manifest": "ops/v2", "include": ("core",)}, {"include": ["core"]}),
        (OpsManifest, {"include": ("core",)}, {"include": ["core"]}),
        (AllocatorManifest, {"manifest": "allocator/v1", "device": {"kind": 1}, "x": 1}, {}),
        (BackendManifest, {"manifest": "backend/v1", "name": "nova", "x": 1}, {"name": "nova"}),
        (BackendManifest, {"manifest": "backend/v1", "name": "nova", "driver": 1}, {"name": "nova", "driver": "x"}),
        (BackendManifest, {"manifest": "backend/v1"}, {"name": "stand_in"}),
        (DriverPreset, {"driver": 1}, None),
    ],
)
def test_what_is_left_of_a_manifest(model: type[Model], data: dict[str, Any], rest: dict[str, Any] | None) -> None:
    left = salvage(model, data, STAND_INS[model])
    assert (left is None) == (rest is None)
    if left is not None and rest is not None:
        shown = left.model_dump(exclude_unset=True, exclude={"manifest"}, mode="json")
        assert {name for name in shown if shown[name]} == rest.keys()
        assert all(shown[name].keys() == rest[name].keys() for name in rest if isinstance(rest[name], dict))


@pytest.mark.parametrize(
    ("head", "entry"),
    [
        ("# ops/ops.yaml\nmanifest: ops/v1\nops:\n", "  nop{}: {{libary: simGemm, dtypes: [floating]}}\n"),
        ("# ops/ops.yaml\nmanifest: ops/v1\nops:\n", "  nop{}: reference\n"),
        ("# ops/ops.yaml\nmanifest: ops/v1\nops:\n {{", '"nop{}": {{dtyps: [flaot32]}}, '),  # all of it is one line
        ("# tileops.yaml\nmanifest: tileops/v1\nops:\n", "  GELUFwdOpp{}: {{kernel: {{reference: true}}}}\n"),
    ],
)
def test_thousands_of_mistakes_take_no_longer_than_thousands_of_entries(tmp_path: Path, head: str, entry: str) -> None:
    stage(head.format() + "".join(map(entry.format, range(2000))) + "}" * head.endswith("{{"), tmp_path)
    start = time.process_time()
    with pytest.raises(DiagnosticError) as raised:
        resolve(tmp_path)
    assert format_texts(raised.value.diagnostics).count("error[") >= 2000
    assert time.process_time() - start < 8
