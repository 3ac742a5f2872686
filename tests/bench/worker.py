#!/usr/bin/env python3
"""What bench.cpp is, for the peers of Python: runs one model in one way, and times it when it is told to.

    worker.py PEER MODEL_STEM THREADS

Speaks as bench.cpp does. Python's garbage collector is off while runs are timed.
"""

import gc
import itertools
import json
import os
import sys
import time
from pathlib import Path

import torch

from python_peers import PYTHON_PEERS

WARM_CALL = 20
TOLERANCES = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}


def error_of(got: torch.Tensor, wanted: torch.Tensor, rounding: float) -> float:
    """As largest_error of model_data.h."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return float("inf")
    if wanted.dtype not in TOLERANCES:
        return 0.0 if torch.equal(got, wanted) else float("inf")
    relative, absolute = TOLERANCES[wanted.dtype]
    a, b = got.double(), wanted.double()
    same = (a == b) | (a.isnan() & b.isnan())
    error = torch.where(same, 0.0, (a - b).abs() / (b.abs() * relative + absolute + rounding)).max().item() if wanted.numel() else 0.0
    return error if error == error else float("inf")


def largest_error(got: list[torch.Tensor], wanted: list[torch.Tensor], rounding: list[float]) -> float:
    return max(map(error_of, got, wanted, rounding), default=0.0) if len(got) == len(wanted) else float("inf")


def memory_of_process(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name + ":"))
    return int(line.split()[1])


def microseconds_since(start: int) -> float:
    return (time.perf_counter_ns() - start) / 1e3


def open_peer(name: str, stem: Path, threads: int) -> tuple:
    inputs, cold, warm, rounding, _others = torch.load(f"{stem}.data")
    make, prepare = PYTHON_PEERS[name]
    prepare()
    torch.ones(64, 64).mm(torch.ones(64, 64))
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_of_process("VmRSS")
    start = time.perf_counter_ns()
    peer = make(stem, threads, inputs, cold)
    report = {"peer": name, "load_us": microseconds_since(start)}
    start = time.perf_counter_ns()
    peer.run()
    report["first_us"] = microseconds_since(start)
    errors = {"cold": largest_error(peer.outputs(), cold, rounding)}
    for _ in range(WARM_CALL):
        peer.run()
    errors["warm"] = largest_error(peer.outputs(), warm, rounding)
    report["peak_kb"] = memory_of_process("VmHWM") - before
    return peer, report | {"errors": errors}


def time_turn(run, warm: int, samples: int, runs: int) -> list[float]:
    times = []
    for _ in itertools.repeat(None, warm):
        run()
    for _ in range(samples):
        start = time.perf_counter_ns()
        for _ in itertools.repeat(None, runs):
            run()
        times.append(microseconds_since(start) / runs)
    return times


def main() -> int:
    name, stem, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    # Libraries print where they like; the report alone goes to whom it is meant for.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(threads)
    with torch.inference_mode():
        try:
            peer, report = open_peer(name, stem, threads)
        except Exception as error:
            message = " ".join(str(error).split())
            peer, report = None, {"peer": name, "failed": f"{type(error).__name__}: {message}"[:400]}
        print(json.dumps(report), file=answers, flush=True)
        gc.collect()
        gc.freeze()
        gc.disable()
        for line in sys.stdin if peer else ():
            print(json.dumps(time_turn(peer.run, *map(int, line.split()))), file=answers, flush=True)
    return 0 if peer else 1


sys.exit(main())
