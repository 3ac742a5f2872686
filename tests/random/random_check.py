"""Runs a random model in all modes beside TorchScript's interpreter."""

from __future__ import annotations

import io
import itertools
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import torch

import stator
from random_models import RandomModel
from writer import copied

PLANNERS = ("standard", "naive", "none")
PLANS = ("dynamic", "signature", "eager")
# As torch.testing.assert_close, but that doubles here may have been computed as floats and cast.
TOLERANCES = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1.3e-6, 1e-5)}


def check_model(model: RandomModel) -> list[str]:
    """What differs, one line each; nothing if all is well."""
    expected = _interpret(model)
    problems: list[str] = []
    silent: list[set[str]] = []
    for how, module in _modules(model):
        compare = _same_bits if model.exact and "dynamic" in how else _close
        runtime = module.runtime(intra_op_threads=1)  # as the interpreter here: the number of threads shows in the last bits
        found = _check_runtime(runtime, model, expected, compare)
        silent.append({each for each in found if each.endswith(_NO_ERROR)})
        problems += [f"{how}: {each}" for each in found]
        runtime.close()
    # Work that nothing reads may be left out, also where it would raise; then it is left out in all modes.
    left_out = set.intersection(*silent)
    return [each for each in problems if not any(each.endswith(f": {error}") for error in left_out)]


def _modules(model: RandomModel) -> Iterator[tuple[str, stator.Module]]:
    """Last from a planned file, with the plans that runs have made."""
    for planner, plans in itertools.product(PLANNERS, PLANS):
        with stator.load(model.archive, memory_planner=planner, plans=plans) as module:
            yield f"{planner}, {plans}", module
            if (planner, plans) == ("standard", "eager"):
                with tempfile.NamedTemporaryFile(suffix=".stator") as file:
                    module.save(file.name)
                    planned = stator.load(file.name, plans="eager")
    with planned:
        yield "planned file", planned


_NO_ERROR = "no error"


Outcome = tuple[Any, list[Any]]  # the result, None if it raised; the arguments as the run left them


def _interpret(model: RandomModel) -> list[Outcome]:
    module = torch.jit.load(io.BytesIO(model.archive))
    with torch.jit.optimized_execution(False):
        return [_outcome(module, run) for run in model.runs]


def _outcome(module: Any, run: list[Any]) -> Outcome:
    arguments, memory = _arguments(run)
    try:
        with torch.inference_mode():
            # Copied, because the state of later runs may share memory with both.
            return copied(module(*arguments)), copied(memory)
    except RuntimeError:
        return None, copied(memory)


def _arguments(run: list[Any]) -> tuple[list[Any], list[Any]]:
    """The arguments, and other tensors over the same memory: a model may write that, but not change the caller's shapes."""
    arguments = copied(run)
    return arguments, [each.detach() if isinstance(each, torch.Tensor) else each for each in arguments]


def _check_runtime(runtime: Any, model: RandomModel, expected: list[Outcome], compare: Callable[[Any, Any], bool]) -> list[str]:
    problems, held = [], []
    for number, (run, (wanted, left)) in enumerate(zip(model.runs, expected, strict=True)):
        arguments, memory = _arguments(run)
        try:
            result = runtime.call(*arguments)
        except stator.Error as error:
            if wanted is not None:
                problems.append(f"run {number}: {error}")
            continue
        if wanted is None:
            problems.append(f"run {number}: {_NO_ERROR}")
            continue
        problems += [f"run {number}: {each}" for each in _differences(_tensors(result), wanted, compare)]
        problems += [f"run {number}: arguments: {each}" for each in _differences(memory, left, compare)]
        if number % 2 == 0:
            held.append((number, result, wanted))
    for number, result, wanted in held:
        problems += [f"run {number}, looked at in the end: {each}" for each in _differences(_tensors(result), wanted, compare)]
    return problems


def _tensors(value: Any) -> Any:
    if isinstance(value, stator.Tensor):
        return torch.from_dlpack(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_tensors, value))
    if isinstance(value, dict):
        return {key: _tensors(item) for key, item in value.items()}
    return value


def _differences(got: Any, wanted: Any, compare: Callable[[Any, Any], bool], place: str = "result") -> list[str]:
    if isinstance(wanted, torch.Tensor):
        return _tensor_differences(got, wanted, compare, place)
    if isinstance(wanted, (list, tuple)):
        if len(got) != len(wanted):
            return [f"{place} has {len(got)} items instead of {len(wanted)}"]
        return [each for i in range(len(wanted)) for each in _differences(got[i], wanted[i], compare, f"{place}[{i}]")]
    if isinstance(wanted, dict):
        if list(got) != list(wanted):
            return [f"{place} has the keys {list(got)} instead of {list(wanted)}"]
        return [each for key in wanted for each in _differences(got[key], wanted[key], compare, f"{place}[{key!r}]")]
    return [] if got == wanted else [f"{place} is {got} instead of {wanted}"]


def _tensor_differences(got: torch.Tensor, wanted: torch.Tensor, compare: Callable[[Any, Any], bool], place: str) -> list[str]:
    if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
        return [f"{place} is {got.dtype} {list(got.shape)} instead of {wanted.dtype} {list(wanted.shape)}"]
    if _strides(got) != _strides(wanted):
        return [f"{place} has strides {got.stride()} instead of {wanted.stride()}, shape {list(wanted.shape)}"]
    return [] if compare(got, wanted) else [f"{place} is {got.flatten()[:6].tolist()}... instead of {wanted.flatten()[:6].tolist()}..."]


def _strides(tensor: torch.Tensor) -> list[int]:
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1] if tensor.numel() else []


def _same_bits(got: torch.Tensor, wanted: torch.Tensor) -> bool:
    same = got == wanted
    return bool((same | (got != got) & (wanted != wanted)).all()) if got.is_floating_point() else bool(same.all())


def _close(got: torch.Tensor, wanted: torch.Tensor) -> bool:
    if wanted.dtype not in TOLERANCES:
        return torch.equal(got, wanted)
    rtol, atol = TOLERANCES[wanted.dtype]
    return torch.allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
