"""torch.compile(model, backend="stator")."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import stator
from stator import _dynamo

BACKEND: Any = _dynamo.stator


@pytest.fixture(autouse=True)
def fresh(every_handle_is_given_back: None) -> Iterator[None]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many weights each module was made with."""
    made: list[int] = []
    real = _dynamo.program_of
    monkeypatch.setattr(_dynamo, "program_of", lambda graph, weights: made.append(len(weights)) or real(graph, weights))
    return made


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).eval()


def test_the_backend_is_found_by_name_without_importing_stator():
    code = """
import torch
model = torch.nn.Linear(3, 2)
compiled = torch.compile(model, backend="stator")
x = torch.randn(4, 3)
with torch.no_grad():
    torch.testing.assert_close(compiled(x), model(x))
import stator
assert stator.live_handles()["module"] == 1
"""
    # Not in a folder with a package called torch or stator.
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=os.sep)
    assert ran.returncode == 0, ran.stderr


def test_sizes_that_change(modules):
    model = mlp()
    compiled = torch.compile(model, backend=BACKEND)
    with torch.no_grad():
        for rows in (3, 5, 7, 3, 1, 64):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(compiled(x), model(x))
    assert len(modules) <= 3  # one of three rows, one of any number, one of one row
    assert all(count == 8 for count in modules)


def test_inference_mode():
    model = mlp()
    compiled = torch.compile(model, backend=BACKEND)
    with torch.inference_mode():
        x = torch.randn(3, 4)
        torch.testing.assert_close(compiled(x), model(x))


@pytest.mark.parametrize("dynamic", [True, False, None])
def test_views_writes_and_numbers(dynamic):
    def function(x, seen, factor):
        y = x.view(-1)
        seen.append(y)
        x.add_(1)
        return y[:2], x, {"scaled": x * factor, "size": x.shape[0] * 2, "constant": torch.tensor([1, 2]) + 1}

    compiled = torch.compile(function, backend=BACKEND, dynamic=dynamic)
    with torch.no_grad():
        for factor in (2, 3, 4.5, 2.5):
            for rows in (2, 3, 4):
                mine, my_seen, seen = torch.randn(rows, 3), [], []
                theirs = mine.clone()
                got, wanted = compiled(mine, my_seen, factor), function(theirs, seen, factor)
                torch.testing.assert_close(got, wanted)
                torch.testing.assert_close(my_seen, seen)
                torch.testing.assert_close(mine, theirs)
                got[0].mul_(3)  # still a view of the argument
                assert torch.equal(mine.view(-1)[:2], got[0])


def test_weights_that_change_are_seen(modules):
    model = mlp()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(3, 4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
        model[0].weight.mul_(2)
        torch.testing.assert_close(compiled(x), model(x))
        model.load_state_dict({name: value + 1 if value.is_floating_point() else value for name, value in model.state_dict().items()})
        torch.testing.assert_close(compiled(x), model(x))
        model[3].weight = nn.Parameter(torch.randn(3, 8))
        torch.testing.assert_close(compiled(x), model(x))
        made = len(modules)
        torch.testing.assert_close(compiled(x), model(x))
        assert len(modules) == made


def test_weights_that_are_gone_take_their_module_along():
    model = mlp()
    compiled = torch.compile(model, backend=BACKEND)
    x = torch.randn(3, 4)
    with torch.no_grad():
        for _ in range(3):
            model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
            torch.testing.assert_close(compiled(x), model(x))
    assert stator.live_handles()["module"] == 1


def test_layers_that_share_a_graph(modules):
    layers = [mlp() for _ in range(3)]

    def run(layer, x):
        return layer(x)

    compiled = torch.compile(run, backend=BACKEND, dynamic=False)
    with torch.no_grad():
        for _ in range(2):
            for layer in layers:
                x = torch.randn(3, 4)
                torch.testing.assert_close(compiled(layer, x), layer(x))
    assert len(modules) == 3


def test_statistics_in_training_mode():
    model, mine = mlp(), mlp()
    mine.load_state_dict(model.state_dict())
    compiled = torch.compile(mine.train(), backend=BACKEND)
    model.train()
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(5, 4)
            torch.testing.assert_close(compiled(x), model(x))
            torch.testing.assert_close(mine[1].running_var, model[1].running_var)


def test_control_flow_of_torch():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    compiled = torch.compile(function, backend=BACKEND)
    with torch.no_grad():
        for x in (torch.ones(3), -torch.ones(3)):
            torch.testing.assert_close(compiled(x), function(x))


def test_attention_with_lengths():
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    compiled = torch.compile(model, backend=BACKEND)
    with torch.no_grad():
        for batch, length in ((2, 5), (3, 7), (2, 4)):
            x = torch.randn(batch, length, 8)
            torch.testing.assert_close(compiled(x), model(x))


def test_options_are_those_of_load():
    compiled = torch.compile(mlp(), backend=BACKEND, options={"plans": "dynamic"})
    with torch.no_grad():
        assert compiled(torch.randn(3, 4)).shape == (3, 3)
    compiled = torch.compile(mlp(), backend=BACKEND, options={"no_such_option": 1})
    with torch.no_grad(), pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no_such_option"):
        compiled(torch.randn(3, 4))


def test_a_graph_that_needs_gradients_is_refused():
    model = mlp()
    x = torch.randn(3, 4)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=r"needs gradients: call the compiled model under torch.no_grad\(\)"):
        torch.compile(model, backend=BACKEND)(x)
    model.requires_grad_(False)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(model, backend=BACKEND)(x), model(x))


def test_operators_written_in_python_run_in_the_same_process():
    @torch.library.custom_op("stator_tests::in_python", mutates_args=())
    def in_python(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @in_python.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    compiled = torch.compile(lambda x: in_python(x) + 1, backend=BACKEND)
    with torch.no_grad():
        torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 3.0))


def test_what_stator_cannot_run_is_refused_or_left_to_eager_if_dynamo_is_told_so():
    compiled = torch.compile(lambda x: x + 1, backend=BACKEND)
    x = torch.ones(2, device="meta")
    with torch.no_grad():
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=r'Stator runs on CPUs, and ".*" is on meta'):
            compiled(x)
        torch._dynamo.reset()
        with torch._dynamo.config.patch(suppress_errors=True):
            assert compiled(x).is_meta
