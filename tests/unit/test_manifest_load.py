"""A folder of manifests -> a project: presets, merging, rules across files."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, Span, codes, format_text
from acmegen.manifest import presets
from acmegen.manifest.load import Project, load_project
from acmegen.manifest.ops import ReferenceEntry, UserEntry
from acmegen.render.starter import starter_manifests
from tests.unit.manifests import BACKEND, covered, diagnostics_of, write_manifests

SIMULATOR = (data_folder("manifests") / "presets" / "simulator.yaml").read_text(encoding="utf-8")
OPS = "manifest: ops/v1\nops: {relu: user}\n"
FLAGSHIP = Path(__file__).parents[2] / "manifests" / "acme"


def load(folder: Path, **files: str) -> Project:
    return load_project(write_manifests(folder, **files))


def errors(folder: Path, **files: str) -> tuple[Diagnostic, ...]:
    return diagnostics_of(lambda: load(folder, **files))


@pytest.fixture
def own_presets(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of presets in place of the shipped ones."""
    root = tmp_path_factory.mktemp("shipped")
    folder = root / "presets"
    folder.mkdir(parents=True)
    (folder / "simulator.yaml").write_text(SIMULATOR, encoding="utf-8")
    monkeypatch.setattr(presets, "data_folder", lambda name: root)
    presets.operator_presets.cache_clear()
    yield folder
    presets.operator_presets.cache_clear()


def test_a_backend_alone_is_a_project(tmp_path: Path) -> None:
    project = load(tmp_path)
    assert project.simulator
    assert project.driver.functions.bound()["malloc"] == "simMalloc"
    assert project.library is not None
    assert project.allocator.device.alignment == 512
    assert (project.operators, project.custom, project.tileops) == ({}, {}, None)
    assert list(project.sources) == ["backend.yaml", "presets/simulator.yaml"]


def test_digests_are_of_the_files(tmp_path: Path) -> None:
    digests = load(tmp_path, ops__a="manifest: ops/v1\n").digests
    assert digests["ops/a.yaml"] == hashlib.sha256(b"manifest: ops/v1\n").hexdigest()
    assert digests["backend.yaml"] == hashlib.sha256(BACKEND.encode()).hexdigest()


def test_a_binding_of_ones_own_reads_no_preset(tmp_path: Path) -> None:
    project = load(tmp_path, backend=BACKEND + SIMULATOR)
    assert not project.simulator
    assert "presets/simulator.yaml" not in project.sources


def test_own_entries_are_merged_and_sorted(tmp_path: Path) -> None:
    project = load(
        tmp_path,
        ops__b="manifest: ops/v1\nops: {relu: user}\n",
        ops__a='manifest: ops/v1\nops: {tanh: user}\ncustom: {"f(Tensor x) -> Tensor": user}\n',
    )
    assert [(name, placed.file) for name, placed in project.operators.items()] == [
        ("relu", "ops/b.yaml"),
        ("tanh", "ops/a.yaml"),
    ]
    (custom,) = project.custom.values()
    assert list(project.custom) == ["nova::f"]
    assert (custom.name, custom.namespace, custom.schema) == ("f", "nova", "f(Tensor x) -> Tensor")


def test_the_namespace_of_custom_operators_follows_the_backend(tmp_path: Path) -> None:
    backend = BACKEND + "cpp_namespace: vendor\n"
    custom = (
        "manifest: ops/v1\n"
        'custom: {"f(Tensor x) -> Tensor": user, "g(Tensor x) -> Tensor": {namespace: other, user: }}\n'
    )
    assert list(load(tmp_path, backend=backend, ops__a=custom).custom) == ["other::g", "vendor::f"]


def test_entries_know_their_places(tmp_path: Path) -> None:
    text = 'manifest: ops/v1\nops:\n  relu: {expr: "a"}\n'
    placed = load(tmp_path, ops__a=text).operators["relu"]
    assert covered(placed.span(key=True), text) == "relu"
    assert covered(placed.span("expr"), text) == '"a"'
    assert covered(placed.span("dtypes"), text) == "relu"


def test_project_spans(tmp_path: Path) -> None:
    text = BACKEND + "streams: {pool_size: 3}\n"
    project = load(tmp_path, backend=text)
    assert covered(project.span("backend.yaml", "streams", "pool_size"), text) == "3"
    assert covered(project.span("backend.yaml", "streams", "pool_size", key=True), text) == "pool_size"
    assert covered(project.span("backend.yaml", "streams", "priorities"), text) == "{pool_size: 3}"
    assert project.span("allocator.yaml", "device") is None


# ---- presets


def test_own_entries_replace_those_of_presets_and_later_presets_earlier_ones(tmp_path: Path, own_presets: Path) -> None:
    (own_presets / "core.yaml").write_text("manifest: ops/v1\nops: {a: runtime, b: runtime, c: runtime}\n")
    (own_presets / "more.yaml").write_text("manifest: ops/v1\ninclude: [core]\nops: {b: reference, c: reference}\n")
    project = load(tmp_path, ops__x="manifest: ops/v1\ninclude: [more]\nops: {c: user}\n")
    assert {name: placed.entry.kind for name, placed in project.operators.items()} == {
        "a": "runtime",
        "b": "reference",
        "c": "user",
    }
    assert [placed.preset for placed in project.operators.values()] == [True, True, False]
    assert isinstance(project.operators["b"].entry, ReferenceEntry)
    assert isinstance(project.operators["c"].entry, UserEntry)
    assert "presets/core.yaml" in project.digests


def test_presets_that_include_one_another_end(tmp_path: Path, own_presets: Path) -> None:
    (own_presets / "one.yaml").write_text("manifest: ops/v1\ninclude: [two]\nops: {a: user}\n")
    (own_presets / "two.yaml").write_text("manifest: ops/v1\ninclude: [one]\nops: {b: user}\n")
    assert list(load(tmp_path, ops__x="manifest: ops/v1\ninclude: [one]\n").operators) == ["a", "b"]


def test_a_mistake_in_a_preset_shows_what_includes_it(tmp_path: Path, own_presets: Path) -> None:
    (own_presets / "core.yaml").write_text("manifest: ops/v1\nops: {a: usr}\n")
    (own_presets / "more.yaml").write_text("manifest: ops/v1\ninclude: [core]\n")
    text = "manifest: ops/v1\ninclude: [more]\n"
    (found,) = errors(tmp_path, ops__x=text)
    assert [(note.message, covered(note.span, text)) for note in found.secondary] == [("included here", "more")]


def test_a_preset_that_is_wrong_is_reported_in_its_file(tmp_path: Path, own_presets: Path) -> None:
    (own_presets / "core.yaml").write_text("manifest: ops/v1\nops: {a: usr}\n")
    (found,) = errors(tmp_path, ops__x="manifest: ops/v1\ninclude: [core]\n")
    assert found.span is not None
    assert found.span.path == own_presets / "core.yaml"


# ---- rules across files


def test_a17_two_files_that_claim_one_operator_show_both_places(tmp_path: Path) -> None:
    (found,) = errors(
        tmp_path, ops__a="manifest: ops/v1\nops: {relu: user}\n", ops__b="manifest: ops/v1\nops:\n  relu: reference\n"
    )
    assert (found.code, found.message) == (codes.DUPLICATE_OPERATOR, "`relu` has two entries")
    assert str(found.span).endswith("ops/b.yaml:3:3")
    assert [str(note.span)[-15:] for note in found.secondary] == ["/ops/a.yaml:2:7"]


def test_two_custom_operators_of_one_name(tmp_path: Path) -> None:
    text = 'manifest: ops/v1\ncustom:\n  "f(Tensor x) -> Tensor": user\n  "f(Tensor y) -> Tensor": user\n'
    (found,) = errors(tmp_path, ops__a=text)
    assert (found.code, found.message) == (codes.DUPLICATE_OPERATOR, "`nova::f` has two entries")


def test_the_reference_policy_needs_host_access(tmp_path: Path) -> None:
    text = BACKEND + SIMULATOR.replace("    host_pointer: simHostGetAddress\n", "") + "fallback: {policy: reference}\n"
    (found,) = errors(tmp_path, backend=text)
    assert found.code == codes.HOST_ACCESS_MISSING
    assert "`host_pointer`" in found.message
    assert covered(found.span, text) == "reference"
    assert [covered(note.span, text) for note in found.secondary] == ["functions"]


def test_errors_of_all_files_come_at_once_sorted_by_place(tmp_path: Path) -> None:
    found = errors(
        tmp_path,
        backend=BACKEND + "streams: {pool_size: 0}\nlicence: MIT\n",
        allocator="manifest: allocator/v1\ndevice: {kind: slab}\n",
        ops__a="manifest: ops/v1\nops: {relu: usr}\n",
        ops__b="- x\n",
        tileops="manifest: tileops/v1\nops: {A: {}}\n",
    )
    places = [str(diagnostic.span).removeprefix(f"{tmp_path.as_posix()}/") for diagnostic in found]
    assert places == [
        "allocator.yaml:2:16",
        "backend.yaml:3:22",
        "backend.yaml:4:1",
        "ops/a.yaml:2:13",
        "ops/b.yaml:1:1",
        "tileops.yaml:2:10",
    ]


def test_a_missing_folder(tmp_path: Path) -> None:
    (found,) = diagnostics_of(lambda: load_project(tmp_path / "absent"))
    assert found.code == codes.FILE_UNREADABLE
    assert "acmegen new-backend" in (found.help or "")


def test_a_folder_without_backend(tmp_path: Path) -> None:
    (found,) = diagnostics_of(lambda: load_project(tmp_path))
    assert found.code == codes.FILE_UNREADABLE
    assert found.span == Span.of_file(tmp_path / "backend.yaml")


def test_g8_files_that_would_be_ignored_are_reported(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "pointwise.yml").write_text("manifest: ops/v1\n")
    found = errors(tmp_path, alocator="manifest: allocator/v1\n")
    assert [diagnostic.code for diagnostic in found] == [codes.UNKNOWN_FILE] * 2
    assert [diagnostic.help for diagnostic in found] == ["did you mean `allocator.yaml`?", "name it .yaml"]


def test_g8_yaml_that_is_not_read_is_reported_wherever_it_is(tmp_path: Path) -> None:
    write_manifests(tmp_path, ops__more__a="manifest: ops/v1\n", ops__more__still__b="manifest: ops/v1\n")
    for name in ("Backend.yaml", "ops/X.YAML", "notes.yml"):
        (tmp_path / name).write_text("manifest: ops/v1\n")
    for name in (".hidden.yaml", "ops/.#a.yaml", "README.md", "ops/notes.txt"):
        (tmp_path / name).write_text("no manifest")
    found = diagnostics_of(lambda: load_project(tmp_path))
    shown = [(one.span.path.relative_to(tmp_path).as_posix(), one.help) for one in found if one.span is not None]
    assert shown == [
        ("Backend.yaml", "did you mean `backend.yaml`?"),
        ("notes.yml", "operators belong in ops/*.yaml"),
        ("ops/X.YAML", "name it .yaml"),
        ("ops/more/a.yaml", "move it to ops/"),
        ("ops/more/still/b.yaml", "move it to ops/"),
    ]
    assert {one.code for one in found} == {codes.UNKNOWN_FILE}


@pytest.mark.parametrize(
    ("folder", "help_text"),
    [("op", "did you mean `ops`?"), ("opps", "did you mean `ops`?"), ("custom", "operators belong in ops/*.yaml")],
)
def test_g8_a_folder_of_manifests_that_is_not_read_is_reported_once(
    tmp_path: Path, folder: str, help_text: str
) -> None:
    write_manifests(tmp_path, **{f"{folder}__a": OPS, f"{folder}__deeper__b": OPS, "schema__c": OPS})
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("no manifest")
    (found,) = diagnostics_of(lambda: load_project(tmp_path))
    assert (found.code, found.span, found.help) == (codes.UNKNOWN_FILE, Span.of_file(tmp_path / folder), help_text)


def test_g14_links_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    folder, outside = write_manifests(tmp_path / "manifests"), write_manifests(tmp_path / "outside", ops__x=OPS)
    (folder / "allocator.yaml").symlink_to(outside / "backend.yaml")
    (folder / "ops").mkdir()
    (folder / "ops" / "x.yaml").symlink_to("../../outside/ops/x.yaml")
    (folder / "ops" / "inside.yaml").write_text(OPS)
    (folder / "ops" / "again.yaml").symlink_to("inside.yaml")
    found = diagnostics_of(lambda: load_project(folder))
    assert [(one.code, one.span) for one in found if "link" in one.message] == [
        (codes.BAD_PATH, Span.of_file(folder / "allocator.yaml")),
        (codes.BAD_PATH, Span.of_file(folder / "ops" / "x.yaml")),
    ]
    # Links within it are files like others.
    assert [one.code for one in found if "link" not in one.message] == [codes.DUPLICATE_OPERATOR]


def test_g14_a_backend_or_a_folder_of_operators_that_is_elsewhere_is_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "manifests", write_manifests(tmp_path / "outside", ops__x=OPS)
    folder.mkdir()
    (folder / "backend.yaml").symlink_to(outside / "backend.yaml")
    (folder / "ops").symlink_to(outside / "ops")
    found = diagnostics_of(lambda: load_project(folder))
    assert [(one.code, one.span) for one in found] == [
        (codes.BAD_PATH, Span.of_file(folder / "backend.yaml")),
        (codes.BAD_PATH, Span.of_file(folder / "ops")),
    ]


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    write_manifests(tmp_path / "real", ops__x=OPS)
    (tmp_path / "link").symlink_to("real")
    assert list(load_project(tmp_path / "link").operators) == ["relu"]


@pytest.mark.parametrize("name", ["allocator.yaml", "tileops.yaml", "ops/x.yaml"])
def test_what_cannot_be_read_is_never_taken_for_absent(tmp_path: Path, name: str) -> None:
    write_manifests(tmp_path)
    (tmp_path / "ops").mkdir()
    for make in (lambda path: path.symlink_to(path.name), lambda path: path.symlink_to("nowhere"), os.mkfifo):
        make(tmp_path / name)
        (found,) = diagnostics_of(lambda: load_project(tmp_path))
        assert (found.code, found.span) == (codes.FILE_UNREADABLE, Span.of_file(tmp_path / name))
        assert name in format_text(found)  # which does not wait for a pipe either
        (tmp_path / name).unlink()


def test_operators_that_are_no_folder_are_reported(tmp_path: Path) -> None:
    write_manifests(tmp_path)
    (tmp_path / "ops").write_text(OPS)
    (found,) = diagnostics_of(lambda: load_project(tmp_path))
    assert (found.code, found.span) == (codes.FILE_UNREADABLE, Span.of_file(tmp_path / "ops"))


def test_a_file_that_is_a_folder_or_a_loop_of_links_is_reported(tmp_path: Path) -> None:
    write_manifests(tmp_path)
    (tmp_path / "ops" / "a.yaml").mkdir(parents=True)
    (tmp_path / "ops" / "b.yaml").symlink_to("b.yaml")
    found = diagnostics_of(lambda: load_project(tmp_path))
    assert [diagnostic.code for diagnostic in found] == [codes.FILE_UNREADABLE] * 2


# ---- the starter manifests and the flagship


def test_the_flagship_is_what_new_backend_writes() -> None:
    files = {path.relative_to(FLAGSHIP).as_posix(): path for path in FLAGSHIP.rglob("*") if path.is_file()}
    starter = starter_manifests("acme", schemas="../schema")
    assert files.keys() == starter.keys()
    assert {name: path.read_text(encoding="utf-8") for name, path in files.items()} == starter


def test_another_name_leaves_no_acme() -> None:
    for path, text in starter_manifests("nova").items():
        assert "acme" not in text.lower().replace("acmegen", ""), path


@pytest.mark.parametrize("name", ["cuda", "Nova", "../x", ""])
def test_the_starter_refuses_names_that_cannot_be(name: str) -> None:
    (found,) = diagnostics_of(lambda: starter_manifests(name))
    assert found.code in (codes.BAD_NAME, codes.RESERVED_NAME)


def test_the_starter_manifests_load(tmp_path: Path) -> None:
    for path, text in starter_manifests("nova").items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    project = load_project(tmp_path)
    assert project.backend.name == "nova"
    assert project.operators


def test_loading_the_flagship_is_fast() -> None:
    load_project(FLAGSHIP)
    times = []
    for _ in range(5):
        start = time.process_time()
        load_project(FLAGSHIP)
        times.append(time.process_time() - start)
    assert min(times) < 0.5  # a hundredth of a second


def test_two_thousand_entries_load_in_half_a_second(tmp_path: Path) -> None:
    lines = [f"  op_{index}.Tensor: {{expr: a + {index} * b, dtypes: [floating, int64]}}" for index in range(2000)]
    write_manifests(tmp_path, ops__many="manifest: ops/v1\nops:\n" + "\n".join(lines) + "\n")
    times = []
    for _ in range(3):
        start = time.process_time()
        assert len(load_project(tmp_path).operators) == 2000
        times.append(time.process_time() - start)
    assert min(times) < 0.5  # 0.15 s


def test_a_name_that_is_too_long_is_told_how_long_it_may_be(tmp_path: Path) -> None:
    for text in ("name: " + "a" * 300, "name: nova\ncpp_namespace: " + "a" * 300):
        (tmp_path / "backend.yaml").write_text(f"manifest: backend/v1\n{text}\n")
        (found,) = diagnostics_of(lambda: load_project(tmp_path))
        assert found.message == "a name has 64 characters at most, and this has 300"
