"""Render a plan into a tree: pure, nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import PurePosixPath

from acmegen.data import data_folder
from acmegen.plan.ops import Place
from acmegen.plan.plan import Plan
from acmegen.render.environment import load_templates, render_template
from acmegen.render.format import Formatter
from acmegen.render.header import with_header
from acmegen.render.outputs import Owner, Rule, Serving, rule_for


@dataclass(frozen=True)
class GeneratedFile:
    """One file of the tree.

    Attributes:
        text: what it holds.
        owner: whose it is.
        template: below `templates/backend/`.
        manifest: the manifest that it comes from, or a pattern of several.
        places: the entries of manifests that it was rendered for, sorted; none where it is for whole manifests.
    """

    text: str
    owner: Owner
    template: str
    manifest: str
    places: tuple[Place, ...] = ()


Tree = dict[str, GeneratedFile]

SUFFIX = ".jinja"
_PER_TASK = 10  # templates that are compiled at a time


def _templates() -> tuple[str, ...]:
    root = data_folder("templates") / "backend"
    return tuple(path.relative_to(root).as_posix() for path in sorted(root.rglob("*" + SUFFIX)))


def compile_templates(executor: Executor) -> None:
    """Have all templates compiled in `executor`, before the plan is there that they are rendered for."""
    files = [_file(template) for template in _templates()]
    for first in range(0, len(files), _PER_TASK):
        executor.submit(load_templates, files[first : first + _PER_TASK])


def _file(template: str) -> str:
    """Where the environment finds the `template` of a backend's file."""
    return f"backend/{template}"


def _instances(plan: Plan, templates: Iterable[str]) -> Iterator[tuple[str, str, Rule, dict[str, Serving]]]:
    """The files that `templates` give: template, path, rule and the loop variable."""
    names = asdict(plan.names)
    for template in templates:
        rule = rule_for(template)
        if rule.when is not None and not rule.when(plan):
            continue
        variables: list[dict[str, Serving]] = [{}]
        if rule.each is not None:
            name, values = rule.each
            variables = [{name: value} for value in values(plan)]
        for variable in variables:
            yield template, template.removesuffix(SUFFIX).format(**names, **variable), rule, variable


def render(plan: Plan, formatter: Formatter | None = None) -> Tree:
    """Render every template that applies to `plan` and format the result. Paths are relative, with forward slashes.

    Args:
        plan: what the templates print.
        formatter: what formats them; by default one that works in this process alone.

    Raises:
        TemplateError: a template cannot be rendered.
        ValueError: two templates give one path, or one that differs in case only: a fault of the templates.
    """
    context = {field.name: getattr(plan, field.name) for field in fields(plan)}
    # Python first: it is formatted while the rest is rendered.
    instances = sorted(
        _instances(plan, _templates()),
        key=lambda instance: (instance[2].last, not instance[1].endswith(".py"), instance[1]),
    )
    context["paths"] = tuple(sorted(path for _, path, rule, _ in instances if not rule.last))
    places = {served.operator: served.place for served in plan.ops.served}
    taken: dict[str, str] = {}
    formatter = formatter or Formatter()
    tree: Tree = {}
    for template, path, rule, variable in instances:
        other = taken.setdefault(path.casefold(), path)
        if other != path or path in tree:
            raise ValueError(f"templates {tree[other].template} and {template} both give {path}")
        text = render_template(_file(template), **context, **variable)
        entries = {places[operator] for value in variable.values() for operator in value.serves}
        tree[path] = GeneratedFile(text, rule.owner, template, rule.manifest, tuple(sorted(entries)))
        formatter.add(path, text)
    # The header comes after formatting, which would wrap its lines.
    formatted = formatter.finish()
    return {
        path: replace(file, text=_headed(path, file, formatted[path], plan.backend.license))
        for path, file in sorted(tree.items())
    }


def _headed(path: str, file: GeneratedFile, text: str, license: str) -> str:
    if file.owner is Owner.ONCE:
        return text
    return with_header(PurePosixPath(path), text, license, file.manifest, file.template)
