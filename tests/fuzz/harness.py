"""Run one case, and judge how it ended."""

from __future__ import annotations

import ast
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from random import Random
from types import FrameType
from unittest.mock import patch

from acmegen import facts as facts_package
from acmegen import pipeline
from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes
from acmegen.diagnostics.printers import DOCUMENTS, format_document
from acmegen.diagnostics.text import format_texts
from acmegen.facts import Facts
from acmegen.manifest.presets import preset_path
from acmegen.render.tree import render
from tests.fuzz.mutations import mutated
from tests.fuzz.projects import projects
from tests.unit.rendering import Unformatted, formatted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIMIT = 1.0
"""Seconds of CPU time that a case may take."""

_FORMATTED = 40  # of the cases that succeed, one in so many goes through the formatters


class Failure(Exception):
    """A case that ended as none may; the message says how."""


class _TooSlow(BaseException):
    """No handler of `Exception` swallows it."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow("".join(traceback.format_stack(frame, limit=6)))

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@cache
def _facts(tileops: bool) -> Facts:
    return facts_package.load_facts(tileops=tileops)


class Harness:
    """Runs cases one after another, in a folder of its own. Facts are read once."""

    def __init__(self, seed: str) -> None:
        self.outcomes: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.slowest = (0.0, -1)
        self._seed = seed
        _warm_up()

    def files(self, index: int) -> dict[str, bytes]:
        """The manifests of case `index`."""
        chance = Random(f"{self._seed}:{index}")
        # The flagship takes four times as long as any other.
        names = [name for name in sorted(projects()) for _ in range(1 if name == "flagship" else 3)]
        return mutated(chance, dict(projects()[chance.choice(names)]))

    def run(self, index: int) -> None:
        """Run case `index`.

        Raises:
            Failure: it did not end in success or in good diagnostics, in time, and with nothing written.
        """
        files = self.files(index)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "manifests"
            for path, data in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
            start = time.process_time()
            try:
                with _time_limit(LIMIT):
                    texts = self._rendered(folder)
                self.slowest = max(self.slowest, (time.process_time() - start, index))
                _check_texts(texts)
                if texts and index % _FORMATTED == 0:
                    formatted(texts)
            except _TooSlow as error:
                raise Failure(f"more than {LIMIT} s:\n{error}") from None
            except Failure:
                raise
            except Exception as error:
                raise Failure(traceback.format_exc()) from error
            left = {path.relative_to(folder).as_posix(): path for path in Path(name).rglob("*") if path.is_file()}
            if {path: file.read_bytes() for path, file in left.items()} != files:
                raise Failure("a file was written")

    def _rendered(self, folder: Path) -> dict[str, str]:
        """The texts of the tree before they are formatted; none where the manifests are refused."""
        try:
            with patch.object(pipeline, "load_facts", _load_facts):
                plan = pipeline.resolve(folder).plan
        except DiagnosticError as error:
            self.outcomes["refused"] += 1
            self.codes.update(diagnostic.code for diagnostic in error.diagnostics)
            check_diagnostics(error.diagnostics, folder)
            return {}
        self.outcomes["accepted"] += 1
        return {path: file.text for path, file in render(plan, Unformatted()).items()}


@cache
def _warm_up() -> None:
    """Read the facts, compile the templates and import what a first case would."""
    for tileops in (False, True):
        _facts(tileops)
    with tempfile.TemporaryDirectory() as name:
        for path, text in projects()["kinds"].items():
            (Path(name) / path).parent.mkdir(exist_ok=True)
            (Path(name) / path).write_text(text, encoding="utf-8")
        plan = pipeline.resolve(Path(name)).plan
    render(plan)
    check_diagnostics((Diagnostic(codes.WRONG_VALUE, "m"),), Path())


def _load_facts(*, tileops: bool, executor: object, requirement: str) -> Facts:
    return _facts(tileops)


@cache
def _is_python(text: str) -> None:
    ast.parse(text)


def _check_texts(texts: Mapping[str, str]) -> None:
    """Is what is Python or TOML that? The formatters, which take seconds, see a part of the cases."""
    for path, text in texts.items():
        suffix = PurePosixPath(path).suffix
        if suffix == ".py":
            _is_python(text)
        elif suffix == ".toml":
            tomllib.loads(text)


def check_diagnostics(diagnostics: tuple[Diagnostic, ...], folder: Path) -> None:
    """Raise a `Failure` unless each place is one in a manifest or a preset, and each printer takes them."""
    if not diagnostics:
        raise Failure("refused, and no word why")
    texts: dict[Path, str] = {}
    for diagnostic in diagnostics:
        spans = [diagnostic.span, *(note.span for note in diagnostic.secondary), *(e.span for e in diagnostic.edits)]
        for span in spans:
            if span is not None:
                _check_span(diagnostic, span, folder, texts)
        if not diagnostic.message or "\n" in diagnostic.message or len(diagnostic.message) > 1000:
            raise Failure(f"not a message: {diagnostic.message!r}")
    if re.findall(r"^(?:error|warning)\[(ACME\d{3})\]", format_texts(diagnostics), re.MULTILINE) != [
        diagnostic.code for diagnostic in diagnostics
    ]:
        raise Failure(f"printed without a code: {diagnostics}")
    for form in DOCUMENTS:
        format_document(form, diagnostics, folder, "0")


def _check_span(diagnostic: Diagnostic, span: Span, folder: Path, texts: dict[Path, str]) -> None:
    if not span.path.is_relative_to(folder) and not span.path.is_relative_to(preset_path("core").parent):
        raise Failure(f"a place in another file: {diagnostic}")
    if span.path not in texts:
        texts[span.path] = span.path.read_bytes().decode(errors="replace") if span.path.is_file() else ""
    lines = re.split(r"\r\n|\r|\n", texts[span.path].removeprefix("\ufeff"))
    good = span.is_file or (
        1 <= span.line <= span.end_line <= len(lines)
        and (span.line, span.column) < (span.end_line, span.end_column)
        and 1 <= span.column <= len(lines[span.line - 1]) + 1
        and 1 <= span.end_column <= len(lines[span.end_line - 1]) + 2
    )
    if not good:
        raise Failure(f"no such place: {span} in {diagnostic}")
