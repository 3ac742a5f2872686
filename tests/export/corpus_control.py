"""Control flow: torch's cond, while_loop, map and scan, nested in each other, and numbers read from tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as over_slices
from torch.export import Dim

from cases import Call, Case

OPEN = ({0: Dim.DYNAMIC},)


class Model(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(()))
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(self, x)


def branch(m: Model, x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda x: m.linear(x), lambda x: x * 2, (x,))


def branch_on_a_size(m: Model, x: Tensor) -> Tensor:
    return torch.cond(x.shape[0] > 3, lambda x: x + 1, lambda x: x - 1, (x,))


def nested_branches(m: Model, x: Tensor) -> Tensor:
    def outer(x: Tensor) -> Tensor:
        return torch.cond(x.max() > 1, lambda x: x.exp(), lambda x: x.sin(), (x,))

    return torch.cond(x.sum() > 0, outer, lambda x: m.linear(x).cos(), (x,))


def branch_of_several(m: Model, x: Tensor) -> tuple[Tensor, ...]:
    a, b = torch.cond(x.sum() > 0, lambda x: (x + 1, x.sum(0)), lambda x: (x - 1, x.mean(0)), (x,))
    return a * 2, b, a + b


def loop(m: Model, x: Tensor) -> tuple[Tensor, ...]:
    return while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, torch.tanh(y * 1.1)), (torch.zeros((), dtype=torch.long), x))


def loop_until(m: Model, x: Tensor) -> tuple[Tensor, ...]:
    return while_loop(lambda y: y.abs().max() > 0.5, lambda y: (y * 0.7,), (x.clone(),))


def loop_in_a_branch(m: Model, x: Tensor) -> Tensor:
    def run(x: Tensor) -> Tensor:
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + i), (torch.zeros((), dtype=torch.long), x))[1]

    return torch.cond(x.sum() > 0, run, lambda x: x.clone(), (x,))


def mapped(m: Model, x: Tensor) -> Tensor:
    return over_slices(lambda row, w: (row * w).cumsum(0), x, m.linear.bias)


def scanned(m: Model, x: Tensor) -> tuple[Tensor, Tensor]:
    return scan(lambda carry, row: (carry * 0.5 + row, carry + row), torch.zeros(3), x, dim=0)


def without_gradients(m: Model, x: Tensor) -> Tensor:
    with torch.no_grad():
        y = m.linear(x)
    with torch.enable_grad():
        return y + m.linear(x)


def a_number(m: Model, x: Tensor) -> Tensor:
    count = x.gt(0).sum().item()
    torch._check(count >= 0)
    torch._check(count <= x.numel())
    return torch.ones(count) * 2, x * count


def chosen_rows(m: Model, x: Tensor) -> tuple[Tensor, ...]:
    rows = torch.nonzero(x[:, 0] > 0).squeeze(1)
    return x[rows], x.index_select(0, rows).sum(0), rows.shape[0] * x


def masked(m: Model, x: Tensor) -> Tensor:
    return x[x > 0].cumsum(0), torch.masked_select(x, x < 0).sort().values


FUNCTIONS = (
    branch,
    branch_on_a_size,
    nested_branches,
    branch_of_several,
    loop,
    loop_until,
    loop_in_a_branch,
    mapped,
    scanned,
    without_gradients,
    a_number,
    chosen_rows,
    masked,
)


def calls() -> list[Call]:
    return [Call((torch.randn(rows, 3) + shift,)) for rows, shift in ((4, 1), (3, -1), (7, 0.2), (5, -0.2), (2, 2), (4, -1))]


CONTROL = [Case(f"control/{function.__name__}", lambda function=function: Model(function), calls, OPEN) for function in FUNCTIONS]
