"""Writes the conformance table: make_cases.py MODELS > cases.json

Inputs come from formulas, results from TorchScript's interpreter. The format is described in README.md beside this file.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

Json = dict[str, Any]

TOLERANCES = {
    "float32": [1.3e-6, 1e-5],
    "float64": [1e-7, 1e-7],
    "bfloat16": [1.6e-2, 1e-5],
    "complex64": [1.3e-6, 1e-5],
    "complex128": [1e-7, 1e-7],
}

# Written as the bits of their elements, by an integer of the same size: not every language has such numbers.
BITS = {torch.float16: torch.int16, torch.complex32: torch.int32} | {
    getattr(torch, f"float8_{kind}"): torch.uint8 for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
}

SIGNATURES = [
    ("add_mul.pt", "forward", [], 1),
    ("kinds.pt", "forward", [], -1),
    ("scalars.pt", "forward", [], 0),
    ("optionals.pt", "forward", [], -1),
    ("lists.pt", "forward", ["i", "f", "b", "s", "t", "n"], -1),
    ("dicts.pt", "forward", ["s", "i", "f", "b"], -1),
    ("any_of.pt", "forward", [], 0),
    ("defaults.pt", "forward", [], 1),
    ("nested.pt", "forward", [], 1),
    ("containers.pt", "forward", [], -1),
    ("alias.pt", "forward", [], 5),
    ("writes.pt", "forward", ["x"], 1),
    ("counter.pt", "forward", [], 1),
    ("counter.pt", "reset", [], 0),
]


def wave(*shape: int, dtype: torch.dtype = torch.float32, step: float = 0.37) -> torch.Tensor:
    """Numbers that look irregular; a few are negative."""
    index = torch.arange(math.prod(shape), dtype=torch.float64)
    values = torch.round(torch.sin(index * step + 0.5) * 4096) / 1024
    return values.reshape(shape).to(dtype)


def count(*shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return (torch.arange(math.prod(shape)).reshape(shape) + 1).to(dtype)


@torch.jit.script
class Tally:
    """The class of objects.pt: LibTorch makes objects in Python only of classes that Python has too, by the same name."""

    def __init__(self, total: torch.Tensor, count: int) -> None:
        self.total = total
        self.count = count


@dataclass
class Earlier:
    """Stands for the object that an earlier step of the case gave."""

    step: int


def number(value: float) -> float | str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def elements(flat: torch.Tensor) -> Json:
    """The elements of a contiguous tensor of one dimension."""
    if flat.dtype in BITS:
        size = flat.element_size()
        return {"bits": [bits % 2 ** (8 * size) for bits in flat.view(BITS[flat.dtype]).tolist()]}
    if flat.dtype.is_complex:
        return {"data": [number(x) for x in torch.view_as_real(flat).reshape(-1).double().tolist()]}
    if flat.dtype.is_floating_point:
        return {"data": [number(x) for x in flat.double().tolist()]}
    return {"data": [int(x) for x in flat.tolist()]}


def encode_tensor(tensor: torch.Tensor) -> Json:
    tensor = tensor.detach().resolve_conj()
    encoded: Json = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
    if not tensor.is_contiguous():
        encoded["strides"] = list(tensor.stride())
    return encoded | elements(tensor.contiguous().reshape(-1))


def encode(value: Any) -> Json:
    if value is None:
        return {"none": True}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, float):
        return {"float": number(value)}
    if isinstance(value, complex):
        return {"complex": [number(value.real), number(value.imag)]}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.Tensor):
        return {"tensor": encode_tensor(value)}
    if isinstance(value, Earlier):
        return {"result": value.step}
    if isinstance(value, Tally):
        return {"object": True}
    if isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, tuple):
        names = {"names": list(value._fields)} if hasattr(value, "_fields") else {}
        return {"tuple": [encode(item) for item in value], **names}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    raise TypeError(type(value))


def copied(value: Any) -> Any:
    """The value with tensors of its own that keep their strides."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage().clone()
        return torch.empty(0, dtype=value.dtype).set_(storage, value.storage_offset(), value.shape, value.stride())
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


def error(codes: str, **parts: list[str]) -> Json:
    return {"codes": codes.split(), **parts}


def step(*args: Any, method: str = "forward", error: Json | None = None, **kwargs: Any) -> Json:
    return {"method": method, "args": list(args), "kwargs": kwargs, "error": error}


class Table:
    def __init__(self, models: Path) -> None:
        self.models = models
        self.cases: list[Json] = []

    def case(self, name: str, model: str, *steps: Json, options: dict[str, str] | None = None) -> None:
        module = torch.jit.load(self.models / model)
        module.eval()
        given_back: list[Any] = []
        encoded = [self.encoded_step(module, given, given_back) for given in steps]
        found: Json = {"name": name, "model": model}
        if options:
            found["options"] = options
        found["bindable"] = not any(given["kwargs"] for given in steps)
        found["steps"] = encoded
        self.cases.append(found)

    def load_error(self, name: str, model: str, expected: Json, options: dict[str, str] | None = None) -> None:
        found: Json = {"name": name, "model": model}
        if options:
            found["options"] = options
        found["error"] = expected
        self.cases.append(found)

    @staticmethod
    def encoded_step(module: torch.jit.ScriptModule, given: Json, given_back: list[Any]) -> Json:
        encoded: Json = {"method": given["method"], "args": [encode(value) for value in given["args"]]}
        if given["kwargs"]:
            encoded["kwargs"] = [[name, encode(value)] for name, value in given["kwargs"].items()]
        if given["error"]:
            encoded["error"] = given["error"]
            given_back.append(None)
            return encoded
        args = [given_back[arg.step] if isinstance(arg, Earlier) else arg for arg in copied(given["args"])]
        with torch.inference_mode():
            result = getattr(module, given["method"])(*args, **copied(given["kwargs"]))
        given_back.append(result)
        encoded["result"] = encode(result)
        written = [
            [index, encode(after)]
            for index, (before, after) in enumerate(zip(given["args"], args, strict=True))
            if isinstance(before, torch.Tensor) and encode(before) != encode(after)
        ]
        if written:
            encoded["written"] = written
        return encoded


def results(table: Table) -> None:
    def steps_of_add_mul() -> list[Json]:
        return [step(wave(*shape), wave(*shape, step=0.21)) for shape in [(2, 3), (5,), (2, 3), (1, 4, 2), (64, 5), (2, 3)]]

    table.case("add_mul_changes_shape", "add_mul.pt", *steps_of_add_mul())
    for key, value in [("weights", "map"), ("memory_planner", "naive"), ("plans", "signature")]:
        table.case(f"add_mul_with_{key}_{value}", "add_mul.pt", *steps_of_add_mul(), options={key: value})
    table.case("add_mul_broadcasts", "add_mul.pt", step(wave(4, 1), wave(3)), step(wave(3), wave(2, 4, 1)), step(wave(), wave(2)))
    table.case("add_mul_of_no_elements", "add_mul.pt", step(wave(0), wave(0)), step(wave(2, 0), wave(2, 0)), step(wave(2, 3), wave(2, 3)))
    table.case(
        "add_mul_changes_dtype",
        "add_mul.pt",
        *[
            step(make(2, 3, dtype=dtype), make(2, 3, dtype=dtype))
            for make, dtype in [
                (wave, torch.float32),
                (wave, torch.float64),
                (count, torch.int64),
                (count, torch.int32),
                (wave, torch.bfloat16),
                (wave, torch.float32),
            ]
        ],
    )
    table.case(
        "add_mul_reads_strided_inputs",
        "add_mul.pt",
        step(wave(3, 2).t(), wave(2, 3)),
        step(wave(3, 2).t(), wave(3, 2, step=0.21).t()),
        step(wave(2, 3, 4).permute(2, 0, 1), wave(4, 2, 3)),
        step(wave(4, 6)[:, ::2], wave(4, 3)),
        step(wave(1, 3).expand(4, 3), wave(4, 3)),
    )
    special = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30, -1e30, 1e-30])
    table.case("add_mul_of_special_numbers", "add_mul.pt", step(special, torch.ones(8)))
    table.case("add_mul_takes_keywords", "add_mul.pt", step(y=wave(2), x=wave(2, step=0.2)), step(wave(2), y=wave(2, step=0.2)))

    def steps_of_linear() -> list[Json]:
        return [step(wave(*shape)) for shape in [(1, 8), (3, 8), (8,), (2, 2, 8), (0, 8), (1, 8)]]

    table.case("linear_changes_batch", "linear.pt", *steps_of_linear(), step(wave(8, 3).t()))
    table.case("linear_with_mapped_weights", "linear.pt", *steps_of_linear(), options={"weights": "map"})
    table.case("mlp_changes_batch", "mlp.pt", step(wave(1, 128)), step(wave(3, 128)), step(wave(1, 128, step=0.11)))
    table.case(
        "deep_and_wide_changes_batch",
        "deep_and_wide.pt",
        *[step(wave(n, 1, 32) / 4, wave(n, 1, 32, step=0.21) / 4, wave(n, 50)) for n in (1, 4, 1, 2)],
    )
    table.case("training_file_runs_in_eval_mode", "training.pt", step(wave(2, 3)))
    table.case("slow_multiplies", "slow.pt", step(wave(3, 3) / 4, 5), step(wave(2, 2) / 4, 0), step(wave(4, 4) / 4, 2))

    table.case(
        "branch_takes_every_way",
        "branch.pt",
        *[step(sign * count(*shape, dtype=torch.float32), flag) for flag in (True, False) for sign in (1, -1) for shape in [(2, 2), (5,)]],
    )
    table.case(
        "loops_carry_and_leave_early",
        "loops.pt",
        *[step(wave(3), n) for n in (3, 0, 1, -2, 7)],
        step(torch.full((2, 2), 40.0), 9),
        step(wave(2, 5), 4),
    )
    table.case(
        "kinds_come_back",
        "kinds.pt",
        step(wave(2), 7, 0.5, True, "text", None),
        step(wave(2, 2), -1, -2.0, False, "", wave(2, 2)),
        step(wave(3), 2**40, math.inf, True, "z\u00fcrich \u6771\u4eac", wave(3)),
        step(wave(3), 0, math.nan, True, "a\0b", None),
    )
    table.case("kinds_take_keywords", "kinds.pt", step(wave(2), 1, s="by name", o=None, b=False, f=1.5))
    table.case("defaults_fill_in", "defaults.pt", step(wave(2)), step(wave(2), 3.0), step(wave(2), 3.0, wave(2)), step(wave(3), 0.5, None))
    table.case("defaults_by_keyword", "defaults.pt", step(wave(2), shift=wave(2)), step(shift=wave(2), x=wave(2), scale=1.0))
    table.case("int_serves_as_float", "defaults.pt", step(wave(2), 3))
    table.case("containers_come_back", "containers.pt", *[step(wave(*shape), wave(*shape, step=0.2)) for shape in [(2,), (3, 2), (2,)]])
    table.case(
        "containers_go_in",
        "nested.pt",
        step([wave(2), wave(2, step=0.2)], {"a": wave(2), "b": wave(2, step=0.1)}, (wave(2), 3)),
        step([], {}, (wave(4), -1)),
        step([wave(3)], {"z": wave(3)}, (wave(3), 0)),
    )
    table.case("named_tuple_keeps_its_names", "named.pt", step(wave(2), wave(2, step=0.2)), step(wave(2, 2), wave(2, 2, step=0.2)))
    ones = torch.ones(3)
    table.case(
        "counter_keeps_state",
        "counter.pt",
        step(ones),
        step(wave(3)),
        step(ones * 2),
        step(method="reset"),
        step(wave(3)),
        step(method="reset"),
        step(ones),
    )
    table.case("two_methods_share_a_runtime", "two_methods.pt", step(wave(2, 3)), step(wave(2, 3), wave(3), method="score"), step(wave(3)))
    table.case("writes_its_input", "writes.pt", step(wave(3)), step(wave(2, 2)), step(wave(3, 2).t()))
    table.case("aliases_come_back_as_values", "alias.pt", step(wave(2, 3)), step(wave(4)), step(wave(2, 3, step=0.2)))


def tensors_of_every_type(table: Table) -> None:
    """Through a model that passes its input on, copies it and gives a view of it."""

    def strided(flat: torch.Tensor) -> list[torch.Tensor]:
        return [
            flat[:6].reshape(2, 3),
            flat[:6].reshape(2, 3).t(),
            flat[1],
            flat[:0],
            flat[:0].reshape(2, 0, 3),
            flat[:24].reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
            flat[:3].reshape(1, 3).expand(4, 3),
            flat[:12].reshape(2, 6)[:, ::2],
            flat[2].expand(2, 2),
        ]

    whole = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
    real = [torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
    for dtype in [*whole, *real, *BITS]:
        if dtype in BITS:
            flat = torch.arange(24 * dtype.itemsize, dtype=torch.uint8).view(dtype)
        elif dtype.is_complex:
            flat = torch.complex(wave(24, dtype=torch.float64), wave(24, dtype=torch.float64, step=0.21)).to(dtype)
        elif dtype == torch.bool:
            flat = wave(24) > 0
        else:
            flat = (wave(24) if dtype.is_floating_point else count(24)).to(dtype)
        name = str(dtype).removeprefix("torch.")
        table.case(f"{name}_tensors_pass", "pass.pt", *[step(x) for x in strided(flat)])
    x = wave(2, 3, 2, 2)
    table.case(
        "memory_formats",
        "pass.pt",
        step(x.to(memory_format=torch.channels_last), method="dense"),
        step(x, method="channels_last"),
        step(x.to(memory_format=torch.channels_last), method="channels_last"),
        step(wave(1, 1, 4, 4), method="channels_last"),
    )
    z = torch.complex(wave(2, 3), wave(2, 3, step=0.21))
    table.case(
        "complex_numbers_compute",
        "complex.pt",
        step(z, 1 + 2j),
        step(z.t().to(torch.complex128), -0.5j),
        step(z[0, 0], 2),
        step(z[:0], 1.5),
    )


def values_of_every_type(table: Table) -> None:
    inf, nan = math.inf, math.nan
    table.case(
        "scalars_pass",
        "scalars.pt",
        step(2**62, -0.0, True, complex(nan, -inf)),
        step(-(2**63), inf, False, 0j),
        step(True, 3, 1, 2),
        step(False, True, 0, 0.5),
        step(0, False, False, True),
        step(torch.tensor(7), torch.tensor(2.5), torch.tensor(True), torch.tensor(1.0 + 1.0j)),
        step(torch.tensor([7], dtype=torch.int16), torch.tensor(3), torch.tensor(0), torch.tensor(2.0)),
    )
    table.case("scalars_by_keyword", "scalars.pt", step(1, c=1j, b=True, f=2), step(f=0.5, i=2, c=1, b=False))
    x = wave(2)
    table.case(
        "optionals_pass",
        "optionals.pt",
        step(None, None, None, None, None),
        step(1, 2.5, "", [], (3, True)),
        step(0, 2, "a\0b", [None, x, None], (0, False)),
        step(None, None, "\u6771\u4eac \U0001f600", [None], None),
    )
    table.case(
        "lists_pass",
        "lists.pt",
        step([], [], [], [], [], [], []),
        step([1, -2], [0.5, nan], [True, False], ["", "a\0b", "\u00fc"], [1j, 2 + 0.5j], [x, x * 2], [[], [1], [2, 3]]),
        step([True], [1, 2.5], [True], ["a"], [1, 0.5], [x], [[]]),
        step((1, 2), (3, 4), (True,), ("a", "b"), (1j,), (x,), ([1], (2, 3))),
        step([], [], [], [], [], [], []),
    )
    table.case(
        "dicts_pass",
        "dicts.pt",
        step({}, {}, {}, {}),
        step({"": x, "a\0b": x * 2, "\u00fc": x}, {2**40: "big", 0: ""}, {0.5: [], inf: [1]}, {False: {"a": 1, "b": -1}}),
        step({"one": x}, {-1: "first"}, {0.25: [9], 3: []}, {True: {}}),
        step({}, {}, {}, {}),
    )
    table.case("nested_tuples_pass", "nested_tuples.pt", step((1, ("a", [(0.5, x), (2, x.t())]))), step((2, ("", []))))
    table.case(
        "defaults_of_every_type",
        "many_defaults.pt",
        step(x),
        step(x, 4),
        step(x, 4, 1.5, "other", False, x),
        step(x, n=1),
        step(x, o=x, flag=False, s="s", f=2, n=0),
        step(s="\u00fc", x=x),
    )
    table.case("one_of_several_types", "any_of.pt", step(1), step("text"), step([0.5]))
    codes = {"int64": 4, "float16": 5, "complex64": 9, "bool": 11}  # c10::ScalarType
    for name, code in codes.items():
        table.case(f"dtype_{name}_is_an_int", "casts.pt", step(wave(3), code), step(count(2, 2), code))
    table.case("devices_pass", "casts.pt", step(x, torch.device("cpu"), method="place"), step(x.t(), torch.device("cpu"), method="place"))
    table.case(
        "objects_come_out_and_go_in",
        "objects.pt",
        step(wave(3)),
        step(Earlier(0), wave(3), method="add"),
        step(Earlier(1), method="read"),
        step(wave(2, 2)),
        step(Earlier(3), wave(2, 2), method="add"),
        step(Earlier(1), wave(3), method="add"),
        step(Earlier(4), method="read"),
        step(Earlier(5), method="read"),
        step(Earlier(0), method="read"),
        step(wave(3), method="read", error=error("TYPE_MISMATCH", argument=['input "tally" (argument 1)'])),
    )
    leaks = "UNSUPPORTED"
    table.case(
        "quantized_tensors_stay_inside",
        "quantized.pt",
        step(wave(2, 3)),
        step(wave(2, 3), method="leak", error=error(leaks, message=["quantized", "dequantize()"])),
        step(wave(5)),
    )
    table.case(
        "sparse_tensors_stay_inside",
        "sparse.pt",
        step(torch.eye(3)),
        step(torch.eye(3), method="leak", error=error(leaks, message=["not strided", "to_dense()"])),
        step(torch.eye(2, 4)),
    )


def upstream_defects(table: Table) -> None:
    def floats(*shape: int, turn: int) -> tuple[torch.Tensor, torch.Tensor]:
        return wave(*shape, step=0.3 + turn * 0.07), wave(*shape, step=0.9 - turn * 0.05)

    flags = [((3,), True), ((3,), False), ((5,), True), ((5,), False), ((3,), True)]
    for model in ("defect_a_view.pt", "defect_a_nested.pt"):
        table.case(model.removesuffix(".pt"), model, *[step(*floats(*shape, turn=turn), flag) for turn, (shape, flag) in enumerate(flags)])
    trips = [((3,), 2), ((3,), 0), ((6,), 1), ((2,), 3), ((3,), 2)]
    table.case("defect_a_loop", "defect_a_loop.pt", *[step(*floats(*shape, turn=turn), n) for turn, (shape, n) in enumerate(trips)])
    shapes = [(2, 2), (2, 2), (3, 2), (1, 4), (2, 2)]
    table.case("defect_b_list", "defect_b_list.pt", *[step(*floats(*shape, turn=turn)) for turn, shape in enumerate(shapes)])
    for model in ("defect_d_mul.pt", "defect_d_cat.pt"):
        for first in ("float", "int"):
            kinds = [torch.float32, torch.int64, torch.float64, torch.float32, torch.int32]
            if first == "int":
                kinds.reverse()
            steps = [step(*[make(2 + turn % 2, 3, dtype=dtype) for make in (count, wave)]) for turn, dtype in enumerate(kinds)]
            table.case(f"{model.removesuffix('.pt')}_{first}_first", model, *steps)


def load_errors(table: Table) -> None:
    table.load_error("missing_file", "there_is_no_such_file.pt", error("NOT_FOUND", message=["there_is_no_such_file.pt"]))
    for model in ("truncated.pt", "not_a_model.zip", "text.pt", "empty.pt"):
        table.load_error(f"broken_{model.split('.')[0]}", model, error("BAD_MODEL", message=[model]))
    table.load_error("saved_tensors_are_no_model", "saved_tensors.pt", error("BAD_MODEL UNSUPPORTED", message=["saved_tensors.pt"]))
    invalid = "INVALID_ARGUMENT"
    table.load_error("unknown_option", "linear.pt", error(invalid, message=["weigths", "weights"]), {"weigths": "copy"})
    table.load_error("unknown_value_of_an_option", "linear.pt", error(invalid, message=["weights", "cpoy"]), {"weights": "cpoy"})
    table.load_error("option_of_another_call", "linear.pt", error(invalid, message=["state"]), {"state": "shared"})
    table.load_error("signature_with_unknown_dtype", "linear.pt", error(invalid, message=["float33"]), {"signature": "x: float33[?, 8]"})
    table.load_error("signature_with_unknown_input", "linear.pt", error(invalid, message=["zz"]), {"signature": "zz: float32[?, 8]"})
    table.load_error("signature_that_does_not_parse", "linear.pt", error(invalid, message=["signature"]), {"signature": "x: float32[?, 8"})


def call_errors(table: Table) -> None:
    x = wave(2, 8)
    refused = "OPERATOR_ERROR DTYPE_MISMATCH"
    table.case(
        "wrong_dtype",
        "linear.pt",
        step(x.double(), error=error(refused, operator=["aten::linear"], source=["torch.linear"])),
        step(x),
        step(count(2, 8), error=error(refused, operator=["aten::linear"])),
        step(x),
    )
    table.case(
        "wrong_rank",
        "deep_and_wide.pt",
        step(
            wave(1, 32),
            wave(1, 1, 32),
            wave(1, 50),
            error=error("OPERATOR_ERROR SHAPE_MISMATCH", operator=["aten::bmm"], source=["torch.bmm"]),
        ),
        step(wave(1, 1, 32), wave(1, 1, 32), wave(1, 50)),
    )
    table.case(
        "wrong_size",
        "linear.pt",
        step(wave(2, 7), error=error("OPERATOR_ERROR SHAPE_MISMATCH", operator=["aten::linear"])),
        step(x),
    )
    table.case("too_few_inputs", "add_mul.pt", step(wave(2), error=error("INPUT_MISSING", message=["y"])), step(wave(2), wave(2)))
    table.case("no_inputs", "add_mul.pt", step(error=error("INPUT_MISSING", message=["x"])), step(wave(2), wave(2)))
    table.case("too_many_inputs", "add_mul.pt", step(wave(2), wave(2), wave(2), error=error("INVALID_ARGUMENT")), step(wave(2), wave(2)))
    table.case("unknown_keyword", "add_mul.pt", step(wave(2), wave(2), zz=wave(2), error=error("INVALID_ARGUMENT", message=["zz"])))
    table.case("input_given_twice", "add_mul.pt", step(wave(2), wave(2), x=wave(2), error=error("INVALID_ARGUMENT", message=["x"])))

    def mismatch(name: str, place: int) -> Json:
        return error("TYPE_MISMATCH", argument=[f'input "{name}" (argument {place})'])

    def refused_scalar(place: int, *args: Any) -> Json:
        return step(*args, error=mismatch("ifbc"[place - 1], place))

    table.case(
        "wrong_scalars",
        "scalars.pt",
        refused_scalar(1, 1.0, 1.0, True, 1j),
        refused_scalar(1, "1", 1.0, True, 1j),
        refused_scalar(1, wave(1), 1.0, True, 1j),
        refused_scalar(1, count(2), 1.0, True, 1j),
        refused_scalar(2, 1, 1j, True, 1j),
        refused_scalar(2, 1, None, True, 1j),
        refused_scalar(3, 1, 1.0, "yes", 1j),
        refused_scalar(3, 1, 1.0, 1j, 1j),
        refused_scalar(4, 1, 1.0, True, [1]),
        step(1, 1.0, True, 1j),
    )
    table.case(
        "wrong_containers",
        "lists.pt",
        step([1.5], [], [], [], [], [], [], error=mismatch("i", 1)),
        step([], "ab", [], [], [], [], [], error=mismatch("f", 2)),
        step([], [], [], [1], [], [], [], error=mismatch("s", 4)),
        step([], [], [], [], [], [None], [], error=mismatch("t", 6)),
        step([], [], [], [], [], [], [1], error=mismatch("n", 7)),
        step([], [], [], [], [], [], [[0.5]], error=mismatch("n", 7)),
        step([], [], [], [], [], [], []),
    )
    table.case(
        "wrong_keys",
        "dicts.pt",
        step({1: wave(2)}, {}, {}, {}, error=mismatch("s", 1)),
        step({}, {"a": "b"}, {}, {}, error=mismatch("i", 2)),
        step({}, {1: 2}, {}, {}, error=mismatch("i", 2)),
        step({}, [], {}, {}, error=mismatch("i", 2)),
        step({}, {}, {}, {True: {1: 1}}, error=mismatch("b", 4)),
        step({}, {}, {}, {}),
    )
    table.case("none_of_several_types", "any_of.pt", step(0.5, error=mismatch("x", 1)), step(None, error=mismatch("x", 1)), step(1))
    table.case(
        "wrong_tuple",
        "nested_tuples.pt",
        step((1, ("a",)), error=mismatch("t", 1)),
        step((1, "a"), error=mismatch("t", 1)),
        step((1, ("a", []))),
    )
    table.case("text_for_a_bool", "branch.pt", step(wave(2), "yes", error=mismatch("flag", 2)), step(wave(2), True))
    table.case("int_for_a_tensor", "add_mul.pt", step(1, wave(2), error=mismatch("x", 1)), step(wave(2), wave(2)))
    table.case("tensor_for_an_int", "loops.pt", step(wave(2), wave(2), error=mismatch("n", 2)), step(wave(2), 2))
    table.case("float_for_an_int", "loops.pt", step(wave(2), 1.5, error=mismatch("n", 2)), step(wave(2), 2))
    table.case("none_for_a_tensor", "add_mul.pt", step(wave(2), None, error=mismatch("y", 2)), step(wave(2), wave(2)))
    table.case("wrong_item_in_a_list", "nested.pt", step([1], {}, (wave(2), 1), error=mismatch("tensors", 1)), step([], {}, (wave(2), 1)))
    table.case(
        "unknown_method",
        "two_methods.pt",
        step(wave(3), method="scroe", error=error("NOT_FOUND", message=["scroe", "forward", "score"])),
        step(wave(3)),
    )
    table.case(
        "model_raises",
        "raises.pt",
        step(wave(2), 2),
        step(wave(2), -3, error=error("MODEL_ERROR", message=["n must be positive, got -3"], source=["raise ValueError"])),
        step(wave(3), 3),
        step(wave(2), 0, error=error("MODEL_ERROR", message=["n must be positive, got 0"])),
        step(wave(2), 2),
    )

    def off(code: str, got: str, *also: str) -> Json:
        return error(code, message=["expected float32[?, 8]", f"got {got}", *also], argument=['input "x" (argument 1)'])

    table.case(
        "signature_is_checked",
        "linear.pt",
        step(wave(3, 8)),
        step(wave(3, 7), error=off("SHAPE_MISMATCH", "float32[3, 7]")),
        step(wave(8), error=off("SHAPE_MISMATCH", "float32[8]", "dimension count is 1 instead of 2")),
        step(wave(3, 8).double(), error=off("DTYPE_MISMATCH", "float64[3, 8]")),
        step(wave(0, 8)),
        step(wave(5, 8)),
        options={"signature": "x: float32[?, 8]"},
    )


def signatures(models: Path) -> list[Json]:
    found = []
    for model, method, written, outputs in SIGNATURES:
        module = torch.jit.load(models / model)
        schema = module._c._get_method(method).schema
        inputs = [
            {"name": argument.name, "type": argument.type.annotation_str, "written": argument.name in written}
            for argument in schema.arguments[1:]
        ]
        found.append({"model": model, "method": method, "inputs": inputs, "outputs": outputs})
    return found


def main(models: Path) -> None:
    table = Table(models)
    results(table)
    tensors_of_every_type(table)
    values_of_every_type(table)
    upstream_defects(table)
    load_errors(table)
    call_errors(table)
    lines = [json.dumps(case, ensure_ascii=True) for case in table.cases]
    heads = [json.dumps(signature) for signature in signatures(models)]
    print('{"format": 1,\n"tolerances": ' + json.dumps(TOLERANCES) + ",")
    print('"signatures": [\n' + ",\n".join(heads) + "\n],")
    print('"cases": [\n' + ",\n".join(lines) + "\n]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
