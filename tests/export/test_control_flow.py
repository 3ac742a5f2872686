"""torch.cond, while_loop, map, scan, and regions."""

import pytest
import torch
from torch import nn
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim

import stator

X = [(torch.randn(4, 3),), (-torch.rand(4, 3),), (torch.rand(4, 3),)]


def test_cond_on_a_tensor(compare):
    class Branches(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2 + 1, (x,))

    compare(Branches(), *X)


def test_cond_on_a_size_and_nested(compare):
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            def inner(x):
                return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

            return torch.cond(x.shape[0] > 4, lambda x: self.linear(x), inner, (x,))

    compare(Branches(), (torch.randn(6, 3),), (torch.randn(3, 3),), (-torch.rand(2, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_while_loop(compare):
    class Loops(nn.Module):
        def forward(self, count, x):
            return while_loop(lambda count, x: count > 0, lambda count, x: (count - 1, x * 2 + count), (count, x))

    compare(Loops(), (torch.tensor(3), torch.randn(2)), (torch.tensor(0), torch.randn(2)), (torch.tensor(5), torch.randn(2)))


def test_map(compare):
    class Maps(nn.Module):
        def forward(self, x, y):
            return torch_map(lambda row, y: row.cos() + y, x, y)

    compare(Maps(), (torch.randn(4, 3), torch.randn(3)), (torch.randn(2, 3), torch.randn(3)), dynamic_shapes=({0: Dim.DYNAMIC}, None))


def test_scan(compare):
    class Scans(nn.Module):
        def forward(self, start, x):
            return scan(lambda carry, row: (carry + row, carry * row), start, x)

    compare(Scans(), (torch.randn(3), torch.randn(4, 3)))


def test_gradients_switched_off(compare):
    class Region(nn.Module):
        def forward(self, x):
            y = x * 2
            with torch.no_grad():
                y = y.sin() + 1
            return y + x

    compare(Region(), *X)


class Autocast(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
        return y.float() + 1


def test_autocast_is_decomposed(compare):
    compare(Autocast(), *X, dialects=("functional", "core"))


def test_autocast_is_refused_with_advice(archive):
    with pytest.raises(stator.UnsupportedError, match=r"torch.autocast is in the program.*run_decompositions\(\{\}\)"):
        stator.load(archive(Autocast(), *X[0]))
