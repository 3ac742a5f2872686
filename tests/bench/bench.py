#!/usr/bin/env python3
"""Times Stator and its peers on the models that models.py wrote, and writes results.json.

    bench.py BIN_DIR MODELS_DIR RESULTS [--only TEXT] [--peers NAME,...] [--rounds N] [--turn-ms MS] [--threads one|all|both]

Each peer has a process of its own for each model, freshly started: it loads, runs once, compares with eager PyTorch, and reports what
memory it took. Then the peers take turns, in another order every round; between turns all of them sleep. With one thread all processes
are pinned to one core.
"""

import argparse
import json
import os
import platform
import random
import sys
import time
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from peers import PEERS
from turns import SAMPLE_US, Worker

HERE = Path(__file__).resolve().parent
CORES = sorted(os.sched_getaffinity(0))


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.models = json.loads((arguments.models / "models.json").read_text())
        self.random = random.Random(0)

    def command(self, peer: str, model: str, threads: int) -> list[str]:
        program = PEERS[peer].program
        start = [sys.executable, str(HERE / "worker.py")] if program == "python" else [str(self.arguments.bin / program)]
        return [*start, peer, str(self.arguments.models / model), str(threads)]

    def missing(self, peer: str, model: str, threads: int) -> str:
        suffix = PEERS[peer].needs(threads)
        described = self.models[model]
        if suffix not in described["files"]:
            return described["missing"].get(suffix, f"no file .{suffix}")
        program = PEERS[peer].program
        return "" if program == "python" or (self.arguments.bin / program).exists() else f"{program} is not built"

    def row(self, model: str, threads: int) -> dict[str, Any]:
        """All peers on one model."""
        results: dict[str, dict[str, Any]] = {}
        workers: list[Worker] = []
        try:
            for peer in self.arguments.peers:
                missing = self.missing(peer, model, threads)
                if missing:
                    results[peer] = {"missing": missing}
                    continue
                worker = Worker(peer, self.command(peer, model, threads))
                workers.append(worker)
                if not worker.failed:
                    worker.settle(self.arguments.turn_ms * 1000)
            for _ in range(self.arguments.rounds):
                turns = [worker for worker in workers if not worker.failed]
                self.random.shuffle(turns)
                for worker in turns:
                    if threads > 1:
                        time.sleep(0.05)  # until the last one's threads have stopped spinning
                    worker.take_turn()
        finally:
            for worker in workers:
                worker.close()
        results |= {worker.peer: worker.result() for worker in workers}
        return {
            "model": model,
            "title": self.models[model]["title"],
            "threads": threads,
            "peers": {peer: results[peer] for peer in self.arguments.peers},
        }

    def rows(self) -> list[dict[str, Any]]:
        rows = []
        for threads in self.thread_counts():
            os.sched_setaffinity(0, {CORES[-1]} if threads == 1 else CORES)
            for model in self.models:
                if self.arguments.only in model:
                    row = self.row(model, threads)
                    print_progress(row)
                    rows.append(row)
        os.sched_setaffinity(0, CORES)
        return rows

    def thread_counts(self) -> list[int]:
        wanted = {"one": [1], "all": [len(CORES)], "both": [1, len(CORES)]}[self.arguments.threads]
        return sorted(set(wanted))


def print_progress(row: dict[str, Any]) -> None:
    times = [
        f"{peer} {result['p50_us']:.2f}" + ("" if within_tolerance(result) else " (!)")
        for peer, result in row["peers"].items()
        if "p50_us" in result
    ]
    print(f"{row['title']}, {row['threads']} thread(s): " + ", ".join(times), flush=True)


def within_tolerance(result: dict[str, Any]) -> bool:
    """null stands for infinity."""
    return all(error is not None and error <= 1 for error in result["errors"].values())


def machine() -> dict[str, Any]:
    described = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in described if line.startswith("model name")), "?")
    packages = ["torch", "onnxruntime", "openvino", "onnx", "onnxscript", "executorch"]
    return {
        "cpu": cpu,
        "cores": len(CORES),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    }


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="", help="models whose names hold this")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn-ms", type=float, default=60)
    parser.add_argument("--threads", choices=["one", "all", "both"], default="both")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    rows = bench.rows()
    results = {
        "machine": machine(),
        "settings": {"rounds": arguments.rounds, "turn_ms": arguments.turn_ms, "sample_us": SAMPLE_US},
        "peers": {peer: {"title": PEERS[peer].title, "setup": PEERS[peer].setup} for peer in arguments.peers},
        "rows": rows,
    }
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    arguments.results.write_text(json.dumps(results, indent=1) + "\n")


main()
