"""What torch.export saved, run by Stator, beside what the model itself gives in Python."""

from __future__ import annotations

import copy
import dataclasses
import io
import itertools
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import stator

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


def in_plain_containers(value: Any) -> Any:
    """A result as a file gives it, which has no Python classes: containers that libraries registered are dicts of their fields."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(in_plain_containers(item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(in_plain_containers(item) for item in value)
    if isinstance(value, dict):
        return {key: in_plain_containers(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and type(value) in pytree.SUPPORTED_NODES:
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: in_plain_containers(item) for name, item in fields if item is not None}
    return value


class FarError(AssertionError):
    """Values further apart than the tolerance of their dtype."""


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
        try:
            torch.testing.assert_close(got, wanted, equal_nan=True)
        except AssertionError as far:
            raise FarError(f"{where}: {far}") from None
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
        assert got == pytest.approx(wanted, nan_ok=True) if isinstance(wanted, float) else got == wanted, where


def in_double(value: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, lambda x: x.double() if x.is_floating_point() else x, copy.deepcopy(value))


def near_the_truth(got: Any, wanted: Any, exact: Any) -> bool:
    """Whether values too far from Python's are at most twice as far from those in double precision as Python's are."""
    for mine, theirs, truth in zip(*(pytree.tree_leaves(value) for value in (got, wanted, exact)), strict=True):
        if not isinstance(theirs, torch.Tensor):
            continue
        if not theirs.is_floating_point():
            if not torch.equal(mine, theirs):
                return False
        elif bool(((mine.double() - truth).abs() > 2 * (theirs.double() - truth).abs().max()).any()):
            return False
    return True


def planned(module: stator.Module, **options: str) -> stator.Module:
    with tempfile.NamedTemporaryFile(suffix=".stator") as file:
        module.save(file.name)
        return stator.load(file.name, **options)
