"""fuzz.py [--count N] [--seed S] [--first I] [--only I] [--build FOLDER] [--json FILE]: damaged archives, loaded and run.

Each must end in a status or a result: no crash, no hang, no other exception, and memory in proportion to the file. What fails is kept
below FOLDER/fuzz with the seed and number that make it again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import intact
from child import specimen

HERE = Path(__file__).resolve().parent
PATIENCE = 30  # seconds that one may take on a busy machine
LOAD_SECONDS = 10
LOAD_KIB = 96 << 10  # what a load may take beside what is in proportion to the file
LOAD_TIMES_FILE = 64  # JSON's values are many times as large as their text
FAILED = ("crash", "hang", "raised", "InternalError")
LOOPING = "endless"  # a run, which is the model's own business if it has a loop
WITH_LOOPS = ("control", "scripted.")

Json = dict[str, Any]


class Child:
    def __init__(self, folder: Path, seed: int) -> None:
        self.errors = (folder / "child.log").open("w+b")
        command = [sys.executable, str(HERE / "child.py"), str(folder / "corpus"), str(seed)]
        self.process = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        stdout: Any = self.process.stdout
        if not stdout.readline():
            self.close()
            raise SystemExit(f"the sound archives do not run: {self.last_words()}")

    def attempt(self, number: int) -> Json:
        """What happened to it; the process does not survive a crash, a hang or an endless run."""
        stdin: Any = self.process.stdin
        stdout: Any = self.process.stdout
        stdin.write(f"{number}\n".encode())
        loaded = False
        while select.select([stdout], [], [], PATIENCE)[0]:
            line = stdout.readline()
            if not line:
                self.process.wait()
                return self.lost("crash", loaded)
            said: Json = json.loads(line)
            if "load" in said:
                return said
            loaded = True
        self.close()
        return self.lost(LOOPING if loaded else "hang", loaded)

    def lost(self, state: str, loaded: bool) -> Json:
        states = {"load": "ok", "run": state} if loaded else {"load": state, "run": None}
        return {**states, "message": f"ended with {self.process.returncode}: {self.last_words()}"}

    def last_words(self) -> str:
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 600))  # a model that prints in a loop leaves gigabytes
        return self.errors.read(600).decode(errors="replace")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def why_failed(said: Json, archive: str) -> str:
    """Nothing if it is as it should be."""
    for state in (said["load"], said["run"]):
        if state in FAILED or (state == LOOPING and not archive.startswith(WITH_LOOPS)):
            return f"{state}: {said.get('message', '')}"
    if said["run"] == LOOPING:
        return ""
    if said["load_seconds"] > LOAD_SECONDS:
        return f"the load took {said['load_seconds']:.1f} s"
    if said["load_kib"] > LOAD_KIB + LOAD_TIMES_FILE * said["bytes"] // 1024:
        return f"the load of {said['bytes']} bytes took {said['load_kib']} KiB"
    return ""


def fuzz(numbers: range, seed: int, folder: Path) -> Json:
    states: Counter[str] = Counter()
    failures = []
    most: Counter[str] = Counter()
    child = Child(folder, seed)
    begun = time.monotonic()
    for number in numbers:
        said = child.attempt(number)
        why = why_failed(said, said.get("archive") or specimen(folder / "corpus", seed, number)[0])
        states[f"{said['load']}, {said['run']}" if said["run"] else said["load"]] += 1
        for key in ("load_kib", "load_seconds", "run_seconds"):
            most[key] = max(most[key], said.get(key, 0))
        if why:
            name, how, data = specimen(folder / "corpus", seed, number)
            kept = folder / f"failed_{seed}_{number}{Path(name).suffix}"
            kept.write_bytes(data)
            failures.append({"seed": seed, "number": number, "archive": name, "damage": how, "why": why, "file": str(kept)})
            print(f"FAILED --seed {seed} --only {number}: {name}, {how}: {why[:800]} ({kept})", file=sys.stderr, flush=True)
        if child.process.returncode is not None:
            child = Child(folder, seed)
    child.close()
    return {
        "seed": seed,
        "count": len(numbers),
        "states": dict(states.most_common()),
        "most": most,
        "failures": failures,
        "seconds": time.monotonic() - begun,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="random without it")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--only", type=int, default=None, help="this one alone")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--json", type=Path, help="where what happened goes")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    folder = options.build / "fuzz"
    print(f"seed {seed}", flush=True)
    intact.make(folder / "corpus")
    numbers = range(options.first, options.first + options.count) if options.only is None else range(options.only, options.only + 1)
    summary = fuzz(numbers, seed, folder)
    if options.json:
        options.json.write_text(json.dumps(summary, indent=1), encoding="utf-8")
    for state, count in summary["states"].items():
        print(f"{count:7} {state}")
    most = summary["most"]
    print(f"a load took at most {most['load_kib'] / 1024:.0f} MiB and {most['load_seconds']:.2f} s, runs {most['run_seconds']:.2f} s")
    print(f"{summary['count']} archives of seed {seed} in {summary['seconds']:.0f} s, {len(summary['failures'])} failed")
    return 1 if summary["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
