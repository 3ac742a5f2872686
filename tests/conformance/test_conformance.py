"""Runs the conformance table through the Python binding, and once more from planned files. The format of the table is in README.md beside
this file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stator

HERE = Path(__file__).resolve().parent
MODELS = Path(os.environ.get("STATOR_TEST_MODELS", HERE.parents[1] / "build" / "models"))
TABLE = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
FILES = ["original", "planned"]
CASES = [pytest.param(case, id=case["name"]) for case in TABLE["cases"] if "error" not in case]
BINDABLE = [pytest.param(case, id=case["name"]) for case in TABLE["cases"] if case.get("bindable")]

# What NumPy has names for.
NUMPY = {str(dtype).removeprefix("torch.") for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)} & set(np.sctypeDict)

Json = dict[str, Any]


def tensor(given: Json) -> torch.Tensor:
    """In memory of its own, laid out as the table says."""
    dtype = getattr(torch, given["dtype"])
    if "bits" in given:
        bits = b"".join(element.to_bytes(dtype.itemsize, "little") for element in given["bits"])
        flat = torch.frombuffer(bytearray(bits), dtype=dtype) if bits else torch.empty(0, dtype=dtype)
    else:
        kind = torch.float64 if dtype.is_floating_point or dtype.is_complex else torch.int64
        flat = torch.tensor([float(x) if isinstance(x, str) else x for x in given["data"]], dtype=kind)
        flat = (torch.view_as_complex(flat.reshape(-1, 2)) if dtype.is_complex else flat).to(dtype)
    values = flat.reshape(given["shape"])
    if "strides" not in given:
        return values
    laid_out = torch.empty_strided(given["shape"], given["strides"], dtype=dtype)
    # Elements that share a place are equal, so it does not matter which is written last; torch asks for places of their own.
    steps = [0 if stride == 0 else slice(None) for stride in given["strides"]]
    shown = tuple(slice(0, 1) if step == 0 else step for step in steps)
    laid_out[shown].copy_(values[shown])
    return laid_out


def decode(given: Json, numpy: bool, results: list[Any] | None = None) -> Any:
    kind, inside = next(iter(given.items()))
    if kind == "result":
        assert results
        return results[inside]
    if kind == "tensor":
        made = tensor(inside)
        return made.numpy() if numpy and inside["dtype"] in NUMPY else made
    if kind == "complex":
        return complex(*map(float, inside))
    if kind == "device":
        return stator.Device(inside)
    if kind in ("list", "tuple"):
        items = [decode(item, numpy) for item in inside]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {decode(key, numpy): decode(item, numpy) for key, item in inside}
    return {"none": None, "float": float(inside) if kind == "float" else None}.get(kind, inside)


def compare_tensor(got: Any, wanted: Json, where: str) -> None:
    assert isinstance(got, stator.Tensor), where
    expected = tensor(wanted)
    assert got.dtype == wanted["dtype"], where
    assert list(got.shape) == wanted["shape"], where
    if expected.numel():
        for size, stride, needed in zip(got.shape, got.strides, expected.stride(), strict=True):
            assert size <= 1 or stride == needed, f"{where}: strides {got.strides}, expected {expected.stride()}"
    relative, absolute = TABLE["tolerances"].get(wanted["dtype"], [0, 0])
    exported = torch.from_dlpack(got)
    if "bits" in wanted:
        assert raw(exported) == raw(expected), where
    else:
        torch.testing.assert_close(exported, expected, rtol=relative, atol=absolute, equal_nan=True)
    if wanted["dtype"] in NUMPY:
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=relative, atol=absolute, equal_nan=True)
    else:
        with pytest.raises(TypeError, match="__dlpack__"):
            got.numpy()


def raw(tensor: torch.Tensor) -> list[int]:
    """The bytes of the elements in row-major order."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).tolist() if tensor.numel() else []


def close(got: float, wanted: float) -> bool:
    relative, absolute = TABLE["tolerances"]["float64"]
    return got == wanted or (math.isnan(got) and math.isnan(wanted)) or abs(got - wanted) <= absolute + relative * abs(wanted)


def compare(got: Any, wanted: Json, where: str = "result") -> None:
    kind, inside = next(iter(wanted.items()))
    if kind == "tensor":
        compare_tensor(got, inside, where)
    elif kind in ("list", "tuple"):
        assert isinstance(got, list if kind == "list" else tuple), where
        assert list(getattr(got, "_fields", [])) == wanted.get("names", []), where
        assert len(got) == len(inside), where
        for index, item in enumerate(inside):
            compare(got[index], item, f"{where}[{index}]")
    elif kind == "dict":
        assert list(got) == [decode(key, True) for key, _ in inside], where
        for (_, item), value in zip(inside, got.values(), strict=True):
            compare(value, item, f"{where}[...]")
    elif kind == "float":
        assert isinstance(got, float), where
        assert close(got, float(inside)), where
    elif kind == "complex":
        assert isinstance(got, complex), where
        assert close(got.real, float(inside[0])), where
        assert close(got.imag, float(inside[1])), where
    elif kind == "object":
        assert isinstance(got, stator.Opaque), where
    elif kind == "device":
        assert isinstance(got, stator.Device), where
        assert got == inside, where
    else:
        expected = None if kind == "none" else inside
        assert type(got) is type(expected), where
        assert got == expected, where


def check_error(error: stator.Error, wanted: Json) -> None:
    assert error.code_name in wanted["codes"], error
    for part in ("message", "argument", "operator", "source"):
        for text in wanted.get(part, []):
            assert text in getattr(error, part), f"{part} of {error.code_name}: {getattr(error, part)!r}"


def keep_object(results: list[Any], result: Any) -> None:
    """For later steps. Nothing else may be kept: tensors would hold the arena."""
    if isinstance(result, stator.Opaque):
        results[-1] = result


@pytest.fixture(scope="session", name="model_file")
def _model_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A model of the table: as it is, or as the planned file that Stator makes of it."""
    folder = tmp_path_factory.mktemp("planned")

    def find(model: str, kind: str) -> Path:
        if kind == "original":
            return MODELS / model
        converted = (folder / model).with_suffix(".stator")
        if not converted.exists():
            with stator.load(MODELS / model) as module:
                module.save(converted)
        return converted

    return find


def load(case: Json, file: Path) -> stator.Module:
    return stator.load(file, **case.get("options", {}))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in TABLE["cases"] if "error" in case])
def test_refusal(case: Json) -> None:
    with pytest.raises(stator.Error) as raised:
        load(case, MODELS / case["model"])
    check_error(raised.value, case["error"])


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("numpy", [True, False], ids=["numpy", "torch"])
@pytest.mark.parametrize("case", CASES)
def test_call(case: Json, numpy: bool, file: str, model_file: Callable[[str, str], Path]) -> None:
    with load(case, model_file(case["model"], file)) as module, module.runtime() as runtime, module.arena() as arena:
        results: list[Any] = []
        for step in case["steps"]:
            args = [decode(value, numpy, results) for value in step["args"]]
            results.append(None)
            kwargs = {name: decode(value, numpy) for name, value in step.get("kwargs", [])}
            if "error" in step:
                with pytest.raises(stator.Error) as raised:
                    runtime.method(step["method"]).call_into(arena, *args, **kwargs)
                check_error(raised.value, step["error"])
            else:
                result = runtime.method(step["method"]).call_into(arena, *args, **kwargs)
                compare(result, step["result"])
                keep_object(results, result)
                del result


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("case", BINDABLE)
def test_bound(case: Json, file: str, model_file: Callable[[str, str], Path]) -> None:
    with load(case, model_file(case["model"], file)) as module, module.runtime() as runtime, module.arena() as arena:
        results: list[Any] = []
        for step in case["steps"]:
            args = [decode(value, True, results) for value in step["args"]]
            results.append(None)
            if "error" in step:
                with pytest.raises(stator.Error) as raised:
                    method = runtime.method(step["method"])
                    method.bind(*args)
                    method.run(arena)
                check_error(raised.value, step["error"])
            else:
                method = runtime.method(step["method"])
                method.bind(*args)
                method.run(arena)
                result = arena.result()
                compare(result, step["result"])
                keep_object(results, result)
                del result
                for index, after in step.get("written", []):
                    np.testing.assert_allclose(args[index], tensor(after["tensor"]).numpy(), rtol=1.3e-6)
            runtime.unbind()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("signature", [pytest.param(s, id=f"{s['model']}-{s['method']}") for s in TABLE["signatures"]])
def test_signature(signature: Json, file: str, model_file: Callable[[str, str], Path]) -> None:
    method = load(signature, model_file(signature["model"], file)).method(signature["method"])
    inputs = [{"name": name, "type": kind, "written": name in method.written} for name, kind in method.inputs]
    assert inputs == signature["inputs"]
    assert method.output_count == signature["outputs"]
