"""Operators in every dtype that Python takes them in, over sizes that are left open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.export import Dim

from cases import Call, Case

REAL = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
SMALL = (torch.float8_e4m3fn, torch.float8_e5m2)
COMPLEX = (torch.complex64, torch.complex128)
BOOL = (torch.bool,)
DENSE = (*REAL, *WHOLE, *COMPLEX, *BOOL)


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.function(x, y)


FUNCTIONS: dict[str, tuple[tuple[torch.dtype, ...], Callable[[Tensor, Tensor], Any]]] = {
    "arithmetic": ((*REAL, *WHOLE, *COMPLEX), lambda x, y: (x + y, x * y - 2, -x, 3 - y, x + 1.5, x * True)),
    "division": ((*REAL, *COMPLEX), lambda x, y: (x / (y + 3), x / 2, 2 / (x + 3))),
    "whole_division": (WHOLE, lambda x, y: (x // (y.abs() + 1), x % 3, x / 2, torch.floor_divide(x, 2), torch.remainder(x, 5))),
    "comparison": ((*REAL, *WHOLE), lambda x, y: (x < y, x >= 1, x == y, torch.maximum(x, y), x.clamp(-1, 1), torch.sign(x))),
    "logic": ((*BOOL, *WHOLE), lambda x, y: (x & y, x | y, x ^ y, ~x, x.logical_not(), x.any(1), x.all(0))),
    "where": (DENSE, lambda x, y: (torch.where(x != 0, x, y), x.masked_fill(x == 0, 1), torch.where(x != 0, x, 1))),
    "conversion": (
        (*DENSE, *SMALL),
        lambda x, y: (x.to(torch.float32), x.to(torch.bfloat16) if not x.is_complex() else x.real, x.to(x.dtype)),
    ),
    "to_others": ((*REAL, *WHOLE, *BOOL), lambda x, y: (x.long(), x.bool(), x.double(), x.to(torch.int8), x.to(torch.complex64))),
    "unsigned": (UNSIGNED, lambda x, y: (x.to(torch.int64) + 1, x.view(-1), torch.cat([x, y]))),
    "shapes": (
        (*DENSE, *SMALL),
        lambda x, y: (x.t(), x.reshape(-1), x[1:, ::2], x.unsqueeze(0), torch.cat([x, y], 1), torch.stack([x, y]), x.expand(2, *x.shape)),
    ),
    "parts": (DENSE, lambda x, y: (x.split(2, 1), x.chunk(2, 1)[0], x.unbind(1)[1], x.flip(1), x.roll(1, 0), x.repeat(2, 1), x.tril())),
    "by_index": (
        DENSE,
        lambda x, y: (x[:, [0, 2, 2]], x.index_select(0, torch.tensor([1, 0])), x.gather(1, torch.zeros_like(x, dtype=torch.long))),
    ),
    "sums": ((*DENSE,), lambda x, y: (x.sum(), x.sum(1), x.cumsum(0), x.prod(1))),
    # The exporter takes those of complex numbers for fixed sizes only.
    "means": (REAL, lambda x, y: (x.mean(), x.mean(1, keepdim=True), x.std(1), x.var(0))),
    "extremes": ((*REAL, *WHOLE), lambda x, y: (x.max(), x.min(1), x.argmax(1), x.amax(0), x.sort(1).values, x.topk(2, 1).values)),
    "products": (
        (*REAL, *COMPLEX),
        lambda x, y: (x @ y.t(), torch.einsum("ij,kj->ik", x, y), (x[None] @ y.t()[None])[0], torch.mv(x, y[0])),
    ),
    "whole_products": (WHOLE, lambda x, y: (x @ y.t(), torch.mv(x, y[0]))),
    "analysis": (
        (*REAL, *COMPLEX),
        lambda x, y: (
            x.exp(),
            x.sigmoid(),
            x.tanh(),
            x.sin(),
            (x * x).sqrt(),
            torch.rsqrt(x * x + 1),
            x.abs(),
            (x + 4).log(),
            x**2,
            x**0.5,
        ),
    ),
    "activations": (
        REAL,
        lambda x, y: (
            F.gelu(x),
            F.gelu(x, approximate="tanh"),
            F.silu(x),
            F.elu(x),
            F.leaky_relu(x),
            F.hardswish(x),
            F.softplus(x),
            F.mish(x),
        ),
    ),
    "softmax": (REAL, lambda x, y: (x.softmax(1), x.log_softmax(0), F.layer_norm(x, (6,)), F.normalize(x), x.logsumexp(1))),
    "factories": (
        DENSE,
        lambda x, y: (
            torch.zeros_like(x),
            x.new_ones(x.shape[0], 2),
            torch.full((x.shape[0], 2), 1, dtype=x.dtype),
            torch.arange(x.shape[0]).to(x.dtype),
            torch.eye(3, dtype=x.dtype),
        ),
    ),
    "complex": (COMPLEX, lambda x, y: (x.real, x.imag, x.conj() * y, torch.view_as_real(x), x.angle(), x.conj())),
    "bits": (WHOLE, lambda x, y: (x << 1, x >> 1, torch.bitwise_and(x, 3))),
    "rounding": (REAL, lambda x, y: (x.round(), x.floor(), x.ceil(), x.trunc(), x.frac(), torch.isfinite(x), torch.nan_to_num(x / 0))),
    "view_as_another": ((torch.float32, torch.int32), lambda x, y: (x.view(torch.int32), x.view(torch.float32), x.view(torch.int16))),
    "numbers_of_tensors": (
        (*REAL, *WHOLE),
        lambda x, y: (x * y[0, 0], x + torch.tensor(2), torch.tensor([1, 2, 3]) + x[:, :3], x.sum() * y),
    ),
}


def values(rows: int, dtype: torch.dtype) -> Tensor:
    if dtype in BOOL:
        return torch.rand(rows, 6) > 0.5
    if dtype in (*WHOLE, *UNSIGNED):
        return torch.randint(0 if dtype in (torch.uint8, *UNSIGNED) else -9, 9, (rows, 6)).to(dtype)
    if dtype in COMPLEX:
        return torch.randn(rows, 6, dtype=dtype)
    return torch.randn(rows, 6).to(dtype)


def case(name: str, function: Callable[..., Any], dtype: torch.dtype) -> Case:
    return Case(
        f"dtype/{name}/{str(dtype).removeprefix('torch.')}",
        lambda: Function(function),
        lambda: [Call((values(rows, dtype), values(rows, dtype))) for rows in (4, 3, 7, 16, 5, 4)],
        ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
    )


DTYPES = [case(name, function, dtype) for name, (dtypes, function) in FUNCTIONS.items() for dtype in dtypes]
