"""500 random models in all planner modes, signature plans off and on, beside the interpreter; and what the generator promises."""

from __future__ import annotations

import pytest
import torch

from random_check import check_model
from random_models import make_model

MODELS = 500
PART = 50


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("first", range(0, MODELS, PART))
def test_models_agree_with_the_interpreter(first):
    problems = {seed: problems[0] for seed in range(first, first + PART) if (problems := check_model(make_model(seed)))}
    assert problems == {}


def test_a_seed_makes_the_same_model_again():
    first, again = make_model(7), make_model(7)
    assert (first.source, first.archive) == (again.source, again.archive)


def test_models_have_what_they_are_for():
    sources = "".join(make_model(seed).source for seed in range(100))
    for part in [
        "for ",
        "while ",
        "if ",
        "else:",
        "break",
        "continue",
        ".append(",
        "add_(",
        "torch.cat",
        "torch.chunk",
        "Optional",
        "self.buffer",
        "view(",
    ]:
        assert part in sources, part
