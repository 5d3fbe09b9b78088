"""The command line: one short file a command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from acmegen.read_ahead import read_operators_ahead


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, as `acmegen.cli.main.main` says."""
    read_operators_ahead(sys.argv[1:] if arguments is None else arguments)
    # Imported only now, while the operators are read.
    from acmegen.cli.main import main as run

    run(arguments)


__all__ = ["main"]
