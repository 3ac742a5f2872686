"""Parts of a model, or all of it, run by Stator inside a model of torch's."""

from __future__ import annotations

import copy
import inspect
import io
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from stator._errors import UnsupportedError
from stator._exported import from_exported
from stator._module import Module, load_bytes
from stator._native import Option
from stator._trees import to_given, to_torch


class Lowered(nn.Module):
    """A module that Stator runs: for inference only, in eval mode whatever `train()` says, with the weights of when it was lowered.

    It has no parameters of torch's, so nothing of it is in `state_dict()`, and it cannot be pickled, scripted or traced. Buffers
    that it writes are its own. Results share no memory with arguments. `module` is Stator's.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled() and any(
            isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in pytree.tree_leaves((args, kwargs))
        ):
            raise UnsupportedError(
                "a module that was lowered to Stator has no gradients, and an argument needs them: call the model under torch.no_grad()"
            )
        return self.module(*args, **kwargs)


class _Scripted(Module):
    """A TorchScript module whose plain calls take and give torch's tensors."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = {name: to_given(value) for name, value in kwargs.items()}
        return _all_to_torch(self._call("forward", tuple(to_given(value) for value in args), given))


def _all_to_torch(value: Any) -> Any:
    if isinstance(value, list):
        return [_all_to_torch(item) for item in value]
    if isinstance(value, tuple):
        items = [_all_to_torch(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {key: _all_to_torch(item) for key, item in value.items()}
    return to_torch(value)


def lower(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    submodules: Iterable[str] | None,
    dynamic_shapes: Any,
    options: Mapping[str, Option],
) -> nn.Module:
    if submodules is None:
        return _lowered(module, args, dict(kwargs or {}), dynamic_shapes, options)
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError("a scripted model is lowered as a whole; lower parts of the model that it was scripted from, and run that")
    names = [submodules] if isinstance(submodules, str) else list(submodules)
    parts = {name: module.get_submodule(name) for name in names}
    shapes = dict(dynamic_shapes or {})
    if unknown := sorted(set(shapes) - set(parts)):
        raise ValueError(f"dynamic_shapes has {unknown}, which are not among the submodules to lower: {names}")
    calls = _first_calls(module, {name: part for name, part in parts.items() if not _is_scripted(part)}, args, dict(kwargs or {}))
    replaced = {name: _lowered(part, *calls.get(name, ((), {})), shapes.get(name), options) for name, part in parts.items()}
    return _with_replaced(module, replaced)


def _is_scripted(module: nn.Module) -> bool:
    return isinstance(module, torch.jit.ScriptModule)


def _lowered(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, options: Mapping[str, Any]) -> Lowered:
    if _is_scripted(module):
        buffer = io.BytesIO()
        torch.jit.save(module, buffer)
        return Lowered(_Scripted(load_bytes(buffer.getbuffer(), **options)))
    shapes = _any_sizes(module, args, kwargs) if dynamic_shapes is None else dynamic_shapes
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.no_grad():
            program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
    finally:
        for part in training:
            part.training = True
    return Lowered(from_exported(program, **options))


def _any_sizes(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Every size of every tensor is left open, unless torch.export finds that the model fixes it."""

    def sizes(leaf: Any) -> Any:
        return dict.fromkeys(range(leaf.dim()), torch.export.Dim.AUTO) if isinstance(leaf, torch.Tensor) else None

    return pytree.tree_map(sizes, dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments))


def _first_calls(
    module: nn.Module, parts: Mapping[str, nn.Module], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """What each part is called with first when the model runs on the example."""
    if not parts:
        return {}
    calls: dict[str, Any] = {}

    def remember(name: str) -> Any:
        return lambda part, given, named: calls.setdefault(name, copy.deepcopy((given, named))) and None

    hooks = [part.register_forward_pre_hook(remember(name), with_kwargs=True) for name, part in parts.items()]
    try:
        with torch.no_grad():
            module(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    finally:
        for hook in hooks:
            hook.remove()
    if missing := [name for name in parts if name not in calls]:
        raise ValueError(f"the model does not call {', '.join(missing)} on the example arguments, so their inputs are not known")
    return calls


def _with_replaced(module: nn.Module, replaced: Mapping[str, nn.Module]) -> nn.Module:
    """A copy that shares everything with the model but the submodules replaced, and what holds them."""
    out = copy.copy(module)
    out._modules = dict(module._modules)
    inner: dict[str, dict[str, nn.Module]] = {}
    for path, part in replaced.items():
        child, _, rest = path.partition(".")
        if rest:
            inner.setdefault(child, {})[rest] = part
        else:
            out._modules[child] = part
    for child, parts in inner.items():
        if child in replaced:
            raise ValueError(f'"{child}" is to be lowered, and so is a part of it')
        out._modules[child] = _with_replaced(module.get_submodule(child), parts)
    return out
