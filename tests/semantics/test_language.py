"""Features of the TorchScript language, one function a row: whatever the interpreter runs, Stator runs equally."""

import math
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest
import torch
from torch import Tensor


class Color(Enum):
    RED = 1
    GREEN = 2


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Pair(NamedTuple):
    left: Tensor
    right: Tensor
    scale: float = 2.0


@torch.jit.script
class Stack:
    """A class with mutable attributes, properties and operators."""

    def __init__(self, limit: int = 3):
        self.items: List[Tensor] = []
        self.limit = limit
        self.pushed = 0

    def push(self, item: Tensor) -> int:
        self.pushed += 1
        if len(self.items) < self.limit:
            self.items.append(item)
        return len(self.items)

    @property
    def full(self) -> bool:
        return len(self.items) >= self.limit

    @staticmethod
    def double(x: Tensor) -> Tensor:
        return x * 2

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Tensor:
        return self.items[index]

    def __setitem__(self, index: int, item: Tensor) -> None:
        self.items[index] = item

    def __contains__(self, wanted: int) -> bool:
        return wanted < len(self.items)

    def __add__(self, other: Tensor) -> Tensor:
        total = other
        for item in self.items:
            total = total + item
        return total

    def __lt__(self, other: int) -> bool:
        return len(self.items) < other

    def __call__(self, x: Tensor) -> Tensor:
        return x + self.pushed


@torch.jit.script
class Scope:
    """A context manager that counts."""

    def __init__(self) -> None:
        self.depth = 0
        self.left = 0

    def __enter__(self) -> int:
        self.depth += 1
        return self.depth

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.depth -= 1
        self.left += 1


@torch.jit.interface
class Scaler:
    def scale(self, x: Tensor) -> Tensor:
        pass


@torch.jit.script
class Doubler:
    def __init__(self) -> None:
        self.calls = 0

    def scale(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * 2 * self.calls


@torch.jit.script
class Halver:
    def __init__(self) -> None:
        pass

    def scale(self, x: Tensor) -> Tensor:
        return x / 2


def comprehensions(x: Tensor, n: int) -> Tuple[List[Tensor], List[int], Dict[str, int], List[List[int]]]:
    return (
        [x * i for i in range(n)],
        [i + n for i in range(n)],
        {str(i): i * i for i in range(n)},
        [[i for i in range(n)] for _ in range(2)],
    )


def generator_in_sum(xs: List[Tensor], n: int) -> Tuple[int, bool, bool, Tensor]:
    return sum([i for i in range(n)]), all([i >= 0 for i in range(n)]), any([i > 3 for i in range(n)]), torch.stack([x + 1 for x in xs])


def slices(x: Tensor, values: List[int], text: str) -> Tuple[Tensor, Tensor, List[int], List[int], List[int], str, str, str]:
    return x[1:, ::2], x[..., -1], values[1:], values[:-1], values[::2], text[1:3], text[-2:], text[0]


def index_assignment(x: Tensor, n: int) -> Tensor:
    y = x.clone()
    y[0] = n
    y[:, 1] += 2.5
    y[y > 2] = -1
    y[-1, ::2] = torch.ones(2)
    y[1:2] *= 2
    return y


def list_methods(values: List[int], n: int) -> Tuple[List[int], int, int, int, bool, List[int], List[int]]:
    values.append(n)
    values.extend([7, 8])
    values.insert(1, 42)
    values.remove(7)
    values.reverse()
    last = values.pop()
    first = values.pop(0)
    copied = values.copy()
    values.sort(reverse=True)
    values[0] = -1
    del values[1]
    return values, last, first, copied.count(n) + copied.index(n), n in copied, copied + values, sorted(copied) * 2


def list_of_lists(n: int) -> List[List[int]]:
    rows = [[0] * n for _ in range(n)]
    for i in range(n):
        rows[i][i] = 1
    rows.append(rows[0])
    rows[0][0] = 9
    return rows


def min_and_max(values: List[float], a: int, b: float) -> Tuple[float, float, int, float, List[int], float]:
    return min(values), max(values), min(a, 3), max(b, 0.5), max([1, 2], [1, 3]), round(b)


def dict_methods(names: Dict[str, int], x: Tensor) -> Tuple[List[str], List[int], int, int, bool, Dict[str, int], Dict[str, Tensor], int]:
    names["x"] = 10
    names.update({"y": 11})
    other = names.copy()
    popped = names.pop("x")
    missing = names.get("nothing", -1)
    fresh = names.setdefault("z", 5)
    tensors = {"a": x, "b": x * 2}
    tensors["a"] += 1
    del other["y"]
    total = 0
    for key in other:
        total += other[key]
    for key, value in names.items():
        total += len(key) * value
    return list(names.keys()), list(names.values()), popped + fresh, missing, "y" in names, other, tensors, total


def dict_keys_of_all_types(a: int, b: float, c: bool) -> Tuple[Dict[int, str], Dict[float, int], Dict[bool, int]]:
    ints: Dict[int, str] = {}
    ints[a] = "a"
    ints[-a] = "b"
    ints.clear()
    ints[a + 1] = "c"
    return ints, {b: 1, b + 1: 2}, {c: 1, not c: 0}


def string_methods(text: str, n: int) -> Tuple[List[str], str, str, bool, int, str, str, str, str, bool, int, List[str], str]:
    return (
        text.split(" "),
        text.upper(),
        text.replace("a", "o"),
        text.startswith("a"),
        text.find("c"),
        text.strip("a"),
        "-".join([text, "x"]),
        text + str(n),
        text.capitalize() + text.title() + text.swapcase(),
        text.isalpha() or text.isdigit(),
        len(text) + text.count("a"),
        text.splitlines(),
        text.ljust(9, ".") + text.rjust(9, " ") + text.center(9, " ") + text.zfill(9),
    )


def formats(n: int, f: float, b: bool, x: Tensor) -> Tuple[str, str, str, str, str]:
    return f"{n} and {f}", "{} {}".format(n, b), "%d %s" % (n, "s"), str(n) + str(f) + str(b), f"{x.shape}"


def comparisons(a: int, b: float, s: str, values: List[int]) -> Tuple[bool, bool, bool, bool, bool, bool]:
    return 0 < a < 10, a == b, s < "m", values == [1, 2, 3], s != "abc" and not a > 3, a is not None


def arithmetic(a: int, b: int, f: float) -> Tuple[float, int, int, float, int, int, int, float, float, int, float, int]:
    return a / b, a // b, a % b, a**2, a & b | 4 ^ 1, a << 2 >> 1, int(not a), f**0.5, abs(-f), int(f), float(a), -a


def mathematics(f: float, n: int) -> Tuple[float, float, int, int, float, float, bool, bool, int]:
    return (
        math.sqrt(f),
        math.sin(f) + math.log(f + 1) + math.exp(f),
        math.floor(f),
        math.ceil(f),
        math.pi,
        math.pow(f, 2.0),
        math.isnan(f),
        math.isinf(math.inf),
        math.gcd(n, 12),
    )


def complex_numbers(re: float, im: float, x: Tensor) -> Tuple[complex, float, float, Tensor]:
    z = complex(re, im)
    return z * z + 1j, abs(z), abs(z - 1), x * z


def conversions(x: Tensor, n: int, s: str) -> Tuple[int, float, bool, int, float, bool, complex, List[int], Tensor]:
    total = x.sum()
    return (
        int(total),
        float(total),
        bool(total > 0),
        int(s),
        float(s),
        bool(n),
        complex(total),
        [int(v) for v in x.flatten().to(torch.long).unbind()],
        torch.tensor([n, n + 1]),
    )


def loops(x: Tensor, n: int) -> Tuple[Tensor, int, List[int]]:
    total = 0
    seen: List[int] = []
    for i in range(0, n, 2):
        if i == 4:
            continue
        if i > 7:
            break
        seen.append(i)
        total += i
    while total < 20:
        total += 3
        if total % 5 == 0:
            break
    for row in x:
        x = x + row
    for i in range(n, 0, -1):
        total -= i
    return x, total, seen


def zips(a: List[int], b: List[str], x: Tensor) -> Tuple[List[str], int, List[Tuple[int, str]], Tensor]:
    out: List[str] = []
    total = 0
    pairs: List[Tuple[int, str]] = []
    for i, (number, text) in enumerate(zip(a, b)):
        out.append(str(i) + text)
        total += number * i
        pairs.append((number, text))
    for i, row in enumerate(x, 1):
        x = x + row * i
    for c in "abc":
        out.append(c)
    return out, total, pairs, x


def early_return(x: Tensor, n: int) -> Tensor:
    if n > 5:
        return x
    for i in range(10):
        x = x + i
        if i > n:
            if i % 2 == 0:
                return x * 2
            return x * 3
    return x - 1


def ternaries(x: Tensor, n: int, maybe: Optional[Tensor]) -> Tuple[Tensor, int, Tensor]:
    y = x if n > 2 else -x
    z = maybe if maybe is not None else x + 1
    return y, (1 if n > 2 else (2 if n > 1 else 3)), z


def optionals(x: Tensor, maybe: Optional[int], other: Optional[List[Tensor]]) -> Tuple[Tensor, Optional[int], Optional[Tensor]]:
    if maybe is None:
        maybe = 4
    result: Optional[Tensor] = None
    if other is not None and len(other) > 0:
        result = other[0] + maybe
    assert maybe is not None
    if not (other is None or len(other) < 2):
        x = x + other[1]
    return x * maybe, (maybe if maybe > 4 else None), result


def unions(x: Union[int, Tensor, str], y: Any) -> Tuple[str, Union[int, float]]:
    kind = "other"
    if isinstance(x, int):
        kind = "int " + str(x + 1)
    elif isinstance(x, Tensor):
        kind = "tensor " + str(x.dim())
    result: Union[int, float] = 1
    if isinstance(y, float):
        result = y * 2
    elif isinstance(y, (int, bool)):
        result = 5
    elif isinstance(y, List[int]):
        result = len(y)
    return kind, result


def tuples(x: Tensor, n: int) -> Tuple[Tuple[Tensor, int], Tuple[int, str], int, bool, Tuple[Tensor, Tensor]]:
    whole = (x, n, "s", 2.5)
    a, b = 1, 2
    first, (second, third) = x, (n, "t")
    return whole[:2], whole[1:3], len(whole) + a + b + second, third == "t", (first, first)


def named_tuples(x: Tensor, n: int) -> Tuple[Pair, Tensor, Tensor, float]:
    pair = Pair(x, x + n)
    other = Pair(left=pair.right, right=pair[0], scale=float(n))
    left, right, scale = other
    return other, left, right * pair.scale, other.scale


def enums(x: Tensor, n: int) -> Tuple[Tensor, str, bool, int]:
    color = Color.RED if n > 2 else Color.GREEN
    level = Level.LOW
    if color == Color.GREEN:
        x = x * color.value
        level = Level.HIGH
    total = 0
    for each in [Color.RED, Color.GREEN]:
        total += each.value
    return x, level.value + color.name, color is Color.RED, total


def objects(x: Tensor, n: int) -> Tuple[int, bool, Tensor, Tensor, bool, int, bool, Tensor]:
    stack = Stack(2)
    other = stack
    for i in range(n):
        other.push(x + i)
    stack[0] = stack[0] * 2
    stack.limit += 5
    full = stack.full
    return len(stack), full, stack[0], stack + x, 1 in stack, other.limit, stack < 10, stack(Stack.double(x))


def objects_in_containers(x: Tensor, n: int) -> Tuple[int, Tensor]:
    stacks = [Stack(i) for i in range(n)]
    named = {"a": stacks[0], "b": Stack()}
    pair = (stacks[-1], 1)
    for stack in stacks:
        stack.push(x)
    pair[0].push(x * 2)
    named["b"].push(x)
    maybe: Optional[Stack] = None
    if n > 2:
        maybe = named["b"]
    if maybe is not None:
        maybe.push(x + 3)
    total = 0
    for stack in stacks:
        total += len(stack) * 10 + stack.pushed
    return total + len(named["b"].items), named["b"][0] + pair[0][0]


def contexts(x: Tensor, n: int) -> Tuple[Tensor, int, int]:
    scope = Scope()
    with scope as depth:
        x = x + depth
        with scope as inner, torch.no_grad():
            x = x * inner
            if n > 2:
                x = x + scope.depth
    return x, scope.depth, scope.left


def contexts_and_exceptions(x: Tensor, n: int) -> Tensor:
    with Scope() as depth:
        if n > 2:
            raise ValueError("n is " + str(n))
        x = x + depth
    return x


def pick(a: Scaler, b: Scaler, n: int) -> Scaler:
    scaler = a
    if n > 2:
        scaler = b
    return scaler


def interfaces(x: Tensor, n: int) -> Tensor:
    doubler, halver = Doubler(), Halver()
    x = pick(doubler, halver, n).scale(x)
    scalers: List[Scaler] = [doubler, halver, doubler]
    for each in scalers:
        x = each.scale(x)
    return x + doubler.calls


def helper(x: Tensor, scale: float = 2.0, shift: int = 0) -> Tensor:
    return x * scale + shift


def calls(x: Tensor, n: int) -> Tensor:
    return helper(x) + helper(x, shift=n) + helper(scale=3.0, x=x, shift=1) + torch.jit.annotate(Tensor, x) + x.add(x, alpha=2)


@torch.jit._overload
def overloaded(x: int) -> int: ...


@torch.jit._overload
def overloaded(x: Tensor) -> Tensor: ...


def overloaded(x):
    return x + 1


def overloads(x: Tensor, n: int) -> Tuple[Tensor, int]:
    return overloaded(x), overloaded(n)


def metadata(x: Tensor, y: Tensor) -> Tuple[List[int], int, int, bool, bool, Tensor, bool, bool, int, List[int], bool, bool]:
    z = torch.zeros(x.shape[0], dtype=y.dtype, device=x.device)
    return (
        list(x.shape),
        x.dim(),
        x.numel(),
        x.dtype == y.dtype,
        x.is_floating_point(),
        z,
        x.is_contiguous(),
        x.is_cuda,
        x.size(-1),
        list(x.stride()),
        x.requires_grad,
        x.device == y.device or x.layout == y.layout or x.device.type == "cpu",
    )


def to_lists(x: Tensor, y: Tensor) -> Tuple[List[float], List[List[int]], float, int]:
    a: List[float] = x.flatten().tolist()
    b: List[List[int]] = y.tolist()
    return a, b, x.sum().item(), torch.jit.annotate(int, y.sum().item())


def unpacking(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, int]:
    a, b = x.unbind(0)
    (c, d), e = torch.max(y, 1), x
    rows, columns = x.shape
    values, indices = torch.sort(x, 1)
    return a + b, c + d, values + e, rows * columns + indices.numel()


def type_tests(x: Any, y: Optional[Tensor]) -> Tuple[int, bool]:
    kind = 0
    if isinstance(x, Tensor):
        kind = 1
    elif isinstance(x, str):
        kind = 2
    elif isinstance(x, Tuple[int, str]):
        kind = 3
    elif torch.jit.isinstance(x, Dict[str, int]):
        kind = 4
    return kind, isinstance(y, Tensor)


def raises(x: Tensor, n: int) -> Tensor:
    if n == 1:
        raise ValueError("n is one")
    if n == 2:
        raise RuntimeError(f"n is {n}")
    assert n != 3, "n is three"
    if n == 4:
        assert x.numel() == 0
    y = [x][n - 5]
    names = {"a": y}
    return names["a" if n < 6 else "b"]


def shadowing_and_scopes(x: Tensor, n: int) -> Tuple[Tensor, int]:
    y = 0
    for i in range(n):
        y = y + i
        z = x + y
        if i == 2:
            x = z
    i = 7
    for _ in range(2):
        i = i + 1
    return x, y + i


def augmented_assignments(x: Tensor, n: int) -> Tuple[Tensor, Tensor, int, List[int]]:
    y = x
    x = x.clone()
    x += 1
    x *= n
    x -= y
    x /= 2
    n += 2
    n *= 3
    n -= 1
    values = [n]
    values += [1, 2]
    values[0] += 5
    return x, y, n, values


def big_constants(x: Tensor, n: int) -> Tuple[Tensor, int, float, str]:
    return x + 9_000_000_000, n + 0x7FFFFFFF, 1e300 * n, 'tab\t, quote", ünïcode'


def deletes(x: Tensor, n: int) -> Tensor:
    y = x + n
    del x
    return y


def passes(x: Tensor, n: int) -> None:
    if n > 2:
        pass
    return None


def device_of_text(x: Tensor, name: str) -> Tuple[Tensor, torch.device, int]:
    device = torch.device(name)
    return x.to(device), device, x.to(torch.float64).element_size()


def generators(x: Tensor, n: int) -> Tuple[int, int]:
    return hash("a") - hash("a") + ord("a") + len(chr(n + 60)), int(bin(n) == "0b11") + int(hex(n) == "0x3") + divmod(n, 2)[1]


T = torch.arange(6.0).reshape(2, 3)
LONGS = torch.arange(6).reshape(2, 3)

ROWS = [
    (comprehensions, (T, 3), (T.double(), 5), (T, 0)),
    (generator_in_sum, ([T, T], 3), ([T], 6)),
    (slices, (torch.rand(3, 5), [1, 2, 3, 4], "abcdef"), (torch.rand(4, 4), [1], "xyz")),
    (index_assignment, (torch.rand(3, 4) * 4, 3), (torch.rand(5, 4).double(), 1)),
    (list_methods, ([3, 1, 2], 5), ([9, 8, 7, 6], 8)),
    (list_of_lists, (2,), (4,)),
    (min_and_max, ([1.0, 0.5], 4, 0.25), ([3.0], 1, 2.5)),
    (dict_methods, ({"a": 1}, T), ({"b": 2, "y": 3}, LONGS)),
    (dict_keys_of_all_types, (1, 0.5, True), (4, 1.5, False)),
    (string_methods, ("abc abc", 2), ("", 0), ("aXa\nb", 3)),
    (formats, (1, 0.5, True, T), (-4, 1e10, False, LONGS)),
    (comparisons, (3, 3.0, "abc", [1, 2, 3]), (11, 2.0, "z", [])),
    (arithmetic, (7, 2, 2.25), (-7, 3, 0.5), (1, 0, 1.0)),
    (mathematics, (2.5, 8), (0.0, 9)),
    (complex_numbers, (1.0, 2.0, T), (0.0, -1.0, LONGS)),
    (conversions, (T, 3, "12"), (LONGS, 0, "7")),
    (loops, (T, 4), (LONGS, 12), (T.double(), 0)),
    (zips, ([1, 2], ["a", "b"], T), ([4, 5, 6], ["c"], LONGS)),
    (early_return, (T, 7), (LONGS, 2), (T, 3), (T, -5)),
    (ternaries, (T, 3, None), (LONGS, 2, LONGS), (T, 0, T)),
    (optionals, (T, None, None), (T, 5, [T, T * 2]), (LONGS, 3, [LONGS])),
    (unions, (1, 0.5), (T, 3), ("s", [1, 2]), (LONGS, "s")),
    (tuples, (T, 1), (LONGS, 5)),
    (named_tuples, (T, 1), (LONGS, 3)),
    (enums, (T, 1), (LONGS, 5)),
    (objects, (T, 1), (LONGS, 4)),
    (objects_in_containers, (T, 2), (LONGS, 4)),
    (contexts, (T, 1), (LONGS, 4)),
    (contexts_and_exceptions, (T, 1), (LONGS, 4), (T, 2)),
    (interfaces, (T, 1), (LONGS, 4)),
    (calls, (T, 1), (LONGS, 4)),
    (overloads, (T, 1), (LONGS, 4)),
    (metadata, (T, LONGS), (LONGS.t(), LONGS)),
    (to_lists, (T, LONGS), (torch.rand(5, 1), LONGS[:1])),
    (unpacking, (T, LONGS), (torch.rand(2, 7), T)),
    (type_tests, (T, None), ("s", T), ((1, "a"), None), ({"a": 1}, T)),
    (raises, (T, 5), (T, 1), (T, 2), (LONGS, 3), (T, 4), (T, 5), (T, 6), (T, 7)),
    (shadowing_and_scopes, (T, 0), (LONGS, 5)),
    (augmented_assignments, (T, 1), (LONGS.double(), 5)),
    (big_constants, (T, 1), (LONGS, 5)),
    (deletes, (T, 1), (LONGS, 5)),
    (passes, (T, 1), (LONGS, 5)),
    (device_of_text, (T, "cpu"), (LONGS, "cpu")),
    (generators, (T, 3), (LONGS, 5)),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].__name__)
def test_function(row, compare):
    compare(*row)
