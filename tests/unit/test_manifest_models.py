"""The models of the four kinds: what they accept, what they refuse, and at which place."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, codes
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.driver import DriverBinding, DriverPreset
from acmegen.manifest.driver_roles import GRAPHS_OPTIONAL, GRAPHS_REQUIRED, OPTIONAL, REQUIRED
from acmegen.manifest.dtypes import DTYPES, expand_dtypes
from acmegen.manifest.names import check_device_name
from acmegen.manifest.ops import (
    CustomUserEntry,
    ExprEntry,
    LibraryEntry,
    OpsManifest,
    UnsupportedEntry,
    UserEntry,
    schema_name,
)
from acmegen.manifest.source import parse_source
from acmegen.manifest.tileops import TileOpsManifest
from acmegen.manifest.validate import validate
from tests.unit.manifests import covered, diagnostics_of

M = TypeVar("M", bound=BaseModel)


def load(model: type[M], text: str) -> M:
    return validate(model, parse_source(Path("manifest.yaml"), text.encode()))


def backend(text: str) -> BackendManifest:
    return load(BackendManifest, "manifest: backend/v1\nname: nova\n" + text)


def allocator(text: str) -> AllocatorManifest:
    return load(AllocatorManifest, "manifest: allocator/v1\n" + text)


def ops(text: str) -> OpsManifest:
    return load(OpsManifest, "manifest: ops/v1\n" + text)


def tileops(text: str) -> TileOpsManifest:
    return load(TileOpsManifest, "manifest: tileops/v1\n" + text)


PREAMBLE = {
    BackendManifest: "manifest: backend/v1\nname: nova\n",
    AllocatorManifest: "manifest: allocator/v1\n",
    OpsManifest: "manifest: ops/v1\n",
    TileOpsManifest: "manifest: tileops/v1\n",
}


def errors(model: type[BaseModel], text: str) -> list[tuple[str, str]]:
    """The code of each diagnostic and the text that it points at."""
    whole = PREAMBLE[model] + text
    return [(found.code, covered(found.span, whole)) for found in diagnostics_of(lambda: load(model, whole))]


def error(model: type[BaseModel], text: str) -> Diagnostic:
    (found,) = diagnostics_of(lambda: load(model, PREAMBLE[model] + text))
    return found


# ---- backend.yaml


def test_a_name_is_enough() -> None:
    loaded = backend("")
    assert loaded.driver == "simulator"
    assert loaded.dtypes == DTYPES
    assert loaded.streams.priorities == (0, -1)
    assert loaded.fallback.policy == "cpu"


@pytest.mark.parametrize("name", ["acme", "nova", "my_device", "a", "ab_c_d"])
def test_good_device_names(name: str) -> None:
    assert load(BackendManifest, f"manifest: backend/v1\nname: {name}\n").name == name


@pytest.mark.parametrize(
    "name",
    [
        "Acme",
        "acme2",
        "my-dev",
        "_acme",
        "acme_",
        "a__b",
        "'a b'",
        "é",
        "../../x",
        "/etc/x",
        "'{{ x }}'",
        "'a*/b'",
        "''",
        "x" * 65,
    ],
)
def test_g14_names_that_torch_cannot_read_or_that_leave_the_tree(name: str) -> None:
    (found,) = diagnostics_of(lambda: load(BackendManifest, f"manifest: backend/v1\nname: {name}\n"))
    assert found.code == codes.BAD_NAME


@pytest.mark.parametrize("name", ["class", "import", "namespace", "requires", "async", "lambda", "xor", "operator"])
def test_g11_names_that_are_keywords(name: str) -> None:
    (found,) = diagnostics_of(lambda: load(BackendManifest, f"manifest: backend/v1\nname: {name}\n"))
    assert found.code == codes.BAD_NAME
    assert "is a keyword of" in found.message


@pytest.mark.parametrize(
    "name",
    # Devices, attributes of torch, of Tensor and of Module, `is_…`, then C's global names and macros, and namespaces.
    [
        *("cpu", "cuda", "xla", "meta", "mps", "hip", "xpu", "hpu", "mtia", "privateuseone", "lazy", "vulkan"),
        *("nn", "add", "numpy", "train", "leaf", "floating_point"),
        *("time", "index", "free", "linux", "unix", "errno", "std", "at", "aten", "prims"),
    ],
)
def test_reserved_device_names(name: str) -> None:
    (found,) = diagnostics_of(lambda: load(BackendManifest, f"manifest: backend/v1\nname: {name}\n"))
    assert found.code == codes.RESERVED_NAME


def test_every_attribute_of_the_torch_that_was_listed_is_reserved() -> None:
    """The list was made with one version of torch; with that version it has to be complete."""
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("the list of reserved names was made with torch 2.13")
    attributes = {
        name.removeprefix("is_")
        for owner in (torch, torch.Tensor, torch.nn.Module, torch.UntypedStorage)
        for name in dir(owner)
    }
    # A backend that is installed here has added its own name.
    attributes -= {backend.name for backend in entry_points(group="torch.backends")}
    candidates = {name for name in attributes if re.fullmatch(r"[a-z](_?[a-z])*", name)}
    free = []
    for name in sorted(candidates):
        try:
            check_device_name(name)
        except PydanticCustomError:
            continue
        free.append(name)
    assert free == []


@pytest.mark.parametrize(
    "value",
    [
        *("my-package", "torch", "tileops", "a.b", "import", "../x", "9a", "x" * 65),
        # Modules of Python, and folders of the project.
        *("json", "site", "pytest", "tests", "csrc", "CSRC", "third_party", "build", "tileops_nova"),
    ],
)
def test_bad_package_names(value: str) -> None:
    assert error(BackendManifest, f"python_package: {value}\n").code in (codes.BAD_NAME, codes.RESERVED_NAME)


@pytest.mark.parametrize("value", ["std", "at", "c10", "caffe2", "uint8_t", "a__b", "_x", "class", "a::b", "time"])
def test_bad_namespaces(value: str) -> None:
    assert error(BackendManifest, f"cpp_namespace: {value}\n").code in (codes.BAD_NAME, codes.RESERVED_NAME)


@pytest.mark.parametrize("value", ["sim", "torch_cpu", "c10", "install", "a-b", "lib/x", "_C", "x" * 65])
def test_bad_libraries(value: str) -> None:
    assert error(BackendManifest, f"cpp_library: {value}\n").code in (codes.BAD_NAME, codes.RESERVED_NAME)


@pytest.mark.parametrize("value", ["Apache-2.0", "MIT OR Apache-2.0", "LicenseRef-Nova", "apache-2.0"])
def test_good_licences(value: str) -> None:
    assert backend(f"license: {value}\n").license.lower() == value.lower()


@pytest.mark.parametrize("value", ["Apache 2", "'MIT */ int x'", "'a\\nb'", "Free"])
def test_bad_licences(value: str) -> None:
    assert error(BackendManifest, f"license: {value}\n").code == codes.BAD_LICENSE


@pytest.mark.parametrize("value", ["'2.9'", "'>=2.9,<'", "latest"])
def test_bad_version_ranges(value: str) -> None:
    assert error(BackendManifest, f"torch: {value}\n").code == codes.BAD_VERSION_RANGE


def test_g8_a_misspelt_field_gets_a_suggestion_at_the_key() -> None:
    found = error(BackendManifest, "streams: {pool_sise: 3}\n")
    assert (found.code, found.label) == (codes.UNKNOWN_FIELD, "did you mean `pool_size`?")
    assert covered(found.span, PREAMBLE[BackendManifest] + "streams: {pool_sise: 3}\n") == "pool_sise"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("streams: {pool_size: '3'}", "'3'"),
        ("streams: {pool_size: true}", "true"),
        ("streams: {pool_size: 1.5}", "1.5"),
        ("streams: {priorities: 0}", "0"),
        ("streams: [1]", "[1]"),
        ("torch: 2.9", "2.9"),
        ("dtypes: float32", "float32"),
        ("dtypes: [1]", "1"),
        ("description: 5", "5"),
        ("driver: [simulator]", "[simulator]"),
        ("fallback: {policy: true}", "true"),
    ],
)
def test_g10_values_are_never_converted(text: str, place: str) -> None:
    assert errors(BackendManifest, text + "\n") == [(codes.WRONG_TYPE, place)]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("streams: {pool_size: 0}", codes.WRONG_VALUE, "0"),
        ("devices: {max: 1000}", codes.WRONG_VALUE, "1000"),
        ("streams: {priorities: []}", codes.WRONG_VALUE, "[]"),
        ("streams: {priorities: [-1, 0]}", codes.WRONG_VALUE, "[-1, 0]"),
        ("streams: {priorities: [0, -1, -1]}", codes.CONTRADICTION, "-1"),
        ("fallback: {policy: refrence}", codes.WRONG_VALUE, "refrence"),
        ("autocast: {default: float16, dtypes: [bfloat16]}", codes.CONTRADICTION, "default"),
        ("autocast: {dtypes: [float64, bfloat16]}", codes.WRONG_VALUE, "float64"),
        ("generator: mersenne", codes.WRONG_VALUE, "mersenne"),
        ("driver: simulater", codes.WRONG_VALUE, "simulater"),
        ("dtypes: [half]", codes.UNKNOWN_DTYPE, "half"),
        ('description: "two\\nlines"', codes.WRONG_VALUE, '"two\\nlines"'),
    ],
)
def test_values_that_are_not_allowed(text: str, code: str, place: str) -> None:
    assert errors(BackendManifest, text + "\n") == [(code, place)]


def test_all_errors_at_once() -> None:
    found = errors(BackendManifest, "streams: {pool_size: 0, pool: 1}\nlicense: x y\ndtypes: [half, flot32]\n")
    assert [place for _, place in found] == ["0", "pool", "x y", "half", "flot32"]


def test_the_wrong_kind_of_manifest() -> None:
    (found,) = diagnostics_of(lambda: load(BackendManifest, "manifest: backend/v2\nname: nova\n"))
    assert (found.code, found.message) == (codes.WRONG_VALUE, "expected `backend/v1`, found `backend/v2`")


def test_missing_fields_are_one_error_at_the_mapping() -> None:
    (found,) = diagnostics_of(lambda: load(BackendManifest, "license: MIT\n"))
    assert (found.code, found.message) == (codes.MISSING_FIELD, "missing fields `manifest`, `name`")


@pytest.mark.parametrize("text", ["a */ b", "'quote\" and \\\\'", "{{ name }}", "{% raw %}", "// x", "??/", "'''"])
def test_g13_descriptions_load_as_they_are(text: str) -> None:
    quoted = yaml.safe_dump(text, width=1000).splitlines()[0]
    assert backend(f"description: {quoted}\n").description == text


@pytest.mark.parametrize("section", ["devices", "streams", "fallback", "autocast"])
def test_g9_an_empty_section_has_its_defaults(section: str) -> None:
    assert backend(f"{section}:\n") == backend("")


# ---- driver


SIMULATOR = (data_folder("manifests") / "presets" / "simulator.yaml").read_text(encoding="utf-8")


def test_the_simulator_is_bound_as_a_vendor_would_bind_it() -> None:
    preset = validate(DriverPreset, parse_source(Path("simulator.yaml"), SIMULATOR.encode()))
    bound = preset.driver.functions.bound()
    assert bound["malloc"] == "simMalloc"
    assert bound.keys() == REQUIRED.keys() | OPTIONAL.keys()
    assert preset.driver.graphs is not None
    assert preset.driver.graphs.functions.bound().keys() == GRAPHS_REQUIRED.keys() | GRAPHS_OPTIONAL.keys()
    assert preset.library is not None
    assert preset.library.dtypes["float32"] == "simFloat32"
    driver = backend(SIMULATOR).driver
    assert isinstance(driver, DriverBinding)
    assert driver == preset.driver


def test_optional_functions_can_be_left_out() -> None:
    lines = [line for line in SIMULATOR.splitlines() if not any(f" {role}:" in line for role in OPTIONAL)]
    driver = backend("\n".join(lines)).driver
    assert isinstance(driver, DriverBinding)
    assert driver.functions.bound().keys() == REQUIRED.keys()


def test_missing_and_misspelt_driver_functions() -> None:
    text = SIMULATOR.replace("    malloc:", "    mallok:").replace("    free: simFree\n", "")
    missing, unknown = diagnostics_of(lambda: backend(text))
    assert (missing.code, missing.message) == (codes.MISSING_FIELD, "missing driver function `free`")
    assert (unknown.code, unknown.message) == (codes.UNKNOWN_FIELD, "unknown driver function `mallok`")
    assert unknown.label == "did you mean `malloc`?"


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("[sim_runtime.h]", "[../../x.h]", codes.BAD_PATH, "../../x.h"),
        ("[sim_runtime.h]", "[/usr/x.h]", codes.BAD_PATH, "/usr/x.h"),
        ("[sim_runtime.h]", "['a\"b.h']", codes.BAD_PATH, "'a\"b.h'"),
        ("[sim_runtime.h]", "[]", codes.WRONG_VALUE, "[]"),
        ("link: [sim]\n  status", "link: [-Wl]\n  status", codes.BAD_NAME, "-Wl"),
        ("simMalloc\n", "sim Malloc\n", codes.BAD_NAME, "sim Malloc"),
        ("simMalloc\n", "5\n", codes.WRONG_TYPE, "5"),
        ("type: simError_t", "type: 'int; x'", codes.BAD_NAME, "'int; x'"),
        ("    float32:", "    flot32:", codes.UNKNOWN_DTYPE, "flot32"),
        ("    float32:", "    all:", codes.UNKNOWN_DTYPE, "all"),
    ],
)
def test_bindings_that_are_wrong(old: str, new: str, code: str, place: str) -> None:
    assert old in SIMULATOR
    assert errors(BackendManifest, SIMULATOR.replace(old, new)) == [(code, place)]


def test_bindings_may_be_qualified_names() -> None:
    driver = backend(SIMULATOR.replace("type: simError_t", "type: vendor::v1::Status")).driver
    assert isinstance(driver, DriverBinding)
    assert driver.status.type == "vendor::v1::Status"


# ---- allocator.yaml


@pytest.mark.parametrize(
    ("text", "value"), [("512", 512), ("2MiB", 2 * 1024**2), ("64 KiB", 65536), ("16B", 16), ("1024", 1024)]
)
def test_sizes(text: str, value: int) -> None:
    assert allocator(f"device: {{alignment: {text}}}\n").device.alignment == value


@pytest.mark.parametrize(
    "text", ["yes", "2MB", "2 mib", "-1", "'512'", "1.5KiB", "513", "0", "8", "4GiB", "9223372036854775808", "MiB"]
)
def test_g10_sizes_that_are_not_valid(text: str) -> None:
    assert errors(AllocatorManifest, f"device: {{alignment: {text}}}\n") == [(codes.BAD_SIZE, text)]


@pytest.mark.parametrize("text", ["1.5", "true", "[512]", "null"])
def test_g10_sizes_of_another_type(text: str) -> None:
    assert errors(AllocatorManifest, f"device: {{alignment: {text}}}\n") == [(codes.WRONG_TYPE, text)]


@pytest.mark.parametrize(
    ("text", "place"), [("device: {kind: pooling}", "pooling"), ("host: {kind: pinned}", "pinned")]
)
def test_kinds_of_allocators(text: str, place: str) -> None:
    assert errors(AllocatorManifest, text + "\n") == [(codes.WRONG_VALUE, place)]


def test_allocator_defaults() -> None:
    loaded = allocator("device:\nhost:\n")
    assert (loaded.device.kind, loaded.device.alignment, loaded.host.kind) == ("caching", 512, "caching")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("memory_fraction: 0", "0"),
        ("memory_fraction: 1.5", "1.5"),
        ("garbage_collection_threshold: 1.0", "1.0"),
        ("garbage_collection_threshold: -0.5", "-0.5"),
        ("roundup_power2_divisions: 3", "3"),
        ("roundup_power2_divisions: 128", "128"),
        ("history_size: 0", "0"),
    ],
)
def test_numbers_of_an_allocator_that_are_out_of_range(text: str, place: str) -> None:
    assert errors(AllocatorManifest, f"device: {{{text}}}\n") == [(codes.WRONG_VALUE, place)]


@pytest.mark.parametrize("field", ["max_split_size", "max_non_split_rounding", "small: {limit", "large: {round_to"])
def test_sizes_of_an_allocator_are_not_0(field: str) -> None:
    closing = "}" * field.count("{")
    assert errors(AllocatorManifest, f"device: {{{field}: 0{closing}}}\n") == [(codes.BAD_SIZE, "0")]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("kind: direct, max_split_size: 64MiB", ["max_split_size", "kind"]),
        ("kind: direct, small: {limit: 1MiB}", ["small", "kind"]),
        ("kind: direct, garbage_collection_threshold: 0.5", ["garbage_collection_threshold", "kind"]),
        ("max_split_size: 20MiB", ["max_split_size"]),
        ("max_split_size: 21MiB, large: {segment: 32MiB}", ["max_split_size", "segment"]),
        ("small: {limit: 3MiB}", ["limit"]),
        ("small: {segment: 512KiB}", ["segment"]),
        ("large: {limit: 12MiB, segment: 11MiB}", ["limit", "segment"]),
        ("small: {limit: 2MiB}, large: {limit: 2MiB}", ["limit", "limit"]),
        ("large: {limit: 1MiB}", ["limit"]),
        ("small: {segment: 3000000}", ["segment"]),
        ("alignment: 1KiB, large: {segment: 20972032}", ["segment", "alignment"]),
        ("alignment: 4KiB, large: {round_to: 512}", ["round_to", "alignment"]),
    ],
)
def test_contradictions_of_an_allocator_show_each_field_that_was_written(text: str, places: list[str]) -> None:
    text = f"device: {{{text}}}\n"
    found = error(AllocatorManifest, text)
    assert found.code == codes.CONTRADICTION
    spans = [found.span, *(note.span for note in found.secondary)]
    assert [covered(span, PREAMBLE[AllocatorManifest] + text) for span in spans] == places
    assert len(set(spans)) == len(spans)


# ---- ops/*.yaml


def test_entries_of_every_kind() -> None:
    loaded = ops(
        """
ops:
  add.Tensor: {expr: "a + alpha * b", dtypes: [floating, int64], otherwise: error, arguments: {a: self}}
  mm: {library: simGemm, args: [m, n], dtypes: [float32], layouts: {self: strided}}
  relu: user
  gelu: {user: {}}
  tanh: {user: }
  a: reference
  b: fallback
  c: composite
  d: runtime
  e: {unsupported: "no engine"}
custom:
  "rms_norm(Tensor x, Tensor? weight, float eps) -> Tensor":
    {namespace: nova, like: x, user: {}, backward: rms_norm_backward}
  "rms_norm_backward(Tensor g, Tensor x) -> (Tensor, Tensor)": {like: [x, g], user: {}}
"""
    )
    add = loaded.ops["add.Tensor"]
    assert isinstance(add, ExprEntry)
    assert add.dtypes == ("float64", "float32", "float16", "bfloat16", "int64")
    assert (add.otherwise, add.arguments) == ("error", {"a": "self"})
    mm = loaded.ops["mm"]
    assert isinstance(mm, LibraryEntry)
    assert (mm.library, mm.layouts, mm.otherwise) == ("simGemm", {"self": "strided"}, "fallback")
    assert loaded.ops["relu"] == loaded.ops["gelu"] == loaded.ops["tanh"]
    assert isinstance(loaded.ops["relu"], UserEntry)
    assert isinstance(loaded.ops["e"], UnsupportedEntry)
    kinds = [entry.kind for entry in loaded.ops.values()]
    assert kinds == ["expr", "library", *["user"] * 3, "reference", "fallback", "composite", "runtime", "unsupported"]
    forward, backward = loaded.custom.values()
    assert isinstance(forward, CustomUserEntry)
    assert (forward.kind, forward.namespace, forward.like, forward.backward) == (
        "user",
        "nova",
        ("x",),
        "rms_norm_backward",
    )
    assert backward.like == ("x", "g")


def test_g9_empty_sections_are_empty_collections() -> None:
    assert ops("include:\nops:\ncustom:\n") == ops("")
    assert tileops("ops:\ndevice_facts:\n") == tileops("")


def test_an_entry_has_exactly_one_kernel_kind() -> None:
    text = "ops:\n  mm: {library: simGemm, user: {}, dtypes: [float32]}\n"
    found = error(OpsManifest, text)
    assert found.code == codes.KERNEL_KIND
    assert found.message == "an entry has one kernel kind, and this has `library` and `user`"
    whole = PREAMBLE[OpsManifest] + text
    assert covered(found.span, whole) == "user"
    assert [covered(note.span, whole) for note in found.secondary] == ["library"]


@pytest.mark.parametrize(
    ("entry", "place", "message"),
    [
        ("{dtypes: [float32]}", "{dtypes: [float32]}", "this entry has no kernel kind"),
        ("{exrp: a}", "exrp", "unknown kernel kind `exrp`"),
        ("usr", "usr", "unknown kernel kind `usr`"),
        ("expr", "expr", "`expr` needs a value: `{expr: …}`"),
        ("5", "5", "an entry is a kernel kind, or a mapping that has one"),
        ("[user]", "[user]", "an entry is a kernel kind, or a mapping that has one"),
        ("", "relu", "an entry is a kernel kind, or a mapping that has one"),
    ],
)
def test_entries_without_a_kernel_kind(entry: str, place: str, message: str) -> None:
    text = f"ops:\n  relu: {entry}\n"
    found = error(OpsManifest, text)
    assert (found.code, found.message) == (codes.KERNEL_KIND, message)
    assert covered(found.span, PREAMBLE[OpsManifest] + text) == place


@pytest.mark.parametrize(
    ("entry", "code", "place"),
    [
        ("{expr: a, dtyeps: [float32]}", codes.UNKNOWN_FIELD, "dtyeps"),
        ("{expr: a, dtypes: [float31]}", codes.UNKNOWN_DTYPE, "float31"),
        ("{expr: a, dtypes: []}", codes.WRONG_VALUE, "[]"),
        ("{expr: a, otherwise: falback}", codes.WRONG_VALUE, "falback"),
        ("{expr: ''}", codes.WRONG_VALUE, "''"),
        ("{expr: 5}", codes.WRONG_TYPE, "5"),
        ("{expr: a, arguments: {a: 'x y'}}", codes.BAD_NAME, "'x y'"),
        ("{library: f}", codes.MISSING_FIELD, "{library: f}"),
        ("{library: 'f(x); g', dtypes: [float32]}", codes.BAD_NAME, "'f(x); g'"),
        ("{library: f, dtypes: [float32], layouts: {self: dense}}", codes.WRONG_VALUE, "dense"),
        ("{user: {fast: true}}", codes.UNKNOWN_FIELD, "fast"),
        ("{unsupported: ''}", codes.WRONG_VALUE, "''"),
    ],
)
def test_entries_that_are_wrong(entry: str, code: str, place: str) -> None:
    assert errors(OpsManifest, f"ops:\n  relu: {entry}\n") == [(code, place)]


def test_g8_a_misspelt_field_of_an_entry_gets_a_suggestion() -> None:
    assert error(OpsManifest, "ops:\n  relu: {expr: a, dtyeps: [float32]}\n").label == "did you mean `dtypes`?"
    assert (
        error(OpsManifest, 'custom:\n  "f(Tensor x) -> Tensor": {user: {}, lyke: x}\n').label == "did you mean `like`?"
    )


@pytest.mark.parametrize(
    "name", ["random_.from", "sum.dim_IntList", "_foreach_add.ScalarList", "div.int", "__and__.Scalar"]
)
def test_g11_operators_whose_names_are_keywords(name: str) -> None:
    assert list(ops(f"ops:\n  {name}: fallback\n").ops) == [name]


@pytest.mark.parametrize(
    "name", ["a b", "aten::add.Tensor", "add.Tensor.x", "../../x", "add.", "9x", "a*/b", "", "a\\nb"]
)
def test_g14_names_of_operators_that_are_not_valid(name: str) -> None:
    assert errors(OpsManifest, f'ops:\n  "{name}": user\n') == [(codes.BAD_OPERATOR_NAME, f'"{name}"')]


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "simulator", "trainig"])
def test_g14_presets_that_do_not_exist(name: str) -> None:
    assert errors(OpsManifest, f"include: [{name}]\n") == [(codes.UNKNOWN_PRESET, name)]


def test_a_preset_that_is_misspelt_gets_a_suggestion() -> None:
    assert error(OpsManifest, "include: [trainig]\n").label == "did you mean `training`?"


@pytest.mark.parametrize(
    "schema", ["rms_norm", "f(Tensor x)", "nova::f(Tensor x) -> Tensor", "-> Tensor", "f(Tensor x) ->"]
)
def test_schemas_that_are_not_valid(schema: str) -> None:
    assert errors(OpsManifest, f'custom:\n  "{schema}": user\n') == [(codes.BAD_OPERATOR_NAME, f'"{schema}"')]


def test_a_file_can_be_named_after_an_operator_of_your_own() -> None:
    assert error(OpsManifest, f'custom:\n  "{"f" * 101}(Tensor x) -> Tensor": user\n').code == codes.BAD_NAME


@pytest.mark.parametrize("entry", ["reference", "{composite: {}}", "{unsupported: x}"])
def test_kinds_that_cannot_serve_operators_of_your_own(entry: str) -> None:
    found = error(OpsManifest, f'custom:\n  "f(Tensor x) -> Tensor": {entry}\n')
    assert found.code == codes.KERNEL_KIND
    assert found.message.startswith("an operator of your own cannot be served by")


def test_two_meta_functions_contradict() -> None:
    text = 'custom:\n  "f(Tensor x) -> Tensor": {user: {}, like: x, meta: user}\n'
    assert errors(OpsManifest, text) == [(codes.CONTRADICTION, "meta")]


def test_names_of_schemas() -> None:
    assert schema_name("rms_norm.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)") == "rms_norm.out"


def test_sets_of_dtypes() -> None:
    assert expand_dtypes(["bool", "integral", "int8"]) == ("uint8", "int8", "int16", "int32", "int64", "bool")
    assert "complex64" not in expand_dtypes(["all"])


# ---- tileops.yaml


def test_tileops_entries() -> None:
    loaded = tileops(
        """
device_facts: {arch: 1, sm_count: 4, smem_budget: 64KiB}
ops:
  RMSNormFwdOp: {mode: builder, kernel: {expression: "torch.ops.nova.rms_norm(x, weight, eps)"}}
  GeluFwdOp: {kernel: {reference: true}}
  SiluFwdOp: {kernel: {python: "my_kernels.silu:build"}}
"""
    )
    assert loaded.device_facts.smem_budget == 65536
    assert loaded.ops["RMSNormFwdOp"].kernel.expression == "torch.ops.nova.rms_norm(x, weight, eps)"
    assert loaded.ops["GeluFwdOp"].kernel.reference is True


@pytest.mark.parametrize(
    ("entry", "code", "place"),
    [
        ("{kernel: {}}", codes.KERNEL_KIND, "{}"),
        ("{kernel: {expression: 'a(b)', reference: true}}", codes.KERNEL_KIND, "reference"),
        ("{kernel: {op: rms_norm}}", codes.UNKNOWN_FIELD, "op"),
        ("{kernel: {python: '../x:f'}}", codes.BAD_NAME, "'../x:f'"),
        ("{kernel: {reference: false}}", codes.WRONG_TYPE, "false"),
        ("{mode: buildre, kernel: {reference: true}}", codes.WRONG_VALUE, "buildre"),
        ("{mode: builder}", codes.MISSING_FIELD, "{mode: builder}"),
    ],
)
def test_tileops_entries_that_are_wrong(entry: str, code: str, place: str) -> None:
    assert errors(TileOpsManifest, f"ops:\n  AOp: {entry}\n") == [(code, place)]
