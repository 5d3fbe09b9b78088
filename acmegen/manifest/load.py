"""A folder of manifests -> a project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from acmegen.diagnostics import Diagnostic, DiagnosticError, Edit, Note, Span, codes
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.driver import DriverBinding, DriverPreset, LibraryBinding
from acmegen.manifest.driver_roles import HOST_ACCESS
from acmegen.manifest.edits import replaced
from acmegen.manifest.folder import ALLOCATOR, BACKEND, TILEOPS, contents
from acmegen.manifest.ops import CustomEntry, OperatorEntry, OpsManifest, UnsupportedEntry, schema_name
from acmegen.manifest.presets import preset_path
from acmegen.manifest.salvage import StandIns, salvage
from acmegen.manifest.source import NodePath, Source, load_source
from acmegen.manifest.tileops import TileOpsManifest
from acmegen.manifest.validate import KINDS, validate

M = TypeVar("M", bound=BaseModel)

_WRONG_ENTRY = UnsupportedEntry(unsupported="this entry of the manifest is wrong")

__all__ = ["ALLOCATOR", "BACKEND", "TILEOPS", "PlacedCustom", "PlacedOperator", "Project", "load_project"]


@dataclass(frozen=True)
class _Placed:
    """An entry and where it stands.

    Attributes:
        name: the operator, `add.Tensor`, without a namespace.
        file: the manifest as `Project.sources` names it.
        source: the manifest.
        path: of the entry in it.
    """

    name: str
    file: str
    source: Source = field(repr=False)
    path: NodePath

    def span(self, *path: str | int, key: bool = False) -> Span:
        """The place of a field of the entry; what is around it, or the entry's own, when it has been left out."""
        for length in range(len(path), 0, -1):
            try:
                return self.source.span((*self.path, *path[:length]), key=key)
            except KeyError:
                continue
        return self.source.span(self.path, key=True)

    def renamed(self, key: str) -> tuple[Edit, ...]:
        """The edit that keys the entry by `key`; none where that is not plain, or where there is such an entry."""
        return replaced(self.source, self.path, key, key=True)

    def replaced(self, path: NodePath, text: str | None) -> tuple[Edit, ...]:
        """The edit that makes a value of the entry read `text`; none where that is not plain."""
        return replaced(self.source, (*self.path, *path), text) if text is not None else ()

    @property
    def preset(self) -> bool:
        """Whether it comes from a preset and not from one of the project's own files."""
        return self.file.startswith("presets/")


@dataclass(frozen=True)
class PlacedOperator(_Placed):
    """How one of torch's operators is served."""

    entry: OperatorEntry

    @property
    def unknown(self) -> bool:
        """Whether the entry is wrong, so that only the operator's name is known."""
        return self.entry == _WRONG_ENTRY


@dataclass(frozen=True)
class PlacedCustom(_Placed):
    """An operator of the backend's own: its namespace, its schema without namespace, and how it is served."""

    namespace: str
    schema: str
    entry: CustomEntry

    @property
    def qualified_name(self) -> str:
        """`acme::rms_norm`."""
        return f"{self.namespace}::{self.name}"


P = TypeVar("P", bound=_Placed)


@dataclass(frozen=True)
class Project:
    """All manifests of one backend, checked one by one and against each other, with presets resolved.

    Attributes:
        folder: where the manifests are.
        backend: backend.yaml.
        driver: the binding, the simulator's where the manifest says `simulator`.
        library: the maths library; None when there is none.
        allocator: allocator.yaml, or the defaults.
        operators: how torch's operators are served, by name; the project's own entry where a preset has one too.
        custom: the backend's own operators, by qualified name.
        tileops: tileops.yaml; None when there is none.
        sources: each file that was read, by its path in the folder (`ops/pointwise.yaml`); a preset is
            `presets/core.yaml`.
        includes: for each preset of operators, the place in the project's own manifests that asks for it.
    """

    folder: Path
    backend: BackendManifest
    driver: DriverBinding
    library: LibraryBinding | None
    allocator: AllocatorManifest
    operators: Mapping[str, PlacedOperator]
    custom: Mapping[str, PlacedCustom]
    tileops: TileOpsManifest | None
    sources: Mapping[str, Source] = field(repr=False)
    includes: Mapping[str, Span] = field(repr=False)

    @property
    def simulator(self) -> bool:
        """Whether the driver is the simulator that comes with acmegen."""
        return isinstance(self.backend.driver, str)

    @property
    def digests(self) -> dict[str, str]:
        """The sha256 of each file in `sources`."""
        return {file: source.digest for file, source in self.sources.items()}

    def span(self, file: str, *path: str | int, key: bool = False) -> Span | None:
        """The place of `path` in a manifest; of the nearest mapping around it, or None without one, if left out."""
        source = self.sources.get(file)
        if source is None:
            return None
        for length in range(len(path), 0, -1):
            try:
                return source.span(path[:length], key=key and length == len(path))
            except KeyError:
                continue
        return source.span()

    def explained(self, diagnostic: Diagnostic) -> Diagnostic:
        """The same diagnostic; one in a preset shows the place that includes it as well."""
        for file, place in self.includes.items():
            source = self.sources.get(file)
            if source is not None and diagnostic.span is not None and diagnostic.span.path == source.path:
                return replace(diagnostic, secondary=(*diagnostic.secondary, Note(place, "included here")))
        return diagnostic

    def renamed(self, file: str, path: NodePath, key: str) -> tuple[Edit, ...]:
        """The edit that keys by `key` what is at `path` in a manifest; none where that is not plain."""
        source = self.sources.get(file)
        return replaced(source, path, key, key=True) if source is not None else ()


# What stands in for what is wrong in a manifest, in the search for more mistakes: no mistake may follow from it.
STAND_INS: Mapping[type[BaseModel], StandIns] = {
    BackendManifest: StandIns(
        {
            "manifest": "backend/v1",
            "name": "acmegen_stand_in",
            "driver": "simulator",  # which has all that may be asked of a driver, and a library
            "library": {"headers": ("stand_in.h",), "dtype": "dtype", "dtypes": {}},
        }
    ),
    AllocatorManifest: StandIns({"manifest": "allocator/v1"}),
    OpsManifest: StandIns({"manifest": "ops/v1"}, {"ops": _WRONG_ENTRY.model_dump()}),
    TileOpsManifest: StandIns({"manifest": "tileops/v1"}, {"ops": {"kernel": {"reference": True}, "reference": "0"}}),
    DriverPreset: StandIns(),
}

Change = Callable[[str, dict[str, Any]], dict[str, Any]]
"""What changes the data of a manifest, given its path below the manifests' folder, before they are checked."""


def load_project(folder: Path) -> Project:
    """Load all manifests of `folder`.

    Raises:
        DiagnosticError: everything that is wrong in any of them, sorted by place.
    """
    project, diagnostics = load_what_is_right(folder)
    if diagnostics or project is None:
        raise DiagnosticError(diagnostics)
    return project


def load_what_is_right(folder: Path, change: Change | None = None) -> tuple[Project | None, tuple[Diagnostic, ...]]:
    """Load the manifests of `folder` without the files and entries that are wrong, and all that is wrong with those.

    There is no project when too little is left to check against what is installed. With `change`, the data of the
    manifests (not those of presets) go through it first.
    """
    loading = _Loading(folder, change)
    project = loading.project()
    if project is None:
        return None, tuple(loading.diagnostics)
    return project, tuple(map(project.explained, loading.diagnostics))


class _Loading:
    """One run of `load_project`: what was read so far, and what was wrong with it."""

    def __init__(self, folder: Path, change: Change | None) -> None:
        self._folder = folder
        self._change = change
        self._sources: dict[str, Source] = {}
        self._includes: dict[str, Span] = {}
        self.diagnostics: list[Diagnostic] = []

    def project(self) -> Project | None:
        found = contents(self._folder)
        self.diagnostics += found.diagnostics
        if not self._folder.is_dir():
            return None
        # Where there is none, reading it says so; where it must not be read, that has been said.
        forbidden = BACKEND not in found.files and (self._folder / BACKEND).is_symlink()
        backend = None if forbidden else self._read(BACKEND, BackendManifest)
        backend = backend or BackendManifest.model_validate(STAND_INS[BackendManifest].fields)
        allocator = self._read(ALLOCATOR, AllocatorManifest) if ALLOCATOR in found.files else None
        tileops = self._read(TILEOPS, TileOpsManifest) if TILEOPS in found.files else None
        own = {file: manifest for file in found.ops if (manifest := self._read(file, OpsManifest))}
        presets = self._presets(own)
        driver, library = self._driver(backend)
        namespace = backend.cpp_namespace or backend.name
        operators = self._merge(own, presets, self._operators)
        custom = self._merge(own, presets, lambda file, manifest: self._custom(file, manifest, namespace))
        if driver is None:
            return None
        return Project(
            folder=self._folder,
            backend=backend,
            driver=driver,
            library=library,
            allocator=allocator or AllocatorManifest(manifest="allocator/v1"),
            operators=operators,
            custom=custom,
            tileops=tileops,
            sources=dict(sorted(self._sources.items())),
            includes=self._includes,
        )

    def _read(self, file: str, model: type[M], path: Path | None = None) -> M | None:
        """Read one file; what is wrong with it is noted, and None when nothing else is left."""
        try:
            source = load_source(path or self._folder / file)
        except DiagnosticError as error:
            self.diagnostics += error.diagnostics
            return None
        if self._change is not None and path is None:
            source = replace(source, data=self._change(file, source.data))
        self._sources[file] = source
        self.diagnostics += source.diagnostics
        try:
            return validate(model, source)
        except DiagnosticError as error:
            self.diagnostics += [found for found in error.diagnostics if found.span not in source.doubtful]
            stand_ins = STAND_INS[model]
            other_kinds = [kind for kind in KINDS if kind != stand_ins.fields.get("manifest")]
            return None if source.data.get("manifest") in other_kinds else salvage(model, source.data, stand_ins)

    def _driver(self, backend: BackendManifest) -> tuple[DriverBinding | None, LibraryBinding | None]:
        """Resolve the driver's preset, and check what the manifest asks of the driver."""
        if isinstance(backend.driver, DriverBinding):
            driver, library = backend.driver, backend.library
        else:
            file = f"presets/{backend.driver}.yaml"
            preset = self._read(file, DriverPreset, preset_path(backend.driver))
            if preset is None:
                return None, None
            driver, library = preset.driver, backend.library or preset.library
        absent = sorted(HOST_ACCESS - driver.functions.bound().keys())
        if backend.fallback.policy == "reference" and absent:
            source = self._sources[BACKEND]
            roles = " and ".join(f"`{role}`" for role in absent)
            self.diagnostics.append(
                Diagnostic(
                    codes.HOST_ACCESS_MISSING,
                    f"the fallback policy `reference` needs a driver that binds {roles}",
                    source.span(("fallback", "policy")),
                    secondary=(Note(source.span(("driver", "functions"), key=True), "not bound here"),),
                    help="bind them, or use `policy: cpu`",
                )
            )
        return driver, library

    def _presets(self, own: Mapping[str, OpsManifest]) -> dict[str, OpsManifest]:
        """The presets that `own` includes, in that order, and those that they include themselves before them."""
        presets: dict[str, OpsManifest] = {}
        visited: set[str] = set()

        def add(manifest: OpsManifest, places: Mapping[str, Span]) -> None:
            for name in manifest.include:
                if name in visited:
                    continue
                visited.add(name)
                file = f"presets/{name}.yaml"
                self._includes[file] = places[name]
                preset = self._read(file, OpsManifest, preset_path(name))
                if preset is not None:
                    add(preset, dict.fromkeys(preset.include, places[name]))
                    presets[file] = preset

        for file, manifest in own.items():
            source = self._sources[file]
            written = source.data.get("include", ())
            add(manifest, {name: source.span(("include", written.index(name))) for name in manifest.include})
        return presets

    def _operators(self, file: str, manifest: OpsManifest) -> Iterator[tuple[str, PlacedOperator]]:
        for name, entry in manifest.ops.items():
            yield name, PlacedOperator(name, file, self._sources[file], ("ops", name), entry)

    def _custom(self, file: str, manifest: OpsManifest, default: str) -> Iterator[tuple[str, PlacedCustom]]:
        for schema, entry in manifest.custom.items():
            namespace = entry.namespace or default
            source = self._sources[file]
            placed = PlacedCustom(schema_name(schema), file, source, ("custom", schema), namespace, schema, entry)
            yield placed.qualified_name, placed

    def _merge(
        self,
        own: Mapping[str, OpsManifest],
        presets: Mapping[str, OpsManifest],
        entries: Callable[[str, OpsManifest], Iterator[tuple[str, P]]],
    ) -> dict[str, P]:
        """The entries of all files by name: a later preset's replace an earlier's, the project's own replace both."""
        claimed: dict[str, P] = {}
        for file, manifest in own.items():
            for name, placed in entries(file, manifest):
                if name in claimed:
                    first = Note(claimed[name].span(key=True), "first here")
                    span, message = placed.span(key=True), f"`{name}` has two entries"
                    self.diagnostics.append(
                        Diagnostic(codes.DUPLICATE_OPERATOR, message, span, secondary=(first,), help="keep one of them")
                    )
                else:
                    claimed[name] = placed
        merged = {name: placed for file, preset in presets.items() for name, placed in entries(file, preset)}
        return dict(sorted({**merged, **claimed}.items()))
