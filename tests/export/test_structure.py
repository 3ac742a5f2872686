"""Arguments, keywords and results in containers, as the model's own."""

import collections
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import stator


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.export.Pair")


class Nested(nn.Module):
    def forward(self, x, pair, table, *, scale, names=None):
        first, (second, _) = pair
        return {
            "sum": x + first,
            "list": [second * scale, None, (table["q"],)],
            "size": x.shape[0],
            "flag": True,
            "text": "constant",
            "number": 0.5,
        }


ARGS = (torch.randn(4, 3), (torch.randn(3), [torch.randn(3), torch.randn(1)]), {"q": torch.randn(2), "unused": torch.randn(1)})
KWARGS = {"scale": torch.tensor(2.0)}


def test_nested_inputs_and_results(compare):
    shapes = {"x": {0: Dim.DYNAMIC}, "pair": (None, [None, None]), "table": {"q": None, "unused": None}, "scale": None}
    other = (torch.randn(2, 3), (torch.randn(3), [torch.randn(3), torch.randn(1)]), {"unused": torch.randn(1), "q": torch.randn(2)})
    compare(Nested(), ARGS, other, kwargs=KWARGS, dynamic_shapes=shapes)


def test_names_are_those_of_the_model(archive):
    module = stator.load(archive(Nested(), *ARGS, kwargs=KWARGS))
    assert module.method("forward").inputs == [
        ("x", "Tensor"),
        ("pair", "Tuple[Tensor, List[Tensor]]"),
        ("table", "Dict[str, Tensor]"),
        ("scale", "Tensor"),
    ]
    assert module(ARGS[0], table=ARGS[2], pair=ARGS[1], **KWARGS)["size"] == 4


@pytest.mark.parametrize(
    "result",
    [
        lambda x: x,
        lambda x: (x,),
        lambda x: [x, x],
        lambda x: None,
        lambda x: (x, None, 3),
        lambda x: {"a": [x, (x + 1, {"b": x * 2})], 7: x} if False else {"a": [x, (x + 1, {"b": x * 2})]},
        lambda x: {1: x, 2: x + 1},
        lambda x: collections.OrderedDict(b=x, a=x + 1),
        lambda x: Pair(x, x + 1),
        lambda x: [Pair(x, x), 2.5],
        lambda x: Pair({"a": x, "b": 2}, [x, None, "text"]),
    ],
)
def test_results(compare, result):
    class Returns(nn.Module):
        def forward(self, x):
            return result(x * 2)

    compare(Returns(), (torch.randn(3),))


def test_named_tuples_hold_containers_of_several_types(compare):
    class Takes(nn.Module):
        def forward(self, pair):
            return pair.left["x"] + pair.left["y"][0] * pair.right[1]

    compare(Takes(), (Pair({"x": torch.randn(3), "y": [torch.randn(3)]}, [(torch.randn(3),), torch.randn(3)]),))


def test_constants_among_the_arguments(compare, archive):
    class Constants(nn.Module):
        def forward(self, x, times: int, mode: str = "add", offset=None):
            return x * times + (1 if mode == "add" else 0)

    args = (torch.randn(3), 2, "add", None)
    compare(Constants(), args)
    module = stator.load(archive(Constants(), *args))
    assert module(args[0]).shape == (3,)  # what was exported is the default
    with pytest.raises(
        stator.Error, match=r'input "times" \(argument 2\): expected 2, got 3; the program was exported for this value only'
    ):
        module(args[0], 3)


@pytest.mark.parametrize(
    ("pair", "table", "message"),
    [
        ((torch.randn(3),), ARGS[2], 'input "pair".*expected .* got a tuple of 1 elements'),
        ((torch.randn(3), [torch.randn(3)]), ARGS[2], r'input "pair" \(argument 2\)\[1\]: expected 2 elements, got 1'),
        (ARGS[1], {"q": torch.randn(2)}, 'input "table".*expected a dict with the keys "q", "unused", got "q"'),
        (ARGS[1], [torch.randn(2)], 'input "table".*expected Dict.*, got list'),
    ],
)
def test_other_containers_are_refused(archive, pair, table, message):
    module = stator.load(archive(Nested(), *ARGS, kwargs=KWARGS))
    with pytest.raises(stator.TypeMismatchError, match=message):
        module(ARGS[0], pair, table, **KWARGS)
