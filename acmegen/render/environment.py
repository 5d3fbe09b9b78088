"""The Jinja environment, and where the templates are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

PACKAGE = Path(__file__).resolve().parent.parent


def data_folder(name: str) -> Path:
    """The folder `templates` or `manifests`: inside the package when it was installed from a wheel, beside it in a checkout."""
    installed = PACKAGE / "_data" / name
    return installed if installed.is_dir() else PACKAGE.parent / name


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
