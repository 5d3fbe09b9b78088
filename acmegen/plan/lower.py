"""Manifests and facts -> the plan."""

from __future__ import annotations

from acmegen.diagnostics import Diagnostic, DiagnosticError
from acmegen.facts import Facts
from acmegen.manifest.load import Project
from acmegen.plan.device_lowering import (
    check_torch_version,
    lower_allocator,
    lower_backend,
    lower_driver,
    lower_graphs,
    lower_library,
    lower_names,
    lower_torch,
)
from acmegen.plan.ops_lowering import lower_ops
from acmegen.plan.plan import Plan
from acmegen.plan.tileops_lowering import lower_tileops


def lower(project: Project, facts: Facts) -> Plan:
    """Resolve the manifests against what is installed.

    Raises:
        DiagnosticError: everything that does not fit, sorted by place. When torch has a version that the backend does
            not support, only that is said, since all else would follow from it.
    """
    check_torch_version(project, facts.torch.public_version)
    driver = lower_driver(project.driver, project.simulator)
    library = lower_library(project.library)
    diagnostics: list[Diagnostic] = []
    try:
        ops = lower_ops(project, facts, driver, library)
    except DiagnosticError as error:
        diagnostics += error.diagnostics
    try:
        tileops = lower_tileops(project, facts.tileops)
    except DiagnosticError as error:
        diagnostics += error.diagnostics
    if diagnostics:
        raise DiagnosticError(map(project.explained, diagnostics))
    allocator = lower_allocator(project.allocator)
    torch = lower_torch(facts.torch.public_version, facts.methods, facts.host_statistics)
    return Plan(
        names=lower_names(project.backend),
        backend=lower_backend(project.backend),
        driver=driver,
        library=library,
        graphs=lower_graphs(project.driver, allocator, torch),
        allocator=allocator,
        torch=torch,
        ops=ops,
        tileops=tileops,
    )
