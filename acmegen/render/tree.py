"""Render a plan into a tree: pure, nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath

from acmegen.data import data_folder
from acmegen.plan.plan import Plan
from acmegen.render.environment import environment
from acmegen.render.format import format_files
from acmegen.render.header import with_header
from acmegen.render.outputs import Owner, rule_for


@dataclass(frozen=True)
class GeneratedFile:
    """One file of the tree."""

    text: str
    owner: Owner
    template: str
    manifest: str


Tree = dict[str, GeneratedFile]

SUFFIX = ".jinja"


def _templates() -> Iterator[str]:
    root = data_folder("templates") / "backend"
    for path in sorted(root.rglob("*" + SUFFIX)):
        yield path.relative_to(root).as_posix()


def render(plan: Plan) -> Tree:
    """Render every template that applies to `plan` and format the result. Paths are relative, with forward slashes."""
    context = {field.name: getattr(plan, field.name) for field in fields(plan)}
    names = asdict(plan.names)
    tree: Tree = {}
    for template in _templates():
        rule = rule_for(template)
        if rule.when is not None and not rule.when(plan):
            continue
        loop = [{}] if rule.each is None else [{rule.each[0]: value} for value in rule.each[1](plan)]
        for extra in loop:
            path = template.removesuffix(SUFFIX).format(**names, **extra)
            if path in tree:
                raise ValueError(f"templates {tree[path].template} and {template} both give {path}")
            text = environment().get_template(f"backend/{template}").render(**context, **extra)
            if rule.owner is Owner.OWNED:
                text = with_header(PurePosixPath(path), text, plan.backend.license, rule.manifest, template)
            tree[path] = GeneratedFile(text, rule.owner, template, rule.manifest)
    formatted = format_files({path: file.text for path, file in tree.items()})
    return {
        path: GeneratedFile(formatted[path], file.owner, file.template, file.manifest)
        for path, file in sorted(tree.items())
    }
