"""reduce.py SEED: the random model of this seed without all lines that its differences do not need."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import torch

from random_check import check_model
from random_models import RandomModel, compile_model, make_model


def reduced(model: RandomModel) -> RandomModel:
    """Takes lines away, with what is indented below them, as long as something still differs."""
    smaller = True
    while smaller:
        smaller = False
        lines = model.source.splitlines(keepends=True)
        for first in range(len(lines) - 2, 0, -1):
            last = first + 1
            while last < len(lines) and _indent(lines[last]) > _indent(lines[first]):
                last += 1
            source = "".join(lines[:first] + lines[last:])
            archive = compile_model(source, model.state)
            if archive and check_model(replace(model, source=source, archive=archive)):
                model, smaller = replace(model, source=source, archive=archive), True
                lines = source.splitlines(keepends=True)
    return model


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)
    torch.set_num_threads(1)
    model = reduced(make_model(int(sys.argv[1])))
    print(model.source + "\n".join(check_model(model)))
