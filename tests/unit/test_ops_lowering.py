"""Lowering of operator manifests: what each kernel kind becomes, and what is refused, with its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.diagnostics import Diagnostic, codes
from acmegen.facts import Facts, load_facts
from acmegen.manifest.load import load_project
from acmegen.plan.device_lowering import lower_driver, lower_library
from acmegen.plan.kernels import Kernel, StructuredKernel
from acmegen.plan.ops import OpsPlan
from acmegen.plan.ops_lowering import lower_ops
from tests.unit.manifests import covered, diagnostics_of, write_manifests

OPS = "manifest: ops/v1\n"
MM = "{library: simGemm, dtypes: [float32], args: [stream, dtype(self), self, mat2, out]}"


@pytest.fixture(scope="module")
def facts() -> Facts:
    return load_facts()


def lower_files(folder: Path, facts: Facts, host_access: bool = True, library: bool = True, **files: str) -> OpsPlan:
    project = load_project(write_manifests(folder, **files))
    driver = replace(lower_driver(project.driver, project.simulator), host_access=host_access)
    return lower_ops(project, facts, driver, lower_library(project.library) if library else None)


def lower(folder: Path, facts: Facts, ops: str, **options: bool) -> OpsPlan:
    return lower_files(folder, facts, ops__test=OPS + ops, **options)


def refused(folder: Path, facts: Facts, ops: str, **options: bool) -> tuple[Diagnostic, str]:
    """The one diagnostic that `ops` gives, and the text that it points at."""
    (diagnostic,) = diagnostics_of(lambda: lower(folder, facts, ops, **options))
    return diagnostic, covered(diagnostic.span, OPS + ops)


def structured(plan: OpsPlan) -> dict[str, StructuredKernel]:
    return {kernel.label: kernel for shard in plan.structured for kernel in shard.kernels}


def kernels(plan: OpsPlan) -> dict[str, Kernel]:
    return {kernel.function.operator: kernel for shard in plan.kernels for kernel in shard.kernels}


def registered(plan: OpsPlan) -> dict[str, str]:
    return {entry.operator: entry.kernel for shard in plan.registrations for entry in shard.registrations}


# What is lowered.


def test_a_structured_group_is_served_by_one_class(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, 'ops:\n  add.Tensor: {expr: "a + alpha * b", dtypes: [float32, int64]}\n')
    kernel = structured(plan)["add.Tensor"]
    assert kernel.meta_class == "structured_add_Tensor"
    assert kernel.statement == "pointwise::add_Tensor(iterator, alpha);"
    assert [variant.function.declaration for variant in kernel.variants] == [
        "at::Tensor add_Tensor(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha)",
        "at::Tensor & add__Tensor(at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha)",
        "at::Tensor & add_out(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha, "
        "at::Tensor & out)",
    ]
    assert [variant.construction for variant in kernel.variants] == [
        "1",
        "Variant::Inplace, {self}",
        "Variant::Out, {out}",
    ]
    assert kernel.otherwise is not None
    assert kernel.otherwise.statements == (
        'run_fallback("aten::add", "out", {self, other, alpha, out});',
        "return;",
    )
    assert [served.operator for served in plan.served] == ["add.Tensor", "add.out", "add_.Tensor"]
    assert registered(plan)["add.Tensor"] == (
        "static_cast<at::Tensor (*)(const at::Tensor &, const at::Tensor &, const at::Scalar &)>(&ops::add_Tensor)"
    )


def test_an_unstructured_expression_serves_each_variant(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, 'ops:\n  logical_and: {expr: "self != 0 and other != 0", dtypes: [all]}\n')
    found = kernels(plan)
    assert sorted(found) == ["logical_and", "logical_and.out", "logical_and_"]
    assert "Promotion::Boolean, at::Tensor(), {self, other}" in found["logical_and"].iterator
    assert "Promotion::Boolean, self, {self, other}" in found["logical_and_"].iterator


def test_otherwise_error_says_what_is_needed(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, 'ops:\n  neg: {expr: "-self", dtypes: [float32], otherwise: error}\n')
    otherwise = structured(plan)["neg"].otherwise
    assert otherwise is not None
    (statement,) = otherwise.statements
    assert statement.startswith("TORCH_CHECK_NOT_IMPLEMENTED(false, ")
    assert "float32" in statement


def test_a_library_call_checks_lays_out_and_copies_back(tmp_path: Path, facts: Facts) -> None:
    kernel = structured(lower(tmp_path, facts, f"ops:\n  mm: {MM}\n"))["mm"]
    assert kernel.device_check == ('{"self", self}', '{"mat2", mat2}')
    assert kernel.library is not None
    assert [definition.name for definition in kernel.library.definitions] == [
        "self_contiguous",
        "mat2_contiguous",
        "out_buffer",
    ]
    assert kernel.library.statements == (
        "driver::check_launch(simGemm(stream.stream(), library_dtype(self.scalar_type()), "
        "self_contiguous.const_data_ptr(), mat2_contiguous.const_data_ptr(), "
        'out_buffer.tensor().mutable_data_ptr()), "simGemm", stream.stream());',
    )
    assert kernel.library.stores == ("out_buffer",)
    assert kernel.otherwise is not None
    assert "(mat2.scalar_type() == self.scalar_type())" in kernel.otherwise.conditions


def test_a_strided_layout_passes_operands_as_they_are(tmp_path: Path, facts: Facts) -> None:
    text = MM.replace("args:", "layouts: {self: strided, mat2: strided, out: strided}, args:")
    body = structured(lower(tmp_path, facts, f"ops:\n  mm: {text}\n"))["mm"].library
    assert body is not None
    assert body.definitions == ()
    assert "self.const_data_ptr(), mat2.const_data_ptr(), out.mutable_data_ptr()" in body.statements[0]


def test_skipped_and_missing_outputs_are_null(tmp_path: Path, facts: Facts) -> None:
    entry = (
        "{library: vendorBackward, dtypes: [float32], args: [weight, out0, out1, out2], outputs: "
        '[{like: input, when: "output_mask[0]"}, {like: weight}, {sizes: [input.numel, 1], dtype: accumulate(input)}]}'
    )
    kernel = kernels(lower(tmp_path, facts, f"ops:\n  native_layer_norm_backward: {entry}\n"))[
        "native_layer_norm_backward"
    ]
    first, second, third = (definition.value for definition in kernel.allocations)
    assert first == " = output_mask[0] ? empty_tensor(input.sizes(), input.scalar_type()) : at::Tensor()"
    assert second.startswith(" = weight_given.defined() ? ")
    assert third == " = empty_tensor({input.numel(), 1}, accumulate_dtype(input.scalar_type()))"
    assert kernel.library is not None
    assert kernel.library.statements == (
        "driver::check_launch(vendorBackward(address_or_null(weight_contiguous), writable_address_or_null(out0), "
        'writable_address_or_null(out1), out2.mutable_data_ptr()), "vendorBackward", stream.stream());',
    )


def test_symbolic_integers_become_concrete(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "ops:\n  _embedding_bag_dense_backward: user\n  upsample_nearest1d: user\n")
    user = {kernel.name: kernel.function for kernel in plan.users}
    assert "SymInt" not in user["_embedding_bag_dense_backward"].declaration
    assert user["upsample_nearest1d"].declaration == (
        "void upsample_nearest1d(const at::Tensor & self, at::ArrayRef<int64_t> output_size, "
        "std::optional<double> scales, const at::Tensor & out)"
    )


def test_a_structured_expression_binds_its_output_for_the_fallback_only(tmp_path: Path, facts: Facts) -> None:
    entry = '{expr: "self + alpha * other", dtypes: [float32], otherwise: %s}'
    for otherwise, outputs in (("fallback", ("out",)), ("error", ())):
        kernel = structured(lower(tmp_path, facts, f"ops:\n  add.Tensor: {entry % otherwise}\n"))["add.Tensor"]
        assert kernel.outputs == outputs


def test_a_structured_user_kernel_gets_precomputed_values(tmp_path: Path, facts: Facts) -> None:
    kernel = structured(lower(tmp_path, facts, "ops:\n  index_add: user\n"))["index_add"]
    assert kernel.precomputes
    assert kernel.statement == "kernels::index_add(self, precomputed.dim, index, source, alpha, out);"


def test_a_structured_user_kernel_gets_the_tensors_that_precomputed_values_replace(
    tmp_path: Path, facts: Facts
) -> None:
    kernel = structured(lower(tmp_path, facts, "ops:\n  index.Tensor: user\n"))["index.Tensor"]
    assert kernel.statement == ("kernels::index_Tensor(self, indices, precomputed.sizes, precomputed.strides, out);")


def test_user_kernels_without_single_tensors_get_their_device(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "ops:\n  _foreach_add_.Scalar: user\n  randperm.generator: user\n")
    guards = {kernel.function.operator: kernel.guard for shard in plan.kernels for kernel in shard.kernels}
    assert guards == {
        "_foreach_add_.Scalar": "list_device(self)",
        "randperm.generator": "c10::device_or_default(device)",
    }


def test_optional_tensors_reach_the_meta_function(tmp_path: Path, facts: Facts) -> None:
    entry = '{expr: "max(self, min) if present(min) else self", dtypes: [float32]}'
    kernel = structured(lower(tmp_path, facts, f"ops:\n  clamp.Tensor: {entry}\n"))["clamp.Tensor"]
    assert kernel.meta_arguments == ("self", "optional_reference(min)", "optional_reference(max)")


def test_reference_of_a_structured_group_registers_its_out_variant(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "ops:\n  cumsum: reference\n  nonzero: reference\n  histc: fallback\n")
    assert registered(plan) == {
        "cumsum.out": "torch::CppFunction::makeFromBoxedFunction<&reference>()",
        "histc": "torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>()",
        "nonzero": "torch::CppFunction::makeFromBoxedFunction<&reference>()",
    }
    assert {served.operator: served.kind for served in plan.served}["cumsum_"] == "reference"


def test_reference_of_a_loss_registers_its_functional_variant_too(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "ops:\n  mse_loss: reference\n  smooth_l1_loss: fallback\n")
    assert set(registered(plan)) == {"mse_loss", "mse_loss.out", "smooth_l1_loss", "smooth_l1_loss.out"}


def test_a_reason_is_inert_in_cpp(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, 'ops:\n  _cudnn_rnn: {unsupported: "say \\"no\\" */ {{ x }} ??/ \\\\"}\n')
    assert r'"say \"no\" */ {{ x }} \?\?/ \\"' in registered(plan)["_cudnn_rnn"]


def test_composite_registers_nothing(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "ops:\n  reshape: composite\n")
    assert registered(plan) == {}
    assert [served.kind for served in plan.served] == ["composite"]


def test_runtime_kernels_keep_symbolic_integers(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "ops:\n  view: runtime\n  _copy_from: runtime\n")
    assert registered(plan)["view"] == (
        "static_cast<at::Tensor (*)(const at::Tensor &, c10::SymIntArrayRef)>(&native::view)"
    )


def test_own_entries_take_variants_over_from_presets(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "include: [training]\nops:\n  add.out: reference\n  relu_: user\n")
    assert "reference" in registered(plan)["add.out"]
    assert [variant.function.operator for variant in structured(plan)["add.Tensor"].variants] == [
        "add.Tensor",
        "add_.Tensor",
    ]
    assert kernels(plan)["relu_"].statement == "return kernels::relu_(self);"
    assert "pointwise" in kernels(plan)["relu"].statement


def test_files_are_chosen_by_a_stable_hash(tmp_path: Path, facts: Facts) -> None:
    plan = lower(tmp_path, facts, "include: [core, training]\n")
    assert len(plan.structured) == 4
    places = {kernel.label: shard.index for shard in plan.structured for kernel in shard.kernels}
    again = lower(tmp_path / "again", facts, "include: [core, training]\nops:\n  sqrt: composite\n")
    moved = [
        kernel.label for shard in again.structured for kernel in shard.kernels if places[kernel.label] != shard.index
    ]
    assert moved == []


# Custom operators.

RMS = (
    "custom:\n"
    '  "scale(Tensor x, Tensor? weight, float factor) -> Tensor":\n'
    "    {like: x, user: {}, backward: scale_backward}\n"
    '  "scale_backward(Tensor grad_output, Tensor? weight, float factor) -> (Tensor, Tensor)":\n'
    "    {like: [grad_output, weight], user: {}}\n"
)


def test_a_custom_operator_has_schema_kernel_meta_and_backward(tmp_path: Path, facts: Facts) -> None:
    (space,) = lower(tmp_path, facts, RMS).custom
    forward, backward = space.operators
    assert (space.name, forward.name, backward.name) == ("nova", "scale", "scale_backward")
    assert forward.schema == "scale(Tensor x, Tensor? weight, float factor) -> Tensor"
    assert forward.function.name == "nova_scale"
    assert [definition.value for definition in forward.meta or ()] == [" = meta_like(x)"]
    assert forward.backward is not None
    assert forward.backward.arguments == (
        "gradients[0]",
        "optional(saved[0])",
        'context->saved_data["factor"].toDouble()',
    )
    assert forward.backward.gradients == ("std::get<0>(result)", "std::get<1>(result)", "at::Tensor()")
    assert backward.backward is None


def test_a_custom_operator_that_writes_returns_its_arguments(tmp_path: Path, facts: Facts) -> None:
    text = (
        "custom:\n"
        '  "f_(Tensor(a!) x) -> Tensor(a!)": {like: x, user: {}}\n'
        '  "g(Tensor x, *, Tensor(a!) y, Tensor(b!) z) -> (Tensor(a!), Tensor(b!))": {like: x, user: {}}\n'
    )
    (space,) = lower(tmp_path, facts, text).custom
    assert [(operator.meta, operator.meta_result) for operator in space.operators] == [((), "x"), ((), "{y, z}")]


def test_a_custom_expression_gives_the_strides_of_its_loop(tmp_path: Path, facts: Facts) -> None:
    text = 'custom:\n  "f(Tensor x) -> Tensor": {like: x, expr: "x + 1", dtypes: [float32]}\n'
    plan = lower(tmp_path, facts, text)
    (operator,) = plan.custom[0].operators
    assert [definition.value for definition in operator.meta or ()] == [" = at::empty_like(x)"]
    assert [kernel.name for kernel in plan.pointwise.kernels] == ["nova_f"]


def test_a_custom_meta_function_in_python(tmp_path: Path, facts: Facts) -> None:
    (space,) = lower(tmp_path, facts, 'custom:\n  "f(Tensor x) -> Tensor": {meta: user, user: {}}\n').custom
    assert space.operators[0].meta is None


def test_parameters_do_not_shadow_what_the_templates_use(tmp_path: Path, facts: Facts) -> None:
    text = 'custom:\n  "f(Tensor stream, int guard, int int) -> Tensor": {like: stream, user: {}}\n'
    (space,) = lower(tmp_path, facts, text).custom
    assert [parameter.name for parameter in space.operators[0].function.parameters] == ["stream_", "guard_", "int_"]


# What is refused.


@pytest.mark.parametrize(
    ("ops", "code", "place", "words"),
    [
        ("ops:\n  ad.Tensor: user\n", codes.UNKNOWN_OPERATOR, "ad.Tensor", "no operator `ad.Tensor`"),
        ("ops:\n  reshape: user\n", codes.CUTS_AUTOGRAD, "reshape", "would cut its gradient"),
        ("ops:\n  view: reference\n", codes.VIEW_OPERATOR, "view", "detached from its input"),
        ("ops:\n  unfold: fallback\n", codes.VIEW_OPERATOR, "unfold", "detached from its input"),
        ("ops:\n  add_.Tensor: user\n", codes.SERVED_BY_GROUP, "add_.Tensor", "by the entry of `add.Tensor`"),
        (f"ops:\n  mm.out: {MM}\n", codes.SERVED_BY_GROUP, "mm.out", "by the entry of `mm`"),
        ("ops:\n  mul.Tensor: user\n  mul.out: reference\n", codes.CLAIMED_TWICE, "mul.out", "`mul.out` is served by"),
        ("ops:\n  nonzero: composite\n", codes.NOT_COMPOSITE, "nonzero", "no decomposition"),
        ("ops:\n  _cudnn_rnn: reference\n", codes.NO_CPU_KERNEL, "_cudnn_rnn", "no CPU kernel"),
        ("ops:\n  nonzero: runtime\n", codes.NO_RUNTIME_KERNEL, "nonzero", "the runtime has no kernel"),
        ('ops:\n  mm: {expr: "self"}\n', codes.WRONG_KIND, "mm", "not elementwise"),
        ('ops:\n  linear: {expr: "input"}\n', codes.WRONG_KIND, "linear", "torch decomposes it"),
        ('ops:\n  matmul: {expr: "self"}\n', codes.WRONG_KIND, "matmul", "torch decomposes it"),
        ('ops:\n  abs_: {expr: "abs(self)"}\n', codes.WRONG_KIND, "abs_", "not the functional variant"),
        ('ops:\n  std_mean.correction: {expr: "self"}\n', codes.WRONG_KIND, "std_mean.correction", "one tensor"),
        (f"ops:\n  is_set_to: {MM}\n", codes.WRONG_KIND, "is_set_to", "not all results"),
        (
            f"ops:\n  mm: {MM[:-1]}, outputs: [{{like: self}}]}}\n",
            codes.WRONG_KIND,
            "[{like: self}]",
            "determines the outputs",
        ),
        (
            "ops:\n  embedding: {library: f, dtypes: [float32]}\n",
            codes.WRONG_KIND,
            "embedding",
            "outputs are described here",
        ),
        (
            "ops:\n  mm: {library: f, dtypes: [float32], args: [slef]}\n",
            codes.BAD_LIBRARY_ENTRY,
            "slef",
            "did you mean `self`?",
        ),
        (
            "ops:\n  mm: {library: f, dtypes: [float32], layouts: {mat3: strided}}\n",
            codes.BAD_LIBRARY_ENTRY,
            "mat3",
            "no tensor `mat3`",
        ),
        (
            "ops:\n  mm: {library: f, dtypes: [float32], requires: [self.size(0)]}\n",
            codes.BAD_LIBRARY_ENTRY,
            "self.size(0)",
            "expected a truth value",
        ),
        (
            "ops:\n  mm: {library: f, dtypes: [float32], before: [{copy: mat, to: out}]}\n",
            codes.BAD_LIBRARY_ENTRY,
            "mat",
            "no tensor argument",
        ),
        ('ops:\n  neg: {expr: "-slef", dtypes: [float32]}\n', codes.BAD_EXPRESSION, "slef", "unknown name"),
        (
            'custom:\n  "f(Tensro x) -> Tensor": {like: x, user: {}}\n',
            codes.BAD_SCHEMA,
            "Tensro",
            "of type `Tensro`",
        ),
        (
            'custom:\n  "f(Tensor x, float y=1;) -> Tensor": {like: x, user: {}}\n',
            codes.BAD_SCHEMA,
            "1;",
            "`1;` is not a default value",
        ),
        (
            'custom:\n  "f.a(Tensor x) -> Tensor": {like: x, user: {}}\n'
            '  "F_a(Tensor x) -> Tensor": {like: x, user: {}}\n',
            codes.NAMES_COLLIDE,
            '"f.a(Tensor x) -> Tensor"',
            "are both `nova_f_a`",
        ),
        (
            'ops:\n  trace.out: user\ncustom:\n  "out(Tensor x) -> Tensor": {namespace: trace, like: x, user: {}}\n',
            codes.NAMES_COLLIDE,
            '"out(Tensor x) -> Tensor"',
            "`aten::trace.out` are both",
        ),
        (
            "ops:\n  mm: {library: f, dtypes: [float32], scratch: {stream: {like: self}}}\n",
            codes.BAD_LIBRARY_ENTRY,
            "stream",
            "a word of the language",
        ),
        (
            'ops:\n  neg: {expr: "-q", dtypes: [float32], arguments: {q: slef}}\n',
            codes.BAD_EXPRESSION,
            "q",
            "`q` stands for `slef`",
        ),
        ('custom:\n  "f(Tensor x) -> int": {like: x, user: {}}\n', codes.BAD_SCHEMA, "int", "returns"),
        (
            'custom:\n  "f(int x) -> Tensor": {like: x, user: {}}\n',
            codes.BAD_SCHEMA,
            "int x",
            "tensor argument",
        ),
        (
            'custom:\n  "f_(Tensor(a!) x) -> Tensor(a!)": {like: x, expr: "x + 1", dtypes: [float32]}\n',
            codes.BAD_SCHEMA,
            '"f_(Tensor(a!) x) -> Tensor(a!)"',
            "writes to its arguments",
        ),
        ('custom:\n  "f(Tensor x) -> Tensor": {user: {}}\n', codes.META_MISSING, '"f(Tensor x) -> Tensor"', "`like`"),
        (
            'custom:\n  "f(Tensor x) -> Tensor": {like: y, user: {}}\n',
            codes.META_MISSING,
            "y",
            "no tensor argument `y`",
        ),
        (
            'custom:\n  "f(Tensor x) -> Tensor": {like: x, user: {}, backward: g}\n',
            codes.BAD_BACKWARD,
            "g",
            "no custom operator",
        ),
    ],
)
def test_refused(tmp_path: Path, facts: Facts, ops: str, code: str, place: str, words: str) -> None:
    diagnostic, text = refused(tmp_path, facts, ops)
    assert diagnostic.code == code
    assert text == place
    assert words in f"{diagnostic.message}; {diagnostic.label}"


def test_the_nearest_names_are_given(tmp_path: Path, facts: Facts) -> None:
    diagnostic, _ = refused(tmp_path, facts, "ops:\n  add.Tenser: user\n")
    assert diagnostic.label == "did you mean `add.Tensor`?"


@pytest.mark.parametrize("entry", ["nonzero: reference", 'neg: {expr: "-self"}'])
def test_kernels_on_the_host_need_its_access(tmp_path: Path, facts: Facts, entry: str) -> None:
    diagnostic, _ = refused(tmp_path, facts, f"ops:\n  {entry}\n", host_access=False)
    assert diagnostic.code == codes.HOST_ACCESS_MISSING


def test_a_library_entry_needs_a_library(tmp_path: Path, facts: Facts) -> None:
    diagnostic, text = refused(tmp_path, facts, f"ops:\n  mm: {MM}\n", library=False)
    assert (diagnostic.code, text) == (codes.NO_LIBRARY, "library")


def test_claims_show_both_places(tmp_path: Path, facts: Facts) -> None:
    diagnostic, _ = refused(tmp_path, facts, "ops:\n  mul.Tensor: user\n  mul.out: reference\n")
    assert [note.message for note in diagnostic.secondary] == ["served here already"]


def test_all_mistakes_are_found_at_once(tmp_path: Path, facts: Facts) -> None:
    found = diagnostics_of(
        lambda: lower(tmp_path, facts, "ops:\n  ad.Tensor: user\n  reshape: user\n  view: reference\n")
    )
    assert [diagnostic.code for diagnostic in found] == [
        codes.UNKNOWN_OPERATOR,
        codes.CUTS_AUTOGRAD,
        codes.VIEW_OPERATOR,
    ]


@pytest.mark.parametrize(
    ("backward", "words"),
    [
        ("scale_backward(Tensor grad, Tensor? weight, float factor) -> Tensor", "returns 1 tensors"),
        ("scale_backward(Tensor? grad, float factor) -> (Tensor, Tensor)", "is the gradient of a result"),
        ("scale_backward(Tensor grad, float faktor) -> (Tensor, Tensor)", "no argument or named result"),
        ("scale_backward(Tensor grad, int factor) -> (Tensor, Tensor)", "is `int` in"),
    ],
)
def test_a_backward_operator_has_to_fit(tmp_path: Path, facts: Facts, backward: str, words: str) -> None:
    head, _ = RMS.split('  "scale_backward')
    text = f'{head}  "{backward}": {{meta: user, user: {{}}}}\n'
    diagnostic, place = refused(tmp_path, facts, text)
    assert (diagnostic.code, place) == (codes.BAD_BACKWARD, "scale_backward")
    assert words in diagnostic.message
