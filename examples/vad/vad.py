"""Voice activity detection in Python: vad.py DIR. What it reads and writes is in README.md beside this file."""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import stator

CHUNK = 512
SAMPLE_RATE = 16000
WARM_UP, PASSES = 2, 15


def main(folder: Path) -> None:
    chunks = np.fromfile(folder / "chunks.f32", "<f4").reshape(-1, CHUNK)
    probabilities = np.zeros(len(chunks), "<f4")
    with stator.load(folder / "model.pt") as model, model.runtime(intra_op_threads=1) as runtime, model.arena() as arena:
        reset = runtime.method("reset_states")
        window = runtime.input(0, (1, CHUNK))
        runtime.bind(window, SAMPLE_RATE)

        times = []
        for _ in range(WARM_UP + PASSES):
            reset.run(arena)
            start = time.perf_counter()
            for index, chunk in enumerate(chunks):
                window[0] = chunk
                runtime.run(arena)
                probabilities[index] = arena.output(0).item()
            times.append((time.perf_counter() - start) / len(chunks) * 1e6)

    probabilities.tofile(folder / "python.f32")
    result = {"language": "python", "us_per_chunk": statistics.median(times[WARM_UP:]), "abi_call_us": empty_call_us()}
    (folder / "python.json").write_text(json.dumps(result) + "\n")


def empty_call_us(calls: int = 200_000) -> float:
    """What a call of the ABI that does nothing costs."""
    from stator._stator import lib

    start = time.perf_counter()
    for _ in range(calls):
        lib.stator_abi_version()
    return (time.perf_counter() - start) / calls * 1e6


if __name__ == "__main__":
    main(Path(sys.argv[1]))
