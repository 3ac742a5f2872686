"""An error says operator, node, the model's source line, the arguments by name, and what came; a model's own error stays the model's."""

import pytest
import torch

import stator


class Refuses(torch.nn.Module):
    def forward(self, which: str, a: torch.Tensor, b: torch.Tensor, n: int) -> torch.Tensor:
        if which == "bmm":
            return torch.bmm(a, b)
        if which == "cat":
            return torch.cat([a, b], 1)
        if which == "view":
            return a.view([n, n])
        if which == "index":
            return a[n]
        if which == "embedding":
            return torch.embedding(a, b)
        if which == "raise":
            raise ValueError("n is " + str(n))
        if which == "type":
            raise TypeError("another type")
        if which == "assert":
            assert n > 100, "n is too small"
        return a


ONES = torch.ones(2, 3)
OPERATOR, MODEL = stator.OperatorError, stator.ModelError
# which, a, b, n; the error, its operator, parts of its message
ROWS = [
    (
        "bmm",
        torch.ones(2, 3, 4),
        torch.ones(1, 4, 5),
        0,
        OPERATOR,
        "aten::bmm",
        ["self = a: float32[2, 3, 4]", "mat2 = b: float32[1, 4, 5]"],
    ),
    ("cat", ONES, torch.ones(3, 3), 0, OPERATOR, "prim::VarCat", ["a: float32[2, 3]", "b: float32[3, 3]", "Expected size 2"]),
    ("view", ONES, ONES, 7, OPERATOR, "aten::view", ["self = a: float32[2, 3]", "7"]),
    ("index", ONES, ONES, 9, OPERATOR, "aten::select", ["self = a: float32[2, 3]", "9", "out of range"]),
    ("embedding", ONES, ONES, 0, OPERATOR, "aten::embedding", ["indices = b: float32[2, 3]", "weight = a"]),
    ("raise", ONES, ONES, 5, MODEL, "", ["n is 5"]),
    ("type", ONES, ONES, 5, MODEL, "", ["another type"]),
    ("assert", ONES, ONES, 5, MODEL, "", ["n is too small"]),
]


@pytest.fixture(scope="module")
def refuses():
    buffer = torch.jit.script(Refuses()).save_to_buffer()
    return stator.load(buffer)


@pytest.mark.parametrize(("which", "a", "b", "n", "kind", "operator", "parts"), ROWS, ids=[row[0] for row in ROWS])
def test_an_error_names_operator_source_and_arguments(refuses, which, a, b, n, kind, operator, parts):
    with pytest.raises(kind) as raised:
        refuses(which, a, b, n)
    error = raised.value
    assert "test_errors.py:" in error.source
    assert error.node != ""
    for part in parts:
        assert part in error.message, error.message
    if operator:
        assert error.operator.startswith(operator)
        assert error.message.startswith(f"{error.operator} in {error.source}: ")
        assert "Exception raised from" not in error.message
    torch.testing.assert_close(torch.from_dlpack(refuses("none", ONES, ONES, 1)), ONES)


@pytest.mark.parametrize(("which", "exception", "message"), [("raise", "ValueError", "n is 5"), ("type", "TypeError", "another type")])
def test_a_models_exception_keeps_type_and_message(refuses, which, exception, message):
    with pytest.raises(stator.ModelError) as raised:
        refuses(which, ONES, ONES, 5)
    assert (raised.value.exception, raised.value.message) == (exception, message)


def test_an_assertion_keeps_its_type(refuses):
    with pytest.raises(stator.ModelError, match="n is too small") as raised:
        refuses("assert", ONES, ONES, 5)
    assert raised.value.exception == "AssertionError"


def test_an_argument_that_does_not_fit_is_named(refuses):
    with pytest.raises(stator.TypeMismatchError) as raised:
        refuses("none", ONES, ONES, "seven")
    assert raised.value.argument == 'input "n" (argument 4)'
    for part in ("int", "str"):
        assert part in raised.value.message
