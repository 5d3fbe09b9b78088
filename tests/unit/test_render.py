"""Rendering: what is wrong with a template is said with the template and the line; nothing is rendered as empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from acmegen.render import environment as module
from acmegen.render import tree
from acmegen.render.environment import TemplateError, environment, render_template
from tests.sample_plan import sample_plan

Template = Callable[[str, str], None]


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Template]:
    """Writes templates into a folder of their own."""
    monkeypatch.setattr(module, "data_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(tree, "data_folder", lambda name: tmp_path / name)

    def write(path: str, text: str) -> None:
        file = tmp_path / "templates" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    environment.cache_clear()
    yield write
    environment.cache_clear()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("fine\n{{ nothing }}\n", 2, "'nothing' is undefined"),
        ("\n\n{% if names.nothing %}x{% endif %}\n", 3, "has no attribute 'nothing'"),
        ("{% for x in [1, 2] %}\n{{ x.nothing.more }}\n{% endfor %}\n", 2, "has no attribute 'nothing'"),
        ("{{ names.device }}\n{{ names.device | shout }}\n", 2, "No filter named 'shout'"),
        ("{% if names.device %}\n", 1, "'endif'"),
        ("\n{{ names.device + 1 }}\n", 2, "can only concatenate str"),
        ('{% from "macros/m.jinja" import twice %}\n\n{{ twice(names) }}\n', 2, "has no attribute 'devcie'"),
    ],
    ids=["name", "attribute", "in a loop", "filter", "syntax", "type", "macro"],
)
def test_h14_an_undefined_value_is_an_error_with_template_and_line(
    template: Template, text: str, line: int, words: str
) -> None:
    template("macros/m.jinja", "{% macro twice(names) %}\n{{ names.devcie }}\n{% endmacro %}\n")
    template("backend/x.jinja", text)
    with pytest.raises(TemplateError) as raised:
        render_template("backend/x.jinja", names=SimpleNamespace(device="acme"))
    file = "macros/m.jinja" if "macro" in text else "backend/x.jinja"
    assert str(raised.value).startswith(f"templates/{file}:{line}: ")
    assert words in str(raised.value)


@pytest.mark.parametrize("other", ["acme", "ACME"], ids=["the same", "the same where case does not count"])
def test_two_templates_cannot_give_one_path(template: Template, other: str) -> None:
    template("backend/a/{device}.txt.jinja", "x")
    template(f"backend/a/{other}.txt.jinja", "x")
    with pytest.raises(ValueError, match=f"both give a/{other}.txt|both give a/acme.txt"):
        tree.render(sample_plan())
