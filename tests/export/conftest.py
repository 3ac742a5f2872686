"""One harness for this folder: a model is exported in three dialects, saved, loaded by Stator, and run beside the model itself; once more
from a planned file, with the plans that the runs have made."""

from __future__ import annotations

import copy
import io
import itertools
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import stator

warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", category=DeprecationWarning)

DIALECTS: dict[str, Callable[[torch.export.ExportedProgram], torch.export.ExportedProgram]] = {
    "training": lambda program: program,
    "functional": lambda program: program.run_decompositions({}),
    "core": lambda program: program.run_decompositions(),
}
OPTIONS = [
    {"memory_planner": planner, "plans": plans} for planner, plans in itertools.product(("standard", "naive"), ("dynamic", "signature"))
]


def archive(program: torch.export.ExportedProgram) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def exported(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any
) -> torch.export.ExportedProgram:
    return torch.export.export(model.eval(), args, kwargs, **options)


def as_torch(value: Any) -> Any:
    """The same with torch's tensors in the place of Stator's."""
    if isinstance(value, stator.Tensor):
        return torch.from_dlpack(value)
    if isinstance(value, dict):
        return {key: as_torch(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(as_torch(item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(as_torch(item) for item in value)
    return value


def same(got: Any, wanted: Any, where: str = "result") -> None:
    """Equal in structure, dtype, shape, strides and values."""
    if isinstance(wanted, torch.Tensor):
        assert isinstance(got, torch.Tensor), where
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), (
            f"{where}: {got.dtype} {got.shape}, expected {wanted.dtype} {wanted.shape}"
        )
        if wanted.numel():
            for size, mine, theirs in zip(wanted.shape, got.stride(), wanted.stride(), strict=True):
                assert size <= 1 or mine == theirs, f"{where}: strides {got.stride()}, expected {wanted.stride()}"
        torch.testing.assert_close(got, wanted, equal_nan=True, msg=lambda text: f"{where}: {text}")
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted), where
        for key in wanted:
            same(got[key], wanted[key], f"{where}[{key!r}]")
    elif isinstance(wanted, (list, tuple)):
        assert isinstance(got, list if isinstance(wanted, list) else tuple), where
        assert getattr(got, "_fields", ()) == getattr(wanted, "_fields", ()), where
        assert len(got) == len(wanted), where
        for index, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
            same(mine, theirs, f"{where}[{index}]")
    else:
        assert type(got) is type(wanted), f"{where}: {got!r}, expected {wanted!r}"
        assert got == pytest.approx(wanted) if isinstance(wanted, float) else got == wanted, where


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


def planned(module: stator.Module, **options: str) -> stator.Module:
    with tempfile.NamedTemporaryFile(suffix=".stator") as file:
        module.save(file.name)
        return stator.load(file.name, **options)


@pytest.fixture(name="compare")
def _compare() -> Callable[..., None]:
    return compare


@pytest.fixture(name="archive")
def _archive() -> Callable[..., bytes]:
    def make(model: torch.nn.Module, *args: Any, dialect: str = "training", **options: Any) -> bytes:
        return archive(DIALECTS[dialect](exported(model, args, **options)))

    return make
