"""Three-way merges of texts, with the results and the conflict markers of `git merge-file`.

Both sides are compared with their base line by line. Where only one of them changed something, its lines count; equal
changes count once; others that overlap or touch are a conflict. As in git, lines that the two sides of a conflict agree
on are taken out of it, and conflicts that hardly anything keeps apart are made one. What changed is what a diff says:
where lines repeat or moved, git's may say it otherwise, and the places of conflicts may differ from git's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# The lines that mark a conflict: yours, then the new ones.
MINE = "<<<<<<< yours\n"
_MIDDLE = "=======\n"
_THEIRS = ">>>>>>> acmegen\n"
_MARKED = re.compile(f"^{MINE}.*?^{_MIDDLE}.*?^{_THEIRS}", re.MULTILINE | re.DOTALL)

# Conflicts are joined across so many common lines, and across any number of lines without a letter or digit.
_SHORT_GAP = 3


@dataclass(frozen=True)
class Merged:
    """The result of a merge; `conflicts` counts the places in it that are marked for somebody to decide."""

    text: str
    conflicts: int


@dataclass(frozen=True)
class _Hunk:
    """What one side made of the lines `start` to `end` of the base."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Agreed:
    """Lines of the result; `common` when nobody changed anything here, or both the same base lines in the same way."""

    lines: tuple[str, ...]
    common: bool


@dataclass(frozen=True)
class _Conflict:
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


def merge_texts(base: str, ours: str, theirs: str) -> Merged:
    """Merge what changed from `base` to `ours` with what changed from `base` to `theirs`.

    Where all lines of `ours` end in CRLF, which git or an editor may have done to it, those of the result do too.
    """
    plain = ours.replace("\r\n", "\n")
    if plain.count("\n") == ours.count("\r\n") > 0 and "\r\n" not in base and "\r\n" not in theirs:
        merged = merge_texts(base, plain, theirs)
        return Merged(merged.text.replace("\n", "\r\n"), merged.conflicts)
    parts = _joined(_parts(_lines(base), _lines(ours), _lines(theirs)))
    conflicts = sum(isinstance(part, _Conflict) for part in parts)
    return Merged("".join(map(_text, parts)), conflicts)


def marked_lines(text: str) -> tuple[int, ...]:
    """The lines, counted from 1, where the conflicts of an earlier merge begin in `text`."""
    plain = text.replace("\r\n", "\n") + "\n"
    return tuple(plain.count("\n", 0, match.start()) + 1 for match in _MARKED.finditer(plain))


def _lines(text: str) -> list[str]:
    """The lines of `text` with their ends. Only a line feed ends one, unlike in `str.splitlines`."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _hunks(base: Sequence[str], side: Sequence[str]) -> list[_Hunk]:
    changes = SequenceMatcher(None, base, side, autojunk=False).get_opcodes()
    return [_Hunk(start, end, tuple(side[i:j])) for tag, start, end, i, j in changes if tag != "equal"]


def _regions(ours: Iterable[_Hunk], theirs: Iterable[_Hunk]) -> Iterator[tuple[list[_Hunk], list[_Hunk]]]:
    """The hunks of both sides in order, those in one region that overlap or touch."""
    hunks = [(hunk, 0) for hunk in ours] + [(hunk, 1) for hunk in theirs]
    region: tuple[list[_Hunk], list[_Hunk]] = ([], [])
    reach = 0
    for hunk, side in sorted(hunks, key=lambda entry: (entry[0].start, entry[0].end)):
        if any(region) and hunk.start > reach:
            yield region
            region = ([], [])
        region[side].append(hunk)
        reach = max(reach, hunk.end)
    if any(region):
        yield region


def _applied(hunks: Iterable[_Hunk], base: Sequence[str], start: int, end: int) -> tuple[str, ...]:
    """The lines `start` to `end` of the base as one side has them."""
    lines: list[str] = []
    for hunk in hunks:
        lines += [*base[start : hunk.start], *hunk.lines]
        start = hunk.end
    return (*lines, *base[start:end])


def _parts(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[_Agreed | _Conflict]:
    done = 0
    for mine, other in _regions(_hunks(base, ours), _hunks(base, theirs)):
        start = min(hunk.start for hunk in (*mine, *other))
        end = max(hunk.end for hunk in (*mine, *other))
        yield _Agreed(tuple(base[done:start]), common=True)
        done = end
        my_lines, other_lines = _applied(mine, base, start, end), _applied(other, base, start, end)
        if not other or my_lines == other_lines:
            yield _Agreed(my_lines, common=mine == other)
        elif not mine:
            yield _Agreed(other_lines, common=False)
        else:
            yield from _refined(my_lines, other_lines)
    yield _Agreed(tuple(base[done:]), common=True)


def _refined(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Iterator[_Agreed | _Conflict]:
    """The conflict between `ours` and `theirs` without the lines that both have."""
    for tag, i, j, k, m in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        yield _Agreed(ours[i:j], common=True) if tag == "equal" else _Conflict(ours[i:j], theirs[k:m])


def _joined(parts: Iterable[_Agreed | _Conflict]) -> list[_Agreed | _Conflict]:
    """`parts`, with conflicts joined that are not worth keeping apart."""
    result: list[_Agreed | _Conflict] = []
    for part in parts:
        previous = result[-1] if result else None
        if isinstance(part, _Agreed) and isinstance(previous, _Agreed) and part.common and previous.common:
            result[-1] = _Agreed(previous.lines + part.lines, common=True)
        elif isinstance(part, _Conflict) and len(result) > 1 and _is_short(result[-1]):
            gap, before = result[-1], result[-2]
            if isinstance(gap, _Agreed) and isinstance(before, _Conflict):
                result[-2:] = [_Conflict(before.ours + gap.lines + part.ours, before.theirs + gap.lines + part.theirs)]
            else:
                result.append(part)
        elif part != _Agreed((), common=True):
            result.append(part)
    return result


def _is_short(gap: _Agreed | _Conflict) -> bool:
    if isinstance(gap, _Conflict) or not gap.common:
        return False
    return len(gap.lines) <= _SHORT_GAP or not re.search("[A-Za-z0-9]", "".join(gap.lines))


def _text(part: _Agreed | _Conflict) -> str:
    if isinstance(part, _Agreed):
        return "".join(part.lines)
    return "".join((MINE, *_ended(part.ours), _MIDDLE, *_ended(part.theirs), _THEIRS))


def _ended(lines: Sequence[str]) -> Iterator[str]:
    """The lines, the last one with an end: a marker must stand on a line of its own."""
    for line in lines:
        yield line if line.endswith("\n") else line + "\n"
