"""Which torch versions had an operator that the installed one lacks, from `operator_history.txt`.

That file lists the operators that are not in all of the versions in its first line, each with the first and the last
version that has it, a pair for each time that it came. `python -m acmegen.facts.operator_history TORCH...` writes it
from the package folders of torches, one for each minor version; their headers and torchgen are enough.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from acmegen.facts.operators import load_operators
from acmegen.facts.torch_install import find_torch

HISTORY = Path(__file__).with_name("operator_history.txt")


def versions_with(name: str) -> str | None:
    """The versions that had the operator `name`, in words (`2.8 to 2.10`).

    None where that is not known: of an operator that all recorded versions have, or none.
    """
    spans = _spans().get(name, ())
    return " and ".join(since if since == until else f"{since} to {until}" for since, until in spans) or None


def recorded_versions() -> tuple[str, ...]:
    """The minor versions of torch that are recorded, oldest first."""
    return tuple(_lines()[0].split())


@cache
def _lines() -> Sequence[str]:
    return HISTORY.read_text(encoding="utf-8").splitlines()


@cache
def _spans() -> Mapping[str, tuple[tuple[str, str], ...]]:
    spans = {}
    for line in _lines()[1:]:
        name, *versions = line.split()
        spans[name] = tuple(zip(versions[::2], versions[1::2], strict=True))
    return spans


def write_history(torches: Sequence[Path]) -> None:
    """Write the file anew from the package folders of `torches`."""
    installs = [find_torch(torch) for torch in torches]
    names = {_minor(install.version): frozenset(load_operators(install)) for install in installs}
    versions = sorted(names, key=lambda version: tuple(map(int, version.split("."))))
    changing = sorted(frozenset.union(*names.values()) - frozenset.intersection(*names.values()))
    lines = [" ".join(versions)]
    for name in changing:
        lines.append(" ".join((name, *_bounds(versions, [name in names[version] for version in versions]))))
    HISTORY.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _bounds(versions: Sequence[str], had: Sequence[bool]) -> Iterator[str]:
    """The first and the last version of each run of versions that had it."""
    for has, run in groupby(zip(had, versions, strict=True), key=lambda pair: pair[0]):
        if has:
            _, members = zip(*run, strict=True)
            yield from (members[0], members[-1])


if __name__ == "__main__":
    write_history([Path(folder) for folder in sys.argv[1:]])
