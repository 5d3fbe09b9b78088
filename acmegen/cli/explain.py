"""`acmegen explain`: what an error code means."""

from __future__ import annotations

import re
from textwrap import indent

import click

from acmegen.diagnostics import CODES, did_you_mean, explanation

_WIDTH = 88


def _unknown(asked: str) -> str:
    number = re.fullmatch("(?:ACME)?([0-9]+)", asked.upper())
    if number is None and not asked.upper().startswith("ACME"):
        return f"{asked} is no code: codes, such as ACME012, are explained, and neither operators nor words are"
    padded = f"ACME{int(number[1]):03}" if number is not None else ""
    near = f"did you mean `{padded}`?" if padded in CODES else did_you_mean(asked.upper(), CODES)
    return "; ".join(filter(None, (f"there is no code {asked.upper()}", near)))


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Say what the error CODE (ACME012) means, and what to do about it; without one, list all codes."""
    if code is None:
        for known in sorted(CODES):
            click.echo(f"{known}  {explanation(known).title}")
        return
    asked, code = code, code.upper()
    if code not in CODES:
        raise click.UsageError(_unknown(asked))
    explained = explanation(code)
    click.echo(f"{code}: {explained.title}\n")
    click.echo(click.wrap_text(explained.text, width=_WIDTH, preserve_paragraphs=True))
    for heading, example in (("Wrong:", explained.wrong), ("Right:", explained.right)):
        if example:
            click.echo(f"\n{heading}\n\n{indent(example.rstrip(), '    ')}")
