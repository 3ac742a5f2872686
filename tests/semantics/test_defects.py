"""What upstream's Static Runtime gets wrong (defects A to M), as LibTorch 2.15 still shows: silently wrong results, crashes, refusals."""

from typing import List, Tuple

import pytest
import torch
from torch import Tensor

import stator

F, D, I = torch.float32, torch.float64, torch.int64  # noqa: E741


def made(dtype: torch.dtype, *shape: int) -> Tensor:
    values = torch.linspace(0.25, 3, max(1, torch.Size(shape).numel()))[: torch.Size(shape).numel()]
    return (values * 4 if dtype == I else values).reshape(shape).to(dtype)


# Five runs of changing shapes and dtypes.
SHAPES = [(F, 2, 3), (D, 4, 5), (I, 1, 7), (F, 8, 8), (torch.bfloat16, 3, 2)]
ONE = [(made(*how),) for how in SHAPES]
TWO = [(made(*how), made(*how) * 2) for how in SHAPES]
PICKED = [(*pair, bool(i % 2)) for i, pair in enumerate(TWO)]


def view_of_a_branch(x: Tensor, y: Tensor, first: bool) -> Tensor:
    a, b = x * y, y * y
    if first:
        z = a.view(-1)
    else:
        z = b.view(-1)
    c = x + y
    d = c * x
    e = d + c
    f = e * y
    return z + f.view(-1)


def view_of_a_nested_branch(x: Tensor, y: Tensor, first: bool) -> Tensor:
    a, b = x * y, y * y
    if first:
        if x.size(0) > 2:
            z = a.view(-1)
        else:
            z = a.t().reshape(-1)
    else:
        z = b.view(-1)
    c = (x + y) * x
    d = c + x
    e = d * y
    return z + e.view(-1)


def view_carried_by_a_loop(x: Tensor, y: Tensor, first: bool) -> Tensor:
    a = x * y
    z = x.view(-1)
    for i in range(2):
        z = a.view(-1)
    c = (x + y) * x
    d = c + x
    return z + (d * y).view(-1)


@pytest.mark.parametrize("model", [view_of_a_branch, view_of_a_nested_branch, view_carried_by_a_loop])
def test_a_block_results_keep_the_memory_they_are_views_of(model, compare):
    compare(model, *PICKED, repeats=1)


def test_b_a_list_sees_the_tensor_that_is_made_now(compare):
    def stacked(x: Tensor, y: Tensor) -> Tensor:
        a = x.clone(memory_format=torch.contiguous_format)
        values = [a, x * y]
        return torch.hstack(values)

    transposed = [(x.t(), y.t()) for x, y in TWO]
    compare(stacked, *TWO, repeats=1)
    compare(stacked, *transposed, repeats=1)


def test_c_nan_is_the_least_in_every_run(compare):
    def least(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        return x.argmin(), x.argmin(0), x.argmax(0)

    nan, inf = float("nan"), float("inf")
    rows = [[nan, 1, nan], [1, nan, 0], [3, 2, 1], [inf, nan, -inf, nan], [nan]]
    compare(least, *[(torch.tensor(row, dtype=dtype),) for row, dtype in zip(rows, (F, D, F, D, F), strict=True)], repeats=1)


def test_d_dtypes_are_those_of_the_run(compare):
    def promoted(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        return x * y, torch.cat([x, y]), (x + y).sum(0)

    mixed = [
        (made(F, 2), made(F, 2)),
        (made(I, 2), made(I, 2)),
        (made(I, 3), made(D, 3)),
        (made(D, 2), made(D, 2)),
        (made(F, 4), made(I, 4)),
    ]
    compare(promoted, *mixed, repeats=1)
    compare(promoted, *mixed[::-1], repeats=1)


def test_e_a_slice_of_a_list_is_a_list_of_its_own(compare):
    def sliced(x: Tensor, values: List[Tensor]) -> Tuple[int, int, List[Tensor]]:
        copied = values[0:]
        copied.append(x)
        whole = copied[:]
        whole[0] = x * 2
        return len(values), len(copied), values

    compare(sliced, *[(x, [x, y][: 1 + i % 2]) for i, (x, y) in enumerate(TWO)], repeats=1)


def test_f_split_and_squeeze(compare):
    def parts(x: Tensor) -> Tuple[Tensor, Tensor]:
        a, b = x.split(1, 0)
        return a.squeeze(0) * 2, b.squeeze(0) + 1

    compare(parts, *[(made(dtype, 2, n + 1),) for n, (dtype, *_) in enumerate(SHAPES)], repeats=1)


def one_value_twice(x: Tensor, y: Tensor, first: bool) -> Tuple[Tensor, Tensor]:
    if first:
        a = x * y
        b = a
    else:
        a = x + y
        b = a
    return a, b


def one_value_twice_in_a_loop(x: Tensor, y: Tensor, first: bool) -> Tuple[Tensor, Tensor, Tensor]:
    a, b, c = x, y, x
    for i in range(3):
        d = a * 2 + i
        a, b, c = d, d, b
    return a, b, c


@pytest.mark.parametrize("model", [one_value_twice, one_value_twice_in_a_loop])
def test_g_a_block_may_give_one_value_twice(model, compare):
    compare(model, *PICKED, repeats=1)


def forked(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    return x * y, x + y


def test_h_forks_return_tuples(compare):
    def forks(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        a = x - y
        future = torch.jit.fork(forked, x, y)
        b = a * 2
        product, total = torch.jit.wait(future)
        return product, total, b + a

    compare(forks, *TWO, repeats=1)


def test_i_a_tensor_may_be_set_to_other_memory(compare):
    def other_memory(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
        a = x * 2
        b = y + 1
        a.set_(b)
        c = x * 3
        a.add_(1)
        return a + c, b

    compare(other_memory, *TWO, repeats=1)


def promotions(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    small = x.to(torch.float32)
    return (
        x / 2,
        torch.sigmoid(x),
        torch.clamp(x, 0.5, 2.5),
        torch.where(y > 2, small, y.to(torch.float64)),
        torch.softmax(small, 0, dtype=torch.float64),
        torch.logit(x, 0.25),
    )


def test_j_ints_become_floats_where_they_do(compare):
    compare(promotions, *[pair for pair in TWO if pair[0].dtype != torch.bfloat16], (made(torch.int32, 3), made(F, 3)), repeats=1)


def test_k_reductions_over_everything_and_small_stacks(compare):
    def reduced(x: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        everything = torch.jit.annotate(List[int], [])
        z = torch.sign(x) * torch.log1p(torch.abs(x))
        return x.sum(None, True), x.double().mean(everything, False), torch.stack([mask, mask]), torch.stack([x, x.double()]), z

    small = [(made(dtype, 1), torch.tensor([i % 2 == 0])) for i, dtype in enumerate((F, D, I, torch.float16, torch.bool))]
    compare(reduced, *small, repeats=1)


def test_l_arguments_are_taken_as_torchscript_takes_them(compare):
    def loose(x: Tensor, scale: float, values: List[int], names: List[str]) -> Tuple[Tensor, int]:
        if len(names) > 1:
            raise ValueError("one name at most")
        return x * scale, len(values)

    compare(
        loose,
        *[
            (x, scale, values, names)
            for (x,), scale, values, names in zip(
                ONE, (1, 2.5, 3, 0, 1), ([], [1], [], [2, 3], []), ([], ["a"], ["a", "b"], [], []), strict=True
            )
        ],
        repeats=1,
    )


def test_m_an_operator_that_takes_lists_stops_no_planning(archive, compare):
    def planned(x: Tensor, y: Tensor) -> Tensor:
        a = x * y
        b = a + x
        c = torch.block_diag([b, b * 2])
        d = torch.einsum("ij,jk->ik", [c, c])
        values = [d * 2, d + 1]
        e = values[0] * values[1]
        return e + 1

    floats = [(made(dtype, n, n), made(dtype, n, n) * 2) for n, dtype in zip((2, 5, 3, 1, 4), (F, D, F, D, F), strict=True)]
    compare(planned, *floats, repeats=1)
    plan = stator.load(archive(planned)).plan()
    placed = {buffer["value"] for buffer in plan["buffers"]}
    assert {"%a.1", "%b.1", "%e.1"} <= placed, placed
