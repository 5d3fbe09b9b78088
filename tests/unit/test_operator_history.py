"""What is known of the operators of other torch versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from acmegen.facts import operator_history
from acmegen.facts.operator_history import recorded_versions, versions_with, write_history
from acmegen.facts.operators import Operators, load_operators
from acmegen.facts.torch_install import find_torch


@pytest.fixture(scope="module")
def operators() -> Operators:
    return load_operators(find_torch())


def test_operators_that_are_gone_or_still_to_come() -> None:
    assert versions_with("zeros.names") == "2.6 to 2.12"
    assert versions_with("_cudnn_attention_forward") == f"2.7 to {recorded_versions()[-1]}"
    assert versions_with("add.Tensor") is None
    assert versions_with("no_such_operator") is None


def test_the_record_agrees_with_the_installed_torch(operators: Operators) -> None:
    minor = ".".join(find_torch().version.split(".")[:2])
    versions = recorded_versions()
    assert minor in versions, "write the file anew: `python -m acmegen.facts.operator_history`"
    now = versions.index(minor)
    for name, spans in operator_history._spans().items():
        recorded = any(versions.index(since) <= now <= versions.index(until) for since, until in spans)
        assert recorded == (name in operators), name


def test_the_file_is_written_from_torches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    had = {"2.9.1": {"a", "b"}, "2.10.0": {"b", "c"}, "2.11.0+cpu": {"a", "b", "c"}}

    class Install:
        def __init__(self, folder: Path) -> None:
            self.version = folder.name

    monkeypatch.setattr(operator_history, "find_torch", Install)
    monkeypatch.setattr(operator_history, "load_operators", lambda install: had[install.version])
    monkeypatch.setattr(operator_history, "HISTORY", tmp_path / "history.txt")
    write_history([Path(version) for version in reversed(had)])
    assert (tmp_path / "history.txt").read_text() == "2.9 2.10 2.11\na 2.9 2.9 2.11 2.11\nc 2.10 2.11\n"
