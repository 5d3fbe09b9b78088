"""The Jinja environment."""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from acmegen.cache import cache_folder
from acmegen.data import data_folder

OPTIONS = {
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
    "autoescape": False,
}


class _CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Templates compiled by earlier runs. Whatever goes wrong with the cache only costs time."""

    def __init__(self) -> None:
        # Jinja tells apart texts and its own versions, but not the options.
        options = hashlib.sha256(json.dumps(OPTIONS, sort_keys=True).encode()).hexdigest()[:16]
        folder = cache_folder() / f"templates-{options}"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        super().__init__(str(folder))

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what is there; Jinja itself refuses what another Jinja or Python wrote, or another text."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store it atomically."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


class TemplateError(Exception):
    """A template cannot be rendered, which is a fault of the template: a name or a filter that it misspells, mostly."""


@cache
def environment() -> jinja2.Environment:
    """One environment for all templates. A name that a template misspells is an error, never an empty string."""
    result = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_folder("templates"), encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        **OPTIONS,  # type: ignore[arg-type]
        bytecode_cache=_CompiledTemplates(),
    )
    result.filters["quoted"] = quoted
    return result


def quoted(text: str) -> str:
    """A string in double quotes with the value `text`, whatever it holds, in Python and in TOML.

    What cannot be seen is escaped.
    """
    escaped = (
        f"\\{character}" if character in '"\\' else character if character.isprintable() else f"\\U{ord(character):08X}"
        for character in text
    )
    return f'"{"".join(escaped)}"'


def load_templates(templates: Iterable[str]) -> None:
    """Load `templates`, which has them compiled into the cache. What is wrong with one shows when it is rendered."""
    for template in templates:
        with suppress(jinja2.TemplateError):
            environment().get_template(template)


def render_template(template: str, **context: object) -> str:
    """The text that `template`, a path below `templates/`, gives.

    Raises:
        TemplateError: it cannot be rendered; names the template, or the one that it imports, and the line.
    """
    try:
        return environment().get_template(template).render(**context)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"templates/{error.name or template}:{error.lineno}: {error.message}") from error
    except Exception as error:
        folder = data_folder("templates")
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if folder in Path(frame.filename).parents
        ]
        place = f"{Path(frames[-1].filename).relative_to(folder)}:{frames[-1].lineno}" if frames else template
        raise TemplateError(f"templates/{place}: {error}") from error
