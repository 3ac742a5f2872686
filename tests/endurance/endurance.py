"""endurance.py [--cycles N] [--runs N] [--threads N]: load/run/release cycles, and runs of random shapes from several threads.

Bytes in use (mallinfo2) must be flat over the second half of each, and resident memory within 5 %.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import io
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

import stator

# More than this between the middle and the end is growth, not noise: a leak of 16 bytes a run would be far above.
MOST_GROWTH = 256 << 10
MOST_RESIDENT_GROWTH = 0.05


class Mallinfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"]
    ]


_libc = ctypes.CDLL(None)
_libc.mallinfo2.restype = Mallinfo2


def memory() -> tuple[int, int]:
    """Bytes in use, bytes resident."""
    gc.collect()
    info = _libc.mallinfo2()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    return info.uordblks + info.hblkhd, resident


class Model(torch.nn.Module):
    """Planned tensors, tensors on the heap, lists, a loop, control flow and an output that is a view."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 32)

    def forward(self, x: torch.Tensor, n: int) -> tuple[torch.Tensor, list[torch.Tensor], dict[str, torch.Tensor]]:
        y = torch.relu(self.first(x))
        kept = [y]
        for i in range(n):
            if i % 2 == 0:
                kept.append(torch.tanh(kept[-1]) * 0.5)
            else:
                kept.append(torch.cumsum(y, 0))
        z = torch.cat(kept, 0)
        return z.t(), kept[:2], {"sum": z.sum(), "top": z[z > 0.5]}


def archive() -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        torch.jit.save(torch.jit.script(Model().eval()), buffer)
    return buffer.getvalue()


def cycles(data: bytes, count: int) -> None:
    x = np.ones((4, 16), np.float32)
    for i in range(count):
        with stator.load(data, plans="signature" if i % 2 else "dynamic") as module:
            for _ in range(3):
                module(x, 3)


def run_in_threads(module: Any, runs: int, threads: int, most_rows: int, seed: int) -> None:
    pool = module.pool(max_runtimes=threads)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        random = np.random.default_rng(seed * 1000 + number)
        try:
            for _ in range(runs // threads):
                rows = int(random.integers(1, most_rows + 1))
                pool.call(np.ones((rows, 16), np.float32), int(random.integers(0, 6)))
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    pool.close()
    if errors:
        raise errors[0]


def measure(name: str, first_half: Any, second_half: Any) -> bool:
    start = time.monotonic()
    first_half()
    used, resident = memory()
    second_half()
    used_end, resident_end = memory()
    growth, resident_growth = used_end - used, resident_end / resident - 1
    flat = growth <= MOST_GROWTH and resident_growth <= MOST_RESIDENT_GROWTH
    print(
        f"{name}: in use {used} -> {used_end} bytes ({growth:+}), "
        f"resident {resident >> 20} -> {resident_end >> 20} MiB ({resident_growth:+.1%}), "
        f"{time.monotonic() - start:.1f} s: {'flat' if flat else 'GROWS'}",
        flush=True,
    )
    return flat


def endure(load_cycles: int, runs: int, threads: int) -> bool:
    data = archive()
    flat = measure(f"{load_cycles} load/run/release cycles", lambda: cycles(data, load_cycles // 2), lambda: cycles(data, load_cycles // 2))
    # Of 8 rows and 6 numbers all signatures find room, and have plans before the second half; of more, plans come and go for long.
    for plans, most_rows in (("dynamic", 40), ("signature", 8)):
        module = stator.load(data, plans=plans)
        halves = [
            lambda half=half, module=module, most_rows=most_rows: run_in_threads(module, runs // 2, threads, most_rows, half)
            for half in (1, 2)
        ]
        flat &= measure(f"{runs} runs of random shapes from {threads} threads, {plans} plans", *halves)
        module.close()
    return flat


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cycles", type=int, default=100)
    arguments.add_argument("--runs", type=int, default=200_000)
    arguments.add_argument("--threads", type=int, default=8)
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    return 0 if endure(chosen.cycles, chosen.runs, chosen.threads) else 1


if __name__ == "__main__":
    sys.exit(main())
