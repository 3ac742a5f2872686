"""Arguments and results in containers drawn at random: any nesting, keywords, None, numbers and texts among them."""

from __future__ import annotations

import collections
import random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from cases import Call, Case

COUNT = 120


class Pair(NamedTuple):
    left: Any
    right: Any


class Three(NamedTuple):
    first: Any
    second: Any
    third: Any


for kind in (Pair, Three):
    pytree._register_namedtuple(kind, serialized_type_name=f"stator.corpus.{kind.__name__}")


def tree(rng: random.Random, leaf: Any, depth: int = 0) -> Any:
    """A nest of containers around what `leaf()` gives."""
    kind = rng.choice(["leaf", "tuple", "list", "dict", "ordered", "pair", "three", "empty"] if depth < 3 else ["leaf"])
    below = [tree(rng, leaf, depth + 1) for _ in range(rng.randint(1, 3))] if kind not in ("leaf", "empty") else []
    match kind:
        case "tuple":
            return tuple(below)
        case "list":
            return below
        case "dict":
            return {rng.choice("abcdefgh") + str(i): item for i, item in enumerate(below)}
        case "ordered":
            return collections.OrderedDict((f"{9 - i}", item) for i, item in enumerate(below))
        case "pair":
            return Pair(below[0], leaf())
        case "three":
            return Three(leaf(), below[0], leaf())
        case "empty" if depth:
            return rng.choice([(), [], {}])
        case _:
            return leaf()


class Rearranged(nn.Module):
    """Gives sums of its tensors in containers of the same kinds as those drawn for the result."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]

        def leaf(number: Any) -> Any:
            return tensors[number % len(tensors)] * 2 + tensors[0].sum() if isinstance(number, int) and number < 100 else number

        return pytree.tree_map(leaf, self.result)


def case(seed: int) -> Case:
    rng = random.Random(seed)
    # Results: numbers below 100 stand for tensors, the others for themselves.
    result = tree(rng, lambda: rng.choice([0, 1, 2, 3, 5, 1000, 2.5, "text", None, True]))
    if not pytree.tree_leaves(result):
        result = (result, 0)  # the exporter wants one
    arguments = [tree(rng, lambda: rng.choice(["tensor", "tensor", "tensor", None])) for _ in range(rng.randint(1, 3))]
    names = {f"key{i}": tree(rng, lambda: "tensor") for i in range(rng.randint(0, 2))}
    arguments[0] = (arguments[0], "tensor")  # one there must be

    def filled(form: Any) -> Any:
        return pytree.tree_map(lambda leaf: torch.randn(2, 3) if leaf == "tensor" else leaf, form)

    def calls() -> list[Call]:
        return [
            Call(tuple(filled(argument) for argument in arguments), {name: filled(form) for name, form in names.items()}) for _ in range(3)
        ]

    return Case(f"containers/{seed}", lambda: Rearranged(result), calls)


CONTAINERS = [case(seed) for seed in range(COUNT)]
