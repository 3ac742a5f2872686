"""Writes: into buffers, arguments, views of either, and what is made on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from cases import Call, Case


class Model(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("cache", torch.zeros(8, 3))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("hidden", torch.ones(2, 3), persistent=False)
        self.norm = nn.BatchNorm1d(3)
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.function(self, x, y)


def counter(m: Model, x: Tensor, y: Tensor) -> Any:
    m.steps.add_(1)
    m.total.mul_(0.5).add_(x.sum(0))
    return x + m.total, m.steps.clone()


def into_an_argument(m: Model, x: Tensor, y: Tensor) -> Any:
    y.mul_(2).add_(x)
    return y.sum(0)


def into_a_view_of_an_argument(m: Model, x: Tensor, y: Tensor) -> Any:
    y[:, 1].zero_()
    y.t()[0] += 1
    return x + y


def into_a_slice_of_a_buffer(m: Model, x: Tensor, y: Tensor) -> Any:
    m.cache[:2] = x[:2]
    m.cache[2:4].copy_(y[:2])
    return m.cache.sum(0), m.cache[1:3] * 2


def by_index(m: Model, x: Tensor, y: Tensor) -> Any:
    m.cache.index_put_((torch.tensor([0, 3]),), x[:2], accumulate=True)
    m.cache.index_copy_(0, torch.tensor([5]), y[:1])
    return m.cache * 1


def by_a_mask(m: Model, x: Tensor, y: Tensor) -> Any:
    z = x.clone()
    z[z > 0] = 0
    z[:, 0] = y[:, 1]
    z.masked_fill_(z < -1, 7)
    return z


def at_a_counted_place(m: Model, x: Tensor, y: Tensor) -> Any:
    rows = torch.arange(8) == m.steps % 8
    m.cache.copy_(torch.where(rows[:, None], x.sum(0), m.cache))
    m.steps += 1
    return m.cache + 0


def statistics(m: Model, x: Tensor, y: Tensor) -> Any:
    mean = x.mean(0)
    m.norm.running_mean.lerp_(mean, 0.1)
    return m.norm(x)


def what_was_made(m: Model, x: Tensor, y: Tensor) -> Any:
    out = torch.empty(x.shape[0], 6)
    out[:, :3] = x
    out[:, 3:] = y
    parts = out.split(3, 1)
    parts[0].add_(1)
    return out, parts[1] * 2


def a_hidden_buffer(m: Model, x: Tensor, y: Tensor) -> Any:
    m.hidden += x[:2]
    return m.hidden.clone(), y


def argument_and_result(m: Model, x: Tensor, y: Tensor) -> Any:
    x += 1
    return x, x * 2, y


def before_and_after(m: Model, x: Tensor, y: Tensor) -> Any:
    before = m.total + 0
    m.total.copy_(x[0])
    middle = m.total * y
    m.total.zero_()
    return before, middle, m.total + 1


def in_place_chains(m: Model, x: Tensor, y: Tensor) -> Any:
    z = x * 2
    w = z.view(-1)
    z.relu_().add_(1)
    return w, z.clamp_(max=2), z.sigmoid_().t()


FUNCTIONS = (
    counter,
    into_an_argument,
    into_a_view_of_an_argument,
    into_a_slice_of_a_buffer,
    by_index,
    by_a_mask,
    at_a_counted_place,
    statistics,
    what_was_made,
    a_hidden_buffer,
    argument_and_result,
    before_and_after,
    in_place_chains,
)


def calls() -> list[Call]:
    return [Call((torch.randn(rows, 3), torch.randn(rows, 3))) for rows in (4, 6, 7, 2, 5)]


WRITES = [
    Case(f"writes/{function.__name__}", lambda function=function: Model(function), calls, ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))
    for function in FUNCTIONS
]
