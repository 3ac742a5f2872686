"""The same samples through torch.export: `.pt2` archives of each operator in three dialects, with fixed and with dynamic sizes.

What a case is compared with is Python's own run of the archive. That must give what the operator itself gives for the sample.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from cases import Call, Case, NotACase, as_call, copied, elements_undefined, is_plain, samples_of, short

Program = torch.export.ExportedProgram

DIALECTS: dict[str, Callable[[Program], Program]] = {
    "training": lambda program: program,
    "functional": lambda program: program.run_decompositions({}),
    "core": lambda program: program.run_decompositions(),
}


class ExportCase(Case):
    def reference(self) -> Call:
        return torch.export.load(io.BytesIO(self.archive)).module()


class _Module(torch.nn.Module):
    """A function of the sample's tensors; its other arguments are fixed."""

    def __init__(self, function: Call, arguments: Call) -> None:
        super().__init__()
        self.function = function
        self.arguments = arguments

    def forward(self, *values: torch.Tensor) -> Any:
        args, kwargs = self.arguments(list(values))
        return self.function(*args, **kwargs)


def export_cases(info: Any, *, quick: bool = False, samples: int = 1000) -> Iterator[Case | NotACase]:
    """All cases of an operator, always the same ones; `quick`: those of one sample; `samples`: of at most so many of each dtype."""
    for sample, name in samples_of(info, quick=quick, samples=samples):
        arguments, tensors = as_call(sample)
        ways = {"function": info.op}
        if isinstance(sample.input, torch.Tensor) and info.inplace_variant:
            ways["in_place"] = info.inplace_variant
        for way, function in ways.items():
            module = _Module(function, arguments).eval()
            yield from _of_module(module, tensors, f"{name}/{way}", elements_undefined(info))


def _of_module(module: _Module, tensors: list[torch.Tensor], name: str, undefined: bool) -> Iterator[Case | NotACase]:
    try:
        wanted = _run(module, tensors)
    except Exception as error:
        yield NotACase(name, "Python raises", short(error))
        return
    seen: set[str] = set()
    for sizes in ("fixed", "dynamic"):
        if sizes == "dynamic" and not any(tensor.dim() for tensor in tensors):
            continue
        try:
            program = _exported(module, tensors, dynamic=sizes == "dynamic")
        except Exception as error:  # of all kinds
            yield NotACase(f"{name}/{sizes}", f"torch.export does not take it with {sizes} sizes", short(error))
            continue
        for dialect, lowered in DIALECTS.items():
            yield from _of_dialect(lowered, program, tensors, wanted, f"{name}/{sizes}/{dialect}", undefined, seen)


def _of_dialect(
    lowered: Callable[[Program], Program],
    program: Program,
    tensors: list[torch.Tensor],
    wanted: Any,
    name: str,
    undefined: bool,
    seen: set[str],
) -> Iterator[Case | NotACase]:
    try:
        program = lowered(program)
        text = f"{program.graph} {program.graph_signature} {program.range_constraints}"
        if text in seen:
            return
        seen.add(text)
        case = ExportCase(name, _archive(program), tensors, undefined, dense_only=False, other_dtypes=False)
    except Exception as error:
        yield NotACase(name, "torch.export does not decompose or save it", short(error))
        return
    try:
        module = case.reference()
        got = _run(module, tensors)
        _run(module, tensors, torch.inference_mode)  # some run once only, or only without it
    except Exception as error:
        yield NotACase(name, "Python does not load or run the archive", short(error))
        return
    if undefined or _same(wanted, got):
        yield case
    else:
        yield NotACase(name, "Python's archive gives something else than the operator", "")


def _exported(module: _Module, tensors: list[torch.Tensor], *, dynamic: bool) -> Program:
    shapes = (tuple(dict.fromkeys(range(tensor.dim()), Dim.AUTO) for tensor in tensors),) if dynamic else None
    with torch.no_grad():
        return torch.export.export(module, tuple(map(copied, tensors)), dynamic_shapes=shapes)


def _run(call: Call, tensors: list[torch.Tensor], mode: Callable[[], Any] = torch.no_grad) -> Any:
    torch.default_generator.manual_seed(7)
    with mode():
        return call(*map(copied, tensors))


def _archive(program: Program) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _same(wanted: Any, got: Any) -> bool:
    (wanted_leaves, _), (got_leaves, _) = pytree.tree_flatten(wanted), pytree.tree_flatten(got)
    if len(wanted_leaves) != len(got_leaves):
        return False
    for a, b in zip(wanted_leaves, got_leaves, strict=True):
        if isinstance(a, torch.Tensor) and is_plain(a):
            try:
                torch.testing.assert_close(b, a, equal_nan=True)
            except AssertionError:
                return False
    return True
