"""Facts: what the installed torch and TileOPs say. Neither of them is imported."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from acmegen.facts.headers import VirtualMethod, host_statistics, methods_digest, virtual_methods
from acmegen.facts.operators import Operators, load_operators, operators_digest
from acmegen.facts.tileops import TileOpsInstall, find_tileops
from acmegen.facts.torch_install import TorchInstall, find_torch
from acmegen.workers import InThisProcess


@dataclass(frozen=True)
class Facts:
    """Everything that lowering needs to know of what is installed.

    Attributes:
        torch: where torch is.
        operators: all of its operators.
        methods: the virtual methods of the classes in `headers.CLASSES`.
        host_statistics: the counters of `at::HostStats`.
        tileops: None when it is not installed, or was not asked for.
        digests: versions and digests of all of these, for the lock. They do not tell apart builds of one version.
    """

    torch: TorchInstall
    operators: Operators
    methods: Mapping[str, tuple[VirtualMethod, ...]]
    host_statistics: frozenset[str]
    tileops: TileOpsInstall | None
    digests: Mapping[str, str]


def load_facts(
    torch_root: Path | None = None,
    *,
    tileops: bool = False,
    executor: Executor | None = None,
    requirement: str = "torch",
) -> Facts:
    """Read the facts, from the cache where it has them.

    Args:
        torch_root: the package folder of another torch than this environment's.
        tileops: whether TileOPs is looked for. A project without a TileOPs manifest does not depend on it.
        executor: where a part of it is read; None for this process.
        requirement: what the user is told to install if there is no torch.

    Raises:
        DiagnosticError: there is no torch, or something installed is not complete.
    """
    install = find_torch(torch_root, requirement)
    executor = executor or InThisProcess()
    reading_headers = executor.submit(virtual_methods, install)
    reading_tileops = executor.submit(find_tileops) if tileops else None
    operators = load_operators(install)
    methods = reading_headers.result()
    found = reading_tileops.result() if reading_tileops is not None else None
    digests = {
        "torch": install.public_version,
        "torch_operators": operators_digest(install),
        "torch_methods": methods_digest(methods),
    }
    if found is not None:
        digests |= {"tileops": found.version, "tileops_signatures": found.digest}
    return Facts(install, operators, methods, host_statistics(install), found, digests)


__all__ = ["Facts", "load_facts"]
