"""`acmegen explain`: what an error code means."""

from __future__ import annotations

import click

from acmegen.diagnostics import EXPLANATIONS, did_you_mean


@click.command()
@click.argument("code")
def explain(code: str) -> None:
    """Say what the error CODE (ACME012) means, and what to do about it."""
    explanation = EXPLANATIONS.get(code.upper())
    if explanation is None:
        raise click.UsageError(" ".join(filter(None, (f"there is no code {code};", did_you_mean(code, EXPLANATIONS)))))
    click.echo(f"{code.upper()}: {explanation.title}\n")
    click.echo(click.wrap_text(explanation.text, width=88))
