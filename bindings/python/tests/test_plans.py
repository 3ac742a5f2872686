"""When plans are made: at second sight, at once, by warm-up; and strict mode."""

import re

import pytest
import torch

import stator


def plans_of(model):
    return model.plan()["signatures"]


def test_a_plan_is_made_at_the_second_sight(load):
    model = load("mlp")
    x = torch.randn(2, 128)
    model(x)
    assert plans_of(model) == []
    first = model(x).numpy().copy()
    assert plans_of(model)[0]["inputs"] == ["float32[2, 128]"]
    assert (model(x).numpy() == first).all() or torch.allclose(torch.tensor(model(x).numpy()), torch.tensor(first))


def test_eager_plans_are_made_at_once_and_dynamic_ones_never(load):
    eager, dynamic = load("mlp", plans="eager"), load("mlp", plans="dynamic")
    for _ in range(3):
        eager(torch.randn(2, 128))
        dynamic(torch.randn(2, 128))
    assert len(plans_of(eager)) == 1
    assert plans_of(dynamic) == []
    with pytest.raises(stator.InvalidArgumentError, match='"signature", "eager" or "dynamic"'):
        load("mlp", plans="lazy")


def test_warm_up_makes_the_plan_before_the_first_run(load):
    model = load("mlp")
    model.warm_up("x: float32[3, 128]")
    (plan,) = plans_of(model)
    assert plan["inputs"] == ["float32[3, 128]"]
    assert {step["kind"] for step in plan["steps"]} == {"kernel", "put"}
    assert 0 < plan["live_bytes"] <= plan["workspace_bytes"] <= plan["group_bytes"]
    model(torch.randn(3, 128))
    assert model.metrics()["plan_cache"]["hits"] == 1


def test_saved_modules_keep_their_plans(load, tmp_path):
    model = load("mlp")
    model.warm_up("x: float32[3, 128]")
    model.save(tmp_path / "mlp.stator")
    with stator.load(tmp_path / "mlp.stator") as again:
        assert again.describe()["planned"]["restored"] == 1
        again(torch.randn(3, 128))
        assert again.metrics()["plan_cache"]["misses"] == 0


def test_warm_up_leaves_state_alone(load):
    model = load("counter")
    model.warm_up("x: float32[3]")
    model.method("forward").warm_up("x: float32[3]", intra_op_threads=2)
    total, count = model(torch.ones(3))
    assert count == 1
    assert total.numpy().tolist() == [1, 1, 1]


def test_warm_up_takes_numbers(load):
    model = load("slow")
    model.warm_up("x: float32[2, 2], n = 3")
    assert plans_of(model)[0]["inputs"] == ["float32[2, 2]", "3"]
    with pytest.raises(stator.Error, match="n"):
        model.warm_up("x: float32[2, 2]")


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("x: float32[?, 128]", r"float32\[\?, 128\].*all of its sizes"),
        ("x: float32", "all of its sizes"),
        ("y: float32[2, 128]", 'no argument "y"'),
        ("x: float33[2]", "unknown dtype"),
        ("x = maybe", "a number, true, false or none"),
        ("", "expected the name of an input"),
        ("x: float32[2, 127]", "mat1 and mat2|size mismatch|cannot be multiplied"),
    ],
)
def test_warm_up_says_what_is_wrong(load, signature, said):
    model = load("mlp")
    with pytest.raises(stator.Error) as error:
        model.warm_up(signature)
    assert re.search(said, str(error.value)), error.value
    assert plans_of(model) == []


def test_a_number_that_is_declared_is_checked(load):
    model = load("slow", signature="x: float32[2, 2], n = 2")
    model(torch.eye(2), 2)
    with pytest.raises(stator.Error, match=r'input "n".*expected 2, got 3'):
        model(torch.eye(2), 3)


def test_strict_mode_runs_what_was_declared_and_refuses_the_rest(load):
    model = load("mlp", strict=True, signature="x: float32[2, 128]")
    expected = load("mlp", plans="dynamic")
    x = torch.randn(2, 128)
    torch.testing.assert_close(torch.tensor(model(x).numpy()), torch.tensor(expected(x).numpy()))
    with pytest.raises(stator.Error, match="dimension 0 is 3 instead of 2"):
        model(torch.randn(3, 128))
    with pytest.raises(stator.Error, match="contiguous"):
        model(torch.randn(2, 256)[:, ::2])


def test_strict_mode_keeps_its_plan_whatever_else_comes(load):
    model = load("mlp", strict=True, signature="x: float32[2, 128]")
    x = torch.randn(2, 128)
    expected = torch.tensor(model(x).numpy())
    with model.runtime() as another, model.arena() as arena:
        for row in range(129, 199):
            strided = torch.randn(2, row)[:, :128]
            for _ in range(70):
                with pytest.raises(stator.Error, match="contiguous"):
                    model(strided)
        another.bind(x)
        another.run(arena)
        torch.testing.assert_close(torch.tensor(arena.output(0).numpy()), expected)


def test_strict_mode_lists_the_nodes_in_the_way(load):
    with pytest.raises(stator.UnsupportedError) as error:
        load("counter", strict=True, signature="x: float32[3]")
    assert re.search(r"\n  node \d+, ", str(error.value)), error.value


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.full((3,), 2.0))

    def forward(self, x):
        return torch.relu(x * self.scale)

    @torch.jit.export
    def rescale(self, scale: torch.Tensor):
        self.scale = scale


def test_strict_mode_refuses_state_that_may_change(tmp_path):
    torch.jit.script(Scaled()).save(tmp_path / "scaled.pt")
    with pytest.raises(stator.UnsupportedError, match=r"node \d+, .*reads state"):
        stator.load(tmp_path / "scaled.pt", strict=True, signature="x: float32[3]")
