"""The manifests that the fuzzer starts from: between them they use every kind, field and kernel kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import yaml

from acmegen.data import data_folder

Files = dict[str, str]
"""The text of each manifest, by its path in the folder."""

_CUSTOM = """\
manifest: ops/v1
custom:
  "scaled(Tensor x, Tensor? y, float factor=1.0, *, int[] sizes=[], str mode='a') -> Tensor":
    like: x
    expr: x * factor
    dtypes: [floating]
  "norm.eps(Tensor x, Tensor weight, float eps) -> (Tensor out, Tensor rstd)":
    namespace: other
    meta: user
    user: {}
    backward: norm_backward
  "norm_backward(Tensor a, Tensor b, Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)":
    namespace: other
    like: [x, weight]
    user:
  "fill_(Tensor(a!) x, Scalar value) -> Tensor(a!)": {user: {}, meta: user}
"""
_KINDS = """\
manifest: ops/v1
include: [core]
ops:
  add.Tensor: {expr: a + alpha * b, dtypes: [floating, int64], otherwise: error}
  neg: {expr: -x, arguments: {x: self}, dtypes: [floating, integral]}
  sigmoid: {expr: 1 / (1 + exp(-a)), dtypes: [float32]}
  where.self: {expr: "b if condition else c"}
  mm: {library: simGemm, dtypes: [floating], requires: ["dtype(self) == float32"], args: [stream, self, mat2, out]}
  index.Tensor: user
  trace: {user: {}}
  nonzero: reference
  cumsum: fallback
  linear: composite
  empty_strided: runtime
  _cudnn_rnn:
    unsupported: no RNN engine */ "here" \\ ?
"""


@cache
def projects() -> Mapping[str, Files]:
    """The flagship; one with the driver written out; one with each kernel kind; and one with a preset's entries."""
    manifests = data_folder("manifests")
    flagship = {
        path.relative_to(manifests / "acme").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((manifests / "acme").rglob("*.yaml"))
    }
    backend = flagship["backend.yaml"]
    binding = (manifests / "presets" / "simulator.yaml").read_text(encoding="utf-8")
    training = yaml.safe_load((manifests / "presets" / "training.yaml").read_text(encoding="utf-8"))["ops"]
    some = {"manifest": "ops/v1", "ops": dict(list(training.items())[::6])}
    return {
        "flagship": flagship,
        "driver": {
            "backend.yaml": backend.replace("driver: simulator\n", binding),
            "allocator.yaml": flagship["allocator.yaml"],
            "ops/custom.yaml": flagship["ops/custom.yaml"],
            "tileops.yaml": flagship["tileops.yaml"],
        },
        "kinds": {"backend.yaml": backend, "ops/custom.yaml": _CUSTOM, "ops/kinds.yaml": _KINDS},
        "training": {
            "backend.yaml": "manifest: backend/v1\nname: nova\nfallback: {policy: cpu}\n",
            "ops/library.yaml": flagship["ops/library.yaml"],
            "ops/training.yaml": yaml.safe_dump(some, sort_keys=False),
        },
    }
