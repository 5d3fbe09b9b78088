"""What an action changes, as a unified diff that `git apply` and `patch` take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import islice
from pathlib import Path

from acmegen.output.compare import Action, ActionKind
from acmegen.output.files import read_file

_NO_FILE = "/dev/null"

_CONTEXT = 3

# Finding the lines that two texts have in common takes time that grows with the square of their length. What is longer
# than this, from the first to the last difference, is given as one piece: a larger diff, and as exact.
_LONG = 4000


def diff_lines(project: Path, action: Action) -> Iterator[str]:
    """The lines of the unified diff between the file on disk and what `action` makes of it, without their ends.

    A byte of the file that is not UTF-8 is a surrogate, as in paths; lines end in a line feed only, so a carriage
    return is part of its line. There are none for a file that stays as it is.
    """
    if not action.changes or action.kind is ActionKind.REFUSE:
        return iter(())
    return text_diff(action.path, on_disk(project, action.path), None if action.text is None else action.text.encode())


def on_disk(project: Path, path: str) -> bytes | None:
    """The contents of a file of the project; None when it is not there."""
    place = project / path
    return read_file(place) if place.is_file() else None


def text_diff(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    """The lines of the unified diff between two contents of `path`; None stands for no file."""
    if old == new:
        return
    before, after = (_NO_FILE if old is None else f"a/{path}"), (_NO_FILE if new is None else f"b/{path}")
    if b"\0" in (old or b"") or b"\0" in (new or b""):
        yield f"Binary files {before} and {after} differ"
        return
    yield f"--- {before}"
    yield f"+++ {after}"
    for line in _hunks(_lines(old), _lines(new)):
        if line.endswith("\n"):
            yield line[:-1]
        else:
            yield line
            yield "\\ No newline at end of file"


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """What follows the names in a unified diff."""
    start = next((index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    start = min(len(old), len(new)) if start is None else start
    end = 0  # the number of lines that both have behind what differs
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if max(len(old), len(new)) - start - end <= _LONG:
        yield from islice(unified_diff(old, new), 2, None)
        return
    first, last = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    yield f"@@ -{first + 1},{len(old) - last - first} +{first + 1},{len(new) - last - first} @@\n"
    yield from (f" {line}" for line in old[first:start])
    yield from (f"-{line}" for line in removed)
    yield from (f"+{line}" for line in added)
    yield from (f" {line}" for line in old[len(old) - end : len(old) - last])


def _lines(data: bytes | None) -> Sequence[str]:
    lines = (data or b"").decode(errors="surrogateescape").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])
