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
OTHER = torch.tensor([1.0, -float("inf"), -float("inf"), -0.0, 0.0, 0.3, float("nan"), -2.0, 7.0, 0.0, 0.5, -0.1]).reshape(2, 6)
ARITHMETIC = {
    "beyond_32_bits": lambda x, y: ((x * 4e9).int(), (y / 0).int() + 1, (x * -7e9).short(), (y * 3e9).to(torch.int8), (x * 4e9).long()),
    "floor_divide": lambda x, y: (
        x // y,
        torch.floor_divide(x, 0.3),
        torch.div(x, y, rounding_mode="trunc"),
        torch.div(x, -3, rounding_mode="floor"),
    ),
    "remainder": lambda x, y: (x % y, torch.fmod(x, y), torch.remainder(x, -0.7), torch.fmod(x, 0.7)),
    "power": lambda x, y: (2.5**x, torch.pow(x, y), x**1, x**0, torch.float_power(x, 2)),
    "lerp_by_tensor": lambda x, y: torch.lerp(x, x + 1, y),
    "sums_of_powers": lambda x, y: (
        torch.logaddexp(x, y),
        torch.logaddexp2(x, y),
        torch.xlogy(x, y),
        torch.xlogy(x, 2.0),
        torch.xlogy(0.0, y),
    ),
    "logit": lambda x, y: (torch.logit(x), torch.logit(x, 0.1), torch.logit(x, 0.7)),
    "angles": lambda x, y: (torch.deg2rad(x), torch.rad2deg(x), torch.sinc(x), torch.hypot(x, y), torch.arctan2(x, y)),
    "steps": lambda x, y: (torch.heaviside(x, y), torch.copysign(x, y), torch.copysign(x, -1.0), torch.sgn(y)),
    "extremes": lambda x, y: (torch.fmax(x, y), torch.fmin(x, y), torch.clamp(x, y), torch.clamp(x, max=y), torch.clip(x, -1, 1)),
    "properties": lambda x, y: (x.isnan(), x.isinf(), x.isfinite(), torch.isposinf(x), torch.isneginf(y), torch.signbit(y)),
    "nan_to_num": lambda x, y: (
        torch.nan_to_num(x),
        torch.nan_to_num(x, 3.5, 7.0, -9.0),
        torch.nan_to_num(x.to(torch.bfloat16)),
        x.half().nan_to_num(),
    ),
    "inverse_hyperbolic": lambda x, y: (torch.asinh(x), torch.acosh(x), torch.arctanh(x), torch.lgamma(y)),
    "other_names": lambda x, y: (
        torch.multiply(x, y),
        torch.subtract(x, y),
        torch.divide(x, y),
        torch.absolute(y),
        torch.greater(x, y),
        torch.fix(x),
    ),
    "shrinks": lambda x, y: (functional.tanhshrink(x), functional.rrelu(x), functional.softsign(y)),
    "copies": lambda x, y: (torch.full_like(x, 2).copy_(y), torch.zeros_like(x).fill_(3.5) + x, (x * 2).zero_()),
}
WHOLE = torch.tensor([0, 1, 7, -7, 100, -100, 127, 5, -5, 8, 64, -128])
INTEGERS = {
    "floor_divide": lambda x, y: (x // 7, x // -3, torch.div(x, 7, rounding_mode="trunc"), torch.div(x, -1, rounding_mode="floor")),
    "remainder": lambda x, y: (x % 7, x % -3, torch.fmod(x, 7), torch.fmod(x, -1)),
    "bits": lambda x, y: (x & y, x | 12, x ^ y, ~x, x & (y > 3), (x > 1) ^ (y > 3), ~(x > 1)),
    "shifts": lambda x, y: (x << 3, x >> 2, torch.bitwise_left_shift(x, y), torch.bitwise_right_shift(x, y)),
    "properties": lambda x, y: (x.isnan(), x.isinf(), x.isfinite(), torch.signbit(x), x.nan_to_num()),
    "products": lambda x, y: (
        torch.addcmul(x, y, y, value=2),
        torch.maximum(x > 1, y > 3),
        torch.fmax(x, y),
        x**1,
        x**0,
        (x > 1) + (y > 3),
    ),
    "numbers_as_bools": lambda x, y: (
        (x > 1).masked_fill(y > 3, -1).half(),
        torch.full_like(x, 7, dtype=torch.bool).float(),
        (y > 3).fill_(2.5).double(),
    ),
    "order": lambda x, y: (*torch.sort(x, dim=-1, stable=True), torch.argsort(y), *torch.sort(y, descending=True)),
}
IMAGES = {
    "prelu_of_channels": nn.PReLU(4),
    "glu_of_channels": nn.GLU(1),
    "upsample": nn.Upsample(scale_factor=2),
    "upsample_to_a_size": nn.Upsample((12, 16)),
    "upsample_by_three": Function(lambda x: functional.interpolate(x.contiguous(), scale_factor=3) * 2),
    "upsample_exactly": Function(lambda x: functional.interpolate(x.contiguous(), (7, 5), mode="nearest-exact")),
    "bilinear": Function(lambda x: functional.interpolate(x.contiguous(), scale_factor=2, mode="bilinear") + 1),
    "bilinear_to_a_size": Function(lambda x: functional.interpolate(x.contiguous(), (5, 9), mode="bilinear", align_corners=True)),
    "linear": Function(lambda x: functional.interpolate(x.contiguous()[0], scale_factor=1.5, mode="linear")),
    "pixel_shuffle": nn.PixelShuffle(2),
    "pixel_unshuffle": nn.Sequential(nn.PixelShuffle(2), nn.ReLU(), nn.PixelUnshuffle(2), nn.ReLU()),
    "channel_shuffle": nn.Sequential(nn.ChannelShuffle(2), nn.Sigmoid()),
    "mean_of_parts": Function(lambda x: functional.adaptive_avg_pool2d(x.contiguous(), (3, 2))),
    "mean_of_parts_of_rows": Function(lambda x: functional.adaptive_avg_pool1d(x.contiguous()[0], 2)),
    "mean_of_all": Function(lambda x: functional.adaptive_avg_pool2d(x.contiguous(), 1)),
    "zero_pad": nn.ZeroPad2d((1, 0, 2, 3)),
    "roll_of_windows": Function(lambda x: torch.roll(x, (1, 1), (2, 3))),
    "norm_of_channels": nn.Sequential(Function(lambda x: x.permute(0, 2, 3, 1)), nn.LayerNorm(4)),
}
FLIPS_AND_BORDERS = {
    "flip": lambda x: (x.flip(0), x.flip(-1, 2), torch.flip(x, (0, 1, 2, 3)) * 2, (x + 1).flip(1).flip(1)),
    "reflected": lambda x: (functional.pad(x[0], (2, 1), "reflect"), functional.pad(x + 1, (1, 2, 2, 0), "reflect") * 2),
    "replicated": lambda x: (functional.pad(x[0], (5, 1), "replicate"), functional.pad(x + 1, (0, 2, 4, 1), "replicate")),
    "circular": lambda x: (functional.pad(x[0], (2, 1), "circular"), functional.pad(x + 1, (1, 4, 3, 0), "circular")),
    "repeat_interleave": lambda x: (x.repeat_interleave(3, 1), torch.repeat_interleave(x + 1, 2, dim=-1)),
}
# Kinds of taps: all over their phase or not, none in some phase, several in one, cut off by padding, of groups, of one dimension.
TRANSPOSED_CONVOLUTIONS = {
    "doubling": nn.ConvTranspose2d(4, 3, 2, 2),
    "of_overlapping_windows": nn.Sequential(nn.ConvTranspose2d(4, 6, 4, 2, 1), nn.BatchNorm2d(6), nn.ReLU()),
    "with_output_padding": nn.ConvTranspose2d(4, 2, 3, (2, 3), 1, output_padding=(1, 2), bias=False),
    "without_strides": nn.ConvTranspose2d(4, 2, 3),
    "of_many_taps": nn.ConvTranspose2d(4, 2, 5, 1, 2),
    "with_gaps": nn.ConvTranspose2d(4, 4, (1, 2), 3, dilation=2),
    "dilated": nn.ConvTranspose2d(4, 2, 3, 2, 2, dilation=2),
    "cut_off": nn.ConvTranspose2d(4, 2, 3, 1, (1, 2)),
    "of_groups": nn.ConvTranspose2d(4, 6, 3, 2, groups=2),
    "without_anything": nn.ConvTranspose2d(4, 4, 3, groups=4, bias=False),
    "of_single_channels": nn.Sequential(nn.ConvTranspose2d(4, 4, 4, 2, 1, groups=4), nn.Sigmoid()),
    "of_lines": nn.Sequential(nn.Flatten(2), nn.ConvTranspose1d(4, 3, 16, 8, 4), nn.LeakyReLU(), nn.ConvTranspose1d(3, 1, 2, 2)),
    "of_one_image": Function(lambda x: functional.conv_transpose2d(x[0], x.reshape(4, 2, 3, 4), padding=1) + 1),
    "of_every_other_channel": Function(lambda x: functional.conv_transpose2d(x.repeat(1, 2, 1, 1)[:, ::2], x[:1].transpose(0, 1))),
    "in_a_residual_block": Function(lambda x: x + functional.conv_transpose2d(x, x.new_ones(4, 4, 1, 1), padding=0)),
}
MATRIX, TENSOR = torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(-2, 1, 120).reshape(2, 3, 4, 5)
EINSUMS = {
    "matrices": lambda m, t: (torch.einsum("ij,jk->ik", m.t(), m), torch.einsum("ij,kj->ki", m, m), torch.einsum("ij, ij -> i", m, m)),
    "outer": lambda m, t: (torch.einsum("i,j->ij", m[0], m[1]), torch.einsum("i,i->", m[0], m[1]), torch.einsum("ij,ij->", m, m)),
    "heads": lambda m, t: (
        torch.einsum("bqhd,bkhd->bhqk", t, t + 1),
        torch.einsum("bhqk,bkhd->bqhd", t[:, :, :3, :2], t.permute(0, 3, 1, 2)[:, :2]),
    ),
    "of_a_weight": lambda m, t: (
        torch.einsum("bchw,wo->bcho", t, m.t()),
        torch.einsum("bchw,hw->bc", t, m),
        torch.einsum("bchw,hw->bchw", t, m),
    ),
    "then_more": lambda m, t: torch.cat([torch.einsum("bcij,jk->bcki", t, m.t()).relu(), t.transpose(2, 3)[..., :4]], 2) * 2,
}
SIMILARITIES = {
    "cosines": lambda m, t: (
        functional.cosine_similarity(m, m.flip(0)),
        functional.cosine_similarity(m.unsqueeze(1), m.unsqueeze(0), -1),
        functional.cosine_similarity(t, m, -1),
        functional.cosine_similarity(m[0], t + 1, -1),
    ),
    "cosines_of_nothing_and_more": lambda m, t: (
        functional.cosine_similarity(m * 0, m),
        functional.cosine_similarity(m / 0, m),
        functional.cosine_similarity(m, m * 2, 0, 3.0),
    ),
    "distances": lambda m, t: (
        functional.pairwise_distance(m, m.flip(1)),
        functional.pairwise_distance(t, m, keepdim=True),
        functional.pairwise_distance(m, m / 0) + 1,
    ),
}
ARRANGEMENTS = {
    "vectors": lambda m, t: (
        torch.dot(m[0], m[1]) + 1,
        torch.mv(m, m[0]),
        torch.outer(m[0], m[:, 1]),
        torch.outer(m[0].half(), m[1].half()),
    ),
    "joined": lambda m, t: (
        torch.hstack([m, m * 2]),
        torch.hstack([m[0], m[:, 0]]),
        torch.vstack([m, m + 1]),
        torch.vstack([m[0], m[1]]),
        torch.hstack([t, t[:, :2]]).relu(),
    ),
    "put": lambda m, t: (
        torch.slice_scatter(m, m[:2] * 2, 0, 1, 3),
        torch.slice_scatter(t, t[..., :2] + 1, -1, start=-2),
        torch.select_scatter(m, m[:, 0], 1, -1),
        torch.select_scatter(t, t[0], 0, 1) * 2,
    ),
    "tiled": lambda m, t: (m.tile(2), m.tile(2, 3), torch.tile(m, (2, 1, 3)) * 2),
    "triangles": lambda m, t: (m.tril(), t.triu(1), (m > 0).tril(-1), (m * 9).int().triu(), (m / 0).tril().half()),
    "differences": lambda m, t: (m.diff(), t.diff(dim=1), (m / 0).diff(dim=0), m.bfloat16().diff()),
    "taken": lambda m, t: (torch.take_along_dim(m, m.argsort(1), 1), t.take_along_dim(t.argmax(2, keepdim=True), 2)),
}
ROWS = torch.tensor([2, 0, 3, 3, 1])
SCATTERS = {
    "index_add": lambda m, t: (m.new_zeros(6, 5).index_add_(0, ROWS, torch.cat([m, m[:1]])), torch.index_add(m, 1, ROWS[:2], m[:, :2]) * 2),
    "scatter_add": lambda m, t: (
        torch.zeros(4, 5).scatter_add_(0, ROWS.unsqueeze(1).expand(5, 5), torch.cat([m, m[1:2]])),
        m.scatter_add(1, ROWS.expand(4, 5), m + 1).relu(),
        m.half().scatter_add(1, ROWS.expand(4, 5), m.half()),
    ),
    "scatter_reduce": lambda m, t: tuple(
        (m + 1).scatter_reduce(0, ROWS.unsqueeze(1).expand(5, 5), torch.cat([m, m[:1]]) * 3, kind)
        for kind in ("sum", "amax", "amin", "prod")
    ),
    "scatter": lambda m, t: (
        torch.zeros_like(m, dtype=torch.bool).scatter_(1, m.argmax(1, keepdim=True), 1),
        torch.full_like(m, -1.0).scatter(1, ROWS[:4].unsqueeze(1), m[:, :1]),
        m.scatter(1, ROWS[:4].unsqueeze(1), 7.5),
    ),
}


def with_rows_put(m, t):
    x, y, z = m + 1, m * 2, t.clone()
    x[ROWS[:3]] = m[1:]
    y[:, ROWS[:2]] = 0.5
    x[:, ROWS[:1]] = m[0, 0]
    z[z > 0] = -1.0
    z[z < -1.5] = t[0, 0, 0, 0]
    z[:, :, ROWS[1:3]] = m[0]
    return x, y.relu(), z


def with_parts_written(m, t):
    x, y, z = m * 2, torch.zeros(4, 9), t + 1
    before = x[1:3].clone()
    row, corner = x[1], x[:2, 3:]
    x[:, 0] = 1.5
    x[2] = m[0]
    x[:, 2] += m[:, 1]
    x[1:3, 1:4] *= m[1:3, :3]
    corner.relu_()
    y[:, 2:7] = m
    y[:, :1] = m.sum(1, keepdim=True).half()
    y[3].fill_(7)
    z[0, 1, :, 2:4] = m[:, :2]
    z[:, 2] = z[:, 0]
    z.permute(3, 0, 1, 2)[1].exp_()
    return x, y.t(), z, before, row + 1, corner, torch.stack([x, m])


CELLS = {"lstm_cell": Cells(nn.LSTMCell(5, 8)), "gru_cell": Cells(nn.GRUCell(5, 8)), "rnn_cell": Cells(nn.RNNCell(5, 8))}
CASES = {
    **{name: (Function(function), (SPECIAL, OTHER)) for name, function in ARITHMETIC.items()},
    **{
        f"{name}_of_integers": (Function(function), (WHOLE.reshape(3, 4), WHOLE.flip(0).reshape(3, 4)))
        for name, function in INTEGERS.items()
    },
    **{
        f"{name}_of_{str(kind)[6:]}": (Function(function), (WHOLE.to(kind).reshape(3, 4), WHOLE.flip(0).to(kind).reshape(3, 4)))
        for name, function in INTEGERS.items()
        if name != "order"
        for kind in (torch.int32, torch.int8)
    },
    **{name: (model, (SPECIAL,)) for name, model in ACTIVATIONS.items()},
    **{name: (model, (IMAGE,)) for name, model in IMAGES.items()},
    **{name: (Function(function), (IMAGE,)) for name, function in FLIPS_AND_BORDERS.items()},
    **{
        f"{name}_of_channels_last": (
            Function(function),
            (IMAGE.contiguous(memory_format=torch.channels_last),),
        )
        for name, function in FLIPS_AND_BORDERS.items()
    },
    **{f"transposed_convolution_{name}": (model, (IMAGE,)) for name, model in TRANSPOSED_CONVOLUTIONS.items()},
    **{f"einsum_{name}": (Function(function), (MATRIX, TENSOR)) for name, function in EINSUMS.items()},
    **{name: (Function(function), (MATRIX, TENSOR)) for name, function in (SIMILARITIES | SCATTERS | ARRANGEMENTS).items()},
    "parts_written": (Function(with_parts_written), (MATRIX, TENSOR)),
    "rows_put": (Function(with_rows_put), (MATRIX, TENSOR)),
    "reflected_convolution": (
        nn.Sequential(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"), nn.ReLU()),
        (IMAGE,),
    ),
    "padded_convolution": (nn.Sequential(nn.Conv2d(4, 4, 1), nn.ZeroPad2d(1), nn.Conv2d(4, 2, 3)), (IMAGE,)),
    **{f"{name}_of_channels_last": (model, (IMAGE.contiguous(memory_format=torch.channels_last),)) for name, model in IMAGES.items()},
    **{name: (model, (torch.linspace(-1, 1, 60).reshape(3, 4, 5),)) for name, model in CELLS.items()},
}


class ChannelsLast(nn.Module):
    """Of all kinds of convolutions, which LibTorch gives channels-last because the weights are."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Sequential(nn.Conv2d(4, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.alone, self.points = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1)
        self.patches, self.pool = nn.Conv2d(32, 32, 3, padding=1), nn.MaxPool2d(3, 2, 1)
        self.whole, self.head = nn.Conv2d(64, 8, 3), nn.Linear(8, 3)

    def forward(self, x):
        x = self.first(x)
        y = functional.hardswish(self.points(x + functional.silu(self.alone(x), inplace=True)))
        z = self.pool(torch.cat([y, self.patches(y) * 2], 1))
        return self.head(self.whole(z).flatten(1)), y, z.mean((2, 3)), z[:, 3:5], z.permute(0, 2, 3, 1) + 1


CHANNELS_LAST = torch.arange(2 * 4 * 12 * 12.0).remainder(37).sub(18).reshape(2, 4, 12, 12) / 7
CASES["channels_last_weights"] = (ChannelsLast().to(memory_format=torch.channels_last), (CHANNELS_LAST,))
CASES["channels_last_input"] = (ChannelsLast(), (CHANNELS_LAST.contiguous(memory_format=torch.channels_last),))
CASES["channels_last_both"] = (
    ChannelsLast().to(memory_format=torch.channels_last),
    (CHANNELS_LAST.contiguous(memory_format=torch.channels_last),),
)


class CalledInBetween(nn.Module):
    """LibTorch's own operators read and write what is channels-last between convolutions."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Conv2d(4, 16, 3), nn.Conv2d(16, 8, 1)

    def forward(self, x):
        x = torch.sigmoid(self.first(x)) + 1
        y = x.cummax(1)[0]
        x.digamma_()
        part = x[:, 2:5].lgamma_()
        x[:, 1] = y[:, 3]
        if bool(x.sum() > -1e9):
            x = x * 2
        return self.second(x), x, part


def test_what_is_in_another_order_is_written_by_others_too():
    model = CalledInBetween().eval().to(memory_format=torch.channels_last)
    archive = io.BytesIO()
    torch.jit.save(torch.jit.script(model), archive)
    loaded = stator.load(archive.getvalue(), plans="eager")
    with torch.inference_mode():
        wanted = model(CHANNELS_LAST)
    for _ in range(3):
        for ours, theirs in zip(loaded(CHANNELS_LAST), wanted, strict=True):
            torch.testing.assert_close(torch.from_dlpack(ours), theirs, check_stride=True)


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


def narrow_in_place(x):
    y = (x * 2).to(torch.bfloat16)
    y += x
    z = (x * 3).to(torch.bfloat16)
    return y, z.mul_(x)


def test_an_operator_in_place_computes_in_the_dtype_that_both_promote_to():
    x = torch.linspace(-1, 1, 18).reshape(3, 6)
    loaded = stator.load(torch.jit.script(narrow_in_place).save_to_buffer(), plans="eager")
    for _ in range(3):
        for ours, theirs in zip(loaded(x), narrow_in_place(x), strict=True):
            assert torch.equal(torch.from_dlpack(ours), theirs)


class PaddedByTensor(nn.Module):
    def forward(self, x: torch.Tensor, amount: torch.Tensor):
        n = int(amount.item())
        return functional.conv_transpose2d(x, x.transpose(0, 1).contiguous(), stride=2, output_padding=[n, 0])


def test_a_size_that_a_tensor_says_is_asked_for_each_time():
    model, archive = PaddedByTensor(), io.BytesIO()
    torch.jit.save(torch.jit.script(model), archive)
    loaded = stator.load(archive.getvalue(), plans="eager")
    for amount in (0, 0, 1, 0, 1):
        args = IMAGE[:1], torch.tensor(amount)
        torch.testing.assert_close(torch.from_dlpack(loaded(*args)), model(*args))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "linear"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_factors_that_are_not_quite_what_they_make(mode, dtype):
    """LibTorch's kernels differ from one another here, by size and layout."""
    for size, factor in ((2, 2.3), (3, 1.2), (100, 2.004), (100, 1.003), (7, 4.1), (5, 3.3), (4, 0.6), (8, 2.0)):
        model = Function(lambda x, factor=factor: functional.interpolate(x, scale_factor=factor, mode=mode))
        for shape in [(1, 2, size)] if mode == "linear" else [(1, 2, size), (1, 2, size, 5), (2, 5, 3, size)]:
            if mode == "bilinear" and len(shape) == 3:
                continue
            x = torch.arange(float(torch.Size(shape).numel()), dtype=dtype).reshape(shape)
            archive = io.BytesIO()
            torch.jit.save(torch.jit.trace(model, (x,), check_trace=False), archive)
            loaded = stator.load(archive.getvalue(), plans="eager")
            for _ in range(3):
                actual = torch.from_dlpack(loaded(x))
                torch.testing.assert_close(actual, model(x), msg=lambda text, case=(shape, factor): f"{case}: {text}")
