"""The plan of the TileOPs side: one target, and a kernel builder per op."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

# What a kernel expression may name besides the op's inputs and params.
MODULES = ("torch", "math")
_BUILTINS = frozenset({"len", "int", "float", "bool", "tuple", "list", "min", "max", "abs", "None", "True", "False"})


@dataclass(frozen=True)
class TileOpsInput:
    """One tensor input of an op; `optional` means that a call may leave it out, and the kernel then gets None."""

    name: str
    optional: bool


@dataclass(frozen=True)
class TileOpsKernel:
    """One op that the target serves.

    Attributes:
        op: TileOPs' manifest key, `RMSNormFwdOp`.
        function: the builder's name without its prefix, `rms_norm`.
        inputs: in the order of `signature.inputs`.
        params: the names of `signature.params`, passed by keyword.
        expression: the Python expression that computes the result from inputs and params; None when `builder` is set.
        builder: a builder of the user's as (module, function); None when `expression` is set.
        reference: the expression that computes the same on CPU tensors, for the generated tests.
    """

    op: str
    function: str
    inputs: tuple[TileOpsInput, ...]
    params: tuple[str, ...]
    expression: str | None
    builder: tuple[str, str] | None
    reference: str

    @property
    def modules(self) -> frozenset[str]:
        """The modules that the expressions name."""
        texts = (self.expression, self.reference)
        return frozenset(name for text in texts if text for name in free_names(text)) & frozenset(MODULES)


@dataclass(frozen=True)
class TileOpsPlan:
    """The TileOPs target of one backend.

    Attributes:
        target: the name under which TileOPs knows these kernels.
        device_type: the torch device type that it serves.
        requires: the supported TileOPs versions, a PEP 440 specifier.
        device_facts: arch, sm_count and smem_budget, as `tileops.backend.DeviceFacts` takes them.
        kernels: sorted by op.
    """

    target: str
    device_type: str
    requires: str
    device_facts: Mapping[str, int]
    kernels: tuple[TileOpsKernel, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that the kernels' expressions name."""
        return tuple(name for name in MODULES if any(name in kernel.modules for kernel in self.kernels))


# Names of one word, whose capitals begin no other.
_MIXED_CASE = re.compile(r"P?ReLU|SiLU|RoPE|MoE|YaRN")


def builder_name(op: str) -> str:
    """`RMSNormFwdOp` -> `rms_norm_fwd`, `LeakyReLUFwdOp` -> `leaky_relu_fwd`: lower case, words apart."""
    stem = _MIXED_CASE.sub(lambda word: word[0].capitalize(), op.removesuffix("Op"))
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", stem).lower()


def free_names(expression: str) -> frozenset[str]:
    """The names that a Python expression reads from outside; those that it binds itself are left out.

    Raises:
        SyntaxError: it is not one expression, or one that a function of its own is needed for.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        ast.parse(f"({expression})", mode="eval")  # a comment would swallow what is printed behind it
    except (ValueError, MemoryError, RecursionError) as error:
        raise SyntaxError("it holds a null character, or is nested too deeply") from error
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(tree)):
        raise SyntaxError("`yield` and `await` have no meaning here")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Load)) - bound


def unknown_names(expression: str, known: frozenset[str]) -> list[str]:
    """The names in `expression` that are neither in `known` nor a permitted module or builtin, sorted."""
    return sorted(free_names(expression) - known - _BUILTINS - frozenset(MODULES))
