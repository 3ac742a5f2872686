"""Voice activity detection in Python: vad.py DIR. What it reads and writes is in README.md beside this file."""

import json
import sys
import time
from pathlib import Path

import numpy as np

import stator

CHUNK = 512
SAMPLE_RATE = 16000
WARM_UP, PASSES = 2, 5


def main(folder: Path) -> None:
    chunks = np.fromfile(folder / "chunks.f32", "<f4").reshape(-1, CHUNK)
    probabilities = np.zeros(len(chunks), "<f4")
    with stator.load(folder / "model.pt") as model, model.runtime(intra_op_threads=1) as runtime, model.arena() as arena:
        reset = runtime.method("reset_states")
        forward = runtime.method("forward")
        window = forward.input(0, (1, CHUNK))
        forward.bind(window, SAMPLE_RATE)
        probability = np.zeros((1, 1), "float32")
        forward.bind_output(0, probability)

        times = np.zeros((WARM_UP + PASSES, len(chunks)))
        for times_of_pass in times:
            reset.run(arena)
            for index, chunk in enumerate(chunks):
                start = time.perf_counter()
                window[0] = chunk
                forward.run(arena)
                probabilities[index] = probability[0, 0]
                times_of_pass[index] = time.perf_counter() - start

    probabilities.tofile(folder / "python.f32")
    us_per_chunk = 1e6 * times[WARM_UP:].min(axis=0).mean()
    result = {"language": "python", "passes": PASSES, "us_per_chunk": us_per_chunk, "abi_call_us": empty_call_us()}
    (folder / "python.json").write_text(json.dumps(result) + "\n")


def empty_call_us(calls: int = 1_000_000) -> float:
    """What a call of the ABI costs that does next to nothing."""
    from stator._stator import lib

    start = time.perf_counter()
    for _ in range(calls):
        lib.stator_live_handles(lib.STATOR_HANDLE_STATUS)
    return (time.perf_counter() - start) / calls * 1e6


if __name__ == "__main__":
    main(Path(sys.argv[1]))
