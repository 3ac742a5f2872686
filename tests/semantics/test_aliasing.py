"""Views, writes in place, containers that change, and results that share memory with something: whatever a value is, only the values of
the run that made it may show."""

from typing import Dict, List, Optional, Tuple

import pytest
import torch
from torch import Tensor

import stator

T = torch.arange(6.0).reshape(2, 3)
RUNS = [(T,), (torch.rand(4, 5),), (torch.arange(4).reshape(2, 2),), (torch.rand(3, 2, dtype=torch.float64).t(),)]


def write_through_a_view(x: Tensor) -> Tuple[Tensor, Tensor]:
    a = x * 2
    a.view(-1).add_(1)
    b = a.t()
    b[0] = 7
    a.select(0, 0).mul_(3)
    a[:, 1:].sub_(1)
    return a + 1, a.reshape(-1)[0]


def sigmoid_through_a_reshape(x: Tensor) -> Tensor:
    a = x.double() + x
    b = a.reshape(-1)
    b.sigmoid_()
    return a + b.reshape(a.shape)


def writer_before_and_after_the_view(x: Tensor) -> Tuple[Tensor, Tensor]:
    a = x + 1
    a.add_(1)
    b = a.reshape(-1)
    c = b * 2
    a.mul_(2)
    d = a.flatten().contiguous()
    a.sub_(1)
    return b + c, d + b


def write_to_an_input(x: Tensor) -> Tensor:
    y = x.view(-1)
    y.add_(1)
    z = x * 2
    x[0] = 5
    return z + x


def write_to_an_input_in_a_branch(x: Tensor) -> Tensor:
    y = x.t()
    if x.size(0) > 2:
        y.mul_(2)
    else:
        y = y.clone()
        y.add_(1)
    return y + x.t()


def write_in_branches_and_loops(x: Tensor) -> Tuple[Tensor, Tensor]:
    total = torch.zeros_like(x)
    last = total
    for i in range(x.size(0)):
        if i % 2 == 0:
            total[i] += x[i]
            last = total[i]
        else:
            row = total[i - 1]
            row.add_(i)
            last = row * 2
        total.add_(1)
    return total, last


def carried_view(x: Tensor) -> Tensor:
    a = x * 2
    view = a
    for i in range(3):
        view = view.view(-1) if i % 2 == 0 else view.view(x.size(0), -1)
        view.add_(i)
    return view.reshape(-1) + a.reshape(-1)


def carried_swap(x: Tensor) -> Tuple[Tensor, Tensor]:
    a, b = x * 2, x + 1
    for i in range(3):
        a, b = b, a
        a = a + i
    return a, b


def carried_values_of_every_type(
    x: Tensor,
) -> Tuple[Tensor, int, float, bool, str, List[Tensor], Dict[str, Tensor], Tuple[Tensor, int], Optional[Tensor]]:
    t, i, f, b, s = x, 0, 0.5, False, ""
    values: List[Tensor] = []
    named: Dict[str, Tensor] = {}
    pair = (x, 0)
    maybe: Optional[Tensor] = None
    for n in range(x.size(0)):
        t, i, f, b, s = t * 2, i + n, f * 2, not b, s + str(n)
        values = values + [t]
        named = {"old": t, str(n): x}
        pair = (pair[0] + t, pair[1] + 1)
        maybe = t if n > 1 else None
    return t, i, f, b, s, values, named, pair, maybe


def list_changed_after_its_use(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, int]:
    values = [x, x * 2]
    before = torch.cat(values)
    values.append(x + 1)
    after = torch.cat(values)
    values[0] = x * 5
    last = torch.stack(values, 1)
    values.pop()
    return before, after, last, len(values)


def list_changed_through_another_name(x: Tensor) -> Tuple[Tensor, Tensor]:
    values = [x, x * 2]
    other = values
    pair = (values, 1)
    named = {"values": values}
    other[0] = x + 3
    first = torch.cat(values)
    pair[0].append(x)
    named["values"][1] = x - 1
    return first, torch.cat(values)


def list_filled_in_blocks(x: Tensor) -> List[Tensor]:
    values: List[Tensor] = []
    for i in range(x.size(0)):
        if i > 0:
            values.append(x[i] * 2)
            if i > 1:
                values.append(values[0] + 1)
    return values


def copied_list(x: Tensor) -> Tuple[List[Tensor], List[Tensor], List[Tensor]]:
    values = [x * 2, x + 1]
    copied = list(values)
    sliced = values[:]
    copied.append(x)
    values[0] = x * 9
    values[1].add_(1)
    return values, copied, sliced


def dict_changed_after_its_use(x: Tensor) -> Tuple[Tensor, Tensor, Dict[str, Tensor]]:
    named = {"a": x, "b": x * 2}
    before = named["a"] + named["b"]
    named["a"] = before
    named["b"].add_(1)
    named["c"] = x
    return before, named["a"] + named["b"], named


def list_of_views(x: Tensor) -> Tensor:
    a = x + 0
    rows = list(a.unbind(0))
    rows[0].fill_(3)
    chunks = a.chunk(2, 1)
    chunks[0].mul_(2)
    return torch.stack(rows)


def lifetimes_by_containers(x: Tensor) -> Tensor:
    a = x * 2
    b = a + 1
    pair = (a, [b])
    c = b * 3
    d = c - 1
    e = d * d
    return pair[0] + pair[1][0] + e


def lifetimes_by_views(x: Tensor) -> Tensor:
    a = x * 2
    view = a.t().t().view(-1)
    b = x + 1
    c = b * b
    d = c - b
    return view + d.reshape(-1)


def results_alias_inputs(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, List[Tensor]]:
    return x, x.t(), x.view(-1) if x.is_contiguous() else x, [x, x[0]]


def results_alias_each_other(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, List[Tensor]]:
    a = x * 2
    b = a.view(-1)
    return a, a, b, a[0], [a, b]


def results_alias_a_list(x: Tensor) -> Tuple[List[Tensor], List[Tensor], Tensor]:
    values = [x * 2]
    values.append(values[0])
    return values, values, values[0]


def nested_result(x: Tensor) -> Dict[str, Tuple[List[Tensor], Tensor]]:
    a = x + 1
    return {"a": ([a, x], a.t()), "b": ([], x * 2)}


def constant_result(x: Tensor) -> Tuple[int, str, List[int], Optional[Tensor], Tuple[int, float]]:
    return 1, "one", [1, 2], None, (3, 0.5)


def expanded(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    a = (x + 1)[None].expand(3, -1, -1)
    return a, a.clone(), (x[:1] * 2).expand_as(x)


def maybe_a_copy(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    a = x.to(torch.float32)
    b = a.contiguous()
    c = b.reshape(-1)
    d = c.to(a)
    return a + 1, b, c, d


def dropped_branches(x: Tensor) -> Tensor:
    if x.size(0) > 100:
        pass
    elif x.size(0) > 2:
        if x.size(1) > 100:
            pass
    else:
        x = x * 2
    return x


def early_returns_in_blocks(x: Tensor) -> Tensor:
    a = x * 2
    for i in range(3):
        a.add_(i)
        if x.size(0) > 2:
            if i == 1:
                return a.view(-1)
        elif i == 2:
            return a.t()
    return a


def outer_values_written_in_nested_blocks(x: Tensor) -> Tuple[Tensor, Tensor]:
    a, b = x * 2, x + 1
    for i in range(2):
        for j in range(3):
            if (i + j) % 2 == 0:
                if i == 0:
                    a.add_(b)
                else:
                    b = a * j
            else:
                a = a + b
                a.t().sub_(i)
    return a, b


def memory_set_and_resized(x: Tensor) -> Tuple[Tensor, Tensor]:
    a = x * 2
    b = torch.empty_like(a)
    b.copy_(a)
    b.resize_(a.numel() + 2)
    b.fill_(1)
    b[: a.numel()] = a.view(-1) if a.is_contiguous() else a.reshape(-1)
    a.zero_()
    return a, b


def out_arguments(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    a = torch.empty(0, dtype=x.dtype)
    b = torch.add(x, x, out=a)
    c = a * 2
    torch.mul(x, c, out=a)
    return a, b, c


def nan_and_infinity(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    y = x.double() / 0
    return y, torch.nan_to_num(y), y.max(), torch.sort(y.view(-1) if y.is_contiguous() else y.reshape(-1))[0]


ROWS = [
    write_through_a_view,
    sigmoid_through_a_reshape,
    writer_before_and_after_the_view,
    write_to_an_input_in_a_branch,
    write_in_branches_and_loops,
    carried_view,
    carried_swap,
    carried_values_of_every_type,
    list_changed_after_its_use,
    list_changed_through_another_name,
    list_filled_in_blocks,
    copied_list,
    dict_changed_after_its_use,
    list_of_views,
    lifetimes_by_containers,
    lifetimes_by_views,
    results_alias_inputs,
    results_alias_each_other,
    results_alias_a_list,
    nested_result,
    constant_result,
    expanded,
    maybe_a_copy,
    dropped_branches,
    early_returns_in_blocks,
    outer_values_written_in_nested_blocks,
    memory_set_and_resized,
    out_arguments,
    nan_and_infinity,
]


@pytest.mark.parametrize("model", ROWS, ids=lambda model: model.__name__)
def test_values_are_those_of_the_run(model, compare):
    compare(model, *RUNS)


def test_written_inputs(compare):
    compare(write_to_an_input, (T,), (torch.rand(4, 5),), (torch.arange(4).reshape(2, 2),))


def test_dtypes_and_layouts_requested_by_the_run(compare):
    def converted(x: Tensor, dtype: int, like: Tensor, copy: bool) -> Tuple[Tensor, List[Tensor], Tensor, Tensor, Tensor]:
        a = x.to(dtype)
        b = x.to(like, copy=copy)
        return a, [b, x.to(dtype)], torch.zeros(2, dtype=dtype), torch.ones_like(x, dtype=dtype), torch.full((2,), 1, dtype=dtype)

    float32, float64, int64 = 6, 7, 4
    compare(
        converted,
        (T, float32, T, False),
        (T, int64, T.double(), False),
        (T.double(), float64, T, True),
        (T.long(), float32, T.long(), True),
    )


def test_layouts(compare):
    def laid_out(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        y = x.contiguous(memory_format=torch.channels_last)
        return y * 2, x.clone(memory_format=torch.preserve_format), y.clone(), y.relu() + x, x.permute(0, 2, 3, 1) * 1

    image = torch.rand(2, 3, 4, 5)
    compare(laid_out, (image,), (image.to(memory_format=torch.channels_last),), (torch.rand(1, 1, 2, 2),), (torch.rand(2, 0, 4, 5),))


def test_ranks_and_sizes_change_from_run_to_run(compare):
    def shaped(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        return x.flatten(), torch.matmul(x, y), torch.cat([x, x], -1), x.sum(-1)

    compare(
        shaped,
        (torch.rand(3), torch.rand(3)),
        (torch.rand(2, 3), torch.rand(3)),
        (torch.rand(2, 4, 3), torch.rand(3, 5)),
        (torch.rand(0, 3), torch.rand(3, 2)),
    )
    compare(shaped, (torch.rand(3), torch.rand(4, 3, 2)), (torch.rand(5, 1, 2, 3), torch.rand(4, 3, 2)), (torch.rand(3), torch.rand(3)))


def traced_with_a_written_constant() -> torch.jit.ScriptModule:
    seen = torch.zeros(3)

    def model(x: Tensor) -> Tuple[Tensor, Tensor]:
        seen.add_(x)
        return seen * 2, seen.view(-1)

    return torch.jit.trace(model, (torch.ones(3),), check_trace=False)


def test_a_written_constant_is_state(archive, compare):
    compare(traced_with_a_written_constant(), (torch.ones(3),), (torch.arange(3.0),))


def test_a_written_constant_does_not_leak_into_other_runtimes(archive):
    module = stator.load(archive(traced_with_a_written_constant()))
    first, second = module.runtime(), module.runtime()
    for _ in range(3):
        first.call(torch.ones(3))
    start = torch.from_dlpack(second.call(torch.zeros(3))[1]).clone()
    assert torch.equal(torch.from_dlpack(first.call(torch.zeros(3))[1]), start + 3)
    second.reset_state()
    assert torch.equal(torch.from_dlpack(second.call(torch.zeros(3))[1]), start)
    assert len(module.describe()["state"]) == 1


def test_results_outlive_their_module_and_runtime(archive):
    def model(x: Tensor) -> Tuple[Tensor, List[Tensor], Tensor]:
        a = x * 2
        return a, [a.t(), x], a.view(-1)

    module = stator.load(archive(model))
    runtime = module.runtime()
    x = torch.rand(3, 4)
    a, (transposed, same), flat = runtime.call(x)
    runtime.close()
    module.close()
    wanted = model(x)
    for got, expected in ((a, wanted[0]), (transposed, wanted[1][0]), (same, x), (flat, wanted[2])):
        assert torch.equal(torch.from_dlpack(got), expected)
