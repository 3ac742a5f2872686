"""A random model: its archive, and the inputs of its runs, all from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch

from statements import statement
from writer import Writer, copied, new_env

# Which of the three shapes each run has: every one comes again, the first often enough for a plan of its own.
RUNS = (0, 1, 0, 0, 2, 1, 1)


@dataclass
class RandomModel:
    seed: int
    source: str
    archive: bytes
    exact: bool  # the same kernels give the same bits
    runs: list[list[Any]]  # arguments of forward
    state: dict[str, Any]  # attributes of the module


def make_model(seed: int) -> RandomModel:
    rng = random.Random(seed)
    values = torch.Generator().manual_seed(seed)
    parameters = _parameters(rng)
    shapes = _shapes(rng)
    runs = [[_argument(kind, shapes[shape], values, rng) for _, kind in parameters] for shape in RUNS]
    has_state = rng.random() < 0.25
    state = {"buffer": torch.ones(3), "count": 1, "kept": [torch.zeros(2, 2)]} if has_state else {}
    for _ in range(20):
        model = _write(seed, rng, parameters, runs, state)
        if model:
            return model
    raise AssertionError(f"seed {seed}: nothing that compiles")


def _parameters(rng: random.Random) -> list[tuple[str, str]]:
    tensors = [("x", "float[A, C]"), ("y", "float[A, C]"), ("z", "float[C]"), ("m", "float[2, A, C]"), ("n", "int[A]"), ("s", "float[]"),
               ("t", "float[C, A]"), ("h", "double[A, 1]")]  # fmt: skip
    return rng.sample(tensors, rng.randint(1, 4)) + rng.sample([("k", "int"), ("f", "float"), ("b", "bool")], rng.randint(0, 3))


def _shapes(rng: random.Random) -> list[dict[str, int]]:
    shapes = [{"A": rng.choice([1, 2, 3, 4, 5]), "C": rng.choice([1, 3, 4, 8, 17])} for _ in range(3)]
    if rng.random() < 0.05:
        shapes[2]["A"] = 0
    if rng.random() < 0.5:
        shapes[1]["C"] = shapes[2]["C"] = shapes[0]["C"]
    return shapes


def _argument(kind: str, sizes: dict[str, int], values: torch.Generator, rng: random.Random) -> Any:
    if kind in ("int", "float", "bool"):
        return {"int": rng.randint(0, 5), "float": rng.uniform(-1, 1), "bool": rng.random() < 0.5}[kind]
    dtype, dims = kind[:-1].split("[")
    shape = [sizes[dim] if dim in sizes else int(dim) for dim in dims.split(", ") if dim]
    if dtype == "int":
        return torch.randint(0, 3, shape, generator=values)
    tensor = torch.randn(shape, generator=values, dtype=torch.float64 if dtype == "double" else torch.float32)
    if len(shape) == 2 and rng.random() < 0.2:
        return tensor.t().contiguous().t()
    return tensor


def _write(
    seed: int, rng: random.Random, parameters: list[tuple[str, str]], runs: list[list[Any]], state: dict[str, Any]
) -> RandomModel | None:
    kinds = {"int": "I", "float": "F", "bool": "B"}
    scope = {name: kinds.get(kind, "T") for name, kind in parameters} | ({"self.buffer": "S"} if state else {})
    examples = [new_env(state, {name: value for (name, _), value in zip(parameters, runs[RUNS.index(i)], strict=True)}) for i in range(3)]
    writer = Writer(rng, examples, scope)
    pattern = [rng.choice("TTTLPD") for _ in range(rng.randint(1, 4))]
    writer.returns = lambda: _result(writer, pattern)
    for _ in range(rng.randint(4, 22)):
        statement(writer)
    result = _result(writer, pattern)
    if not result:
        return None
    types = {"int": "int", "float": "float", "bool": "bool"}
    arguments = "".join(f", {name}: {types.get(kind, 'Tensor')}" for name, kind in parameters)
    body = "".join(f"    {line}\n" for line in [*writer.lines, f"return {result}"])
    source = f"def forward(self{arguments}) -> {_result_type(pattern)}:\n{body}"
    archive = compile_model(source, state)
    return archive and RandomModel(seed, source, archive, writer.exact, runs, state)


def _result(writer: Writer, pattern: list[str]) -> str | None:
    """What is returned of the scope: inputs, views and the same tensor twice among it."""
    parts = [writer.tensor() if kind == "T" else writer.one(kind) for kind in pattern]
    parts = [
        part or {"L": "[{0}, {0}]", "P": "({0}, {0})", "D": "{{'a': {0}}}"}[kind].format(writer.tensor())
        for part, kind in zip(parts, pattern, strict=True)
    ]
    return ", ".join(parts)


def _result_type(pattern: list[str]) -> str:
    names = {"T": "Tensor", "L": "List[Tensor]", "P": "Tuple[Tensor, Tensor]", "D": "Dict[str, Tensor]"}
    parts = [names[kind] for kind in pattern]
    return parts[0] if len(parts) == 1 else f"Tuple[{', '.join(parts)}]"


def compile_model(source: str, state: dict[str, Any]) -> bytes | None:
    tensor = torch._C.TensorType.get()
    types = {"buffer": tensor, "count": torch._C.IntType.get(), "kept": torch._C.ListType(tensor)}
    module = torch._C.ScriptModule("__torch__.Random", torch._C.CompilationUnit(), True)
    for name, value in copied(state).items():
        module._register_attribute(name, types[name], value)
    try:
        module._define(torch._C.ConcreteModuleType.from_jit_type(module._type()), source, {"torch": torch}.get)
    except RuntimeError:  # Python is more lenient than TorchScript here and there
        return None
    return module.save_to_buffer()
