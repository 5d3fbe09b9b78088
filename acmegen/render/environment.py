"""The Jinja environment."""

from __future__ import annotations

import json
from functools import cache

import jinja2

from acmegen.data import data_folder


@cache
def environment() -> jinja2.Environment:
    """One environment for all templates. A name that a template misspells is an error, never an empty string."""
    result = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_folder("templates"), encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    result.filters["python_text"] = _python_text
    return result


def _python_text(text: str) -> str:
    """`text` as a Python literal in double quotes, which black would turn single ones into."""
    return json.dumps(text, ensure_ascii=False)
