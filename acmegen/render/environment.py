"""The Jinja environment."""

from __future__ import annotations

import traceback
from functools import cache
from pathlib import Path

import jinja2

from acmegen.data import data_folder


class TemplateError(Exception):
    """A template cannot be rendered, which is a fault of the template: a name or a filter that it misspells, mostly."""


@cache
def environment() -> jinja2.Environment:
    """One environment for all templates. A name that a template misspells is an error, never an empty string."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_folder("templates"), encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


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
