"""Which kernel kinds can serve which operators, asked for all of torch's, and what a wrong choice is told."""

from __future__ import annotations

import keyword
import re
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, codes
from acmegen.facts import Facts, load_facts
from acmegen.manifest.load import load_project
from acmegen.pipeline import resolve
from acmegen.plan.lower import lower
from acmegen.plan.tileops import builder_name
from tests.unit.cpp import compile_errors
from tests.unit.manifests import BACKEND, covered, diagnostics_of, write_manifests
from tests.unit.rendering import rendered

OPS = "manifest: ops/v1\nops:\n"
LIBRARY = "{library: f, dtypes: [float32], args: [stream]}"


@pytest.fixture(scope="module")
def facts() -> Facts:
    return load_facts()


def refused(folder: Path, facts: Facts, entries: Iterable[str]) -> tuple[Diagnostic, ...]:
    """What is said of `entries`, each `name: kind`."""
    text = OPS + "".join(f"  {entry}\n" for entry in entries)
    return diagnostics_of(lambda: lower(load_project(write_manifests(folder, ops__x=text)), facts))


def first(folder: Path, text: str) -> Diagnostic:
    (found,) = diagnostics_of(lambda: resolve(write_manifests(folder, ops__x=text)))
    return found


@pytest.mark.parametrize("kind", ["user", "reference", "fallback", LIBRARY, "{expr: self, dtypes: [float32]}"])
def test_a13_a_kernel_of_any_kind_for_what_torch_decomposes_above_autograd_is_refused(
    tmp_path: Path, facts: Facts, kind: str
) -> None:
    names = ["reshape", "to.dtype", "to.device", "flatten.using_ints", "einsum", "broadcast_to", "dropout"]
    found = refused(tmp_path, facts, (f"{name}: {kind}" for name in names))
    assert [one.code for one in found] == [codes.CUTS_AUTOGRAD] * len(names)
    assert all("would cut its gradient" in one.message and "`composite`" in (one.help or "") for one in found)


def test_a13_asked_of_every_operator(tmp_path: Path, facts: Facts) -> None:
    """Without a derivative and without a kernel of torch's own backends, a decomposition is what autograd sees."""
    operators = facts.operators
    names = [
        name
        for name in operators
        if operators[name].composite_implicit
        and not operators[name].has_derivative
        and operators[name].dispatch.isdisjoint({"CPU", "CUDA"})
    ]
    assert len(names) > 500
    found = refused(tmp_path, facts, (f"{name}: user" for name in names))
    assert {one.code for one in found} == {codes.CUTS_AUTOGRAD}
    assert len(found) == len(names)
    resolve(write_manifests(tmp_path, ops__x=OPS + "".join(f"  {name}: composite\n" for name in names)))


def test_no_view_can_be_served_on_copies(tmp_path: Path, facts: Facts) -> None:
    operators = facts.operators
    names = [name for name in operators if operators[name].is_view and not operators[name].composite_implicit]
    assert len(names) > 40
    for kind in ("reference", "fallback"):
        found = refused(tmp_path, facts, (f"{name}: {kind}" for name in names))
        assert {one.code for one in found} == {codes.VIEW_OPERATOR}
        assert len(found) == len(names)


def test_every_variant_of_a_structured_group_is_served_by_its_group(tmp_path: Path, facts: Facts) -> None:
    operators = facts.operators
    variants = [
        name
        for name in operators
        if (group := operators.group_of(name)) is not None and group.structured and name != group.functional
    ]
    assert len(variants) > 300
    found = refused(tmp_path, facts, (f"{name}: user" for name in variants))
    assert {one.code for one in found} == {codes.SERVED_BY_GROUP}
    assert len(found) == len(variants)


@pytest.mark.parametrize("variant", ["add_.Tensor", "add.out"])
def test_a_variant_beside_the_entry_of_its_group_shows_that_entry(tmp_path: Path, variant: str) -> None:
    text = OPS + f"  add.Tensor: user\n  {variant}: user\n"
    found = first(tmp_path, text)
    assert (found.code, covered(found.span, text)) == (codes.SERVED_BY_GROUP, variant)
    assert [(note.message, covered(note.span, text)) for note in found.secondary] == [
        ("served here already", "add.Tensor")
    ]
    assert (found.help or "").startswith("remove this entry")
    assert found.edits == ()


@pytest.mark.parametrize("variant", ["add_.Tensor", "add.out"])
def test_a_variant_alone_can_be_renamed(tmp_path: Path, variant: str) -> None:
    text = OPS + f"  {variant}: user\n"
    found = first(tmp_path, text)
    assert (found.code, found.secondary) == (codes.SERVED_BY_GROUP, ())
    assert [(covered(edit.span, text), edit.replacement) for edit in found.edits] == [(variant, "add.Tensor")]


def test_a17_two_entries_that_claim_one_overload_show_both_places(tmp_path: Path) -> None:
    write_manifests(tmp_path, ops__a=OPS + "  mul.Tensor: user\n")
    text = OPS + "  mul.out: reference\n"
    found = first(tmp_path, text)
    assert (found.code, covered(found.span, text)) == (codes.CLAIMED_TWICE, "mul.out")
    assert [note.span.path.name for note in found.secondary] == ["a.yaml"]


@pytest.mark.parametrize("name", ["add.Tensro", "addd.Tensor", "add", "rleu", "nonsense", "aten_add", "x" * 90, "_"])
def test_g16_an_operator_that_torch_lacks_is_told_with_its_version_and_the_nearest(
    tmp_path: Path, facts: Facts, name: str
) -> None:
    text = OPS + f"  {name}: user\n"
    found = first(tmp_path, text)
    assert (found.code, covered(found.span, text)) == (codes.UNKNOWN_OPERATOR, name)
    assert found.message == f"torch {facts.torch.public_version} has no operator `{name}`"
    near = {"add.Tensro": "add.Tensor", "addd.Tensor": "add.Tensor", "add": "add.", "rleu": "relu"}
    assert near.get(name, "") in found.label + (found.help or "")


def test_g16_a_manifest_for_another_torch_ends_soon(tmp_path: Path, facts: Facts) -> None:

    entries = [f"operator_{index}.Tensor: user" for index in range(2000)]
    start = time.process_time()
    assert len(refused(tmp_path, facts, entries)) == 2000
    assert time.process_time() - start < 2.5  # 0.8 s


def test_a_backward_operator_that_does_not_fit_shows_its_schema(tmp_path: Path) -> None:
    text = (
        "manifest: ops/v1\ncustom:\n"
        '  "f(Tensor x) -> Tensor": {user: {}, like: x, backward: g}\n'
        '  "g(Tensor gradient, int y) -> Tensor": {user: {}, meta: user}\n'
    )
    found = first(tmp_path, text)
    assert (found.code, covered(found.span, text)) == (codes.BAD_BACKWARD, "g")
    assert [note.span.line for note in found.secondary] == [4]


def test_a15_a16_what_is_registered_has_the_signature_that_torch_has(tmp_path: Path, facts: Facts) -> None:
    """A registration names the type that torch's headers have, so that a kernel of another does not compile.

    That those types are the headers' own is asked of the compiler, for all operators, in test_facts_operators.py.
    """
    files = rendered(tmp_path, ops__x=OPS + "  cumsum: user\n  narrow_copy: user\n  index.Tensor: user\n")
    registration = files["csrc/generated/registration/Registration_0.cpp"]
    casts = re.findall(r"m\.impl\(\"(?:cumsum|narrow_copy|index\.Tensor)[^\n]*?(static_cast<.*)\);", registration)
    assert len(casts) >= 3
    functions = files["csrc/generated/kernels/Functions.h"]
    includes = "#include <ATen/core/Tensor.h>\n"
    for name, text in (
        ("right", functions),
        ("symbolic", functions.replace("int64_t length", "c10::SymInt length")),
        ("value", functions.replace("const at::Tensor & self", "at::Tensor self")),
    ):
        source = tmp_path / f"{name}.cpp"
        uses = "".join(f"auto pointer_{index} = {cast};\n" for index, cast in enumerate(casts))
        source.write_text(f"{includes}{text}\nnamespace nova {{\n{uses}}}\n")
        assert (text == functions) == (name == "right")
        assert (compile_errors(source, facts.torch) == "") == (name == "right"), name


@pytest.mark.parametrize(
    "written",
    [
        "    expr: a + bad\n",
        "    expr: 'a + bad'\n",
        '    expr: "a + \\x62ad"\n',
        "    expr: >-\n      a\n      + bad\n",
        "    expr: |\n      a +\n        bad\n",
        '    expr: "a\n      + \\\n      bad"\n',
        "    expr: a +\n      bad\n",
    ],
)
def test_a_mistake_in_an_expression_is_marked_in_it_in_each_style_of_yaml(tmp_path: Path, written: str) -> None:
    text = OPS + "  relu:\n" + written + "    dtypes: [float32]\n"
    found = first(tmp_path, text)
    assert (found.code, covered(found.span, text).replace("\\x62", "b")) == (codes.BAD_EXPRESSION, "bad")


def test_functions_of_tileops_builders_never_collide() -> None:
    """Builders are functions of one module, named after TileOPs' keys."""
    installed = load_facts(tileops=True).tileops
    assert installed is not None
    names = [builder_name(key) for key in installed.ops]
    assert len(set(names)) == len(names) > 100
    assert not any(keyword.iskeyword(name) for name in names)


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("SiLUFwdOp", "silu_fwd"),
        ("LeakyReLUFwdOp", "leaky_relu_fwd"),
        ("PReLUFwdOp", "prelu_fwd"),
        ("FusedQKNormRoPEFwdOp", "fused_qk_norm_rope_fwd"),
        ("MoEExpertMLPFwdOp", "moe_expert_mlp_fwd"),
        ("FFTC2CFwdOp", "fftc2c_fwd"),
        ("FP8QuantPerBlockFwdOp", "fp8_quant_per_block_fwd"),
        ("Conv2dFwdOp", "conv2d_fwd"),
    ],
)
def test_functions_of_tileops_builders_keep_names_of_one_word_together(op: str, name: str) -> None:
    assert builder_name(op) == name


def test_what_does_not_fit_in_a_preset_shows_what_includes_it(tmp_path: Path) -> None:
    """A driver that gives the host no access cannot serve the expressions of a preset."""
    simulator = (data_folder("manifests") / "presets" / "simulator.yaml").read_text(encoding="utf-8")
    backend = BACKEND + simulator.replace("    host_pointer: simHostGetAddress\n", "")
    text = "manifest: ops/v1\ninclude: [training]\n"
    found = diagnostics_of(lambda: resolve(write_manifests(tmp_path, backend=backend, ops__x=text)))
    assert {one.code for one in found} == {codes.HOST_ACCESS_MISSING}
    assert {(note.message, covered(note.span, text)) for one in found for note in one.secondary} == {
        ("included here", "training")
    }
