"""The command line: one short file a command."""

from acmegen.cli.main import main

__all__ = ["main"]
