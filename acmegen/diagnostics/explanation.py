"""What each code means: a Markdown file a code, in `explanations/`.

A file has a title, a text that stands on its own, and where that helps an example that gives the code, with one that
puts it right. An example is a manifest, or several; a comment above each says which file it is:

    ## Wrong

    ```yaml
    # ops/pointwise.yaml
    manifest: ops/v1
    ```

    ## Right

    ```yaml
    …
    ```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "explanations"
_FILE = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<text>.+?)\n"
    r"(?:\n## Wrong\n\n```yaml\n(?P<wrong>.+?)```\n\n## Right\n\n```yaml\n(?P<right>.+?)```\n)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Explanation:
    """What `acmegen explain CODE` prints.

    Attributes:
        title: what is wrong, in general.
        text: why it is wrong and what to do, in paragraphs that are separated by empty lines.
        wrong: manifests that give the code; empty when there is no such example.
        right: the same manifests, put right.
        markdown: all of it.
    """

    title: str
    text: str
    wrong: str
    right: str
    markdown: str


@cache
def explanation(code: str) -> Explanation:
    """The explanation of `code`, one of `CODES`.

    Raises:
        KeyError: there is no such code.
    """
    try:
        markdown = (_FOLDER / f"{code}.md").read_text(encoding="utf-8")
    except OSError as error:
        raise KeyError(code) from error
    match = _FILE.fullmatch(markdown)
    if match is None:
        raise ValueError(f"{code}.md is not an explanation")
    paragraphs = (" ".join(paragraph.split()) for paragraph in match["text"].split("\n\n"))
    return Explanation(match["title"], "\n\n".join(paragraphs), match["wrong"] or "", match["right"] or "", markdown)
