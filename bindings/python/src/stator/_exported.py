"""Programs of torch.export that are in memory already."""

from __future__ import annotations

import copy
import dataclasses
import io
from typing import Any

import torch
from torch.utils import _pytree as pytree

from stator._module import Module, load_bytes
from stator._native import Option
from stator._trees import leaves, plain, to_given, to_torch


class ExportedModule(Module):
    """A module whose plain calls take what the exported program takes and give what it gives: torch's tensors in the program's containers.

    Results share no memory with arguments or weights. Runtimes, pools and methods are as those of any module.
    """

    __slots__ = ("_form",)

    def __init__(self, pointer: Any, form: Any) -> None:
        super().__init__(pointer)
        self._form = form

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = {name: to_given(value) for name, value in kwargs.items()}
        result = self._call("forward", tuple(to_given(value) for value in args), given)
        return pytree.tree_unflatten([to_torch(leaf) for leaf in leaves(result, self._form)], self._form)


def from_exported(program: torch.export.ExportedProgram, *, strict: bool = False, **options: Option) -> ExportedModule:
    return ExportedModule(load_program(program, strict=strict, **options), program.call_spec.out_spec)


def load_program(program: torch.export.ExportedProgram, *, strict: bool = False, **options: Option) -> Any:
    """The library's module of a program."""
    buffer = io.BytesIO()
    torch.export.save(_for_saving(program), buffer)
    return load_bytes(buffer.getbuffer(), strict=strict, **options)


def _for_saving(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The same without what a file cannot hold or the library does not need: containers of other classes, example inputs."""
    out = copy.copy(program)
    out._example_inputs = None
    entry = program.module_call_graph[0]
    signature: Any = entry.signature
    signature = dataclasses.replace(signature, in_spec=plain(signature.in_spec), out_spec=plain(signature.out_spec))
    out._module_call_graph = [dataclasses.replace(entry, signature=signature)]
    return out
