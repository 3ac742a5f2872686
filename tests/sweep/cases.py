"""What is swept: TorchScript archives made from the samples of LibTorch's operator database (through torch.export: `exported.py`).

A case is one operator, dtype, sample and way of writing the call: the function traced; as source text the function, the method and the
in-place method; the form with `out=`; and the call amid others. Its tensors are the archive's inputs; everything else is fixed in the
graph.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

OPERATORS = sorted(op_db, key=lambda info: info.formatted_name)

# How many samples of each dtype are taken, spread over all there are.
SAMPLES = {
    torch.float32: 12,
    torch.float64: 4,
    torch.int64: 4,
    torch.bool: 3,
    torch.bfloat16: 4,
    torch.float16: 3,
    torch.complex64: 4,
    torch.uint8: 2,
    torch.int32: 2,
    torch.int8: 1,
    torch.int16: 1,
    torch.complex128: 1,
    torch.complex32: 1,
}

Call = Callable[..., Any]


@dataclass
class Case:
    name: str
    archive: bytes
    tensors: list[torch.Tensor]
    elements_undefined: bool  # only dtype, shape and strides say anything
    dense_only: bool  # LibTorch's kernel reads elsewhere, unchecked, if the last dimension's stride is not 1
    other_dtypes: bool = True  # the archive takes inputs of other dtypes

    def reference(self) -> Call:
        """What Stator is compared with."""
        return torch.jit.load(io.BytesIO(self.archive)).eval()  # type: ignore[no-any-return]


@dataclass
class NotACase:
    """Nothing to compare with: `why` is a word or two, `detail` what was said."""

    name: str
    why: str
    detail: str


class _UnspeakableError(Exception):
    """An argument that TorchScript source has no words for."""


def cases(info: Any, *, quick: bool = False, samples: int = 1000) -> Iterator[Case | NotACase]:
    """All cases of an operator, always the same ones; `quick`: those of one sample; `samples`: of at most so many of each dtype."""
    for sample, name in samples_of(info, quick=quick, samples=samples):
        yield from _of_sample(info, sample, name)
    for index, sample in enumerate([] if quick else _error_samples(info)):
        yield from _of_sample(info, sample, f"{info.formatted_name}/error/{index}", refused=True)


# ----------------------------------------------------------------------------------------------------------- samples


def samples_of(info: Any, *, quick: bool, samples: int) -> Iterator[tuple[Any, str]]:
    """Samples of each dtype with their names."""
    supported = info.supported_dtypes("cpu")
    counts = {dtype: min(count, samples) for dtype, count in SAMPLES.items() if dtype in supported}
    if quick:
        counts = dict.fromkeys(list(counts)[:1], 1)
    for dtype, count in counts.items():
        for index, sample in enumerate(_samples(info, dtype, count)):
            yield sample, f"{info.formatted_name}/{str(dtype)[6:]}/{index}"


def _seed(info: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(zlib.crc32(f"{info.formatted_name} {dtype}".encode()))


def _samples(info: Any, dtype: torch.dtype, count: int) -> list[Any]:
    _seed(info, dtype)
    every = list(info.sample_inputs("cpu", dtype, requires_grad=False))
    step = max(1.0, len(every) / count)
    return [every[int(i * step)] for i in range(min(count, len(every)))]


def _error_samples(info: Any) -> list[Any]:
    _seed(info, torch.float32)
    try:
        every = list(info.error_inputs("cpu"))
    except Exception:  # most operators have none, and say so in various ways
        return []
    return [error.sample_input for error in every[:6]]


def as_call(sample: Any) -> tuple[Call, list[torch.Tensor]]:
    """What makes the sample's arguments of tensors, and its tensors."""
    leaves, shape = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[i].detach() for i in places]

    def arguments(values: list[Any]) -> Any:
        filled = list(leaves)
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        first, args, kwargs = pytree.tree_unflatten(filled, shape)
        return (first, *args), kwargs

    return arguments, tensors


def _of_sample(info: Any, sample: Any, name: str, *, refused: bool = False) -> Iterator[Case | NotACase]:
    arguments, tensors = as_call(sample)
    seen: set[str] = set()
    for variant, ways in _variants(info, arguments, tensors, refused=refused):
        try:
            module, inputs = _first_that_works(ways)
            graph = str(_without_places(module.graph))
            if graph in seen:
                continue
            seen.add(graph)
            dense_only = info.name.endswith("_flash_attention_for_cpu")
            yield Case(f"{name}/{variant}", _archive(module), inputs, elements_undefined(info), dense_only)
        except Exception as error:  # the compiler and the tracer raise all kinds
            yield NotACase(f"{name}/{variant}", "TorchScript does not take it", short(error))


def _first_that_works(ways: list[Call]) -> Any:
    for way in ways[:-1]:
        with contextlib.suppress(Exception):
            return way()
    return ways[-1]()


def elements_undefined(info: Any) -> bool:
    return bool(re.match(r"(new_)?empty|resize", info.name))


# ---------------------------------------------------------------------------------------------------------- variants


def _variants(info: Any, arguments: Call, tensors: list[torch.Tensor], *, refused: bool) -> Iterator[tuple[str, list[Call]]]:
    """Ways to write the call; each has functions that give a module and its inputs, the next if one raises."""
    spelled = _function_name(info)
    method = bool(tensors) and isinstance(arguments(tensors)[0][0], torch.Tensor) and hasattr(torch.Tensor, info.name)
    traceable = not refused  # tracing runs the operator
    if traceable:
        yield "traced", [lambda: (_traced(info.op, arguments, tensors), tensors)]
        yield "inside", [lambda: (_traced(_inside(info.op), arguments, tensors), tensors)]
    if spelled:
        yield "function", [lambda: (_compiled(spelled + "({})", arguments, tensors), tensors)]
    if method:
        yield "method", [lambda: (_compiled(f"{{}}.{info.name}({{}})", arguments, tensors), tensors)]
    in_place = []
    if method and hasattr(torch.Tensor, info.name + "_"):
        in_place.append(lambda: (_compiled(f"{{}}.{info.name}_({{}})", arguments, tensors), tensors))
    if traceable and tensors and info.inplace_variant:
        in_place.append(lambda: (_traced(info.inplace_variant, arguments, tensors), tensors))
    if in_place:
        yield "in_place", in_place
    if traceable and tensors and info.inplace_variant:
        yield "in_place_inside", [lambda: (_traced(_inside(info.inplace_variant), arguments, tensors), tensors)]
    if traceable and tensors and info.supports_out:
        yield "out", [lambda: _with_out(info, arguments, tensors)]


def _traced(function: Call, arguments: Call, tensors: list[torch.Tensor]) -> Any:
    def call(*values: torch.Tensor) -> Any:
        args, kwargs = arguments(list(values))
        result = function(*args, **kwargs)
        return tuple(result) if isinstance(result, (list, tuple)) else result

    with torch.no_grad():
        return torch.jit.trace(call, tuple(copied(tensor) for tensor in tensors), check_trace=False)


def _inside(function: Call) -> Call:
    """The call between others, so that its arguments and results are the graph's own and their memory serves again afterwards."""

    def clones(value: Any) -> Any:
        return pytree.tree_map_only(torch.Tensor, torch.clone, value)

    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*clones(args), **clones(kwargs))
        after = pytree.tree_leaves(clones((args, kwargs)))
        leaves = pytree.tree_leaves(clones(result))
        return tuple(leaf for leaf in (*leaves, *after) if isinstance(leaf, torch.Tensor))

    return call


def _function_name(info: Any) -> str | None:
    place: Any = torch
    for part in info.name.split("."):
        place = getattr(place, part, None)
    return f"torch.{info.name}" if callable(place) else None


def _with_out(info: Any, arguments: Call, tensors: list[torch.Tensor]) -> Any:
    """The last inputs are the results' places, filled with ones."""
    args, kwargs = arguments([copied(tensor) for tensor in tensors])
    result = info.op(*args, **kwargs)
    places = [torch.ones_like(place) for place in pytree.tree_leaves(result)]

    def function(*args: Any, **kwargs: Any) -> Any:
        given = args[-len(places) :]
        return info.op(*args[: -len(places)], **kwargs, out=given[0] if isinstance(result, torch.Tensor) else tuple(given))

    def with_places(values: list[Any]) -> Any:
        args, kwargs = arguments(values[: -len(places)])
        return (*args, *values[-len(places) :]), kwargs

    inputs = [*tensors, *places]
    return _traced(function, with_places, inputs), inputs


def _compiled(call: str, arguments: Call, tensors: list[torch.Tensor]) -> Any:
    names = [_Name(f"t{i}") for i in range(len(tensors))]
    args, kwargs = arguments(names)
    texts = [_text(arg) for arg in args] + [f"{key}={_spelled(key, value)}" for key, value in kwargs.items() if key != "requires_grad"]
    if call.startswith("{}"):
        call, texts = call.replace("{}", texts[0], 1), texts[1:]
    source = f"def call({', '.join(names)}):\n  return {call.format(', '.join(texts))}\n"
    return torch.jit.CompilationUnit(source).call


class _Name(str):
    """Stands for a tensor in source text."""


def _spelled(key: str, value: Any) -> str:
    return _text(torch.device(value) if key == "device" and isinstance(value, str) else value)


def _text(value: Any) -> str:
    """A fixed argument as TorchScript source."""
    if isinstance(value, _Name):
        return value
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(_text(item) + ", " for item in value) + ")"
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, complex):
        return f"complex({_text(value.real)}, {_text(value.imag)})"
    if isinstance(value, float):
        return repr(value) if abs(value) < float("inf") else f'float("{value}")'
    if value is None or isinstance(value, (bool, int, str, torch.dtype, torch.layout, torch.memory_format)):
        return repr(value) if not isinstance(value, torch.memory_format) else str(value)
    raise _UnspeakableError(f"a fixed argument that is a {type(value).__name__}")


# ------------------------------------------------------------------------------------------------------------- tools


def _archive(module: Any) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return buffer.getvalue()


def _without_places(graph: Any) -> str:
    """The graph's text, equal for equal graphs."""
    copy = graph.copy()
    torch._C._jit_pass_canonicalize(copy)
    return re.sub(r"%[\w.]+|#.*", lambda match: match[0] if match[0][1:].isdigit() else "", copy.str(False))


def short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]}"


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same values and strides in memory of its own. Lazy bits are resolved; what lies around it stays behind."""
    if not is_plain(tensor):
        return tensor.clone()
    conjugate, negative = tensor.is_conj(), tensor.is_neg()
    tensor = tensor.detach().conj() if conjugate else tensor.detach()
    tensor = torch._neg_view(tensor) if negative else tensor
    elements = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)) if tensor.numel() else 0
    first, size = tensor.storage_offset(), tensor.element_size()
    storage = tensor.untyped_storage()[first * size : (first + elements) * size].clone()
    memory = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (elements,), (1,))
    if conjugate:
        memory.conj_physical_()
    if negative:
        memory.neg_()
    return memory.as_strided(tensor.shape, tensor.stride())


def with_other_values(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements in the opposite order: what is in an operator's domain (indices, probabilities, symmetric matrices) stays there."""
    other = copied(tensor)
    if is_plain(tensor) and tensor.dtype != torch.complex32 and not torch._debug_has_internal_overlap(tensor):
        other.copy_(tensor.flatten().flip(0).reshape(tensor.shape))
    return other


def other_shapes(tensors: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The tensors with all dimensions of one size made longer by one; for each size, the largest first."""
    if not all(is_plain(tensor) for tensor in tensors):
        return
    sizes = sorted({size for tensor in tensors for size in tensor.shape if size > 1}, reverse=True)
    for size in sizes[:3]:
        yield [_longer(tensor, size) for tensor in tensors]


_OTHER_DTYPE = {torch.float32: torch.float64, torch.float64: torch.float32, torch.bfloat16: torch.float32, torch.uint8: torch.int32}


def other_dtypes(tensors: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The same numbers in other dtypes, if there are any; complex ones and indices stay what they are."""
    if any(tensor.dtype in _OTHER_DTYPE for tensor in tensors):
        yield [tensor.to(_OTHER_DTYPE.get(tensor.dtype, tensor.dtype)) for tensor in tensors]


def other_strides(tensors: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The same numbers laid out in the opposite order, with gaps, and with channels last."""
    if not all(is_plain(tensor) and tensor.dtype != torch.complex32 for tensor in tensors):
        return
    if any(tensor.dim() > 1 for tensor in tensors):
        yield [_turned(_turned(tensor).contiguous()) for tensor in tensors]
    if any(tensor.dim() > 0 for tensor in tensors):
        yield [torch.stack((tensor, tensor), -1)[..., 0] if 0 < tensor.dim() < 64 else tensor for tensor in tensors]
    if any(tensor.dim() == 4 for tensor in tensors):
        yield [tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor for tensor in tensors]


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.permute(tuple(reversed(range(tensor.dim()))))


def _longer(tensor: torch.Tensor, size: int) -> torch.Tensor:
    for dim in [dim for dim, there in enumerate(tensor.shape) if there == size]:
        tensor = tensor.index_select(dim, torch.tensor(list(itertools.islice(itertools.cycle(range(size)), size + 1))))
    return tensor


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether it can cross the boundary."""
    return tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested and tensor.device.type == "cpu"
