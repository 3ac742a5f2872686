"""Networks of the benchmark, and one like them, in strict mode: ten thousand runs without an allocation (tests/capi/strict.c counts)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from networks import BENCH_MODELS, EncoderLayer, inputs, network

PROGRAM = Path(os.environ["STATOR_BUILD_DIR"]) / "tests" / "capi_strict"
NAMES = ("deep_and_wide_1", "deep_and_wide_20", "chain", "mlp_1", "mlp_32", "dlrm_1", "dlrm_64", "transformer")


class Gated(nn.Module):
    """None of the benchmark's: a convolution-free mixer with a gate, a norm and a maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.gate, self.norm = nn.Linear(24, 40), nn.Linear(24, 40), nn.LayerNorm(40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.up(x) * torch.nn.functional.silu(self.gate(x)))
        return torch.cat([y.amax(1), y.mean(1)], -1)


class Turned(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1).transpose(1, 2).reshape(x.size(0), -1)


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.convs = nn.Embedding(50, 24), nn.ModuleList(nn.Conv1d(24, 16, size, padding=size // 2) for size in (2, 3))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids).transpose(1, 2)
        return torch.cat([torch.relu(conv(x)).amax(2) for conv in self.convs], 1)


class Picture(nn.Module):
    """A block of MobileNet's: to more channels, each of them alone, to fewer; with squeeze and excitation."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.wide = nn.Sequential(nn.Conv2d(8, 32, 1), nn.BatchNorm2d(32), nn.ReLU6(), nn.Conv2d(32, 32, 3, 1, 1, groups=32))
        self.squeeze, self.excite, self.narrow = nn.Conv2d(32, 4, 1), nn.Conv2d(4, 32, 1), nn.Conv2d(32, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = self.wide(x)
        y = y * torch.sigmoid(self.excite(torch.relu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return (x + self.narrow(y)).mean((2, 3))


def keeps_the_promise(model: torch.jit.ScriptModule, arguments: tuple[torch.Tensor, ...], folder: Path) -> None:
    path = folder / "model.pt"
    model.save(str(path))
    names = [argument.name for argument in model.forward.schema.arguments[1:]]
    types = [str(x.dtype).removeprefix("torch.") for x in arguments]
    shapes = [",".join(map(str, x.shape)) for x in arguments]
    specs = [f"{name}={dtype}[{shape}]" for name, dtype, shape in zip(names, types, shapes, strict=True)]
    done = subprocess.run([PROGRAM, path, *specs], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_small_networks_run_without_allocating(name: str, tmp_path: Path) -> None:
    assert name in BENCH_MODELS
    with torch.no_grad():
        keeps_the_promise(torch.jit.trace(network(name), inputs(name)), inputs(name), tmp_path)


def test_another_network_runs_without_allocating(tmp_path: Path) -> None:
    x = torch.randn(3, 5, 24)
    with torch.no_grad():
        keeps_the_promise(torch.jit.trace(Gated().eval(), (x,)), (x,), tmp_path)


def test_batches_of_sequences_run_without_allocating(tmp_path: Path) -> None:
    """Heads are put together again by a reshape, which copies where there is more than one sequence."""
    x = torch.randn(4, 7, 48)
    with torch.no_grad():
        keeps_the_promise(torch.jit.trace(nn.Sequential(EncoderLayer(48, 3), EncoderLayer(48, 3)).eval(), (x,)), (x,), tmp_path)


def test_a_copy_that_is_the_result_runs_without_allocating(tmp_path: Path) -> None:
    x = torch.randn(3, 4, 5)
    with torch.no_grad():
        keeps_the_promise(torch.jit.trace(Turned(), (x,)), (x,), tmp_path)


def test_convolutions_run_without_allocating(tmp_path: Path) -> None:
    ids, image = torch.randint(0, 50, (2, 17)), torch.randn(1, 3, 20, 24)
    with torch.no_grad():
        keeps_the_promise(torch.jit.trace(Words().eval(), (ids,)), (ids,), tmp_path)
        keeps_the_promise(torch.jit.trace(Picture().eval(), (image,)), (image,), tmp_path)


def test_a_convolution_is_named(tmp_path: Path) -> None:
    x = torch.randn(1, 3, 8, 8, 8)
    with torch.no_grad(), pytest.raises(AssertionError, match=r"node \d+, aten::_?conv"):
        keeps_the_promise(torch.jit.trace(nn.Conv3d(3, 4, 3).eval(), (x,)), (x,), tmp_path)
