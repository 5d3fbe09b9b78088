"""Run the command line within the test's process, and read the document that it prints."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from click.testing import CliRunner, Result

from acmegen.cli.main import group
from acmegen.diagnostics.json_document import DIAGNOSTICS_SCHEMA


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, prog_name="acmegen")


def document(result: Result) -> Any:
    loaded = json.loads(result.stdout)
    jsonschema.Draft202012Validator(DIAGNOSTICS_SCHEMA).validate(loaded)
    return loaded
