"""The command line: one short file a command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from acmegen.read_ahead import read_operators_ahead

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, as `acmegen.cli.main.main` says. Exit code 130: it was interrupted from the keyboard."""
    try:
        read_operators_ahead(sys.argv[1:] if arguments is None else arguments)
        # Imported only now, while the operators are read.
        from acmegen.cli.main import main as run

        run(arguments)
    except KeyboardInterrupt:
        print("Aborted!", file=sys.stderr)
        sys.exit(_INTERRUPTED)


__all__ = ["main"]
