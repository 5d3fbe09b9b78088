"""Formatting: black for Python, clang-format for C++; one process for all C++ files, results cached by content."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from multiprocessing import get_all_start_methods, get_context, parent_process
from pathlib import Path, PurePosixPath
from threading import Thread

from acmegen import cache

PYTHON_LINE_LENGTH = 100
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


def format_files(texts: Mapping[str, str]) -> dict[str, str]:
    """Format each text by its path's extension; other kinds get one final newline and nothing else.

    Args:
        texts: path -> text. The path's extension alone matters.

    Raises:
        ValueError: a text is not Python that black can parse, or clang-format failed: a fault of a template.
    """
    versions = formatter_versions()
    salts = {
        "py": f"black {versions['black']} {PYTHON_LINE_LENGTH}",
        "cpp": f"clang-format {versions['clang-format']} {json.dumps(CPP_STYLE)}",
    }
    formatted: dict[str, str] = {}
    missing: dict[str, dict[str, str]] = {"py": {}, "cpp": {}}
    keys: dict[str, str] = {}
    for path, text in texts.items():
        language = _language(path)
        if language is None:
            formatted[path] = text.rstrip("\n") + "\n"
            continue
        keys[path] = hashlib.sha256(f"{salts[language]}\0{text}".encode()).hexdigest()
        cached = cache.read("format", keys[path])
        if cached is None:
            missing[language][path] = text
        else:
            formatted[path] = cached
    with _cpp_formatter(missing["cpp"]) as cpp:
        fresh = _format_python(missing["py"]) | cpp()
    for path, text in fresh.items():
        formatted[path] = text
        cache.write("format", keys[path], text)
    return {path: formatted[path] for path in texts}


def _language(path: str) -> str | None:
    suffix = PurePosixPath(path).suffix
    return "py" if suffix == ".py" else "cpp" if suffix in _CPP else None


def _format_python(texts: Mapping[str, str]) -> dict[str, str]:
    if not texts:
        return {}
    import black  # half a second that a warm run does not need

    format_text = partial(black.format_str, mode=black.Mode(line_length=PYTHON_LINE_LENGTH))
    if len(texts) < 8 or "fork" not in get_all_start_methods():
        return {path: _named(path, format_text, text) for path, text in texts.items()}
    # Longest first, so that no process is left with a long one at the end.
    paths = sorted(texts, key=lambda path: -len(texts[path]))
    with ProcessPoolExecutor(mp_context=get_context("fork"), initializer=_end_with_parent) as pool:
        results = {path: pool.submit(format_text, texts[path]) for path in paths}
        return {path: _named(path, result.result) for path, result in results.items()}


def _end_with_parent() -> None:
    """Let this process of a pool end with the one that started it, even if that is killed: it would wait for ever."""
    Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _named(path: str, format_text: Callable[..., str], *arguments: str) -> str:
    """The formatted text; black's complaint gets the path."""
    try:
        return format_text(*arguments)
    except ValueError as error:
        raise ValueError(f"{path}: the template does not give Python: {error}") from None


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
