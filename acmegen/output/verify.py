# SPDX-License-Identifier: Apache-2.0
"""Compare a vendored backend with its PROVENANCE.json: which files are changed, missing or added.

This file is part of acmegen, and each export has a copy of it, `verify.py`, for repositories without acmegen. It needs
Python 3.9 or newer and nothing else: `python verify.py [FOLDER]`. Exit code 0: no difference. 1: there are some. 2: the
folder is no export.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
from pathlib import Path

PROVENANCE_NAME = "PROVENANCE.json"


def verify(folder: Path) -> dict[str, list[str]]:
    """The paths in `folder` that are `changed`, `missing` or `added`, sorted.

    Line ends may have become those of Windows. What a build leaves there is not looked at.

    Raises:
        OSError, ValueError, KeyError, TypeError, AttributeError: it has no readable PROVENANCE.json.
    """
    place = folder / PROVENANCE_NAME
    if place.exists() and not place.is_file():  # a pipe would wait for ever
        raise ValueError("it is not a regular file")
    provenance = json.loads(place.read_text(encoding="utf-8"))
    digests, rules = dict(provenance["files"]), [str(rule) for rule in provenance["ignored"]]
    found: dict[str, list[str]] = {"changed": [], "missing": [], "added": []}
    for path, digest in sorted(digests.items()):
        place = folder / path
        if not os.path.lexists(place):
            found["missing"].append(path)
        elif place.is_symlink() or not place.is_file():
            found["changed"].append(path)
        else:
            data = place.read_bytes()
            if digest not in (_sha256(data), _sha256(data.replace(b"\r\n", b"\n"))):
                found["changed"].append(path)
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in [*files, *links]:
            path = Path(parent, name).relative_to(folder).as_posix()
            if path not in digests and path != PROVENANCE_NAME and not is_ignored(path, rules):
                found["added"].append(path)
    found["added"].sort()
    return found


def is_ignored(path: str, rules: list[str]) -> bool:
    """Whether the last of `rules` that fits `path` ignores it. A rule is a regular expression; `!` before it: keep."""
    fitting = [rule for rule in rules if re.fullmatch(rule.lstrip("!"), path)]
    return bool(fitting) and not fitting[-1].startswith("!")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: list[str]) -> int:
    """Print the differences of the folder named in `arguments`, or of the one that this file is in; the exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    try:
        found = verify(folder)
    except FileNotFoundError:
        print(f"error: {folder} is no export of a backend: it has no {PROVENANCE_NAME}", file=sys.stderr)
        return 2
    except KeyError as error:
        print(f"error: {folder / PROVENANCE_NAME} has no field {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        print(f"error: {folder / PROVENANCE_NAME} cannot be read: {error}", file=sys.stderr)
        return 2
    for kind, paths in found.items():
        for path in paths:
            print(f"{kind:8} {path}")
    if any(found.values()):
        return 1
    print(f"nothing is changed; {PROVENANCE_NAME} is {_sha256((folder / PROVENANCE_NAME).read_bytes())}")
    return 0


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path need not be text in the terminal's encoding
    sys.exit(main(sys.argv[1:]))
