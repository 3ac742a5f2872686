"""child.py CORPUS SEED: loads and runs damaged archives, one for each number on standard input; may crash.

Says when it is ready, and what happened as a line of JSON each. There is no torch in this process: its memory is Stator's and
LibTorch's.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stator
from damage import damaged

ADDRESS_SPACE = 3 << 30  # bytes that it may ask for in addition to what it has once a first model ran


def specimen(corpus: Path, seed: int, number: int) -> tuple[str, str, bytes]:
    """What the number stands for: the archive's name, what was done to it, and what it is now."""
    names = sorted(path.name for path in corpus.iterdir() if path.suffix in (".pt", ".pt2"))
    chance = random.Random(f"{seed}/{number}")
    name = chance.choice(names)
    how, data = damaged((corpus / name).read_bytes(), chance)
    return name, how, data


def value_of(described: Any) -> Any:
    if isinstance(described, list):
        return tuple(value_of(item) for item in described)
    if not isinstance(described, dict):
        return described
    if "dtype" in described:
        values = np.arange(int(np.prod(described["shape"]))).reshape(described["shape"]) % 3
        return values.astype(described["dtype"])
    return {key: value_of(item) for key, item in described.items()}


def kibibytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def reset_peak() -> int:
    """Forgets the peak of resident memory; what is resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return kibibytes("VmRSS")


def attempt(data: bytes, args: Any, loaded: Callable[[], None]) -> dict[str, Any]:
    """`loaded` is called between loading and running."""
    said: dict[str, Any] = {"bytes": len(data), "run": None}
    begun, resident = time.monotonic(), reset_peak()
    try:
        module = stator.load(data)
        said["load"] = "ok"
    except stator.Error as error:
        said["load"], said["message"] = type(error).__name__, str(error)[:300]
    said["load_seconds"], said["load_kib"] = time.monotonic() - begun, kibibytes("VmHWM") - resident
    if said["load"] != "ok":
        return said
    loaded()
    with module:
        for _ in range(3):  # the second run of a signature makes its plan
            try:
                module(*args)
                said["run"] = "ok"
            except stator.Error as error:
                said["run"], said["message"] = type(error).__name__, str(error)[:300]
    said["run_seconds"] = time.monotonic() - begun - said["load_seconds"]
    return said


def main() -> None:
    corpus, seed = Path(sys.argv[1]), int(sys.argv[2])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    index = json.loads((corpus / "index.json").read_text(encoding="utf-8"))
    for name, described in index.items():
        stator.load(corpus / name)(*value_of(described))
    limit = (kibibytes("VmSize") << 10) + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def tell(said: dict[str, Any]) -> None:
        replies.write(json.dumps(said) + "\n")
        replies.flush()

    tell({"ready": True})
    for line in sys.stdin:
        name, how, data = specimen(corpus, seed, int(line))
        try:
            said = attempt(data, value_of(index[name]), lambda: tell({"loaded": True}))
        except Exception as error:  # no status of Stator's
            said = {"load": "raised", "run": None, "message": f"{type(error).__name__}: {error}"}
        tell({"archive": name, "damage": how, **said})


if __name__ == "__main__":
    main()
