"""Straight-line graphs: weights, operators, symbolic sizes."""

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import stator

BATCH = {"x": {0: Dim.DYNAMIC}}


class Module(nn.Module):
    """A module of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def rows(*counts: int, width: int = 6) -> list[tuple[Tensor]]:
    return [(torch.randn(count, width),) for count in counts]


def test_mlp(compare):
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(1))
    compare(model, *rows(4, 1, 9), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_convolution_and_batch_norm(compare):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    compare(model, (torch.randn(2, 3, 8, 8),), (torch.randn(5, 3, 8, 8),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_transformer_layer(compare):
    model = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    compare(model, (torch.randn(2, 5, 16),), (torch.randn(3, 7, 16),), dynamic_shapes=({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},))


def test_embedding_bag(compare):
    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(20, 4, mode="sum")
            self.table = nn.Embedding(20, 4, padding_idx=0)

        def forward(self, ids):
            return self.bag(ids) + self.table(ids).mean(1)

    compare(Sparse(), (torch.randint(20, (3, 5)),), (torch.randint(20, (4, 5)),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_lstm(compare):
    compare(nn.LSTM(4, 8, 2, batch_first=True), (torch.randn(2, 5, 4),), (torch.randn(2, 5, 4),))


def test_tied_weights_views_and_constants(compare):
    class Weights(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 6)
            self.b = nn.Linear(6, 6)
            self.b.weight = self.a.weight
            self.register_buffer("turned", torch.randn(6, 4).t())
            self.register_buffer("part", torch.arange(20.0)[5:11])
            self.register_buffer("wide", torch.tensor([2.0]).expand(6))
            self.register_buffer("empty", torch.empty(0, 6))
            self.register_buffer("halves", torch.randn(6).bfloat16())
            self.register_buffer("hidden", torch.randn(6), persistent=False)
            self.constant = torch.arange(6.0)

        def forward(self, x):
            y = self.b(self.a(x)) * self.part + self.wide + self.halves + self.hidden + self.constant
            return y @ self.turned.t(), torch.cat([self.empty, y]), self.turned

    compare(Weights(), *rows(4, 2), dynamic_shapes=({0: Dim.DYNAMIC},))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(x.shape[0] * 2, -1),
        lambda x: x.reshape(-1, x.shape[0]) * x.shape[0] / (x.shape[1] + 0.5),
        lambda x: x[: x.shape[0] // 2] + x.numel() % 7,
        lambda x: torch.full((x.shape[0], 2), x.shape[0] * 0.5),
        lambda x: torch.arange(x.shape[0] ** 2, dtype=torch.float32) - x.shape[0],
        lambda x: torch.zeros(max(x.shape[0], 3), min(x.shape[1], 2)),
        lambda x: x.new_ones(x.shape[0] + 1, dtype=torch.int32),
        lambda x: x.expand(2, *x.shape).transpose(0, 1),
        lambda x: x * (1 if x.shape[1] > 3 else 2),
    ],
)
def test_sizes_are_computed(compare, function):
    compare(Module(function), *rows(4, 8, 10), dynamic_shapes=({"x": {0: Dim.DYNAMIC}}["x"],))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 + x * 2 - 3 / (x.abs() + 1),
        lambda x: (x.long() + 1.5, x.long() * 2, x.bool() | True, x > 0),
        lambda x: torch.where(x > 0, x, float("-inf")).softmax(-1).nan_to_num(),
        lambda x: x.clamp(min=0).sum(),
        lambda x: x.sum((0, 1), keepdim=True, dtype=torch.float64),
        lambda x: x.topk(2, dim=1),
        lambda x: x.split([1, 2, 3], 1),
        lambda x: torch.chunk(x, 3, dim=1)[1],
        lambda x: x.max(1),
        lambda x: x[:, [0, 2]],
        lambda x: x[None, ..., 1],
        lambda x: x.to(torch.bfloat16).float() + x.double(),
        lambda x: torch.view_as_complex(x.reshape(-1, 3, 2).contiguous()),
        lambda x: x.view(torch.int32),
        lambda x: torch.einsum("ij,kj->ik", x, x),
        lambda x: torch.full((2, 2), True, device=x.device),
        lambda x: x.contiguous(memory_format=torch.contiguous_format).clone().flip(0),
        lambda x: torch.nn.functional.gelu(x, approximate="tanh") + torch.nn.functional.layer_norm(x, (6,)),
        lambda x: torch.nn.functional.pad(x, (1, 2), value=0.5),
        lambda x: torch.nn.functional.interpolate(x[None, None], scale_factor=2.0, mode="bilinear"),
        lambda x: x.std(1) + x.var(1, correction=0),
        lambda x: torch.linalg.norm(x, dim=1),
        lambda x: torch.tensor([1.0, 2.0]) + x[:1, :2],
        lambda x: torch.nn.functional.dropout(x, 0.5, training=False),
    ],
)
def test_operators(compare, function):
    compare(Module(function), *rows(4, 4))


def test_a_size_is_an_input_and_a_result(compare):
    class Repeats(nn.Module):
        def forward(self, x, count: int):
            return x.repeat(count, 1), x.shape[0] * count

    compare(Repeats(), (torch.randn(2, 3), 4), (torch.randn(3, 3), 5), dynamic_shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC))


def test_data_dependent_shapes(compare):
    class Positive(nn.Module):
        def forward(self, x):
            return x[x > 0], torch.nonzero(x).sum(0)

    compare(Positive(), *rows(4, 4))


def test_item_and_assertion(compare):
    class Item(nn.Module):
        def forward(self, n, x):
            count = n.item()
            torch._check(count >= 1)
            torch._check(count <= 4)
            return torch.zeros(count, 2), x * count

    compare(Item(), (torch.tensor(2), torch.randn(3)), (torch.tensor(4), torch.randn(3)))


def test_operators_with_effects(compare, archive):
    """run_decompositions() ties checks of results to tokens."""
    model = Module(lambda x: torch.linalg.solve(x, torch.linalg.inv(x)))
    compare(model, (torch.randn(3, 3) + 4 * torch.eye(3),), (torch.randn(3, 3) + 4 * torch.eye(3),))
    module = stator.load(archive(model, torch.eye(3), dialect="core"))
    with pytest.raises(stator.OperatorError, match="singular"):
        module(torch.zeros(3, 3))


def test_sizes_stand_for_tensors(compare):
    """A decomposed reflection subtracts indices from a size."""
    model = Module(lambda x: nn.functional.pad(x, (2, 2), mode="reflect"))
    compare(model, (torch.randn(3, 6),), (torch.randn(3, 9),), dynamic_shapes=({1: Dim.DYNAMIC},))
