"""The whole plan of one backend."""

from __future__ import annotations

from dataclasses import dataclass

from acmegen.plan.device import AllocatorPlan, BackendPlan, DriverPlan, GraphsPlan, LibraryPlan, TorchPlan
from acmegen.plan.names import Names
from acmegen.plan.ops import OpsPlan
from acmegen.plan.tileops import TileOpsPlan


@dataclass(frozen=True)
class Plan:
    """Everything that templates print; each field is a name that they can use."""

    names: Names
    backend: BackendPlan
    driver: DriverPlan
    library: LibraryPlan | None
    graphs: GraphsPlan | None
    allocator: AllocatorPlan
    torch: TorchPlan
    ops: OpsPlan
    tileops: TileOpsPlan | None
