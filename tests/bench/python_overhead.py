#!/usr/bin/env python3
"""What Python adds to a run: Stator's binding and stator_bench run the same model in turns, beside an empty call of each kind.

    python_overhead.py STATOR_BENCH MODEL_STEM

Prints JSON: {"empty_ns" (a call into C with no work), "method_ns" (a call of an empty method), "run_ns", "c_ns"}.
"""

import gc
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import stator
from stator._stator import lib
from turns import Worker

ROUNDS, CALLS, WARM = 15, 5000, 500
SHAPES = [(1, 1, 32), (1, 1, 32), (1, 50)]


class Empty:
    def run(self, arena: object) -> None:
        pass


def ns_per_call(call: Callable, *args: object) -> float:
    for _ in itertools.repeat(None, WARM):
        call(*args)
    start = time.perf_counter_ns()
    for _ in itertools.repeat(None, CALLS):
        call(*args)
    return (time.perf_counter_ns() - start) / CALLS


def main() -> None:
    program, stem = sys.argv[1:]
    module = stator.load(f"{stem}.pt", plans="signature")
    runtime, arena = module.runtime(intra_op_threads=1, latencies="off"), module.arena()
    inputs = [np.random.default_rng(0).standard_normal(shape, dtype=np.float32) for shape in SHAPES]
    runtime.bind(*inputs)
    worker = Worker("stator", [program, "stator", stem, "1"])
    times: dict[str, list[float]] = {"empty_ns": [], "method_ns": [], "run_ns": [], "c_ns": []}
    gc.disable()
    for _ in range(ROUNDS):
        times["empty_ns"].append(ns_per_call(lib.stator_abi_version))
        times["method_ns"].append(ns_per_call(Empty().run, arena))
        times["run_ns"].append(ns_per_call(runtime.run, arena))
        times["c_ns"].append(worker.ask(WARM, 1, CALLS)[0] * 1e3)
    worker.close()
    print(json.dumps({name: statistics.median(values) for name, values in times.items()}))


main()
