"""Formatting: black for Python, clang-format for C++; one process for all C++ files, results cached by content."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from acmegen import cache
from acmegen.workers import InThisProcess

PYTHON_LINE_LENGTH = 100
PYTHON_VERSIONS = ("PY310", "PY311", "PY312", "PY313")
CPP_STYLE = {
    "BasedOnStyle": "Google",
    "ColumnLimit": 100,
    "DerivePointerAlignment": False,
    "SortIncludes": "Never",
    "IncludeBlocks": "Preserve",
    "InsertNewlineAtEOF": True,
}
_CPP = {".h", ".hpp", ".c", ".cpp", ".cc"}


def formatter_versions() -> dict[str, str]:
    """The versions of both formatters, which the lock records: another version may break lines elsewhere."""
    return {name: metadata.version(name) for name in ("black", "clang-format")}


class Formatter:
    """Formats the files of one tree, each by its path's extension; other kinds get one final newline and nothing else.

    Python is formatted as soon as it is there, C++ when all is there, since clang-format is one process for all.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        """Without an `executor`, black runs in this process."""
        self._executor = executor or InThisProcess()
        self._kind = _cache_kind()
        self._texts: dict[str, str | Future[str]] = {}
        self._cpp: dict[str, str] = {}
        self._keys: dict[str, str] = {}

    def add(self, path: str, text: str) -> None:
        """Add a file; of its path the extension alone matters."""
        language = _language(path)
        if language is None:
            self._texts[path] = text.rstrip("\n") + "\n"
            return
        key = _digest(f"{language}\0{text}")
        cached = cache.read(self._kind, key)
        if cached is not None:
            self._texts[path] = cached
            return
        self._keys[path] = key
        if language == "py":
            self._texts[path] = self._executor.submit(_format_python, text)
        else:
            self._texts[path] = text
            self._cpp[path] = text

    def finish(self) -> dict[str, str]:
        """All files, formatted.

        Raises:
            ValueError: a text is not Python that black can parse, or clang-format failed: a fault of a template.
        """
        with _cpp_formatter(self._cpp) as cpp:
            formatted = {path: _text(path, text) for path, text in self._texts.items()} | cpp()
        for path, key in self._keys.items():
            cache.write(self._kind, key, formatted[path])
        return formatted


def _text(path: str, text: str | Future[str]) -> str:
    """The text when it is there; black's complaint gets the path."""
    if isinstance(text, str):
        return text
    try:
        return text.result()
    except ValueError as error:
        raise ValueError(f"{path}: the template does not give Python: {error}") from None


def nothing_formatted_yet() -> bool:
    """Whether these versions have formatted nothing in this style so far, so that there will be much to do."""
    return not cache.holds(_cache_kind())


def load_black() -> None:
    """Import black: half a second that a warm run does not need."""
    import black  # noqa: F401


def _format_python(text: str) -> str:
    import black
    from black.mode import TargetVersion

    versions = {TargetVersion[version] for version in PYTHON_VERSIONS}
    return black.format_str(text, mode=black.Mode(target_versions=versions, line_length=PYTHON_LINE_LENGTH))


def _cache_kind() -> str:
    """The cache's name for texts that these versions have formatted in this style."""
    style = {**formatter_versions(), **CPP_STYLE, "line_length": PYTHON_LINE_LENGTH, "python": PYTHON_VERSIONS}
    return f"format-{_digest(json.dumps(style))[:16]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _language(path: str) -> str | None:
    suffix = PurePosixPath(path).suffix
    return "py" if suffix == ".py" else "cpp" if suffix in _CPP else None


def _clang_format() -> str:
    spec = find_spec("clang_format")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("clang-format is not installed: pip install clang-format")
    return str(Path(spec.origin).parent / "data" / "bin" / "clang-format")


@contextmanager
def _cpp_formatter(texts: Mapping[str, str]) -> Iterator[Callable[[], dict[str, str]]]:
    """Start clang-format on all `texts`; the function waits for it. Meanwhile black can do its work."""
    if not texts:
        yield dict
        return
    with tempfile.TemporaryDirectory() as folder:
        files = {path: Path(folder) / f"{index}{PurePosixPath(path).suffix}" for index, path in enumerate(texts)}
        for path, file in files.items():
            file.write_text(texts[path], encoding="utf-8", newline="\n")
        command = [_clang_format(), "-i", f"--style={json.dumps(CPP_STYLE)}", *map(str, files.values())]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:

            def finish() -> dict[str, str]:
                _, errors = process.communicate()
                if process.returncode != 0:
                    raise ValueError(f"clang-format failed: {errors}")
                return {path: file.read_text(encoding="utf-8") for path, file in files.items()}

            yield finish
