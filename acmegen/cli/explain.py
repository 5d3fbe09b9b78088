"""`acmegen explain`: what an error code means."""

from __future__ import annotations

from textwrap import indent

import click

from acmegen.diagnostics import CODES, did_you_mean, explanation

_WIDTH = 88


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Say what the error CODE (ACME012) means, and what to do about it; without one, list all codes."""
    if code is None:
        for known in sorted(CODES):
            click.echo(f"{known}  {explanation(known).title}")
        return
    code = code.upper()
    if code not in CODES:
        raise click.UsageError("; ".join(filter(None, (f"there is no code {code}", did_you_mean(code, CODES)))))
    explained = explanation(code)
    click.echo(f"{code}: {explained.title}\n")
    click.echo(click.wrap_text(explained.text, width=_WIDTH, preserve_paragraphs=True))
    for heading, example in (("Wrong:", explained.wrong), ("Right:", explained.right)):
        if example:
            click.echo(f"\n{heading}\n\n{indent(example.rstrip(), '    ')}")
