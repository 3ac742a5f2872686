"""Writes random TorchScript methods.

A statement is proposed as text and tried at once in Python on a few example inputs of different shapes: one that raises, or makes too
much, is thrown away. So shapes, aliasing and lifetimes need no model of their own here, and what is left is nearly
always a method that runs.
"""

from __future__ import annotations

import random
import re
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035  names that the written code uses

import torch

Env = dict[str, Any]
Lines = list[str]

_NAMES = {"torch": torch, "Tensor": torch.Tensor, "List": List, "Dict": Dict, "Optional": Optional, "Tuple": Tuple}  # noqa: UP006
_MOST_ELEMENTS = 2048
_MOST_ITEMS = 40


class Writer:
    """The body of one method as it grows. `scope` maps the names that the next statement may use to their kinds:

    T tensor, I int, F float, B bool, S state tensor, L list of tensors, D dict of tensors, P pair of tensors, O optional tensor
    """

    def __init__(self, rng: random.Random, examples: list[Env], scope: dict[str, str]) -> None:
        self.rng = rng
        self.envs = examples
        self.scope = scope
        self.lines: Lines = []
        self.exact = True  # nothing whose last bits depend on where memory lies
        self.returns: Callable[[], str | None] = lambda: None
        self.loops = 0
        self.depth = 0
        self._count = 0

    # ---------------------------------------------------------------------------------------------- choosing

    def one(self, kind: str) -> str | None:
        names = [name for name, its in self.scope.items() if its in kind]
        return self.rng.choice(names) if names else None

    def tensor(self, fits: Callable[[torch.Tensor], bool] = lambda _: True) -> str | None:
        """A tensor of the scope that fits in every example; any age, so that lifetimes cross."""
        names = [n for n, kind in self.scope.items() if kind in "TS" and all(fits(value) for value in self.values(n))]
        return self.rng.choice(names) if names else None

    def values(self, name: str) -> list[Any]:
        return [getattr(env["self"], name[5:]) if name.startswith("self.") else env[name] for env in self.envs]

    def fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def target(self) -> str:
        """A new name, or now and then one that has a tensor already."""
        return (self.rng.random() < 0.15 and self.one("T")) or self.fresh()

    # ----------------------------------------------------------------------------------------------- trying

    def add(self, lines: Lines, makes: dict[str, str] | None = None, *, pure: bool = False) -> bool:
        """Takes the statement if it runs in all examples. `pure`: it changes nothing that is there."""
        envs = [dict(env) for env in self.envs] if pure else [copied(env) for env in self.envs]
        if not _runs(lines, envs) or not all(name in env and _small(env[name]) for env in envs for name in makes or {}):
            return False
        self.envs = envs
        self.lines += lines
        self.scope.update(makes or {})
        return True

    def assign(self, expression: str) -> bool:
        name = self.target()
        return self.add([f"{name} = {expression}"], {name: "T"}, pure=".pop(" not in expression)

    @contextmanager
    def inner(self, before: Lines = ()) -> Iterator[Lines]:
        """A block: what it defines ends with it. Its lines come out indented; they are not yet added."""
        kept = self.lines, self.envs, dict(self.scope)
        self.lines, self.envs = [], [copied(env) for env in self.envs]
        self.depth += 1
        _runs(list(before), self.envs)
        out: Lines = []
        try:
            yield out
        finally:
            out += ["    " + line for line in self.lines] or ["    pass"]
            self.lines, self.envs, self.scope = kept
            self.depth -= 1


def _runs(lines: Lines, envs: list[Env]) -> bool:
    # In a loop, because a break or continue that is tried may stand in one.
    code = "for _ in (0,):\n" + "\n".join("    " + re.sub(r"^(\s*)return\b.*", r"\1pass", line) for line in lines or ["pass"])
    with suppress(Exception):
        compiled = compile(code, "<random>", "exec")
        for env in envs:
            names = {**_NAMES, **env}
            exec(compiled, names)
            env.update({name: value for name, value in names.items() if name not in _NAMES and name not in ("_", "__builtins__")})
        return True
    return False


def _small(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.numel() <= _MOST_ELEMENTS and value.untyped_storage().nbytes() <= 16 * _MOST_ELEMENTS
    if isinstance(value, (list, tuple)):
        return len(value) <= _MOST_ITEMS and all(map(_small, value))
    return not isinstance(value, int) or abs(value) < 1 << 20


def new_env(state: Env, inputs: Env) -> Env:
    return copied({"self": types.SimpleNamespace(**state), **inputs})


def copied(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """A deep copy; what shares memory, still does."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        if id(value) not in memo:
            key = storage._cdata
            memo.setdefault(key, storage.clone())
            memo[id(value)] = torch.empty(0, dtype=value.dtype).set_(memo[key], value.storage_offset(), value.shape, value.stride())
        return memo[id(value)]
    if isinstance(value, (list, dict, types.SimpleNamespace)):
        if id(value) not in memo:
            memo[id(value)] = new = type(value)()
            if isinstance(value, list):
                new += [copied(item, memo) for item in value]
            else:
                items = value if isinstance(value, dict) else vars(value)
                (new if isinstance(value, dict) else vars(new)).update({key: copied(item, memo) for key, item in items.items()})
        return memo[id(value)]
    return tuple(copied(item, memo) for item in value) if isinstance(value, tuple) else value
