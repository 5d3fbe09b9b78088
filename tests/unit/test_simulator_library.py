"""The simulated SDK's maths library, called from Python and compared with torch's CPU kernels in float64."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from tests.unit.simulator_sdk import ASSERT, DTYPES, INVALID_VALUE, Operand, Refused, Sdk

FLOATING = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
OPERATIONS = ["sum", "mean", "amax", "amin", "prod"]  # in the order of simReduction_t


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def expect_close(actual: Tensor, expected: Tensor, scale: float = 1.0) -> None:
    """`expected` is the exact result, in float64."""
    tolerance = TOLERANCE[actual.dtype] * scale
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


# Conversions of halves: a reduction over nothing is a cast.


def cast(sdk: Sdk, source: Tensor, dtype: torch.dtype) -> Tensor:
    target = sdk.upload(torch.empty(source.numel(), dtype=dtype))
    operand = sdk.upload(source)
    reduce_(sdk, OPERATIONS.index("amax"), operand, target, 0)  # unlike a sum, it keeps the sign of zero
    operand.free()
    return target.read()


def reduce_(sdk: Sdk, operation: int, source: Operand, target: Operand, mask: int) -> None:
    host = source.host
    extents = ctypes.c_int64 * max(host.dim(), 1)
    sizes, strides = extents(*host.shape), extents(*host.stride())
    types = ctypes.c_int(operation), host.dtype, target.host.dtype, ctypes.c_int(host.dim())
    sdk.call("simReduce", *types, sizes, strides, ctypes.c_uint64(mask), source, target)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_half_becomes_the_same_float(sdk: Sdk, dtype: torch.dtype) -> None:
    every = torch.arange(-32768, 32768, dtype=torch.int16).view(dtype)
    actual, expected = cast(sdk, every, torch.float32), every.float()
    assert torch.equal(actual.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(actual[numbers].view(torch.int32), expected[numbers].view(torch.int32))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_floats_are_rounded_to_the_nearest_even_half(sdk: Sdk, dtype: torch.dtype) -> None:
    # All exponents and signs with the mantissas around each tie, and some at random.
    top = torch.arange(-256, 256, dtype=torch.int32) << 23
    steps = torch.arange(64, dtype=torch.int32)
    edges = [(steps << 12) + delta for delta in (-1, 0, 1)] + [(steps << 15) + delta for delta in (-1, 0, 1)]
    mantissas = torch.cat([*edges, torch.randint(0, 1 << 23, (500,), dtype=torch.int32)]) & 0x7FFFFF
    floats = (top[:, None] + mantissas).flatten().view(torch.float32)
    actual, expected = cast(sdk, floats, dtype), floats.to(dtype)
    assert torch.equal(actual.isnan(), floats.isnan())
    numbers = ~floats.isnan()
    assert torch.equal(actual[numbers].view(torch.int16), expected[numbers].view(torch.int16))


# Matrix products


def gemm(sdk: Sdk, a: Tensor, b: Tensor, c: Tensor, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
    left, right, result = sdk.upload(a), sdk.upload(b), sdk.upload(c)
    extents = c.shape[0], c.shape[1], a.shape[1]
    sdk.call("simGemm", c.dtype, *extents, alpha, left, *a.stride(), right, *b.stride(), beta, result, *c.stride())
    left.free()
    right.free()
    return result.read()


def layouts(rows: int, columns: int, dtype: torch.dtype) -> list[Tensor]:
    """The same shape row-major, column-major, as a slice with an offset, with a step, and expanded."""
    return [
        torch.randn(rows, columns, dtype=dtype),
        torch.randn(columns, rows, dtype=dtype).t(),
        torch.randn(rows + 2, columns + 3, dtype=dtype)[1:-1, 2:-1],
        torch.randn(rows, 2 * columns, dtype=dtype)[:, ::2],
        torch.randn(1, columns, dtype=dtype).expand(rows, columns),
    ]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 17, 3), (4, 16, 8), (33, 1, 70), (1, 40, 300), (131, 530, 260)])
def test_gemm_of_any_shape(sdk: Sdk, dtype: torch.dtype, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = torch.randn(m, k, dtype=dtype), torch.randn(k, n, dtype=dtype)
    expect_close(gemm(sdk, a, b, torch.full((m, n), math.nan, dtype=dtype)), a.double() @ b.double(), math.sqrt(k))


@pytest.mark.parametrize("dtype", FLOATING)
def test_gemm_of_any_layout(sdk: Sdk, dtype: torch.dtype) -> None:
    for a, b, c in itertools.product(layouts(7, 21, dtype), layouts(21, 19, dtype), layouts(7, 19, dtype)[:4]):
        expected = 0.5 * (a.double() @ b.double()) - 2 * c.double()
        before = c.untyped_storage().clone()
        expect_close(gemm(sdk, a, b, c, 0.5, -2.0), expected, 8)
        assert torch.equal(torch.tensor(before), torch.tensor(c.untyped_storage()))


def test_gemm_writes_only_its_result(sdk: Sdk) -> None:
    whole = torch.full((9, 9), 7.0)
    result = gemm(sdk, torch.ones(3, 2), torch.ones(2, 4), whole[2:5, 3:7])
    written = torch.empty(0).set_(result.untyped_storage(), 0, (9, 9), (9, 1))
    whole[2:5, 3:7] = 2
    assert torch.equal(written, whole)


def test_gemm_does_not_read_what_a_factor_of_zero_hides(sdk: Sdk) -> None:
    nan, ones = torch.full((3, 3), math.nan), torch.ones(3, 3)
    assert torch.equal(gemm(sdk, ones, ones, nan.clone()), ones * 3)
    assert torch.equal(gemm(sdk, nan, nan, ones.clone(), alpha=0.0, beta=2.0), ones * 2)
    assert gemm(sdk, ones, ones, nan.clone(), beta=1.0).isnan().all()
    assert torch.equal(gemm(sdk, torch.ones(3, 0), torch.ones(0, 3), nan.clone()), torch.zeros(3, 3))
    assert gemm(sdk, torch.ones(0, 2), torch.ones(2, 3), torch.ones(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("dtype", FLOATING)
def test_batched_gemm(sdk: Sdk, dtype: torch.dtype) -> None:
    a = torch.randn(6, 5, 9, dtype=dtype)
    for b in (torch.randn(6, 9, 11, dtype=dtype), torch.randn(9, 11, dtype=dtype).expand(6, 9, 11)):
        operands = sdk.upload(a), sdk.upload(b), sdk.upload(torch.zeros(5, 6, 11, dtype=dtype).transpose(0, 1))
        left, right, result = operands
        strides = result.host.stride()
        inputs = 1.0, left, *a.stride(), right, *b.stride()
        sdk.call("simGemmStridedBatched", dtype, 6, 5, 11, 9, *inputs, 0.0, result, *strides)
        expect_close(result.read(), a.double() @ b.double(), 4)


# Softmax and norms


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize("shape", [(3, 5, 1), (2, 1000, 1), (2, 7, 6), (1, 1, 4), (0, 3, 2), (2, 0, 3)])
def test_softmax(sdk: Sdk, dtype: torch.dtype, logarithm: bool, shape: tuple[int, int, int]) -> None:
    x = (torch.randn(shape) * 5).to(dtype)
    gradient = torch.randn(shape).to(dtype)
    exact = x.double().requires_grad_()
    expected = exact.log_softmax(1) if logarithm else exact.softmax(1)
    source, output = sdk.upload(x), sdk.upload(torch.empty(shape, dtype=dtype))
    sdk.call("simSoftmaxForward", dtype, logarithm, *shape, source, output)
    expect_close(output.read(), expected.detach())
    expected.backward(gradient.double())
    operands = [sdk.upload(x) for x in (gradient, expected.detach().to(dtype), torch.empty(shape, dtype=dtype))]
    sdk.call("simSoftmaxBackward", dtype, logarithm, *shape, *operands)
    assert exact.grad is not None
    expect_close(operands[2].read(), exact.grad, 40 if logarithm else 4)


@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax_of_extreme_values(sdk: Sdk, logarithm: bool) -> None:
    infinity = math.inf
    x = torch.tensor([[1e4, -1e4, 9999.0], [-infinity, 0, 1], [3e38, 3e38, -3e38], [math.nan, 1, 2], [-infinity] * 3])
    output = sdk.upload(torch.empty_like(x))
    sdk.call("simSoftmaxForward", x.dtype, logarithm, 5, 3, 1, sdk.upload(x), output)
    expected = x.log_softmax(1) if logarithm else x.softmax(1)
    torch.testing.assert_close(output.read(), expected, equal_nan=True)


def upload_optional(sdk: Sdk, tensor: Tensor | None) -> Operand | None:
    return None if tensor is None else sdk.upload(tensor)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_norm(sdk: Sdk, dtype: torch.dtype, affine: bool, kind: str) -> None:
    rows, columns, epsilon = 37, 700, 1e-3
    statistic = torch.float64 if dtype == torch.float64 else torch.float32
    x, gradient = (torch.randn(rows, columns) * 3 + 2).to(dtype), torch.randn(rows, columns).to(dtype)
    weight = torch.randn(columns).to(dtype) if affine else None
    bias = torch.randn(columns).to(dtype) if affine and kind == "layer" else None
    exact = x.double().requires_grad_()
    mean = exact.mean(1, keepdim=True) if kind == "layer" else torch.zeros(rows, 1, dtype=torch.float64)
    rstd = ((exact - mean).square().mean(1, keepdim=True) + epsilon).rsqrt()
    normalized = (exact - mean) * rstd
    expected = normalized if weight is None else normalized * weight.double()
    expected = expected if bias is None else expected + bias.double()

    source, scale, shift = sdk.upload(x), upload_optional(sdk, weight), upload_optional(sdk, bias)
    output = sdk.upload(torch.empty_like(x))
    means, rstds = (sdk.upload(torch.empty(rows, dtype=statistic)) for _ in range(2))
    if kind == "layer":
        sdk.call("simLayerNormForward", dtype, rows, columns, source, scale, shift, epsilon, output, means, rstds)
        expect_close(means.read(), mean.detach().squeeze(1))
    else:
        sdk.call("simRmsNormForward", dtype, rows, columns, source, scale, epsilon, output, rstds)
    expect_close(output.read(), expected.detach(), 4)
    expect_close(rstds.read(), rstd.detach().squeeze(1))

    expected.backward(gradient.double())
    means, rstds = (sdk.upload(tensor.detach().to(statistic)) for tensor in (mean, rstd))
    targets = [sdk.upload(torch.empty_like(x)), *(sdk.upload(torch.empty(columns, dtype=dtype)) for _ in range(2))]
    if kind == "layer":
        arguments: list[object] = [sdk.upload(gradient), source, means, rstds, scale]
        sdk.call("simLayerNormBackward", dtype, rows, columns, *arguments, *targets)
    else:
        arguments = [sdk.upload(gradient), source, rstds, scale]
        sdk.call("simRmsNormBackward", dtype, rows, columns, *arguments, *targets[:2])
    assert exact.grad is not None
    expect_close(targets[0].read(), exact.grad, 4)
    expect_close(targets[1].read(), (gradient.double() * normalized.detach()).sum(0), 16)
    if kind == "layer":
        expect_close(targets[2].read(), gradient.double().sum(0), 16)
        only = sdk.upload(torch.empty(columns, dtype=dtype))
        sdk.call("simLayerNormBackward", dtype, rows, columns, *arguments, None, None, only)
        expect_close(only.read(), gradient.double().sum(0), 16)


# Reductions


def reference(operation: str, x: Tensor, dimensions: Sequence[int]) -> Tensor:
    if not dimensions:
        return x.clone()
    if operation == "prod":
        for dimension in sorted(dimensions, reverse=True):
            x = x.prod(dimension)
        return x
    return getattr(x, operation)(tuple(dimensions))


def random_tensor(choose: random.Random, dtype: torch.dtype) -> Tensor:
    """Up to four dimensions, permuted, sliced and expanded."""
    shape = [choose.choice([1, 2, 3, 5, 150]) if i == 0 else choose.randint(1, 6) for i in range(choose.randint(0, 4))]
    choose.shuffle(shape)
    shape = [size + 1 for size in shape]
    x = torch.randn(shape, dtype=torch.float64) * 3
    x = x.clamp(0, 250).to(dtype) if dtype == torch.uint8 else x > 0 if dtype == torch.bool else x.to(dtype)
    x = x[tuple(slice(choose.randint(0, 1), None) for _ in shape)]
    x = x.permute(choose.sample(range(len(shape)), len(shape)))
    return x.unsqueeze(0).expand(3, *x.shape) if choose.random() < 0.2 else x


@pytest.mark.parametrize(
    ("dtype", "operation"),
    [(dtype, name) for dtype in DTYPES for name in OPERATIONS if name != "mean" or dtype.is_floating_point],
)
def test_reduce(sdk: Sdk, dtype: torch.dtype, operation: str) -> None:
    choose = random.Random(f"{dtype} {operation}")
    for _ in range(60):
        x = random_tensor(choose, dtype)
        mask = choose.getrandbits(max(x.dim(), 1)) & ((1 << x.dim()) - 1)
        dimensions = [i for i in range(x.dim()) if mask >> i & 1]
        wide = operation in ("sum", "prod") and not dtype.is_floating_point
        exact = x.double() if dtype.is_floating_point else x.long()
        expected = reference(operation, exact, dimensions)
        output = torch.int64 if wide else dtype
        target = sdk.upload(torch.empty(expected.shape, dtype=output))
        source = sdk.upload(x)
        reduce_(sdk, OPERATIONS.index(operation), source, target, mask)
        source.free()
        if dtype.is_floating_point:
            finite = expected.to(dtype).double()  # a product may leave the range of a half
            expect_close(target.read(), torch.where(finite.isinf(), finite, expected), 30)
        else:
            assert torch.equal(target.read(), expected.to(output))


def reduced(sdk: Sdk, operation: str, x: Tensor, mask: int, dtype: torch.dtype | None = None) -> Tensor:
    kept = [size for i, size in enumerate(x.shape) if not mask >> i & 1]
    target = sdk.upload(torch.empty(kept, dtype=dtype or x.dtype))
    reduce_(sdk, OPERATIONS.index(operation), sdk.upload(x), target, mask)
    return target.read()


def test_long_sums_are_accurate(sdk: Sdk) -> None:
    x = torch.full((3_000_000,), 0.1)
    assert abs(reduced(sdk, "sum", x, 1).item() - x.double().sum().item()) < 0.125  # four units in the last place
    tall = torch.full((200_000, 3), 0.1)
    assert abs(reduced(sdk, "sum", tall, 1)[1].item() - 20000.0003) < 0.02
    ones = torch.ones(70_000, dtype=torch.float16)
    assert reduced(sdk, "mean", ones, 1).item() == 1
    assert reduced(sdk, "sum", ones, 1, torch.float32).item() == 70_000


def test_reductions_at_the_edges(sdk: Sdk) -> None:
    nan = torch.tensor([[1, math.nan, 3], [-math.inf, 2, math.inf]])
    for operation, mask in itertools.product(["amax", "amin", "sum"], [1, 2, 3]):
        expected = reference(operation, nan, [i for i in range(2) if mask >> i & 1])
        torch.testing.assert_close(reduced(sdk, operation, nan, mask), expected, equal_nan=True)
    large = torch.tensor([2**62, 2**62, 2**62])
    assert torch.equal(reduced(sdk, "sum", large, 1), large.sum())
    assert torch.equal(reduced(sdk, "prod", large, 1), large.prod())
    empty = torch.empty(2, 0)
    assert torch.equal(reduced(sdk, "sum", empty, 2), torch.zeros(2))
    assert torch.equal(reduced(sdk, "prod", empty, 2), torch.ones(2))
    assert reduced(sdk, "mean", empty, 2).isnan().all()
    assert reduced(sdk, "sum", empty, 1).shape == (0,)
    with pytest.raises(Refused):
        reduced(sdk, "amax", empty, 2)
    assert reduced(sdk, "amax", empty, 1).shape == (0,)
    integers = torch.arange(10)
    assert reduced(sdk, "mean", integers, 1, torch.float32).item() == 4.5
    for operation, source, output in (("mean", integers, torch.int64), ("sum", torch.ones(3), torch.int64)):
        with pytest.raises(Refused):
            reduced(sdk, operation, source, 1, output)


# Embedding


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
def test_embedding(sdk: Sdk, dtype: torch.dtype, index_dtype: torch.dtype) -> None:
    rows, columns, count = 11, 5, 300
    weight, gradient = torch.randn(rows, columns).to(dtype), torch.randn(count, columns).to(dtype)
    indices = torch.randint(0, rows - 1, (count,), dtype=index_dtype)
    index = sdk.upload(indices)
    output = sdk.upload(torch.empty(count, columns, dtype=dtype))
    sdk.call("simEmbeddingForward", dtype, index_dtype, count, rows, columns, sdk.upload(weight), index, output)
    assert torch.equal(output.read(), weight[indices.long()])
    for padding in (-1, 3):
        exact = torch.zeros(rows, columns, dtype=torch.float64).index_add_(0, indices.long(), gradient.double())
        if padding >= 0:
            exact[padding] = 0
        target = sdk.upload(torch.full((rows, columns), math.nan, dtype=dtype))
        arguments = count, rows, columns, padding, sdk.upload(gradient), index, target
        sdk.call("simEmbeddingBackward", dtype, index_dtype, *arguments)
        expect_close(target.read(), exact, 8)


def test_an_index_out_of_range_is_reported_once(sdk: Sdk) -> None:
    weight, output = sdk.upload(torch.randn(4, 2)), sdk.upload(torch.zeros(2, 2))
    for wrong in (4, -1):
        index = sdk.upload(torch.tensor([0, wrong]))
        with pytest.raises(Refused) as refusal:
            sdk.call("simEmbeddingForward", torch.float32, torch.int64, 2, 4, 2, weight, index, output)
        assert refusal.value.status == ASSERT
        sdk.call("simEmbeddingForward", torch.float32, torch.int64, 1, 4, 2, weight, index, output)


# Refusals


def test_bad_operands_are_refused(sdk: Sdk) -> None:
    x = sdk.upload(torch.randn(4, 4))
    shape = (torch.float32, False, 1, 4, 4)
    host = ctypes.c_void_p(x.host.data_ptr())
    odd = ctypes.c_void_p(x.base + 1)
    late = ctypes.c_void_p(x.base + 4)
    sdk.check(sdk.library.simSetDevice(1))
    elsewhere = sdk.upload(torch.randn(4, 4))
    sdk.check(sdk.library.simSetDevice(0))
    calls: list[tuple[object, ...]] = [
        *(("simSoftmaxForward", *shape, wrong, x) for wrong in (host, odd, late, None, elsewhere)),
        ("simSoftmaxForward", torch.int32, False, 1, 4, 4, x, x),
        ("simSoftmaxForward", torch.float32, False, -1, 4, 4, x, x),
        ("simSoftmaxForward", torch.float32, False, 2**40, 2**40, 1, x, x),
        ("simSoftmaxForward", torch.float32, False, 2**31, 2**31, 1, x, x),
        ("simGemm", torch.float32, 2, 2, 2, 1.0, x, 4, -1, x, 4, 1, 0.0, x, 4, 1),
        ("simGemm", torch.float32, 2, 2, 2, 1.0, x, 2**62, 1, x, 4, 1, 0.0, x, 4, 1),
        ("simGemm", torch.float32, 4, 4, 4, 1.0, x, 5, 1, x, 4, 1, 0.0, x, 4, 1),
        ("simLayerNormBackward", torch.float32, 4, 4, x, x, None, x, None, x, None, None),
        ("simRmsNormForward", torch.float32, 4, 5, x, None, 0.1, x, None),
        ("simEmbeddingForward", torch.float32, torch.int16, 1, 4, 4, x, x, x),
    ]
    for name, *arguments in calls:
        with pytest.raises(Refused) as refusal:
            sdk.call(str(name), *arguments)
        assert refusal.value.status == INVALID_VALUE, (name, arguments)
    assert torch.equal(x.read(), x.host)
    assert sdk.library.simGetLastError() == INVALID_VALUE
    assert sdk.library.simGetLastError() == 0
