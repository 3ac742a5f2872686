"""bfloat16 and half run in kernels that compute in float32 and round once: as exact as LibTorch's own, and with its dtypes and strides."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import stator


def normal(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


class Weights(nn.Module):
    """A function of the arguments and one weight."""

    def __init__(self, function: Callable[..., Tensor], *sizes: int) -> None:
        super().__init__()
        self.function, self.weight = function, nn.Parameter(normal(*sizes) / max(1, sizes[-1]) ** 0.5)

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args, self.weight)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(40, 50), nn.GELU(), nn.LayerNorm(50), nn.Linear(50, 33), nn.ReLU(), nn.Softmax(-1))


MODELS = {
    "network": (network, [(7, 40)]),
    "linear": (lambda: nn.Linear(40, 33), [(2, 3, 40)]),
    "linear_row": (lambda: nn.Linear(1000, 50, bias=False), [(1, 1000)]),
    "linear_blocks": (lambda: nn.Linear(1000, 37), [(200, 1000)]),
    "linear_column": (lambda: nn.Linear(40, 1), [(5, 40)]),
    "mm_transposed": (lambda: Weights(lambda x, w: x.t() @ w, 9, 20), [(9, 4)]),
    "addmm": (lambda: Weights(lambda b, x, w: torch.addmm(b, x, w), 9, 20), [(20,), (4, 9)]),
    "bmm": (lambda: Weights(lambda x, y, w: torch.bmm(x, y) + w, 1), [(3, 4, 9), (3, 9, 5)]),
    "layer_norm": (lambda: nn.LayerNorm(64), [(5, 64)]),
    "group_norm": (lambda: nn.GroupNorm(2, 6), [(3, 6, 5)]),
    "batch_norm": (lambda: nn.BatchNorm2d(4), [(2, 4, 5, 6)]),
    "softmax": (lambda: nn.Softmax(1), [(6, 30)]),
    "log_softmax_of_a_view": (lambda: Weights(lambda x, w: x.t().log_softmax(-1) * w, 1), [(30, 6)]),
    "sum": (lambda: Weights(lambda x, w: x.sum(1) * w, 1), [(6, 300)]),
    "mean": (lambda: Weights(lambda x, w: x.mean((1, 2), keepdim=True) * w, 1), [(3, 7, 40)]),
    "norm": (lambda: Weights(lambda x, w: torch.linalg.vector_norm(x, 2, -1) * w, 1), [(6, 30)]),
    "amax": (lambda: Weights(lambda x, w: x.amax(-1) * w, 1), [(6, 30)]),
    "conv2d": (lambda: nn.Conv2d(3, 8, 3, padding=1), [(2, 3, 9, 10)]),
    "conv1d_depthwise": (lambda: nn.Conv1d(6, 6, 3, groups=6), [(1, 6, 30)]),
    "max_pool": (lambda: nn.MaxPool2d(2), [(1, 3, 8, 10)]),
    "attention": (lambda: Weights(lambda q, k, v, w: nn.functional.scaled_dot_product_attention(q, k, v) * w, 1), [(1, 2, 7, 16)] * 3),
}


def archive(model: torch.jit.ScriptModule) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    return buffer.getvalue()


LARGE = ("linear_blocks",)


def has_instructions(dtype: torch.dtype) -> bool:
    """With these LibTorch is as fast at what takes longer than a call costs, and is left to it."""
    flag = {torch.bfloat16: "avx512_bf16", torch.float16: "avx512_fp16"}[dtype]
    return flag in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()


def run(loaded: stator.Module, args: list[Tensor]) -> Tensor:
    return torch.from_dlpack(loaded(*args))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_as_exact_as_libtorch(name, dtype):
    make, sizes = MODELS[name]
    torch.manual_seed(0)
    model = make().eval().to(dtype)
    args = [(normal(*size) + 0.125).to(dtype) for size in sizes]
    loaded = stator.load(archive(torch.jit.trace(model, args, check_trace=False)), plans="eager")
    with torch.inference_mode():
        theirs = model(*args)
        exact = model.double()(*(arg.double() for arg in args))
    for _ in range(2):
        ours = run(loaded, args)
        assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        off = (theirs.double() - exact).abs().max() + torch.finfo(dtype).eps * exact.abs().max()
        assert (ours.double() - exact).abs().max() <= off
    (plan,) = loaded.plan()["signatures"]
    calls = [step for step in plan["steps"] if step["kind"] == "call"]
    assert not calls or (name in LARGE and has_instructions(dtype)), plan["steps"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_what_is_no_number_stays_that(dtype):
    model = nn.Linear(20, 9).to(dtype)
    loaded = stator.load(archive(torch.jit.trace(model, normal(3, 20).to(dtype))), plans="eager")
    x = normal(3, 20).to(dtype)
    x[0, 1], x[1, 2], x[2, 3] = float("nan"), float("inf"), float("-inf")
    with torch.inference_mode():
        theirs = model(x)
    ours = run(loaded, [x])
    assert torch.equal(ours.isnan(), theirs.isnan())
    assert torch.equal(ours.isposinf(), theirs.isposinf())


def test_packed_weights_take_no_more_room_than_stored_ones():
    model = nn.Linear(128, 128, bias=False).bfloat16()
    loaded = stator.load(archive(torch.jit.trace(model, normal(3, 128).bfloat16())), plans="eager")
    before = loaded.metrics()["weight_bytes"]
    run(loaded, [normal(3, 128).bfloat16()])
    assert before < loaded.metrics()["weight_bytes"] <= 2 * before
