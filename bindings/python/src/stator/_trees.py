"""Between torch's values in containers of any class and what the library knows: tensors, and tuples, lists and dicts."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import torch
import torch.utils.dlpack
from torch.utils import _pytree as pytree

from stator._tensor import Tensor

_BUILT_IN = (tuple, list, dict, collections.OrderedDict, collections.defaultdict, collections.deque)


def to_torch(value: Any) -> Any:
    """A tensor of a result as torch's, over the same memory; anything else as it is."""
    return torch.utils.dlpack.from_dlpack(value) if isinstance(value, Tensor) else value


def to_given(value: Any) -> Any:
    """An argument as the library takes it: tensors without gradients, containers of other classes as `plain` says."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg()
    if isinstance(value, (list, collections.deque)):
        return [to_given(item) for item in value]
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")):
        items = [to_given(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) in pytree.SUPPORTED_NODES and type(value) not in _BUILT_IN:
        items, context = pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)
        given = [to_given(item) for item in items]
        names = _field_names(context, len(given))
        return tuple(given) if names is None else dict(zip(names, given, strict=True))
    if isinstance(value, Mapping):
        return {key: to_given(item) for key, item in value.items()}
    return value


def plain(spec: Any) -> Any:
    """The form in which a value of the form `spec` passes the library: classes that say their fields are dicts of these, others tuples."""
    children = [plain(child) for child in spec.children()]
    if spec.is_leaf() or _is_plain(spec):
        return pytree.TreeSpec(spec.type, spec.context, children)
    names = None if spec.type is collections.namedtuple else _field_names(spec.context, len(children))
    return pytree.TreeSpec(tuple, None, children) if names is None else pytree.TreeSpec(dict, names, children)


def _is_plain(spec: Any) -> bool:
    if spec.type is not collections.namedtuple:
        return spec.type in _BUILT_IN
    try:
        pytree.treespec_dumps(spec)
    except NotImplementedError:  # a class without a name for files
        return False
    return True


def _field_names(context: Any, count: int) -> list[str] | None:
    """Of what registered containers keep beside their items; dataclasses keep two lists, of fields and of those that are None."""
    two_lists = isinstance(context, (list, tuple)) and len(context) == 2 and all(isinstance(part, (list, tuple)) for part in context)
    names = list(context[0] if two_lists else context) if isinstance(context, (list, tuple)) else []
    return names if len(names) == count and all(isinstance(name, str) for name in names) else None


def leaves(value: Any, spec: Any) -> list[Any]:
    """The leaves of a result of the form `plain(spec)`, in the order of `spec`."""
    if spec.is_leaf():
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return [leaf for item, child in zip(items, spec.children(), strict=True) for leaf in leaves(item, child)]
