"""Formatting: what templates give, what the cache spares, and what is said of a template that gives no Python."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from acmegen.facts import load_facts
from acmegen.manifest.load import load_project
from acmegen.plan.lower import lower
from acmegen.render import tree
from acmegen.render.environment import environment
from acmegen.render.format import Formatter, load_black, nothing_formatted_yet
from acmegen.workers import InThisProcess, workers
from tests.unit.rendering import Unformatted, formatted

MANIFESTS = Path(__file__).resolve().parents[2] / "manifests" / "acme"
# Their lines come from manifests: expressions of TileOPs kernels, names of libraries.
BROKEN_BY_MANIFESTS = {
    "torch_acme/_generated/preflight.py",
    "tests/generated/test_tileops.py",
    "tileops_acme/tileops_acme/_builders.py",
}


def test_python_templates_are_written_as_black_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Black makes a second pass over all that it changes, which a cold run would have to wait for."""
    monkeypatch.setattr(tree, "_headed", lambda path, file, text, license: text)
    plan = lower(load_project(MANIFESTS), load_facts(tileops=True))
    texts = {path: file.text for path, file in tree.render(plan, Unformatted()).items() if path.endswith(".py")}
    assert len(texts) > 40
    written = formatted(texts)
    assert {path for path in texts if texts[path] != written[path]} <= BROKEN_BY_MANIFESTS


class Counting(InThisProcess):
    calls = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        self.calls += 1
        return super().submit(function, *arguments, **keywords)


def test_what_was_formatted_once_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ACMEGEN_CACHE_DIR", str(tmp_path))
    assert nothing_formatted_yet()
    results = []
    for calls in (1, 0):
        counting = Counting()
        formatter = Formatter(counting)
        formatter.add("x.py", "x = 'a'\n")
        formatter.add("x.h", "int  x ;\n")
        formatter.add("x.txt", "x\n\n")
        results.append(formatter.finish())
        assert counting.calls == calls
        assert not nothing_formatted_yet()
    assert results == [{"x.py": 'x = "a"\n', "x.h": "int x;\n", "x.txt": "x\n"}] * 2


@pytest.mark.parametrize("much_to_do", [True, False])
def test_a_template_that_gives_no_python_is_named(much_to_do: bool) -> None:
    with workers(much_to_do, load_black) as executor:
        formatter = Formatter(executor)
        formatter.add("good.py", "x = 1\n")
        formatter.add("bad.py", "x = (\n")
        with pytest.raises(ValueError, match=r"bad\.py: the template does not give Python"):
            formatter.finish()


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ACMEGEN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    templates = environment.__wrapped__()
    assert templates.get_template("macros/python.jinja").module.tuple(["a"]) == '("a",)'
    assert nothing_formatted_yet()


def test_a_damaged_compiled_template_is_compiled_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ACMEGEN_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        assert environment.__wrapped__().get_template("macros/python.jinja").module.tuple(["a", "b"]) == '("a", "b")'
        (compiled,) = (path for path in tmp_path.rglob("*") if path.is_file())
        compiled.write_bytes(compiled.read_bytes()[:-20])
