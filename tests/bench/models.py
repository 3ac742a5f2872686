#!/usr/bin/env python3
"""Writes each model of the benchmark in every format that it exports to: OUTDIR/NAME.SUFFIX, and OUTDIR/models.json, which says what
there is and why the rest is missing. What is there and newer than its source stays; what failed is tried again when the source changes.

    models.py OUTDIR REAL_MODELS_DIR [--only TEXT]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = [HERE / "networks.py", HERE / "formats.py", *(HERE.parent / "models").glob("*.py")]
SECONDS_PER_EXPORT = 900
CORES = len(os.sched_getaffinity(0))


def up_to_date(path: Path) -> bool:
    return path.exists() and path.stat().st_mtime > max(source.stat().st_mtime for source in SOURCES)


def write_in_child(name: str, suffix: str, outdir: Path, archives: Path) -> None:
    """Leaves NAME.SUFFIX, or NAME.SUFFIX.why: an exporter that crashes or hangs stops only itself."""
    path = outdir / f"{name}.{suffix}"
    why = path.with_name(path.name + ".why")
    if up_to_date(path) or up_to_date(why):
        return
    for old in (path, why):
        old.unlink(missing_ok=True)
    command = [sys.executable, __file__, str(outdir), str(archives), "--write", name, suffix]
    try:
        child = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_EXPORT, check=False)
        if child.returncode == -signal.SIGINT:
            return
        failure = "" if child.returncode == 0 else last_line(child.stderr) or f"ended with {child.returncode}"
    except subprocess.TimeoutExpired:
        failure = f"not done after {SECONDS_PER_EXPORT} s"
    if failure:
        path.unlink(missing_ok=True)
        why.write_text(failure + "\n")
    print(f"{path.name}: {failure or 'made'}", flush=True)


def write_in_children(wanted: list[tuple[str, str]], at_once: int, outdir: Path, archives: Path) -> None:
    pool = ThreadPoolExecutor(at_once)
    try:
        for child in [pool.submit(write_in_child, name, suffix, outdir, archives) for name, suffix in wanted]:
            child.result()
    finally:
        pool.shutdown(cancel_futures=True)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.startswith("FAILED ")]
    return lines[-1].removeprefix("FAILED ") if lines else ""


def write_one(name: str, suffix: str, outdir: Path, archives: Path) -> int:
    from formats import write

    path = outdir / f"{name}.{suffix}"
    unfinished = path.with_name("unfinished." + path.name)
    try:
        write(name, suffix, unfinished, archives, CORES)
    except Exception as error:
        traceback.print_exc()
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        print(f"FAILED {type(error).__name__}: {first}"[:300], file=sys.stderr)
        return 1
    unfinished.rename(path)
    return 0


def describe(names: list[str], suffixes: list[str], outdir: Path) -> dict[str, dict]:
    from networks import BENCH_MODELS

    described = {}
    for name in names:
        model = BENCH_MODELS[name]
        files = {suffix: outdir / f"{name}.{suffix}" for suffix in suffixes}
        described[name] = {
            "title": model.title,
            "stateful": model.stateful,
            "files": [suffix for suffix, path in files.items() if path.exists()],
            "missing": {s: Path(f"{path}.why").read_text().strip() for s, path in files.items() if not path.exists()},
        }
    return described


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", type=Path)
    parser.add_argument("archives", type=Path)
    parser.add_argument("--only", default="", help="models whose names hold this")
    parser.add_argument("--write", nargs=2, metavar=("NAME", "SUFFIX"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        return write_one(*arguments.write, arguments.outdir, arguments.archives)
    from formats import AUTOTUNED, formats
    from networks import BENCH_MODELS

    arguments.outdir.mkdir(parents=True, exist_ok=True)
    names = [name for name in BENCH_MODELS if arguments.only in name]
    suffixes = list(formats(CORES))  # the quick ones first
    autotuned = [suffix for suffix in suffixes if suffix.startswith(AUTOTUNED)]
    for some, at_once in (([suffix for suffix in suffixes if suffix not in autotuned], CORES), (autotuned, 1)):
        write_in_children([(name, suffix) for suffix in some for name in names], at_once, arguments.outdir, arguments.archives)
    known = arguments.outdir / "models.json"
    described = (json.loads(known.read_text()) if known.exists() else {}) | describe(names, suffixes, arguments.outdir)
    known.write_text(json.dumps({name: described[name] for name in BENCH_MODELS if name in described}, indent=1) + "\n")
    return 0


sys.exit(main())
