"""Where mistakes are: pydantic's `loc` -> the YAML node, for every form of field that the models have."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, codes
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.driver import DriverBinding
from acmegen.manifest.locate import Place, locate
from acmegen.manifest.ops import OpsManifest
from acmegen.manifest.source import parse_source
from acmegen.manifest.tileops import TileOpsManifest
from acmegen.manifest.validate import validate
from tests.unit.manifests import covered, diagnostics_of

PREAMBLE: dict[type[BaseModel], str] = {
    BackendManifest: "manifest: backend/v1\nname: nova\n",
    AllocatorManifest: "manifest: allocator/v1\n",
    OpsManifest: "manifest: ops/v1\n",
    TileOpsManifest: "manifest: tileops/v1\n",
}
SIMULATOR = (data_folder("manifests") / "presets" / "simulator.yaml").read_text(encoding="utf-8")
F = '"f(Tensor x) -> Tensor"'


def found(model: type[BaseModel], text: str) -> tuple[Diagnostic, ...]:
    whole = PREAMBLE[model] + text
    return diagnostics_of(lambda: validate(model, parse_source(Path("manifest.yaml"), whole.encode())))


def places(model: type[BaseModel], text: str) -> list[tuple[str, str]]:
    """The code of each diagnostic, and the text that it points at."""
    return [(one.code, covered(one.span, PREAMBLE[model] + text)) for one in found(model, text)]


def position(model: type[BaseModel], text: str) -> tuple[int, int]:
    """Line and column of the only diagnostic, counted from the first line after the preamble."""
    (one,) = found(model, text)
    assert one.span is not None
    return one.span.line - PREAMBLE[model].count("\n"), one.span.column


@pytest.mark.parametrize(
    ("model", "text", "code", "place"),
    [
        # An unknown key: the key.
        (BackendManifest, "licence: MIT", codes.UNKNOWN_FIELD, "licence"),
        (BackendManifest, "streams: {pool_sise: 1}", codes.UNKNOWN_FIELD, "pool_sise"),
        (AllocatorManifest, "device: {small: {limt: 1MiB}}", codes.UNKNOWN_FIELD, "limt"),
        (OpsManifest, "ops: {relu: {expr: a, dtpyes: [float32]}}", codes.UNKNOWN_FIELD, "dtpyes"),
        (OpsManifest, "ops: {relu: {user: {x: 1}}}", codes.UNKNOWN_FIELD, "x"),
        (OpsManifest, f"custom: {{{F}: {{user: {{}}, lik: x}}}}", codes.UNKNOWN_FIELD, "lik"),
        (TileOpsManifest, "ops: {A: {kernel: {reference: true, op: x}}}", codes.UNKNOWN_FIELD, "op"),
        # The wrong tag of a union: the tag's value, or the key that is one.
        (BackendManifest, "driver: simulater", codes.WRONG_VALUE, "simulater"),
        (OpsManifest, "ops: {relu: usr}", codes.KERNEL_KIND, "usr"),
        (OpsManifest, "ops: {relu: {usr: {}}}", codes.KERNEL_KIND, "usr"),
        (OpsManifest, "ops: {relu: {user: {}, expr: a}}", codes.KERNEL_KIND, "expr"),
        (OpsManifest, f"custom: {{{F}: {{reference: {{}}}}}}", codes.KERNEL_KIND, "reference"),
        (
            OpsManifest,
            "ops: {mm: {library: f, dtypes: [all], before: [{cpy: self, to: out}]}}",
            codes.KERNEL_KIND,
            "cpy",
        ),
        (
            OpsManifest,
            "ops: {mm: {library: f, dtypes: [all], before: [{copy: self, library: g}]}}",
            codes.KERNEL_KIND,
            "library",
        ),
        (OpsManifest, "ops: {mm: {library: f, dtypes: [all], before: [5]}}", codes.WRONG_TYPE, "5"),
        (TileOpsManifest, "ops: {A: {mode: buildre, kernel: {reference: true}}}", codes.WRONG_VALUE, "buildre"),
        (TileOpsManifest, "ops: {A: {kernel: {expression: a, python: 'b:c'}}}", codes.KERNEL_KIND, "python"),
        # A missing key: the mapping.
        (TileOpsManifest, "ops: {A: {mode: builder}}", codes.MISSING_FIELD, "{mode: builder}"),
        (OpsManifest, "ops: {mm: {library: f}}", codes.MISSING_FIELD, "{library: f}"),
        (
            OpsManifest,
            "ops: {mm: {library: f, dtypes: [all], before: [{copy: self}]}}",
            codes.MISSING_FIELD,
            "{copy: self}",
        ),
        # An item of a list: the item.
        (BackendManifest, "dtypes: [float32, 5]", codes.WRONG_TYPE, "5"),
        (BackendManifest, "streams: {priorities: [0, 500]}", codes.WRONG_VALUE, "500"),
        (OpsManifest, "ops: {mm: {library: f, dtypes: [all], args: [a, {b: 1}]}}", codes.WRONG_TYPE, "{b: 1}"),
        (OpsManifest, "ops: {mm: {library: f, dtypes: [all], args: [null]}}", codes.WRONG_TYPE, "null"),
        (
            OpsManifest,
            "ops: {mm: {library: f, dtypes: [all], outputs: [{sizes: [1, 1.5], dtype: x}]}}",
            codes.WRONG_TYPE,
            "1.5",
        ),
        (OpsManifest, f"custom: {{{F}: {{user: {{}}, like: [x, 5]}}}}", codes.WRONG_TYPE, "5"),
        (OpsManifest, "include: [core, core]", codes.CONTRADICTION, "core"),
        # One value where a list of one may be written: the value.
        (OpsManifest, f"custom: {{{F}: {{user: {{}}, like: 'a b'}}}}", codes.BAD_NAME, "'a b'"),
        (OpsManifest, f"custom: {{{F}: {{user: {{}}, like: 5}}}}", codes.WRONG_TYPE, "5"),
        # Keys and values of mappings with free keys.
        (OpsManifest, "ops: {'a b': user}", codes.BAD_OPERATOR_NAME, "'a b'"),
        (OpsManifest, "ops: {relu: {expr: a, arguments: {x: 'a b'}}}", codes.BAD_NAME, "'a b'"),
        (OpsManifest, "ops: {relu: {expr: a, arguments: {'x y': a}}}", codes.BAD_NAME, "'x y'"),
        (OpsManifest, "ops: {mm: {library: f, dtypes: [all], layouts: {self: fat}}}", codes.WRONG_VALUE, "fat"),
        (
            OpsManifest,
            "ops: {mm: {library: f, dtypes: [all], scratch: {s: {lik: a, like: b}}}}",
            codes.UNKNOWN_FIELD,
            "lik",
        ),
        (OpsManifest, "custom: {'f g': user}", codes.BAD_OPERATOR_NAME, "'f g'"),
        (OpsManifest, f"custom: {{{F}: 5}}", codes.KERNEL_KIND, "5"),
        (TileOpsManifest, "ops: {'A B': {kernel: {reference: true}}}", codes.BAD_NAME, "'A B'"),
        # A whole section.
        (OpsManifest, "ops: [a]", codes.WRONG_TYPE, "[a]"),
        (AllocatorManifest, "device: 5", codes.WRONG_TYPE, "5"),
    ],
)
def test_one_mistake_is_one_diagnostic_at_its_node(model: type[BaseModel], text: str, code: str, place: str) -> None:
    assert places(model, text + "\n") == [(code, place)]


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("    malloc: simMalloc\n", "    malloc: 5\n", codes.WRONG_TYPE, "5"),
        ("    malloc: simMalloc\n", "    malloc: class\n", codes.BAD_NAME, "class"),
        ("    malloc: simMalloc\n", "    malloc: a::template\n", codes.BAD_NAME, "a::template"),
        ("    malloc: simMalloc\n", "    mallok: simMalloc\n", codes.UNKNOWN_FIELD, "mallok"),
        ("    success: simSuccess\n", "    success: namespace\n", codes.BAD_NAME, "namespace"),
        ("    float32: simFloat32\n", "    float32: [x]\n", codes.WRONG_TYPE, "[x]"),
        ("    float32: simFloat32\n", "    flot32: simFloat32\n", codes.UNKNOWN_DTYPE, "flot32"),
    ],
)
def test_places_in_a_driver_that_is_a_member_of_a_union(old: str, new: str, code: str, place: str) -> None:
    assert old in SIMULATOR
    assert places(BackendManifest, SIMULATOR.replace(old, new)) == [(code, place)]


@pytest.mark.parametrize("name", ["int", "unsigned"])
def test_a_status_may_be_a_type_of_cpp_s_own(name: str) -> None:
    text = PREAMBLE[BackendManifest] + SIMULATOR.replace("type: simError_t", f"type: {name}")
    manifest = validate(BackendManifest, parse_source(Path("manifest.yaml"), text.encode()))
    assert isinstance(manifest.driver, DriverBinding) and manifest.driver.status.type == name


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        # Names that stand for something in pydantic's locations are names like any other.
        ("ops: {relu: {expr: a, '<expr>': {expr: 5}}}", codes.UNKNOWN_FIELD, (1, 23)),
        ("ops: {relu: {expr: 5, '<expr>': 1}}", codes.WRONG_TYPE, (1, 20)),
        ("ops: {relu: {user: {'[key]': 5}}}", codes.UNKNOWN_FIELD, (1, 21)),
        ("ops: {mm: {library: f, dtypes: [all], args: [{str: 1}]}}", codes.WRONG_TYPE, (1, 46)),
        ("ops: {mm: {library: f, dtypes: [all], layouts: {layouts: fat}}}", codes.WRONG_VALUE, (1, 58)),
        ("ops: {mm: {library: f, dtypes: [all], scratch: {scratch: {like: 5}}}}", codes.WRONG_TYPE, (1, 65)),
        ("ops: {mm: {library: f, dtypes: [all], scratch: {'[key]': {like: a}}}}", codes.BAD_NAME, (1, 49)),
    ],
)
def test_names_that_look_like_pydantic_s_own(text: str, code: str, where: tuple[int, int]) -> None:
    matching = [one for one in found(OpsManifest, text + "\n") if one.code == code]
    spans = [(one.span.line - 1, one.span.column) for one in matching if one.span is not None]
    assert where in spans, found(OpsManifest, text + "\n")


def test_a_key_and_a_value_that_are_both_wrong_are_two_diagnostics() -> None:
    text = "ops: {'a b': {'[key]': 5, expr: a}}\n"
    assert places(OpsManifest, text) == [(codes.BAD_OPERATOR_NAME, "'a b'"), (codes.UNKNOWN_FIELD, "'[key]'")]


def test_a_location_beyond_the_data_is_the_last_node_that_is_there() -> None:
    data = {"ops": {"relu": {"expr": "a"}}}
    assert locate(OpsManifest, data, ("ops", "relu", "<expr>", "arguments", "x")).path == ("ops", "relu")
    assert locate(OpsManifest, data, ("ops", "relu", "[key]"), of_key=True) == Place(("ops", "relu"), key=True)
    assert "dtypes" in locate(OpsManifest, data, ("ops", "relu", "<expr>", "y")).fields


def test_a_contradiction_shows_the_fields_that_were_written() -> None:
    (one,) = found(BackendManifest, "autocast: {default: float32}\n")
    assert (one.code, one.secondary) == (codes.CONTRADICTION, ())
    (one,) = found(BackendManifest, "autocast: {dtypes: [float32]}\n")
    assert covered(one.span, PREAMBLE[BackendManifest] + "autocast: {dtypes: [float32]}\n") == "dtypes"
    (one,) = found(OpsManifest, "include: [core, training, core]\n")
    assert [(note.span.line, note.span.column) for note in one.secondary] == [(2, 11)]


@pytest.mark.parametrize(
    ("model", "text", "label"),
    [
        (BackendManifest, "licence: MIT", "license"),
        (BackendManifest, "fallback: {policy: refrence}", "reference"),
        (BackendManifest, "driver: simulater", "simulator"),
        (BackendManifest, "dtypes: [flot32]", "float32"),
        (BackendManifest, "dtypes: [half]", "float16"),
        (BackendManifest, "autocast: {default: float61}", "float16"),
        (AllocatorManifest, "device: {kind: cachign}", "caching"),
        (AllocatorManifest, "device: {alignment: 2Kib}", "2KiB"),
        (OpsManifest, "include: [cor]", "core"),
        (OpsManifest, "ops: {relu: refrence}", "reference"),
        (OpsManifest, "ops: {relu: {exrp: a}}", "expr"),
        (OpsManifest, "ops: {mm: {library: f, dtypes: [all], before: [{cpy: a, to: b}]}}", "copy"),
        (OpsManifest, "ops: {relu: {expr: a, otherwise: fallbck}}", "fallback"),
    ],
)
def test_did_you_mean(model: type[BaseModel], text: str, label: str) -> None:
    labels = [one.label for one in found(model, text + "\n")]
    assert f"did you mean `{label}`?" in labels


def test_a_misspelt_field_that_is_required_is_one_mistake() -> None:
    text = "ops: {A: {kernal: {reference: true}}}\n"
    assert places(TileOpsManifest, text) == [(codes.UNKNOWN_FIELD, "kernal")]
    text = "ops: {A: {core: {reference: true}}}\n"
    assert [code for code, _ in places(TileOpsManifest, text)] == [codes.MISSING_FIELD, codes.UNKNOWN_FIELD]


def test_another_kind_of_manifest_is_said_and_nothing_else() -> None:
    source = parse_source(Path("backend.yaml"), b"manifest: ops/v1\nops: {relu: user}\n")
    (one,) = diagnostics_of(lambda: validate(BackendManifest, source))
    assert one.message == "expected `backend/v1`, found `ops/v1`"
    assert one.help == "a manifest of this kind belongs in ops/*.yaml"
    assert one.edits == ()


def test_long_values_are_cut_in_messages() -> None:
    (one,) = found(BackendManifest, f"license: {'x y ' * 1000}\n")
    assert len(one.message) < 200
    (one,) = found(OpsManifest, f"ops: {{{'a' * 900}: user}}\n")
    assert (one.code, len(one.message) < 200) == (codes.BAD_OPERATOR_NAME, True)


def test_two_thousand_mistakes_are_all_found_and_soon() -> None:
    text = "ops:\n" + "".join(f"  op{index}: {{exprr: a, dtyeps: [float23]}}\n" for index in range(2000))
    start = time.process_time()
    assert len(found(OpsManifest, text)) == 2000
    assert time.process_time() - start < 2  # half a second


def test_the_name_of_a_kind_elsewhere_is_a_value_like_any_other() -> None:
    """Found by the fuzzer."""
    text = "ops: {A: {kernel: {reference: tileops/v1}}}\n"
    assert places(TileOpsManifest, text) == [(codes.WRONG_VALUE, "tileops/v1")]
