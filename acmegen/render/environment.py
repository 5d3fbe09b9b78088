"""The Jinja environment."""

from __future__ import annotations

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
    result.filters["toml"] = toml_string
    return result


def toml_string(text: str) -> str:
    """A TOML string with the value `text`, whatever it holds; what cannot be seen is escaped."""
    escaped = (
        f"\\{character}" if character in '"\\' else character if character.isprintable() else f"\\U{ord(character):08X}"
        for character in text
    )
    return f'"{"".join(escaped)}"'
