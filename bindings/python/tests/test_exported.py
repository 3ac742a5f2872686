"""Programs of torch.export in memory, and parts of models lowered to Stator: torch's tensors in the model's own containers."""

from __future__ import annotations

import collections
import dataclasses
import subprocess
import sys
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import stator


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor | None = None


class Box:
    """A container that tells torch how to look into it, and nothing else."""

    def __init__(self, *items: Any) -> None:
        self.items = items


torch.export.register_dataclass(Output, serialized_type_name="stator.tests.Output")
pytree.register_pytree_node(
    Box,
    lambda box: (list(box.items), None),
    lambda items, _: Box(*items),
    flatten_with_keys_fn=lambda box: ([(pytree.SequenceKey(i), item) for i, item in enumerate(box.items)], None),
)


class Containers(nn.Module):
    def forward(self, x, pair, output, *, box):
        first, (second, third) = box.items
        return {
            "pair": Pair(x + 1, pair.left * pair.right),
            "output": Output(output.logits + x),
            "box": Box(first * 2, [second + third, None, 3, "text"]),
            "ordered": collections.OrderedDict(z=x * 2, a=x.sum()),
        }


def arguments(rows: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    box = Box(torch.randn(1), (torch.randn(2), torch.randn(1)))
    return (torch.randn(rows, 3), Pair(torch.randn(2), torch.randn(1)), Output(torch.randn(rows, 3))), {"box": box}


def same(got: Any, wanted: Any) -> None:
    mine, theirs = pytree.tree_flatten(got), pytree.tree_flatten(wanted)
    assert mine[1] == theirs[1]
    for a, b in zip(mine[0], theirs[0], strict=True):
        assert type(a) is type(b)
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(a, b)
        else:
            assert a == b


def test_containers_come_back_as_the_models_own():
    args, kwargs = arguments(4)
    program = torch.export.export(Containers(), args, kwargs)
    module = stator.from_exported(program)
    args, kwargs = arguments(4)
    same(module(*args, **kwargs), program.module()(*args, **kwargs))


def test_a_single_tensor_and_arguments_with_gradients():
    layer = nn.Linear(3, 2)
    program = torch.export.export(layer, (torch.randn(4, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))
    with stator.from_exported(program, plans="dynamic") as module:
        x = torch.randn(7, 3, requires_grad=True)
        result = module(x)
        assert not result.requires_grad
        torch.testing.assert_close(result, layer(x).detach())
        assert module.method("forward").inputs == [("input", "Tensor")]


def test_options_and_errors_are_those_of_load():
    program = torch.export.export(nn.Linear(3, 2), (torch.randn(4, 3),))
    with pytest.raises(stator.InvalidArgumentError, match="no_such_option"):
        stator.from_exported(program, no_such_option=1)
    with pytest.raises(stator.ShapeMismatchError, match='"input"'):
        stator.from_exported(program)(torch.randn(5, 3))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5))
        self.heads = nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 2)])
        self.unused = nn.Linear(4, 4)

    def forward(self, x, *, scale=1.0):
        y = self.body(x)
        return {"first": self.heads[0](y) * scale, "second": self.heads[1](y)}


@pytest.mark.parametrize("names", [["body"], ["heads.0"], ["body", "heads.1"], None])
def test_lowered_parts_run_by_stator(names):
    model = Net().eval()
    lowered = stator.lower(model, (torch.randn(3, 4),), {"scale": 2.0}, submodules=names)
    assert any(type(part).__name__ == "Lowered" for part in lowered.modules())
    assert all(type(part).__name__ != "Lowered" for part in model.modules())
    with torch.no_grad():
        for rows in (3, 2, 5, 3):
            x = torch.randn(rows, 4)
            same(lowered(x, scale=2.0), model(x, scale=2.0))


def test_lowering_a_model_in_training_leaves_it_so():
    model = Net().train()
    lowered = stator.lower(model, (torch.randn(3, 4),), submodules=["body"])
    assert all(part.training for part in model.modules())
    x = torch.ones(3, 4)
    with torch.no_grad():
        assert torch.equal(lowered.body(x), lowered.body(x))  # dropout does nothing


def test_a_scripted_part_and_a_scripted_model():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 8), nn.ReLU()).eval())
    x = torch.randn(2, 4)
    with torch.no_grad():
        same(stator.lower(scripted)(x), scripted(x))
        model = nn.Sequential(collections.OrderedDict(body=scripted, head=nn.Linear(8, 1)))
        same(stator.lower(model, (x,), submodules=["body"])(x), model(x))


def test_what_cannot_be_lowered_is_said():
    model = Net().eval()
    with pytest.raises(ValueError, match="does not call unused"):
        stator.lower(model, (torch.randn(3, 4),), submodules=["unused"])
    with pytest.raises(ValueError, match='"body" is to be lowered, and so is a part of it'):
        stator.lower(model, (torch.randn(3, 4),), submodules=["body", "body.0"])
    with pytest.raises(TypeError, match="lowered as a whole"):
        stator.lower(torch.jit.script(nn.Linear(2, 2)), submodules=["x"])
    lowered = stator.lower(model, (torch.randn(3, 4),))
    with pytest.raises(stator.UnsupportedError, match="no gradients"):
        lowered(torch.randn(3, 4, requires_grad=True))


def test_importing_stator_does_not_import_torch():
    code = "import sys, stator; assert stator.lower and stator.from_exported; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
