#!/usr/bin/env python3
"""What Go, Python and Java add to a run, beside an empty call into C of each language; adds `languages` to what bench.py wrote.

    languages.py RESULTS [--build DIR] [--python PYTHON]

Go by testing.B (bindings/go/stator/bench_test.go), Java by JMH (bindings/java/bench), Python by python_overhead.py; pinned to one core.
A language whose tools are missing is left out, with the reason.
"""

import argparse
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turns import Worker

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODEL = "deep_and_wide_1"
Entries = list[dict[str, Any]]


def run(command: list[str], folder: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {lines[-1] if lines else ''}")
    return done.stdout


def go(_arguments: argparse.Namespace) -> Entries:
    command = ["go", "test", "-run", "^$", "-bench", "^BenchmarkRunOverC$", "-benchtime", "1x", "-count", "5", "."]
    output = run(command, ROOT / "bindings" / "go" / "stator")
    best: dict[str, dict[str, float]] = {}
    for line in output.splitlines():
        model = re.match(r"BenchmarkRunOverC/(\w+?)(-\d+)?\s", line)
        if not model:
            continue
        found = {unit: float(value) for value, unit in re.findall(r"([-\d.]+) (empty-ns|C-ns|run-ns)", line)}
        if model[1] not in best or found["run-ns"] < best[model[1]]["run-ns"]:
            best[model[1]] = found
    return [
        {"model": model, "empty_ns": found["empty-ns"], "run_ns": found["run-ns"], "c_ns": found["C-ns"]} for model, found in best.items()
    ]


def python(arguments: argparse.Namespace) -> Entries:
    command = [str(arguments.python), str(HERE / "python_overhead.py"), str(arguments.program), str(arguments.stem)]
    return [{"model": "deep_and_wide", **json.loads(run(command))}]


def java(arguments: argparse.Namespace) -> Entries:
    target = ROOT / "bindings" / "java" / "bench" / "target"
    results = arguments.results.resolve().with_name("jmh.json")
    before = c_run(arguments)
    settings = [f"-Dstator.library.path={arguments.build / 'lib'}", f"-Dstator.bench.model={arguments.stem}.pt"]
    classes = f"{target / 'classes'}:{target / 'lib'}/*"
    run(["java", *settings, "-cp", classes, "org.openjdk.jmh.Main", "-rf", "json", "-rff", str(results)])
    after = c_run(arguments)
    scores = {entry["benchmark"].rsplit(".", 1)[1]: entry["primaryMetric"]["score"] for entry in json.loads(results.read_text())}
    c_ns = (before + after) / 2
    return [{"model": "deep_and_wide", "empty_ns": scores["emptyCall"], "run_ns": scores["run"], "c_ns": c_ns}]


def c_run(arguments: argparse.Namespace) -> float:
    worker = Worker("stator", [str(arguments.program), "stator", str(arguments.stem), "1"])
    times = worker.ask(20000, 101, 2000)
    worker.close()
    return sorted(times)[len(times) // 2] * 1e3


def measured(language: str, measure: Callable[[argparse.Namespace], Entries], arguments: argparse.Namespace) -> Entries:
    try:
        entries = measure(arguments)
    except (RuntimeError, OSError, KeyError, subprocess.TimeoutExpired) as error:
        entries = [{"failed": str(error)}]
    for entry in entries:
        print(f"{language}: {entry}", flush=True)
    return [{"language": language, **entry} for entry in entries]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--python", type=Path, default=ROOT / ".venv" / "bin" / "python")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.program = arguments.program or arguments.build / "bin" / "stator_bench"
    arguments.stem = arguments.results.resolve().parent / "models" / MODEL
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    entries: Entries = []
    for language, measure in {"Go": go, "Python": python, "Java": java}.items():
        entries += measured(language, measure, arguments)
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {"rows": [], "peers": {}}
    arguments.results.write_text(json.dumps(results | {"languages": entries}, indent=1) + "\n")


main()
