"""Every case of this folder goes through one harness: a model and its inputs run in TorchScript's interpreter and in Stator, with every
combination of options, several times over, and must not be told apart. At the end once more from a planned file, with the plans that the runs
have made."""

from __future__ import annotations

import copy
import gc
import io
import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import stator

warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", message=".*TorchScript.*")

OPTIONS = [
    {"memory_planner": planner, "plans": plans}
    for planner, plans in itertools.product(("standard", "naive"), ("dynamic", "signature", "eager"))
]
REPEATS = 3  # a profile run, one with other inputs, and the first again; twice more for plans made at second sight


def archive(model: Any) -> bytes:
    """The TorchScript archive of a module, a scripted or traced module, or a function."""
    if isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule):
        model = torch.jit.script(model)
    elif not isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        model = torch.jit.script(model)
    if isinstance(model, torch.jit.ScriptFunction):
        return model.save_to_buffer()
    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    return buffer.getvalue()


class Interpreter:
    """The oracle. Its executor keeps the order of the program and fuses nothing."""

    def __init__(self, data: bytes) -> None:
        self.module = torch.jit.load(io.BytesIO(data)).eval()

    def __call__(self, method: str, args: tuple[Any, ...]) -> Any:
        with torch.inference_mode(), torch.jit.optimized_execution(False):
            return getattr(self.module, method)(*args)


def tensors(value: Any) -> Iterator[Any]:
    """Depth first."""
    if isinstance(value, (torch.Tensor, stator.Tensor)):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def as_torch(value: Any) -> Any:
    """The same with torch's tensors in the place of Stator's."""
    if isinstance(value, stator.Tensor):
        return torch.from_dlpack(value)
    if isinstance(value, dict):
        return {as_torch(key): as_torch(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(as_torch(item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(as_torch(item) for item in value)
    return value


def same_tensor(got: torch.Tensor, wanted: torch.Tensor, where: str) -> None:
    assert got.dtype == wanted.dtype, f"{where}: {got.dtype}, expected {wanted.dtype}"
    assert got.shape == wanted.shape, f"{where}: {tuple(got.shape)}, expected {tuple(wanted.shape)}"
    if wanted.numel():
        for size, mine, theirs in zip(wanted.shape, got.stride(), wanted.stride(), strict=True):
            assert size <= 1 or mine == theirs, f"{where}: strides {got.stride()}, expected {wanted.stride()}"
    if not torch.equal(got, wanted):
        torch.testing.assert_close(got, wanted, equal_nan=True, msg=lambda text: f"{where}: {text}")


def same(got: Any, wanted: Any, where: str = "result") -> None:
    if isinstance(wanted, torch.Tensor):
        assert isinstance(got, torch.Tensor), where
        return same_tensor(got, wanted.resolve_conj().resolve_neg(), where)
    if isinstance(wanted, torch.device):
        assert got == str(wanted), where
        return None
    if isinstance(wanted, dict):
        same(list(got), list(wanted), f"keys of {where}")
        for (key, item), mine in zip(wanted.items(), got.values(), strict=True):
            same(mine, item, f"{where}[{key!r}]")
        return None
    if isinstance(wanted, (list, tuple)):
        assert isinstance(got, list if isinstance(wanted, list) else tuple), where
        assert getattr(got, "_fields", ()) == getattr(wanted, "_fields", ()), where
        assert len(got) == len(wanted), f"{where}: {len(got)} elements, expected {len(wanted)}"
        for index, item in enumerate(wanted):
            same(got[index], item, f"{where}[{index}]")
        return None
    assert type(got) is type(wanted), f"{where}: {got!r}, expected {wanted!r}"
    if isinstance(wanted, float) and wanted == pytest.approx(got, rel=1.3e-6, abs=1e-5):
        return None  # read from a float32
    assert got == wanted or (got != got and wanted != wanted), f"{where}: {got!r}, expected {wanted!r}"
    return None


def same_identity(got: Any, wanted: Any) -> None:
    """One tensor returned twice is one tensor; tensors that share memory become tensors with memory of their own."""
    pairs = list(zip(tensors(got), tensors(wanted), strict=True))
    for (mine, theirs), (my_other, their_other) in itertools.combinations(pairs, 2):
        if theirs.numel() and their_other.numel():
            shared = mine.untyped_storage().data_ptr() == my_other.untyped_storage().data_ptr()
            assert shared == (theirs is their_other), "results share memory" if shared else "one tensor has become two"


Outcome = tuple[Any, BaseException | None]


def outcome(run: Callable[..., Any], *args: Any) -> Outcome:
    try:
        return run(*args), None
    except Exception as error:
        return None, error


def message_of(error: BaseException) -> str:
    """What the model or the operator said: the interpreter puts its own traceback before it."""
    text = str(error).strip()
    if "Traceback of TorchScript" in text or "The following operation failed" in text:
        text = text.splitlines()[-1]
        text = text.split(": ", 1)[1] if text.split(": ", 1)[0].replace(".", "").isidentifier() and ": " in text else text
    return text


def same_failure(got: BaseException | None, wanted: BaseException | None) -> None:
    if wanted is None or got is None:
        if got is not None:
            raise got
        assert wanted is None, f"the interpreter fails: {wanted}"
        return
    assert isinstance(got, (stator.ModelError, stator.OperatorError)), repr(got)
    assert message_of(wanted) in str(got), f"{got}; expected {message_of(wanted)}"
    assert got.source, f"no source line in {got!r}"


class Comparison:
    """One model in both, with its runs so far."""

    def __init__(self, data: bytes, module: stator.Module) -> None:
        self.oracle = Interpreter(data)
        self.module = module
        self.runtime = self.module.runtime()
        self.kept: list[tuple[Any, Any]] = []

    def run(self, method: str, args: tuple[Any, ...]) -> None:
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        wanted, failure = outcome(self.oracle, method, theirs)
        got, error = outcome(self.runtime.method(method).call, *mine)
        same_failure(error, failure)
        same(list(tensors(mine)), list(tensors(theirs)), "inputs after the run")
        got = as_torch(got)
        same(got, wanted)
        same_identity(got, wanted)
        self.kept.append((got, copy.deepcopy(wanted)))

    def close(self) -> None:
        for number, (got, wanted) in enumerate(self.kept):
            same(got, wanted, f"the result of run {number}, after all runs")


def compare(model: Any, *argument_sets: tuple[Any, ...], method: str = "forward", repeats: int = REPEATS) -> None:
    """Each argument set runs `repeats` times, in turn, and then the first again."""
    data = archive(model)
    order = list(argument_sets) * repeats + [argument_sets[0]]
    for options in OPTIONS:
        module = stator.load(data, **options)
        compare_runs(Comparison(data, module), method, order, str(options))
    compare_runs(Comparison(data, planned(module, **options)), method, order, "a planned file")


def compare_runs(comparison: Comparison, method: str, order: list[tuple[Any, ...]], what: str) -> None:
    for number, args in enumerate(order):
        try:
            comparison.run(method, args)
        except Exception as error:
            error.add_note(f"in run {number} with {what}")
            raise
    comparison.close()


def planned(module: stator.Module, **options: str) -> stator.Module:
    with tempfile.NamedTemporaryFile(suffix=".stator") as file:
        module.save(file.name)
        return stator.load(file.name, **options)


@pytest.fixture(name="compare")
def _compare() -> Callable[..., None]:
    return compare


@pytest.fixture(name="archive")
def _archive() -> Callable[[Any], bytes]:
    return archive


@pytest.fixture(autouse=True)
def every_handle_is_given_back() -> Iterator[None]:
    def more_than(before: dict[str, int]) -> dict[str, int]:
        return {kind: count for kind, count in stator.live_handles().items() if count > before[kind]}

    before = stator.live_handles()
    yield
    if more_than(before):
        gc.collect()  # takes a second in a process that has scripted much, so only where something is left in a cycle
    # Fewer is no leak: a test that failed before may have been holding some.
    assert more_than(before) == {}
