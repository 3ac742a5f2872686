"""The first result: hello.py MODEL, a TorchScript archive that takes two tensors (build/models/add_mul.pt)."""

import sys

import numpy

import stator

model = stator.load(sys.argv[1])
x = numpy.ones((2, 3), "float32")
print(model(x, x).numpy())
