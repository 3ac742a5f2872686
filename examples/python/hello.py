"""Runs a model that takes one float32 tensor of shape [1, 8], as build/models/linear.pt does: hello.py MODEL"""

import sys

import numpy

import stator


def show(label: str, values: numpy.ndarray) -> None:
    print(label, *(f"{value:.4f}" for value in values.flat))


if len(sys.argv) != 2:
    sys.exit("usage: hello.py MODEL")
features = numpy.array([[1, 2, 3, 4, 5, 6, 7, 8]], "float32")

with stator.load(sys.argv[1]) as model:
    # The short way: values in, values out.
    y = model(features).numpy()
    show(f"call:  {y.dtype}{list(y.shape)}", y)

    # The fast way: bind once, run many. A run copies nothing.
    with model.runtime() as runtime, model.arena() as arena:
        x = runtime.input(0, (1, 8))
        x[:] = features
        for i in range(3):
            x[0, 0] = i
            runtime.run(arena)
            show(f"run {i}:", arena.output(0).numpy())
