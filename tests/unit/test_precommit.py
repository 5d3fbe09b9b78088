"""The hook for pre-commit that this repository offers."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml
from click.testing import CliRunner

from acmegen.cli.main import group


def test_the_hook_runs_a_command_of_ours(repository: Path, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((repository / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == "acmegen-check"
    assert {"name", "description", "entry", "language"} <= hook.keys()
    program, *arguments = shlex.split(hook["entry"])
    assert program == "acmegen"
    # A folder that is no project: the command is there, and says so.
    result = CliRunner().invoke(group, [*arguments, str(tmp_path)])
    assert result.exit_code == 2
    assert "new-backend" in result.output


def test_the_documentation_names_the_hook(repository: Path) -> None:
    text = (repository / "docs" / "vendoring.md").read_text()
    (example,) = [block for block in text.split("```yaml\n")[1:] if block.startswith("repos:")]
    (source,) = yaml.safe_load(example.split("```")[0])["repos"]
    assert [hook["id"] for hook in source["hooks"]] == ["acmegen-check"]
