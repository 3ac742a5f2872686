"""One case in TorchScript's interpreter and in Stator, and what differs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

import stator
from cases import Case, copied, is_plain, other_dtypes, other_shapes, other_strides, with_other_values

Feed = list[torch.Tensor]


@dataclass
class Outcome:
    """`verdict`: "passed", "failed", "refused" (as it must be), or "skipped" (there is nothing to compare with)."""

    verdict: str
    reason: str = ""
    raises: bool = False  # as the interpreter does
    nodes: Counter[str] = field(default_factory=Counter)  # how many nodes of the plan are of each kind
    fallbacks: list[str] = field(default_factory=list)


@dataclass
class Ran:
    """What a call left behind."""

    result: Any
    error: Exception | None
    inputs: list[torch.Tensor]  # afterwards
    resized: bool = False  # whether an input's memory was made larger, which a caller's memory cannot be


class DifferentError(Exception):
    """What differs."""


def check(case: Case, options: dict[str, str], telling: Callable[[str], None]) -> Outcome:
    """`telling` hears which of the two is about to run, so that a crash is laid at the right door."""
    telling("interpreter")
    module = case.reference()
    first = _interpreted(module, case.tensors)
    if not all(is_plain(tensor) for tensor in case.tensors):
        return Outcome("refused", f"{_sort_of(case.tensors)} input")
    if first.resized:
        return Outcome("refused", "an input made larger")
    runs = [(case.tensors, first)]
    if first.error is None:
        other_values = [with_other_values(tensor) for tensor in case.tensors]
        runs += _reproducible(case, module, other_values) + _fitting_shapes(case, module)
        strides = [] if case.dense_only else other_strides(case.tensors)
        dtypes = other_dtypes(case.tensors) if case.other_dtypes else []
        for feed in itertools.chain(strides, dtypes):
            runs += _reproducible(case, module, feed)
        runs.append((case.tensors, _interpreted(module, case.tensors)))
    telling("stator")
    return _compare_runs(case, options, module, runs)


def _compare_runs(case: Case, options: dict[str, str], module: Any, runs: list[tuple[Feed, Ran]]) -> Outcome:
    outcome = Outcome("passed", raises=runs[0][1].error is not None)
    try:
        with stator.load(case.archive, **options) as loaded:
            for node in loaded.plan()["nodes"]:
                outcome.nodes[node["kind"]] += 1
                if node["kind"] == "fallback":
                    outcome.fallbacks.append(node["operator"])
            runtime = loaded.runtime(intra_op_threads=1)
            for turn, (feed, wanted) in enumerate(runs):
                got = _ran(runtime.call, feed)
                reason = _refusal(wanted, got.error)
                if reason:
                    outcome.verdict, outcome.reason = "refused", reason
                    break
                _compare(case, module, feed, wanted, got, f"run {turn + 1}")
    except DifferentError as difference:
        outcome.verdict, outcome.reason = "failed", str(difference)
    except stator.Error as error:
        outcome.verdict, outcome.reason = "failed", f"does not load: {error}"
    return outcome


# -------------------------------------------------------------------------------------------------------------- runs


def _ran(call: Callable[..., Any], feed: Feed) -> Ran:
    inputs = [copied(tensor) for tensor in feed]
    # The same memory under the sizes of before: what an operator does to the tensor's own sizes is not seen through the boundary.
    after = [tensor.detach() for tensor in inputs]
    bytes_before = _bytes(after)
    torch.default_generator.manual_seed(7)
    try:
        result, error = call(*inputs), None
    except Exception as raised:
        result, error = None, raised
    return Ran(result, error, after, resized=_bytes(after) > bytes_before)


def _bytes(tensors: list[torch.Tensor]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors if is_plain(tensor))


def _interpreted(module: Any, feed: Feed) -> Ran:
    with torch.inference_mode(), torch.jit.optimized_execution(False):
        ran = _ran(module, feed)
        # A copy, as a later run may write into what this one returned.
        ran.result = pytree.tree_map_only(torch.Tensor, copied, ran.result)
        return ran


def _reproducible(case: Case, module: Any, feed: Feed) -> list[tuple[Feed, Ran]]:
    """The run, unless the interpreter itself gives something else the second time: made-up values may be pivots that point anywhere."""
    once, again = _interpreted(module, feed), _interpreted(module, feed)
    if once.error is None and again.error is None and not case.elements_undefined:
        leaves = [[leaf for leaf in pytree.tree_leaves(ran.result) if isinstance(leaf, torch.Tensor)] for ran in (once, again)]
        if any(is_plain(a) and not (a.shape == b.shape and _same_elements(a, b)) for a, b in zip(*leaves, strict=True)):
            return []
    return [] if again.resized else [(feed, again)]


def _fitting_shapes(case: Case, module: Any) -> list[tuple[Feed, Ran]]:
    """A run with other shapes that the graph takes, if there are any."""
    for feed in other_shapes(case.tensors):
        for feed_and_ran in _reproducible(case, module, feed):
            if feed_and_ran[1].error is None:
                return [feed_and_ran]
    return []


# ---------------------------------------------------------------------------------------------------------- refusals


def _sort_of(tensors: list[torch.Tensor]) -> str:
    odd = next(tensor for tensor in tensors if not is_plain(tensor))
    if odd.is_nested:
        return "nested"
    if odd.layout != torch.strided:
        return str(odd.layout).removeprefix("torch.")
    return "quantized" if odd.is_quantized else odd.device.type


def _refusal(wanted: Ran, error: Exception | None) -> str:
    """Why Stator rightly refuses what the interpreter gives; "" if it has no right to, or did not."""
    tensors = [leaf for leaf in pytree.tree_leaves(wanted.result) if isinstance(leaf, torch.Tensor)]
    if isinstance(error, stator.UnsupportedError) and not all(is_plain(tensor) for tensor in tensors):
        return f"{_sort_of(tensors)} output"
    return ""


# -------------------------------------------------------------------------------------------------------- comparison


def _compare(case: Case, module: Any, feed: Feed, wanted: Ran, got: Ran, where: str) -> None:
    if wanted.error is not None:
        if got.error is None:
            raise DifferentError(f"{where}: the interpreter raises {_brief(wanted.error)}, Stator does not")
        if not isinstance(got.error, stator.Error) or isinstance(got.error, (stator.InternalError, stator.UnsupportedError)):
            raise DifferentError(f"{where}: the interpreter raises {_brief(wanted.error)}, Stator {_brief(got.error)}")
    elif got.error is not None:
        raise DifferentError(f"{where}: Stator raises {_brief(got.error)}")
    else:
        try:
            _compare_value(wanted.result, got.result, f"{where}: result", case.elements_undefined)
        except _FarError as far:
            _compare_distances(module, feed, wanted.result, got.result, far)
    if case.elements_undefined:
        return
    for index, (fed, a, b) in enumerate(zip(feed, wanted.inputs, got.inputs, strict=True)):
        if not (_same_elements(a, b) or (not _same_elements(fed, a) and _close(a, b))):
            raise DifferentError(f"{where}: input {index} is not left as the interpreter leaves it")


class _FarError(DifferentError):
    """Values further apart than the tolerance of the dtype."""


def _compare_value(wanted: Any, got: Any, where: str, elements_undefined: bool) -> None:
    if isinstance(wanted, torch.Tensor):
        if not isinstance(got, stator.Tensor):
            raise DifferentError(f"{where}: expected a tensor, got {type(got).__name__}")
        _compare_tensor(wanted, got, where, elements_undefined)
    elif isinstance(wanted, (list, tuple)):
        if not isinstance(got, list if isinstance(wanted, list) else tuple) or len(wanted) != len(got):
            raise DifferentError(f"{where}: expected a {type(wanted).__name__} of {len(wanted)}, got {got!r}"[:300])
        for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
            _compare_value(a, b, f"{where}[{index}]", elements_undefined)
    elif isinstance(wanted, float) and isinstance(got, float):
        if not math.isclose(wanted, got, rel_tol=1e-7, abs_tol=1e-7) and not (math.isnan(wanted) and math.isnan(got)):
            raise DifferentError(f"{where}: expected {wanted}, got {got}")
    elif str(wanted) != str(got) if isinstance(wanted, torch.device) else type(wanted) is not type(got) or wanted != got:
        raise DifferentError(f"{where}: expected {wanted!r}, got {got!r}")


def _compare_tensor(wanted: torch.Tensor, got: stator.Tensor, where: str, elements_undefined: bool) -> None:
    if got.dtype != str(wanted.dtype).removeprefix("torch."):
        raise DifferentError(f"{where}: expected {wanted.dtype}, got {got.dtype}")
    if got.shape != tuple(wanted.shape):
        raise DifferentError(f"{where}: expected shape {tuple(wanted.shape)}, got {got.shape}")
    strides = [(a, b) for a, b, size in zip(wanted.stride(), got.strides, got.shape, strict=True) if size > 1]
    if wanted.numel() and any(a != b for a, b in strides):
        raise DifferentError(f"{where}: expected strides {wanted.stride()}, got {got.strides} for shape {got.shape}")
    if elements_undefined:
        return
    elements, plain = torch.from_dlpack(got), wanted.resolve_conj().resolve_neg()
    if _same_elements(plain, elements):
        return
    try:
        torch.testing.assert_close(elements, plain, equal_nan=True, check_stride=False)
    except AssertionError as error:
        raise _FarError(f"{where}: {' '.join(str(error).split())[:240]}") from None


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    try:
        torch.testing.assert_close(b, a, equal_nan=True)
    except AssertionError:
        return False
    return True


def _same_elements(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = a.reshape(-1), b.reshape(-1)  # comparing takes 64 dimensions at most
    if a.dtype.is_floating_point or a.dtype.is_complex:
        return bool(torch.all((a == b) | ((a != a) & (b != b))))
    return torch.equal(a, b)


def _compare_distances(module: Any, feed: Feed, wanted: Any, got: Any, far: _FarError) -> None:
    """What is too far from the interpreter's values may still be as near to the truth as they are, or at most twice as far."""
    exact = _interpreted(module, [tensor.double() if tensor.is_floating_point() else tensor for tensor in feed])
    tensors = [[leaf for leaf in pytree.tree_leaves(value) if hasattr(leaf, "__dlpack__")] for value in (exact.result, wanted, got)]
    if exact.error is not None or len({len(found) for found in tensors}) != 1:
        raise far
    for truth, theirs, ours in zip(*tensors, strict=True):
        ours = torch.from_dlpack(ours)
        if not ours.is_floating_point():
            if not _same_elements(theirs, ours):
                raise far
        elif bool(((ours.double() - truth).abs() > 2 * (theirs.double() - truth).abs().max()).any()):
            raise far


def _brief(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith(("  File", "Traceback"))]
    return f"{type(error).__name__}: {' | '.join(lines)[:300]}"
