"""The table of outputs: which template gives which file, who owns it, and from which manifest it comes.

Every template below `templates/backend/` renders one owned file at the path that mirrors its own; the rows here are
the exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Protocol

from acmegen.plan.plan import Plan


class Owner(str, Enum):
    """Who may change a generated file: acmegen at will, the user once it exists, or the user who took it over.

    No template gives adopted files; they are owned ones that `acmegen adopt` made the user's.
    """

    OWNED = "owned"
    ONCE = "once"
    ADOPTED = "adopted"


class Serving(Protocol):
    """What a file of its own is rendered for."""

    @property
    def serves(self) -> Iterable[str]:
        """The overloads, as in `Served.operator`."""


@dataclass(frozen=True)
class Rule:
    """One row: the templates that `pattern` matches (a shell pattern on the path below `templates/backend/`).

    Attributes:
        owner: of the files.
        manifest: the manifest that they come from, named in their header.
        when: whether they are rendered at all; None means always.
        each: a loop variable and its values, for a file per value; its name may stand in braces in the path. A value
            says which overloads its file serves, for the places of their entries.
        last: whether they are rendered after all others and see their paths, as `paths`.
    """

    pattern: str
    owner: Owner = Owner.OWNED
    manifest: str = "backend.yaml"
    when: Callable[[Plan], bool] | None = None
    each: tuple[str, Callable[[Plan], Iterable[Serving]]] | None = None
    last: bool = False


# The first row whose pattern matches is the one that counts.
RULES: tuple[Rule, ...] = (
    Rule("pyproject.toml.jinja", owner=Owner.ONCE),
    Rule("CMakeLists.txt.jinja", owner=Owner.ONCE),
    Rule("README.md.jinja", owner=Owner.ONCE),
    Rule(".gitignore.jinja", owner=Owner.ONCE),
    Rule("csrc/kernels/fallback.cpp.jinja", owner=Owner.ONCE, when=lambda plan: plan.backend.fallback_policy == "user"),
    Rule(
        "tests/generated/test_fallback.py.jinja",
        when=lambda plan: plan.backend.fallback_policy in ("reference", "cpu"),
    ),
    Rule(
        "tests/generated/test_operators.py.jinja",
        when=lambda plan: plan.backend.fallback_policy in ("reference", "cpu"),
    ),
    Rule("tests/generated/test_asynchronous_errors.py.jinja", when=lambda plan: plan.driver.simulator),
    Rule("tests/generated/test_hostile_device.py.jinja", when=lambda plan: plan.driver.simulator),
    Rule("csrc/generated/fallback/Reference.*", when=lambda plan: plan.driver.host_access),
    Rule("csrc/generated/runtime/Capture.*", when=lambda plan: plan.graphs is not None),
    Rule("csrc/generated/runtime/RelaxedCapture.*", when=lambda plan: plan.graphs is not None),
    Rule("csrc/generated/runtime/{pascal}Graph.*", when=lambda plan: plan.graphs is not None),
    Rule(
        "tests/generated/test_graphs_life_cycle.py.jinja",
        when=lambda plan: plan.graphs is not None and plan.driver.host_access,
    ),
    Rule("tests/generated/test_graphs_and_threads.py.jinja", when=lambda plan: plan.graphs is not None),
    Rule("tests/generated/test_graphs.py.jinja", when=lambda plan: bool(plan.torch.graph_methods)),
    Rule("csrc/generated/runtime/HostLaunch.*", when=lambda plan: plan.driver.host_access),
    Rule("csrc/generated/runtime/FreedMemory.*", when=lambda plan: plan.allocator.host_kind != "none"),
    Rule("csrc/kernels/{kernel.name}.cpp.jinja", owner=Owner.ONCE, each=("kernel", lambda plan: plan.ops.users)),
    Rule(
        "csrc/generated/structured/Structured_{shard.index}.cpp.jinja",
        manifest="ops/*.yaml",
        each=("shard", lambda plan: plan.ops.structured),
    ),
    Rule("csrc/generated/structured/*", manifest="ops/*.yaml", when=lambda plan: bool(plan.ops.structured)),
    Rule(
        "csrc/generated/kernels/Kernels_{shard.index}.cpp.jinja",
        manifest="ops/*.yaml",
        each=("shard", lambda plan: plan.ops.kernels),
    ),
    Rule("csrc/generated/kernels/Iterators.*", manifest="ops/*.yaml", when=lambda plan: plan.ops.uses_iterators),
    Rule("csrc/generated/kernels/LibraryCall.*", manifest="ops/*.yaml", when=lambda plan: plan.ops.uses_library),
    Rule(
        "csrc/generated/registration/Registration_{shard.index}.cpp.jinja",
        manifest="ops/*.yaml",
        each=("shard", lambda plan: plan.ops.registrations),
    ),
    Rule(
        "csrc/generated/registration/Custom_{space.name}.cpp.jinja",
        manifest="ops/*.yaml",
        each=("space", lambda plan: plan.ops.custom),
    ),
    Rule("csrc/generated/registration/*", manifest="ops/*.yaml"),
    Rule(
        "csrc/generated/pointwise/Pointwise_{shard.index}.cpp.jinja",
        manifest="ops/*.yaml",
        each=("shard", lambda plan: plan.ops.pointwise.shards),
    ),
    Rule("csrc/generated/pointwise/*", manifest="ops/*.yaml", when=lambda plan: bool(plan.ops.pointwise.kernels)),
    Rule(
        "tests/generated/test_pointwise.py.jinja",
        manifest="ops/*.yaml",
        when=lambda plan: bool(plan.ops.pointwise.torch_kernels),
    ),
    Rule("csrc/generated/kernels.h.jinja", manifest="ops/*.yaml"),
    Rule("csrc/generated/kernels/*", manifest="ops/*.yaml"),
    Rule("tests/generated/test_structured.py.jinja", manifest="ops/*.yaml"),
    Rule("tests/generated/test_library.py.jinja", manifest="ops/*.yaml", when=lambda plan: plan.ops.uses_library),
    Rule("tests/generated/test_custom_ops.py.jinja", manifest="ops/*.yaml", when=lambda plan: bool(plan.ops.custom)),
    Rule("csrc/generated/generated_sources.cmake.jinja", last=True),
    Rule("{tileops_package}/pyproject.toml.jinja", owner=Owner.ONCE, when=lambda plan: plan.tileops is not None),
    Rule("{tileops_package}/*", manifest="tileops.yaml", when=lambda plan: plan.tileops is not None),
    Rule("tests/generated/test_tileops.py.jinja", manifest="tileops.yaml", when=lambda plan: plan.tileops is not None),
    Rule("third_party/sim/*", when=lambda plan: plan.driver.simulator),
    Rule("tests/generated/test_allocator.py.jinja", manifest="allocator.yaml"),
    Rule("*Allocator.*", manifest="allocator.yaml"),
    *(
        Rule(
            f"csrc/generated/runtime/{name}.*",
            manifest="allocator.yaml",
            when=lambda plan: plan.allocator.device_kind == "caching",
        )
        for name in ("BlockPool", "DeviceHeapPools")
    ),
    *(
        Rule(f"csrc/generated/runtime/{name}.*", manifest="allocator.yaml")
        for name in ("Allocat*", "Block", "DeviceHeap*", "HeapLock", "OutOfMemory", "PendingBlocks")
    ),
    Rule("*", manifest="backend.yaml"),
)


def rule_for(template: str) -> Rule:
    """The row for `template`, a path below `templates/backend/`."""
    return next(rule for rule in RULES if fnmatchcase(template, rule.pattern))
