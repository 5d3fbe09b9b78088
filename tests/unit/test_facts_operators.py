"""Operators are what the installed torch says they are: its headers and its dispatcher are the judges."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acmegen.facts.operators import Argument, Group, Operators, load_operators
from acmegen.facts.torch_install import TorchInstall, find_torch
from tests.unit.cpp import compile_errors


@pytest.fixture(scope="module")
def install() -> TorchInstall:
    return find_torch()


@pytest.fixture(scope="module")
def operators(install: TorchInstall) -> Operators:
    return load_operators(install)


def seconds(function: Callable[[], object]) -> float:
    """The best of five runs, since the machine may be busy."""
    times = []
    for _ in range(5):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def structured_groups(operators: Operators) -> list[Group]:
    groups = {group.functional: group for name in operators if (group := operators.group_of(name)) is not None}
    return [group for group in groups.values() if group.structured]


def types(arguments: tuple[Argument, ...]) -> str:
    return ", ".join(argument.cpp_type for argument in arguments)


def test_a15_a16_every_signature_is_the_header_s(install: TorchInstall, operators: Operators, tmp_path: Path) -> None:
    """Each operator's function type, outside of torch's namespaces, equals that of its class in `at::_ops`."""
    lines = ["#include <ATen/core/Tensor.h>", "#include <type_traits>"]
    lines += sorted({f"#include <{operators[name].ops_header}>" for name in operators})
    for name in operators:
        operator = operators[name]
        ops = f"at::_ops::{operator.ops_class}"
        pointer = f"{operator.cpp_return_type} (*)({types(operator.arguments)})"
        lines.append(f'static_assert(std::is_same_v<{operator.cpp_signature}, {ops}::schema>, "{name}");')
        lines.append(f'static_assert(std::is_same_v<decltype(&{ops}::call), {pointer}>, "{name}");')
    source = tmp_path / "operators.cpp"
    source.write_text("\n".join(lines) + "\n")
    assert len(operators) > 2500
    assert compile_errors(source, install) == ""


def test_every_meta_class_is_the_header_s(install: TorchInstall, operators: Operators, tmp_path: Path) -> None:
    groups = structured_groups(operators)
    lines = ["#include <ATen/core/Tensor.h>", "#include <ATen/TensorIterator.h>", "#include <type_traits>"]
    lines += sorted({f"#include <{group.meta_header}>" for group in groups})
    for group in groups:
        meta = f"at::meta::{group.meta_class}"
        result = "void" if group.precomputed is None else f"{meta}::meta_return_ty"
        method = f"{result} ({meta}::*)({types(group.meta_arguments)})"
        lines.append(f"static_assert(std::is_same_v<decltype(&{meta}::meta), {method}>);")
        base = f"std::is_base_of_v<at::TensorIteratorBase, {meta}>"
        lines.append(f"static_assert({base} == {str(group.tensor_iterator).lower()});")
        for value in group.precomputed.elements if group.precomputed else ():
            lines.append(f"static_assert(std::is_same_v<decltype({result}::{value.cpp_name}), {value.cpp_type}>);")
    source = tmp_path / "meta.cpp"
    source.write_text("\n".join(lines) + "\n")
    assert len(groups) > 250
    assert compile_errors(source, install) == ""


def test_a16_a_wrong_signature_is_noticed(install: TorchInstall, operators: Operators, tmp_path: Path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text(
        "#include <ATen/core/Tensor.h>\n#include <ATen/ops/mul_ops.h>\n#include <type_traits>\n"
        f"static_assert(std::is_same_v<{operators['add.Tensor'].cpp_signature}, at::_ops::mul_Tensor::schema>);\n"
    )
    assert "static" in compile_errors(source, install)


@pytest.mark.parametrize(
    "key",
    ["CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CPU"],
)
def test_kernels_are_the_dispatcher_s(operators: Operators, key: str) -> None:
    """Which operators have a kernel under `key` is asked of torch itself."""
    import torch

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    expected = {name for name in operators if has_kernel(f"aten::{name}", key)}
    assert {name for name in operators if key in operators[name].dispatch} == expected


def test_one_operator(operators: Operators) -> None:
    operator = operators["add_.Tensor"]
    assert (operator.base, operator.overload, operator.header) == ("add_", "Tensor", "add")
    assert operator.kernel_name == operator.ops_class == "add__Tensor"
    assert operator.ops_header == "ATen/ops/add_ops.h"
    assert operator.schema == "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    assert operator.cpp_signature == "at::Tensor & (at::Tensor &, const at::Tensor &, const at::Scalar &)"
    assert (operator.variant, operator.group, operator.has_derivative) == ("inplace", "add.Tensor", True)
    assert [value.type for value in operator.returns] == ["Tensor"]
    assert operator.returns[0].is_mutable
    assert operator.arguments[0] == Argument("self", "self", "Tensor", "at::Tensor &", None, True, False, False)
    assert operator.arguments[2] == Argument("alpha", "alpha", "Scalar", "const at::Scalar &", "1", False, False, True)
    assert [argument.name for argument in operator.tensor_arguments] == ["self", "other"]
    assert "pointwise" in operators["add.Tensor"].tags


def test_out_arguments(operators: Operators) -> None:
    operator = operators["max.dim_max"]
    assert operator.variant == "out"
    assert [argument.name for argument in operator.out_arguments] == ["max", "max_values"]
    assert all(argument.is_mutable and argument.keyword_only for argument in operator.out_arguments)
    assert operator.cpp_return_type == "::std::tuple<at::Tensor &, at::Tensor &>"
    assert not operator.has_derivative


def test_kinds_of_operators(operators: Operators) -> None:
    assert operators["reshape"].composite_implicit
    assert not operators["reshape"].composite_explicit
    assert operators["embedding"].composite_explicit
    assert operators["add.Tensor"].composite_explicit  # torch generates it: it allocates and calls add.out
    assert not operators["add.out"].composite_explicit
    assert operators["view"].is_view
    assert not operators["clone"].is_view
    assert not operators["_copy_from"].dispatch & {"CPU", "CUDA", "CompositeExplicitAutograd"}
    assert operators["relu_"].has_derivative
    assert not operators["eq.Tensor"].composite_implicit
    assert operators["__xor__.Tensor"].header == "xor"
    assert "inplace_view" in operators["squeeze_"].tags


def test_generated_variants(operators: Operators) -> None:
    """`native_functions.yaml` has no `empty_like.out`: torch generates it, and so it is there."""
    assert "generated" in operators["empty_like.out"].tags
    assert operators["empty_like.out"].group == "empty_like"


def test_groups(operators: Operators) -> None:
    for name in operators:
        operator, group = operators[name], operators.group_of(name)
        assert (group is None) == (operator.group is None)
        if group is not None:
            assert group.functional == operator.group
            assert getattr(group, operator.variant) == name
    add = operators.group_of("add.out")
    assert add is operators.group_of("add.Tensor")
    assert add is not None
    assert add.variants == ("add.Tensor", "add_.Tensor", "add.out")
    assert (add.meta_class, add.meta_header) == ("structured_add_Tensor", "ATen/ops/add_meta.h")
    assert [argument.name for argument in add.impl_arguments] == ["self", "other", "alpha", "out"]
    assert [argument.is_out for argument in add.impl_arguments] == [False, False, False, True]
    conjunction = operators.group_of("__iand__.Tensor")
    assert conjunction is not None
    assert conjunction.variants == ("__and__.Tensor", "__iand__.Tensor")
    assert (conjunction.structured, conjunction.meta_class, conjunction.impl_arguments) == (False, "", ())
    assert operators.group_of("view") is None
    assert operators.group_of("no_such_operator") is None


def test_precomputed_values_take_the_place_of_arguments(operators: Operators) -> None:
    group = operators.group_of("avg_pool2d")
    assert group is not None
    assert group.precomputed is not None
    assert [value.name for value in group.precomputed.elements] == ["kH", "kW", "dH", "dW", "padH", "padW"]
    assert [argument.name for argument in group.impl_arguments] == [
        *("self", "kH", "kW", "dH", "dW", "padH", "padW"),
        *("ceil_mode", "count_include_pad", "divisor_override", "out"),
    ]


def test_an_unknown_name(operators: Operators) -> None:
    assert "add.Tensr" not in operators
    with pytest.raises(KeyError):
        operators["add.Tensr"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("add.Tensr", "add.Tensor"),
        ("add", "add.Scalar"),
        ("gelu_backwrd", "gelu_backward"),
        ("sofmax", "softmax.int"),
        ("LayerNorm", "layer_norm"),
        ("native_layernorm", "native_layer_norm"),
    ],
)
def test_nearest(operators: Operators, name: str, first: str) -> None:
    assert operators.nearest(name)[0] == first


def test_nothing_near(operators: Operators) -> None:
    assert operators.nearest("qqqqqqqqqq") == ()
    near = {candidate.partition(".")[0] for name in ("no", "on") for candidate in operators.nearest(name)}
    assert near.isdisjoint({"norm", "conj"}), "half of it is no likeness"
    assert len(operators.nearest("add.Tensr", n=2)) == 2


def test_nearest_is_quick(operators: Operators) -> None:
    assert seconds(lambda: operators.nearest("native_layer_nrm_backward.oot")) < 0.5  # 0.02 s


def test_a_warm_start_is_quick(install: TorchInstall) -> None:
    assert seconds(lambda: load_operators(install)["add.Tensor"]) < 0.5  # 0.05 s


def test_another_torchgen(
    install: TorchInstall, operators: Operators, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The torchgen beside the given torch is the one that reads, and nothing of it stays behind."""
    monkeypatch.setenv("ACMEGEN_CACHE_DIR", str(tmp_path / "cache"))
    torchgen = tmp_path / "site" / "torchgen"
    shutil.copytree(install.torchgen, torchgen, ignore=shutil.ignore_patterns("__pycache__", "templates"))
    with (torchgen / "packaged/ATen/native/native_functions.yaml").open("a") as file:
        file.write("\n- func: acmegen_probe(Tensor self, SymInt[2] size) -> Tensor\n  dispatch:\n    CPU: probe\n")
    before = {name: module for name, module in sys.modules.items() if name.startswith("torchgen")}
    other = load_operators(TorchInstall("2.99.0", install.root, install.include, torchgen))
    assert set(other) - set(operators) == {"acmegen_probe"}
    assert other["acmegen_probe"].cpp_signature == "at::Tensor (const at::Tensor &, c10::SymIntArrayRef)"
    assert {name: module for name, module in sys.modules.items() if name.startswith("torchgen")} == before
