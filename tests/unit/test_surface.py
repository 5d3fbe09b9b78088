"""What a backend uses of torch and TileOPs, and what is said when another one is installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from acmegen.diagnostics import Diagnostic, Severity, codes
from acmegen.facts import Facts, load_facts
from acmegen.facts.headers import VirtualMethod
from acmegen.facts.operators import Operators
from acmegen.facts.tileops import TileOpsInstall, TileOpsOp, signature_text
from acmegen.facts.torch_install import TorchInstall
from acmegen.manifest.load import load_project
from acmegen.plan.lower import lower
from acmegen.plan.surface import describe_surface
from acmegen.plan.surface_changes import surface_changes

REPOSITORY = Path(__file__).resolve().parents[2]
GUARD = "c10::impl::DeviceGuardImplInterface"
SCHEMAS = {
    "add.Tensor": "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "nonzero": "nonzero(Tensor self) -> Tensor",
    "isneginf": "isneginf(Tensor self) -> Tensor",
}
METHODS = ("Device getDevice() const = 0", "Stream getStream(Device) const", "int count(int) const")
SIGNATURE = "(x: T [N]; eps: float) -> (y: T [N]) where T: DType[float16]"
SURFACE: Mapping[str, Mapping[str, str]] = {
    "operators": {f"aten::{name}": schema for name, schema in SCHEMAS.items()},
    "virtual_methods": {f"{GUARD}::{text.partition('(')[0].split()[-1]}": text for text in METHODS},
    "overrides": {f"{GUARD}::getDevice": "Guard.h", f"{GUARD}::getStream": "Guard.h"},
    "tileops": {"RMSNormFwdOp": SIGNATURE},
}
LOCKED = {"torch": "2.13.0", "torch_operators": "1", "tileops": "0.1.0"}


def operators(*schemas: str) -> Operators:
    row = {
        "ops_class": "",
        "header": "",
        "arguments": [],
        "returns": [],
        "cpp_return_type": "",
        "variant": "functional",
        "dispatch": [],
        "is_view": False,
        "has_derivative": False,
        "group": None,
        "tags": [],
    }
    rows = {schema.partition("(")[0]: {**row, "schema": schema} for schema in schemas}
    return Operators({"arguments": [], "operators": rows, "groups": {}})


def method(text: str) -> VirtualMethod:
    signature = text.removesuffix(" = 0")
    name = signature.partition("(")[0].split()[-1]
    return VirtualMethod(name, "", signature, "", (), text.endswith(" = 0"), True, False)


def installed(
    torch: str = "2.14.0",
    schemas: tuple[str, ...] = tuple(SCHEMAS.values()),
    methods: tuple[str, ...] = METHODS,
    tileops: str = "0.1.0",
    ops: Mapping[str, str] | None = None,
) -> Facts:
    """What is installed; without arguments, another torch in which nothing differs."""
    keys = {"RMSNormFwdOp": SIGNATURE} if ops is None else ops
    rows = {key: TileOpsOp(key, "", (), (), (), "", "", text) for key, text in keys.items()}
    return Facts(
        torch=TorchInstall(torch, Path(), Path(), Path()),
        operators=operators(*schemas),
        methods={"DeviceGuardImplInterface": tuple(map(method, methods)), "GeneratorImpl": (method("int f() = 0"),)},
        host_statistics=frozenset(),
        tileops=TileOpsInstall(tileops, rows),
        digests={"torch": torch, "torch_operators": "2", "tileops": tileops},
    )


def changes(facts: Facts) -> dict[str, Diagnostic]:
    found = {diagnostic.code: diagnostic for diagnostic in surface_changes(LOCKED, SURFACE, facts)}
    errors = {code for code, diagnostic in found.items() if diagnostic.severity is Severity.ERROR}
    assert errors <= {codes.TORCH_CHANGED, codes.TILEOPS_CHANGED}
    return found


def notes(facts: Facts, code: str) -> tuple[str, ...]:
    return changes(facts)[code].notes


def with_schema(name: str, schema: str) -> tuple[str, ...]:
    return tuple({**SCHEMAS, name: schema}.values())


def test_the_same_torch_is_no_news_whatever_its_build() -> None:
    assert changes(installed("2.13.0")) == {}


def test_another_torch_in_which_nothing_differs() -> None:
    (diagnostic,) = changes(installed()).values()
    assert diagnostic.code == codes.TORCH_CHANGED
    assert diagnostic.message == "this project was generated for torch 2.13.0, and torch 2.14.0 is installed"
    assert diagnostic.notes == ("nothing that this backend uses differs",)
    assert diagnostic.help is not None and "`acmegen upgrade`" in diagnostic.help
    assert "`pip install torch==2.13.0`" in diagnostic.help


def test_another_build_of_the_same_version_that_differs() -> None:
    found = changes(installed("2.13.0", with_schema("nonzero", "nonzero(Tensor self, int x) -> Tensor")))
    assert list(found) == [codes.TORCH_CHANGED, codes.OPERATORS_CHANGED]
    assert found[codes.TORCH_CHANGED].message.startswith("another build of torch 2.13.0 is installed")


def test_an_upgrade_is_told_the_same_as_a_warning() -> None:
    facts = installed(methods=())
    told = surface_changes(LOCKED, SURFACE, facts, accepted=True)
    assert [diagnostic.severity for diagnostic in told] == [Severity.WARNING] * 2
    assert [diagnostic.message for diagnostic in told] == [entry.message for entry in changes(facts).values()]


def test_an_operator_that_changed() -> None:
    schema = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=2) -> Tensor"
    facts = installed(schemas=with_schema("add.Tensor", schema))
    assert notes(facts, codes.OPERATORS_CHANGED) == (f"`add.Tensor` was `{SCHEMAS['add.Tensor']}`, is `{schema}`",)
    assert changes(facts)[codes.TORCH_CHANGED].notes == ()


@pytest.mark.parametrize(
    ("successor", "note"),
    [
        (("is_neg_inf(Tensor self) -> Tensor",), "; it may be `is_neg_inf` now, whose arguments are the same"),
        (("isneginf2(Tensor x) -> Tensor",), "; the nearest is `isneginf2(Tensor x) -> Tensor`"),
        (("isneginf2(Tensor x) -> Tensor", "isinf(Tensor self) -> Tensor"), "; it may be `isinf` now, whose"),
        ((), ""),
    ],
)
def test_an_operator_that_is_gone(successor: tuple[str, ...], note: str) -> None:
    facts = installed(schemas=(SCHEMAS["add.Tensor"], SCHEMAS["nonzero"], *successor))
    (found,) = notes(facts, codes.OPERATORS_GONE)
    assert found.startswith("`isneginf` is gone" + note)
    assert changes(facts)[codes.OPERATORS_GONE].message == "torch 2.14.0 lacks 1 operator that this backend serves"


def test_an_operator_that_the_backend_served_before_is_not_a_successor() -> None:
    facts = installed(schemas=(SCHEMAS["add.Tensor"], SCHEMAS["isneginf"]))
    assert notes(facts, codes.OPERATORS_GONE) == ("`nonzero` is gone",)


def test_virtual_methods() -> None:
    facts = installed(
        methods=("Device getDevice(int) const", "int count(int) const", "void added() = 0", "void optional()"),
    )
    assert notes(facts, codes.METHODS_CHANGED) == (
        f"`{GUARD}::added` is new: `void added() = 0`; every backend has to override it",
        f"`{GUARD}::optional` is new: `void optional()`; torch has a default for it",
        f"`{GUARD}::getDevice` was `Device getDevice() const = 0`, is `Device getDevice(int) const`; "
        "overridden in `Guard.h`",
        f"`{GUARD}::getStream` is gone: `Stream getStream(Device) const`; overridden in `Guard.h`",
    )
    assert "4 virtual methods" in changes(facts)[codes.METHODS_CHANGED].message


def test_a_method_that_becomes_pure_is_a_change() -> None:
    facts = installed(methods=(METHODS[0], METHODS[1], METHODS[2] + " = 0"))
    assert notes(facts, codes.METHODS_CHANGED) == (f"`{GUARD}::count` was `{METHODS[2]}`, is `{METHODS[2]} = 0`",)


def test_another_tileops() -> None:
    facts = installed("2.13.0", tileops="0.2.0", ops={"RMSNormFwdOp": SIGNATURE.replace("float16", "float32")})
    found = changes(facts)
    assert list(found) == [codes.TILEOPS_CHANGED, codes.TILEOPS_OPS_CHANGED]
    assert "TileOPs 0.1.0, and TileOPs 0.2.0" in found[codes.TILEOPS_CHANGED].message
    (note,) = found[codes.TILEOPS_OPS_CHANGED].notes
    assert note.startswith("`RMSNormFwdOp` was `(x: T") and note.endswith("T: DType[float32]`")
    assert notes(installed(tileops="0.2.0", ops={"RMSNormOp": ""}), codes.TILEOPS_OPS_CHANGED) == (
        "`RMSNormFwdOp` is gone; the nearest is `RMSNormOp`",
    )


def test_a_tileops_that_comes_or_goes_with_its_manifest_is_no_news() -> None:
    without = replace(installed("2.13.0"), tileops=None, digests={"torch": "2.13.0"})
    assert changes(without) == {}
    assert surface_changes({"torch": "2.13.0"}, {}, installed("2.13.0")) == ()


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        ({"outputs": {"y": {"dtype": "float32"}}}, "() -> (y: float32)"),
        (
            {
                "forall": {"N": "Dim", "T": "DType[float16]"},
                "params": {"eps": {"type": "float", "default": 1e-5}},
                "inputs": {"x": {"dtype": "T", "shape": "[N]"}, "w": {"optional": True, "dtype": "T"}},
                "outputs": {"y": {"dtype": "T", "shape": "[N]"}},
            },
            "(x: T [N], w: T optional=True; eps: float default=1e-05) -> (y: T [N]) where N: Dim, T: DType[float16]",
        ),
    ],
)
def test_the_text_of_a_tileops_signature(signature: Mapping[str, object], text: str) -> None:
    assert signature_text(signature) == text


# ---- the flagship


@cache
def flagship() -> Mapping[str, Mapping[str, str]]:
    facts = load_facts(tileops=True)
    plan = lower(load_project(REPOSITORY / "manifests" / "acme"), facts)
    sources = (REPOSITORY / "generated" / "acme" / "csrc" / "generated").rglob("*.*")
    return describe_surface(plan, facts, {path.name: path.read_text(encoding="utf-8") for path in sources})


def test_the_surface_of_the_flagship() -> None:
    surface = flagship()
    assert surface["operators"]["aten::nonzero"] == "nonzero(Tensor self) -> Tensor"
    assert {"aten::add.Tensor", "aten::add.out", "aten::_copy_from"} <= surface["operators"].keys()
    assert not any(name.startswith("aten::acme") for name in surface["operators"])
    assert surface["virtual_methods"][f"{GUARD}::getStream"] == "Stream getStream(Device) const = 0"
    assert surface["overrides"][f"{GUARD}::getStream"] == "AcmeGuardImpl.h"
    assert surface["tileops"]["RMSNormFwdOp"].startswith("(x: T [")


def test_every_pure_virtual_method_is_overridden_and_every_override_is_one_of_torch() -> None:
    surface = flagship()
    pure = {name for name, text in surface["virtual_methods"].items() if text.endswith(" = 0")}
    assert pure <= surface["overrides"].keys()
    assert surface["overrides"].keys() <= surface["virtual_methods"].keys()
    assert {"c10::DeviceAllocator::emptyCache", "c10::GeneratorImpl::seed"} <= surface["overrides"].keys()
