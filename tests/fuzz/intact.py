"""The sound archives that are damaged: small models of torch.export in every dialect and layout, and of TorchScript.

intact.py FOLDER writes them, and index.json with inputs for each.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._export.serde.serialize import serialize
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

sys.path.append(str(Path(__file__).resolve().parents[1] / "export"))
from fixtures.kept import archives as kept_archives
from fixtures.kept import runs

AUTO = Dim.AUTO
DIALECTS: dict[str, Callable[[ExportedProgram], ExportedProgram]] = {
    "training": lambda program: program,
    "functional": lambda program: program.run_decompositions({}),
    "core": lambda program: program.run_decompositions(),
}


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 4)
        self.second.bias = nn.Parameter(self.first.weight[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


class Picture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.max_pool2d(torch.relu(self.norm(self.convolution(x))), 2).flatten(1)


class Text(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(8, 4), nn.LSTM(4, 4, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        y, _ = self.lstm(self.embedding(words))
        return self.attention(y, y, y, need_weights=False)[0]


class State(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("turned", torch.arange(6.0).view(2, 3).t())
        self.table = torch.arange(20.0)[5:8]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.turned.mul_(0.5)
        return x @ self.turned.t() + self.table * self.count


class Structure(nn.Module):
    def forward(self, x: dict[str, torch.Tensor], pair: tuple[torch.Tensor, torch.Tensor], n: int) -> dict[str, Any]:
        parts = list(torch.split(x["a"], [1, 2], 1))
        best, places = torch.topk(pair[0], 2)
        return {"parts": parts, "best": (best, places, n), "none": None, "sum": x["b"] + pair[1].sum()}


class Control(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))
        i, z = while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 0.5), (torch.tensor(0), y))
        carried, steps = scan(lambda c, v: (c + v, c * v), torch.zeros(3), x)
        return z, i, carried, steps


class Sizes(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        y = x * 2 if x.shape[0] % 2 == 0 else x
        y = y.view(x.shape[0] // 2, -1).transpose(0, 1).contiguous()
        return torch.cat([y.index_select(0, index), y.new_zeros(1, y.shape[1])]).cumsum(0)


class Script(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.scale = 0.5
        self.names = ["a", "b"]

    def forward(self, x: torch.Tensor, n: int) -> dict[str, torch.Tensor]:
        out = {"x": x}
        task = torch.jit.fork(torch.sigmoid, x)
        for i in range(n):
            if bool(x.sum() > i):
                x = x * self.scale
            else:
                raise ValueError("too small")
        for i, layer in enumerate(self.layers):
            out[self.names[i]] = layer(x)
        out["y"] = torch.jit.wait(task)
        return out


def exported() -> Iterator[tuple[str, nn.Module, tuple[Any, ...], Any]]:
    yield "dense", Dense(), (torch.randn(3, 4),), ({0: AUTO},)
    yield "picture", Picture(), (torch.randn(2, 2, 4, 4),), ({0: AUTO},)
    yield "text", Text(), (torch.randint(0, 3, (2, 5)),), None
    yield "state", State(), (torch.randn(4, 2),), None
    pair = (torch.randn(4), torch.randn(3))
    yield "structure", Structure(), ({"a": torch.randn(2, 3), "b": torch.randn(2)}, pair, 3), None
    yield "control", Control(), (torch.ones(4, 3),), None
    yield "sizes", Sizes(), (torch.randn(6, 4), torch.tensor([0, 2, 1])), ({0: AUTO, 1: AUTO}, {0: AUTO})


def scripted() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    yield "traced", torch.jit.trace(Dense().eval(), torch.randn(3, 4)), (torch.randn(3, 4),)
    yield "scripted", torch.jit.script(Script().eval()), (torch.ones(3, 4), 2)
    yield "scripted_state", torch.jit.script(State().eval()), (torch.randn(4, 2),)
    yield "traced_picture", torch.jit.trace(Picture().eval(), torch.randn(2, 2, 4, 4)), (torch.randn(2, 2, 4, 4),)


def saved(program: ExportedProgram) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def without_folders(program: ExportedProgram) -> bytes:
    """As torch 2.5 to 2.7 wrote it."""
    parts = serialize(program)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("version", "8.20")
        out.writestr("serialized_exported_program.json", parts.exported_program)
        out.writestr("serialized_state_dict.pt", parts.state_dict)
        out.writestr("serialized_constants.pt", parts.constants)
    return buffer.getvalue()


def older() -> Iterator[tuple[str, bytes, tuple[Any, ...]]]:
    """What torch 2.5 and 2.8 wrote themselves."""
    for kept in ("2.5.1/lengths.export.pt2", "2.5.1/constants.core.pt2", "2.8.0/counter.functional.pt2"):
        (run, *_), _ = runs(kept)
        version, name = kept.split("/")
        yield f"torch-{version}.{name}", kept_archives()[kept], run["args"]


def archives() -> Iterator[tuple[str, bytes, tuple[Any, ...]]]:
    for name, model, args, sizes in exported():
        program = torch.export.export(model.eval(), args, dynamic_shapes=sizes)
        for dialect, lowered in DIALECTS.items():
            yield f"{name}.{dialect}.pt2", saved(lowered(program)), args
        if name in ("dense", "state"):
            yield f"{name}.flat.pt2", without_folders(program), args
    yield from older()
    for name, module, inputs in scripted():
        buffer = io.BytesIO()
        torch.jit.save(module, buffer)
        yield f"{name}.pt", buffer.getvalue(), inputs


def described(args: tuple[Any, ...]) -> Any:
    """Arguments as JSON: a tensor is its dtype and shape."""

    def one(value: Any) -> Any:
        return {"dtype": str(value.dtype)[6:], "shape": list(value.shape)} if isinstance(value, torch.Tensor) else value

    return pytree.tree_map(one, list(args))


def make(folder: Path) -> None:
    """Unless they are there already."""
    made = folder / "index.json"
    if made.exists() and made.stat().st_mtime > Path(__file__).stat().st_mtime:
        return
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    index = {}
    for name, data, args in archives():
        (folder / name).write_bytes(data)
        index[name] = described(args)
    made.write_text(json.dumps(index, indent=1), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
