"""Shipped manifests with random damage: each loads, or gives diagnostics whose places are in the file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pydantic import BaseModel

from acmegen.data import data_folder
from acmegen.diagnostics import DiagnosticError, format_text
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.ops import OpsManifest
from acmegen.manifest.source import parse_source
from acmegen.manifest.tileops import TileOpsManifest
from acmegen.manifest.validate import validate

PATH = Path("mutant.yaml")
ROUNDS = 100
SCRAPS = (
    *(
        "\t",
        "\n",
        "\r",
        "\x00",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        "- ",
        "#",
        "&a ",
        "*a",
        "!!str ",
        "!x ",
        "<<: ",
    ),
    *(
        "~",
        "true",
        "1e999",
        "0x",
        "9" * 30,
        "---\n",
        "%",
        "|\n",
        "?",
        "é",
        "日",
        "\ufeff",
        "\u2028",
        "\\",
        "user",
        "2MiB",
    ),
)


def originals() -> list[tuple[str, type[BaseModel], str]]:
    manifests = data_folder("manifests")
    flagship: dict[str, type[BaseModel]] = {
        "backend": BackendManifest,
        "allocator": AllocatorManifest,
        "tileops": TileOpsManifest,
    }
    result: list[tuple[str, type[BaseModel], str]] = [
        (name, model, (manifests / "acme" / f"{name}.yaml").read_text(encoding="utf-8"))
        for name, model in flagship.items()
    ]
    binding = (manifests / "presets" / "simulator.yaml").read_text(encoding="utf-8")
    entries = (manifests / "presets" / "training.yaml").read_text(encoding="utf-8").splitlines(keepends=True)[:60]
    result.append(("driver", BackendManifest, "manifest: backend/v1\nname: nova\n" + binding))
    custom = 'custom:\n  "f(Tensor x) -> Tensor": {user: {}, like: x}\n'
    result.append(("ops", OpsManifest, "".join(entries) + custom))
    return result


def damage(chance: random.Random, text: str) -> bytes:
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.randint(0, 12))
        text = text[:start] + chance.choice(("", chance.choice(SCRAPS))) + text[end:]
    data = text.encode()
    if chance.random() < 0.05:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data


@pytest.mark.parametrize(
    ("name", "model", "text"), [pytest.param(*original, id=original[0]) for original in originals()]
)
def test_damaged_manifests_give_diagnostics_with_places(name: str, model: type[BaseModel], text: str) -> None:
    chance = random.Random(name)
    refused = 0
    for _ in range(ROUNDS):
        data = damage(chance, text)
        try:
            validate(model, parse_source(PATH, data))
        except DiagnosticError as error:
            refused += 1
            shown = data.decode("utf-8", errors="replace")
            lines = shown.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
            for diagnostic in error.diagnostics:
                span = diagnostic.span
                assert span is not None, diagnostic
                assert 1 <= span.line <= len(lines) + 1, diagnostic
                assert (span.line, span.column) < (span.end_line, span.end_column), diagnostic
                assert span.line > len(lines) or span.column <= len(lines[span.line - 1]) + 1, diagnostic
                assert diagnostic.code in format_text(diagnostic, texts={PATH: shown})
    assert refused > ROUNDS // 4
