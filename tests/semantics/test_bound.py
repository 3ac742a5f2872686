"""Operators of everyday networks run in bound kernels alone, traced and exported, and give what eager gives: values, dtypes, strides."""

import io

import pytest
import torch
from torch import nn
from torch.nn import functional

import stator


class Function(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Cells(nn.Module):
    """A cell's steps in Python. Tracing writes them out: in-place operators on parts of one tensor."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x):
        state = (x.new_zeros(x.shape[0], 8),) * 2 if isinstance(self.cell, nn.LSTMCell) else x.new_zeros(x.shape[0], 8)
        for step in x.unbind(1):
            state = self.cell(step, state)
        return state


SPECIAL = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.1, -0.1, 3.0, -30.0, 0.5, -0.5, 100.0]).reshape(2, 6)
IMAGE = torch.arange(96.0).reshape(2, 4, 3, 4) / 7
ACTIVATIONS = {
    "selu": nn.SELU(),
    "celu": nn.CELU(0.7),
    "threshold": nn.Threshold(0.1, -3.0),
    "log_sigmoid": nn.LogSigmoid(),
    "hardshrink": nn.Hardshrink(0.3),
    "softshrink": nn.Softshrink(0.3),
    "prelu": nn.PReLU(),
    "glu": nn.GLU(),
    "lerp": Function(lambda x: torch.lerp(x, x + 1, 0.3) + torch.lerp(x, x * 2, 0.8)),
    "pad": nn.ConstantPad1d((2, 1), 1.5),
    "repeat": Function(lambda x: x.repeat(2, 1, 3)),
    "roll": Function(lambda x: torch.roll(x, (1, -2), (0, 1))),
}
IMAGES = {
    "prelu_of_channels": nn.PReLU(4),
    "glu_of_channels": nn.GLU(1),
    "upsample": nn.Upsample(scale_factor=2),
    "upsample_to_a_size": nn.Upsample((12, 16)),
    "pixel_shuffle": nn.PixelShuffle(2),
    "zero_pad": nn.ZeroPad2d((1, 0, 2, 3)),
    "roll_of_windows": Function(lambda x: torch.roll(x, (1, 1), (2, 3))),
    "norm_of_channels": nn.Sequential(Function(lambda x: x.permute(0, 2, 3, 1)), nn.LayerNorm(4)),
}
CELLS = {"lstm_cell": Cells(nn.LSTMCell(5, 8)), "gru_cell": Cells(nn.GRUCell(5, 8)), "rnn_cell": Cells(nn.RNNCell(5, 8))}
CASES = {
    **{name: (model, (SPECIAL,)) for name, model in ACTIVATIONS.items()},
    **{name: (model, (IMAGE,)) for name, model in IMAGES.items()},
    "padded_convolution": (nn.Sequential(nn.Conv2d(4, 4, 1), nn.ZeroPad2d(1), nn.Conv2d(4, 2, 3)), (IMAGE,)),
    **{f"{name}_of_channels_last": (model, (IMAGE.contiguous(memory_format=torch.channels_last),)) for name, model in IMAGES.items()},
    **{name: (model, (torch.linspace(-1, 1, 60).reshape(3, 4, 5),)) for name, model in CELLS.items()},
}


def archives(model: nn.Module, args: tuple[torch.Tensor, ...]) -> dict[str, bytes]:
    traced, exported = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.trace(model, args, check_trace=False), traced)
    torch.export.save(torch.export.export(model, args), exported)
    return {"traced": traced.getvalue(), "exported": exported.getvalue()}


def tensors(value):
    return [tensor for item in value for tensor in tensors(item)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", CASES)
def test_runs_in_bound_kernels(name):
    model, args = CASES[name]
    model = model.eval()
    with torch.inference_mode():
        expected = tensors(model(*args))
    for form, archive in archives(model, args).items():
        loaded = stator.load(archive, plans="eager")
        for _ in range(3):
            actual = [torch.from_dlpack(tensor) for tensor in tensors(loaded(*args))]
            for ours, theirs in zip(actual, expected, strict=True):
                torch.testing.assert_close(ours, theirs, equal_nan=True, check_stride=True, msg=lambda text, form=form: f"{form}: {text}")
        (plan,) = loaded.plan()["signatures"]
        assert not [step for step in plan["steps"] if step["kind"] == "call"], (form, plan["steps"])


def test_metadata_that_is_asserted_follows_from_the_signature():
    model = Function(lambda x: functional.one_hot(x, 5).float() + x.unsqueeze(-1).to(torch.float32))
    x = torch.tensor([1, 4, 0])
    archive = archives(model, (x,))["exported"]
    loaded = stator.load(archive, plans="eager")
    for _ in range(3):
        torch.testing.assert_close(torch.from_dlpack(loaded(x)), model(x))
    (plan,) = loaded.plan()["signatures"]
    nodes = {node["node"]: node["operator"] for node in loaded.plan()["nodes"]}
    assert "aten::_assert_tensor_metadata" in nodes.values()
    called = {nodes[node] for step in plan["steps"] if step["kind"] == "call" for node in step["nodes"]}
    assert "aten::_assert_tensor_metadata" not in called


def overlapping(x):
    y = x * 2
    first, second = y[:, :3], y[:, 2:]
    first.sigmoid_()
    return first, second + 1


def whole_read_later(x):
    y = x * 2
    first, second = y.chunk(2, 1)
    first.sigmoid_()
    second.tanh_()
    return y, first + second


def apart(x):
    y = x * 2
    first, second = y.chunk(2, 1)
    third = second[:, 1:]
    first.add_(1)
    third.mul_(first[:, 1:])
    return first, second, third


@pytest.mark.parametrize("function", [overlapping, whole_read_later, apart], ids=lambda function: function.__name__)
def test_writing_into_a_part_is_seen_by_what_shares_it(function):
    x = torch.linspace(-1, 1, 18).reshape(3, 6)
    for script in (torch.jit.script(function), torch.jit.trace(function, x)):
        loaded = stator.load(script.save_to_buffer(), plans="eager")
        for _ in range(3):
            for ours, theirs in zip(loaded(x), function(x), strict=True):
                torch.testing.assert_close(torch.from_dlpack(ours), theirs, check_stride=True)
