"""A case is a model with calls: it is exported with the first, and then all run in turn, in three dialects, by Stator and in Python."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

import stator
from comparison import DIALECTS, FarError, archive, as_torch, in_double, in_plain_containers, near_the_truth, same

REPEATS = 3  # the second sight of a signature makes its plan, the third runs it


@dataclass(frozen=True)
class Call:
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    name: str
    model: Callable[[], nn.Module]
    calls: Callable[[], list[Call]]
    dynamic: Any = None  # torch.export's dynamic_shapes
    must_export: bool = True  # what Python does not export is no failure otherwise


@dataclass
class Outcome:
    """`verdict`: "passed", "failed", or "not exported" (by Python)."""

    case: str
    dialect: str
    verdict: str
    reason: str = ""
    runs: int = 0
    seconds: float = 0.0


@dataclass
class Step:
    """A call in Python: what it gave, and what its arguments were like afterwards."""

    call: Call
    result: Any
    after: Call


def check(case: Case, dialects: Iterable[str] = tuple(DIALECTS), options: Iterable[dict[str, Any]] = ({},)) -> list[Outcome]:
    torch.manual_seed(0)
    begun = time.monotonic()
    model = case.model().eval()
    calls = case.calls()
    try:
        first = copy.deepcopy(calls[0])
        program = torch.export.export(model, first.args, first.kwargs, dynamic_shapes=case.dynamic, strict=False)
    except Exception as error:
        return [_not_exported(case, "all", error)]
    steps = _in_python(copy.deepcopy(model), calls)
    outcomes = []
    for dialect in dialects:
        try:
            saved = archive(DIALECTS[dialect](program))
        except Exception as error:
            outcomes.append(_not_exported(case, dialect, error))
            continue
        outcome = _compared(case, dialect, model, steps, saved, options)
        outcome.seconds, begun = time.monotonic() - begun, time.monotonic()
        outcomes.append(outcome)
    return outcomes


def _not_exported(case: Case, dialect: str, error: Exception) -> Outcome:
    return Outcome(case.name, dialect, "failed" if case.must_export else "not exported", f"Python does not export it: {brief(error)}")


def _in_python(model: nn.Module, calls: list[Call]) -> list[Step]:
    steps = []
    with torch.no_grad():
        for call in calls * REPEATS:
            given = copy.deepcopy(call)
            result = pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, model(*given.args, **given.kwargs))
            result = copy.deepcopy(result)  # a later call may write what this one gave
            steps.append(Step(call, in_plain_containers(result), given))
    return steps


def _compared(case: Case, dialect: str, model: nn.Module, steps: list[Step], saved: bytes, options: Iterable[dict[str, Any]]) -> Outcome:
    outcome = Outcome(case.name, dialect, "passed")
    for chosen in options:
        number = 0
        try:
            with stator.load(saved, **chosen) as module:
                forward = module.runtime().method("forward")
                for number, step in enumerate(steps):
                    given = copy.deepcopy(step.call)
                    got = as_torch(forward.call(*given.args, **given.kwargs))
                    _compare(model, steps[: number + 1], got)
                    same([*given.args, given.kwargs], [*step.after.args, step.after.kwargs], "arguments afterwards")
                    outcome.runs += 1
        except Exception as error:
            outcome.verdict, outcome.reason = "failed", f"{chosen or 'as it comes'}, run {number}: {brief(error)}"
            return outcome
    return outcome


def _compare(model: nn.Module, steps: list[Step], got: Any) -> None:
    wanted = steps[-1].result
    try:
        same(got, wanted)
    except FarError:
        exact = copy.deepcopy(model).double()
        with torch.no_grad():
            for step in steps:
                given = in_double([step.call.args, step.call.kwargs])
                truth = exact(*given[0], **given[1])
        if not near_the_truth(got, wanted, in_plain_containers(truth)):
            raise


def brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
