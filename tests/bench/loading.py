#!/usr/bin/env python3
"""Times loading: a planned file, beside the archive that it was made of with a warm-up of the same signature. One process; the fastest of
several turns, since what is asked is what the work takes, not what else the machine does.

    loading.py [REAL_MODELS_DIR] [--turns N] [--threads N] [--json]
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import stator
from formats import write_torchscript
from networks import BENCH_MODELS, Args, inputs

HERE = Path(__file__).resolve().parent
MODELS = ("deep_and_wide_1", "mlp_1", "dlrm_1", "transformer", "resnet18", "minilm", "efficientnet_lite0")


def signature_of(module: stator.Module, arguments: Args) -> str:
    names = [name for name, _ in module.method("forward").inputs]
    return ", ".join(
        f"{name}: {str(value.dtype).removeprefix('torch.')}{list(value.shape)}" for name, value in zip(names, arguments, strict=False)
    )


def milliseconds(turns: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        kept = work()
        times.append(time.perf_counter() - start)
        del kept
    return 1e3 * min(times)


def measure(archive: Path, arguments: Args, turns: int, threads: int) -> dict[str, object]:
    signature = signature_of(stator.load(archive), arguments)

    def afresh(weights: str) -> stator.Module:
        module = stator.load(archive, weights=weights)
        module.warm_up(signature, intra_op_threads=threads)
        return module

    with tempfile.TemporaryDirectory() as folder:
        planned = Path(folder) / "model.stator"
        afresh("copy").save(planned)
        assert stator.load(planned).describe()["planned"]["restored"] == 1
        fresh = milliseconds(turns, lambda: afresh("copy"))
        mapped = milliseconds(turns, lambda: afresh("map"))
        loaded = milliseconds(turns, lambda: stator.load(planned))
        return {
            "signature": signature,
            "archive_bytes": archive.stat().st_size,
            "planned_bytes": planned.stat().st_size,
            "afresh_ms": fresh,
            "afresh_mapped_ms": mapped,
            "planned_ms": loaded,
            "times": fresh / loaded,
        }


def main() -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real_models", nargs="?", type=Path, default=HERE.parents[1] / "build" / "real_models")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in MODELS:
        if BENCH_MODELS[name].archive and not (options.real_models / f"{name}.pt").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / f"{name}.pt"
            write_torchscript(name, archive, options.real_models)
            results[name] = measure(archive, inputs(name), options.turns, options.threads)
    if options.json:
        print(json.dumps(results, indent=2))
        return 0
    print(f"{'model':20} {'archive':>9} {'planned':>9} {'afresh, ms':>11} {'mapped':>8} {'planned':>8} {'times':>6}")
    for name, row in results.items():
        print(
            f"{name:20} {row['archive_bytes'] / 1e6:6.1f} MB {row['planned_bytes'] / 1e6:6.1f} MB {row['afresh_ms']:11.1f} "
            f"{row['afresh_mapped_ms']:8.1f} {row['planned_ms']:8.1f} {row['times']:6.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
