"""A folder of manifests -> a project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from acmegen.diagnostics import Diagnostic, DiagnosticError, Note, Span, codes, did_you_mean
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.driver import DriverBinding, DriverPreset, LibraryBinding
from acmegen.manifest.driver_roles import HOST_ACCESS
from acmegen.manifest.ops import CustomEntry, OperatorEntry, OpsManifest, schema_name
from acmegen.manifest.presets import preset_path
from acmegen.manifest.source import NodePath, Source, load_source
from acmegen.manifest.tileops import TileOpsManifest
from acmegen.manifest.validate import validate

M = TypeVar("M", bound=BaseModel)

BACKEND = "backend.yaml"
ALLOCATOR = "allocator.yaml"
TILEOPS = "tileops.yaml"
OPS_FOLDER = "ops"
_FILES = (BACKEND, ALLOCATOR, TILEOPS)


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
        """The place of a field of the entry, or the entry's own when the field has been left out."""
        try:
            return self.source.span((*self.path, *path), key=key)
        except KeyError:
            return self.source.span(self.path, key=True)

    @property
    def preset(self) -> bool:
        """Whether it comes from a preset and not from one of the project's own files."""
        return self.file.startswith("presets/")


@dataclass(frozen=True)
class PlacedOperator(_Placed):
    """How one of torch's operators is served."""

    entry: OperatorEntry


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


Edit = Callable[[str, dict[str, Any]], dict[str, Any]]
"""What changes the data of a manifest, given its path below the manifests' folder, before they are checked."""


def load_project(folder: Path, edit: Edit | None = None) -> Project:
    """Load all manifests of `folder`; with `edit`, their data (not those of presets) go through it first.

    Raises:
        DiagnosticError: everything that is wrong in any of them, sorted by place.
    """
    return _Loading(folder, edit).project()


class _Loading:
    """One run of `load_project`: what was read so far, and what was wrong with it."""

    def __init__(self, folder: Path, edit: Edit | None) -> None:
        self._folder = folder
        self._edit = edit
        self._sources: dict[str, Source] = {}
        self._diagnostics: list[Diagnostic] = []

    def project(self) -> Project:
        if not self._folder.is_dir():
            message = f"there is no folder {self._folder.as_posix()}"
            help_text = "`acmegen new-backend NAME` writes a project with manifests to start from"
            raise DiagnosticError([Diagnostic(codes.FILE_UNREADABLE, message, help=help_text)])
        self._check_files()
        backend = self._read(BACKEND, BackendManifest)
        allocator = self._read_optional(ALLOCATOR, AllocatorManifest)
        tileops = self._read_optional(TILEOPS, TileOpsManifest)
        own = {file: manifest for file in self._ops_files() if (manifest := self._read(file, OpsManifest))}
        presets = self._presets(own)
        driver, library = self._driver(backend) if backend else (None, None)
        namespace = (backend.cpp_namespace or backend.name) if backend else ""
        operators = self._merge(own, presets, self._operators)
        custom = self._merge(own, presets, lambda file, manifest: self._custom(file, manifest, namespace))
        if self._diagnostics or backend is None or driver is None:
            raise DiagnosticError(self._diagnostics)
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
        )

    def _check_files(self) -> None:
        """Report YAML files that would be ignored."""
        for path in sorted(self._folder.glob("*.y*ml")):
            if path.suffix in (".yaml", ".yml") and path.name not in _FILES:
                help_text = did_you_mean(path.name, _FILES) or "operators belong in ops/*.yaml"
                self._report(codes.UNKNOWN_FILE, f"{path.as_posix()} is not read", help_text)
        for path in sorted((self._folder / OPS_FOLDER).glob("*.yml")):
            self._report(codes.UNKNOWN_FILE, f"{path.as_posix()} is not read", "name it .yaml")

    def _report(self, code: str, message: str, help_text: str) -> None:
        self._diagnostics.append(Diagnostic(code, message, help=help_text))

    def _ops_files(self) -> list[str]:
        return [f"{OPS_FOLDER}/{path.name}" for path in sorted((self._folder / OPS_FOLDER).glob("*.yaml"))]

    def _read_optional(self, file: str, model: type[M]) -> M | None:
        return self._read(file, model) if (self._folder / file).exists() else None

    def _read(self, file: str, model: type[M], path: Path | None = None) -> M | None:
        """Read one file; None when it is wrong, which has then been noted."""
        try:
            source = load_source(path or self._folder / file)
            if self._edit is not None and path is None:
                source = replace(source, data=self._edit(file, source.data))
            self._sources[file] = source
            return validate(model, source)
        except DiagnosticError as error:
            self._diagnostics += error.diagnostics
            return None

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
            self._diagnostics.append(
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

        def add(manifest: OpsManifest) -> None:
            for name in manifest.include:
                if name in visited:
                    continue
                visited.add(name)
                file = f"presets/{name}.yaml"
                preset = self._read(file, OpsManifest, preset_path(name))
                if preset is not None:
                    add(preset)
                    presets[file] = preset

        for manifest in own.values():
            add(manifest)
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
                    self._diagnostics.append(
                        Diagnostic(codes.DUPLICATE_OPERATOR, message, span, secondary=(first,), help="keep one of them")
                    )
                else:
                    claimed[name] = placed
        merged = {name: placed for file, preset in presets.items() for name, placed in entries(file, preset)}
        return dict(sorted({**merged, **claimed}.items()))
