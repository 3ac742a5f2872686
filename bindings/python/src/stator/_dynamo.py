"""The backend of torch.compile: graphs of Dynamo's, made functional by AOTAutograd, run by Stator.

Weights are constants of a module of Stator's as long as they are the same tensors, unwritten: the graph is given them at each call, which
looks at their addresses and versions. Layers that share one graph get a module each. A write through `weight.data` is not seen.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses import FakeTensor
from torch.fx import GraphModule
from torch.utils._python_dispatch import _disable_current_modes

from stator._errors import UnsupportedError
from stator._exported import load_program
from stator._functional import program_of
from stator._module import Module
from stator._native import Option
from stator._trees import to_given, to_torch

MOST_MODULES = 64  # of one graph: that many layers may share it

Options = Mapping[str, Option]


def stator(graph: GraphModule, inputs: Sequence[Any], *, options: Options | None = None, mode: str | None = None) -> Callable[..., Any]:
    """`torch.compile(model, backend="stator", options={...})`; the options are those of `stator.load`."""
    if torch.is_grad_enabled() and any(isinstance(given, torch.Tensor) and given.requires_grad for given in inputs):
        raise UnsupportedError(
            "Stator runs inference only, and this graph needs gradients: call the compiled model under torch.no_grad() or "
            "torch.inference_mode()"
        )
    if mode not in (None, "default"):
        raise UnsupportedError(f'the backend "stator" has no mode "{mode}"; it takes options={{...}}, those of stator.load')

    def compiled(functional: GraphModule, fakes: Sequence[Any]) -> Callable[[list[Any]], Any]:
        weights = _weights(inputs, fakes)
        run = _Compiled(functional, tuple(weights), dict(options or {}))
        run.prepare(weights)
        return run

    return aot_autograd(fw_compiler=compiled, inference_compiler=compiled)(graph, inputs)


def _weights(given: Sequence[Any], fakes: Sequence[Any]) -> dict[int, torch.Tensor]:
    """The inputs that are parameters and buffers which the graph does not write, by place; none if the places are not Dynamo's."""
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    if metadata is None or len(given) != len(fakes):
        return {}
    return {
        place: given[place]
        for place in metadata.static_input_indices
        if _is_lasting(given[place]) and given[place].shape == fakes[place].shape and not metadata.input_info[place].mutates_data
    }


def _is_lasting(value: Any) -> bool:
    """Whether a write to the tensor can be seen in its version."""
    return type(value) in (torch.Tensor, torch.nn.Parameter) and not isinstance(value, FakeTensor) and not value.is_inference()


class _Compiled:
    """A functional graph as torch.compile calls it: with a list of all its inputs."""

    _boxed_call = True

    def __init__(self, graph: GraphModule, places: tuple[int, ...], options: dict[str, Any]) -> None:
        self._graph = graph
        self._places = places  # of the weights; these themselves are not kept alive
        self._options = options
        self._modules: OrderedDict[tuple[int, ...], _WithWeights] = OrderedDict()
        self._lock = threading.Lock()

    def prepare(self, weights: dict[int, torch.Tensor]) -> None:
        """Makes the module for these weights, so that what cannot be run is refused while Dynamo compiles."""
        with _disable_current_modes():  # Dynamo compiles under a mode for tensors without elements
            self._module(weights)

    def __call__(self, inputs: list[Any]) -> list[Any]:
        weights = {place: inputs[place] for place in self._places}
        module = self._module(weights)
        given = tuple(to_given(value) for place, value in enumerate(inputs) if place not in weights)
        inputs.clear()  # as AOTAutograd wants it: it may hold the last reference to large tensors
        return [to_torch(value) for value in module.module(*given)]

    def _module(self, weights: dict[int, torch.Tensor]) -> _WithWeights:
        key = tuple(weight.data_ptr() for weight in weights.values())
        found = self._modules.get(key)
        if found is None or not found.holds(weights):
            with self._lock:
                for stale in [other for other, module in self._modules.items() if not module.is_alive]:
                    del self._modules[stale]
                found = self._modules[key] = _WithWeights(self._graph, weights, self._options)
                if len(self._modules) > MOST_MODULES:
                    self._modules.popitem(last=False)
        return found


class _WithWeights:
    """A graph with certain weights as a module of Stator's, for as long as the weights live and are not written."""

    def __init__(self, graph: GraphModule, weights: dict[int, torch.Tensor], options: dict[str, Any]) -> None:
        self._weights = [weakref.ref(weight) for weight in weights.values()]
        self._looks = [_look(weight) for weight in weights.values()]
        self.module = Module(load_program(program_of(graph, weights), **options))

    @property
    def is_alive(self) -> bool:
        return all(weight() is not None for weight in self._weights)

    def holds(self, weights: dict[int, torch.Tensor]) -> bool:
        """Whether the weights at the same addresses are the ones that were loaded."""
        return self.is_alive and all(_look(weight) == look for weight, look in zip(weights.values(), self._looks, strict=True))


def _look(weight: torch.Tensor) -> tuple[Any, ...]:
    return weight._version, weight.shape, weight.stride(), weight.dtype
