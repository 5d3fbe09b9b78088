"""Rules that say which files a build leaves behind: those of a `.gitignore`, as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What no project or export counts as its own, whatever its `.gitignore` says.
ALWAYS = (
    ".git/",
    "/.acmegen/run/",
    "/build/",
    "/dist/",
    "/*/build/",
    "__pycache__/",
    "*.egg-info/",
    "*.so",
    ".pytest_cache/",
)
_PARTS = re.compile(r"/\*\*/|\*\*/|/\*\*|\*|\?|\[!?\]?[^\]]*\]|\\.|[^\\]")


def ignore_rules(lines: Iterable[str]) -> tuple[str, ...]:
    """Each line as a regular expression of the paths that it is about; `!` comes before it if it brings them back.

    As git has it: a pattern with a slash in it, other than at the end, starts at the top; one with a slash at the end
    is about a folder; and what is in an ignored folder is ignored. Other than in git, `!` can bring back a file in one.
    """
    rules = []
    for line in lines:
        pattern = re.sub(r"(?<!\\)\s+$", "", line)
        if not pattern or pattern.startswith("#"):
            continue
        back = pattern.startswith("!")
        pattern = pattern[back:]
        body = pattern.strip("/") if not pattern.endswith("\\/") else pattern
        anchored = "/" in pattern.rstrip("/")
        start = "" if anchored else "(.*/)?"
        end = "/.*" if pattern.endswith("/") else "(/.*)?"
        rules.append(("!" if back else "") + start + "".join(_part(part) for part in _PARTS.findall(body)) + end)
    return tuple(rules)


def _part(part: str) -> str:
    match part:
        case "/**/":
            return "/(.*/)?"
        case "**/":
            return "(.*/)?"
        case "/**":
            return "/.*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case "!":
            return "[!]"  # not what brings a file back
    if part.startswith("[") and len(part) > 1:
        inner = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(part[-1])
