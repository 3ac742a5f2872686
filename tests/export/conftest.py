"""One harness for this folder: a model is exported in three dialects, saved, loaded by Stator, and run beside the model itself; once more
from a planned file, with the plans that the runs have made."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import stator

sys.path.append(str(Path(__file__).resolve().parent))
from comparison import DIALECTS, OPTIONS, archive, as_torch, planned, same

warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", category=DeprecationWarning)


def exported(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any
) -> torch.export.ExportedProgram:
    return torch.export.export(model.eval(), args, kwargs, **options)


def compare(
    model: torch.nn.Module,
    *argument_sets: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    dialects: tuple[str, ...] = tuple(DIALECTS),
    repeats: int = 3,
    **options: Any,
) -> None:
    """The model is exported with the first arguments; then all run in turn, `repeats` times, on one state."""
    kwargs = kwargs or {}
    torch.manual_seed(0)
    program = exported(model, copy.deepcopy(argument_sets[0]), copy.deepcopy(kwargs), **options)
    order = list(argument_sets) * repeats
    for dialect in dialects:
        data = archive(DIALECTS[dialect](program))
        for settings in OPTIONS:
            module = stator.load(data, **settings)
            compare_runs(model, module, order, kwargs, f"{dialect}, {settings}")
        compare_runs(model, planned(module, **settings), order, kwargs, f"{dialect}, a planned file")


def compare_runs(model: torch.nn.Module, module: stator.Module, order: list[tuple[Any, ...]], kwargs: dict[str, Any], what: str) -> None:
    forward = module.runtime().method("forward")
    reference = copy.deepcopy(model).eval()
    for number, args in enumerate(order):
        mine, theirs = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
        with torch.no_grad():
            wanted = reference(*theirs[0], **theirs[1])
        same(as_torch(forward.call(*mine[0], **mine[1])), wanted, f"{what}, run {number}")
        same(mine, theirs, f"{what}, run {number}: inputs after the run")


@pytest.fixture(name="compare")
def _compare() -> Callable[..., None]:
    return compare


@pytest.fixture(name="archive")
def _archive() -> Callable[..., bytes]:
    def make(model: torch.nn.Module, *args: Any, dialect: str = "training", **options: Any) -> bytes:
        return archive(DIALECTS[dialect](exported(model, args, **options)))

    return make
