#!/usr/bin/env python3
"""Prints what the four language programs found in the recording, and what each of them costs.

    report.py OUTDIR

Reads OUTDIR/chunks.json and what run.sh left in OUTDIR/round-*. Exits with 1 when a language is missing, strays from TorchScript's
interpreter, differs from the other languages or from round to round, or did not run as many passes as the others.
"""

import json
import math
import sys
from array import array
from pathlib import Path
from struct import pack

REFERENCE = "reference"
LANGUAGES = {"c": "C", "java": "Java", "go": "Go", "python": "Python"}
NAMES = {**LANGUAGES, REFERENCE: "TorchScript's interpreter"}
TOLERANCE = 1e-5
SPEECH_BEGINS = 0.5
SPEECH_ENDS = 0.35  # lower, and for a while, so that a weak chunk does not cut a word in two
SHORTEST_PAUSE = 0.1  # seconds
WIDTH = 100
BARS = " ▁▂▃▄▅▆▇█"
BUSY = 0.1  # how far the rounds may lie apart before the table says so


class Failure(Exception):
    pass


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: report.py OUTDIR")
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        report(Path(sys.argv[1]))
    except Failure as failure:
        sys.stdout.flush()
        sys.exit(f"report.py: {failure}")


def report(folder: Path) -> None:
    chunks = read_json(folder / "chunks.json")
    rounds = sorted(folder.glob("round-*"))
    if not rounds:
        raise Failure(f"{folder}: no round-*, which run.sh makes")

    failures, runs = [], {}
    for key in NAMES:
        try:
            runs[key] = Runs(key, rounds, chunks["n"])
        except Failure as failure:
            failures.append(f"{NAMES[key]} gave no valid result: {failure}")
    if REFERENCE not in runs:
        raise Failure("\n".join(failures))

    oracle = runs[REFERENCE].probabilities
    print_timeline(oracle, chunks)
    print_table(runs, chunks)
    failures += disagreements(runs)
    if failures:
        print()
        raise Failure("\n           ".join(failures))
    furthest = max(greatest_difference(runs[key].probabilities, oracle) for key in LANGUAGES)
    away = "the interpreter's own" if furthest == 0 else f"at most {furthest:.1e} away from the interpreter's"
    print(f"\nOK: all four languages gave the same {chunks['n']} probabilities, bit for bit and in every round; they are {away}.")


class Runs:
    """What one language's program wrote in all rounds."""

    def __init__(self, key: str, rounds: list, count: int) -> None:
        self.name = NAMES[key]
        self.probabilities = read_floats(rounds[0] / f"{key}.f32", count)
        self.results = [read_json(folder / f"{key}.json") for folder in rounds]
        for folder in rounds[1:]:
            if read_floats(folder / f"{key}.f32", count).tobytes() != self.probabilities.tobytes():
                raise Failure(f"the probabilities of {folder.name} are not those of {rounds[0].name}")
        self.times = self.all("us_per_chunk")
        self.time = min(self.times)
        self.spread = max(self.times) / self.time - 1
        self.passes = self.results[0].get("passes")

    def all(self, what: str) -> list:
        values = [result.get(what) for result in self.results]
        for value in values:
            if not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise Failure(f'"{what}" should be above 0, but is {value!r}')
        return values


def read_floats(path: Path, count: int) -> array:
    values = array("f")
    try:
        values.frombytes(path.read_bytes())
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from None
    if sys.byteorder == "big":
        values.byteswap()
    if len(values) != count or count == 0:
        raise Failure(f"{path}: expected {count} probabilities, one per chunk, got {len(values)}")
    return values


def read_json(path: Path) -> dict:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from None


# ---------------------------------------------------------------------------------------------------------- timeline


def print_timeline(probabilities: array, chunks: dict) -> None:
    seconds = chunks["chunk"] / chunks["sample_rate"]
    segments = speech_segments(probabilities, round(SHORTEST_PAUSE / seconds))
    if not segments:
        raise Failure("the model heard no speech in the recording")

    length = len(probabilities) * seconds
    print(f"\nWhere the model hears speech in {length:.1f} s of recording, {len(probabilities)} chunks of {chunks['chunk']} samples\n")
    print("  " + bars(probabilities))
    print("  " + ruler(length) + "\n")
    for part in chunks["parts"]:
        heard = [(start * seconds, end * seconds) for start, end in segments]
        heard = [(start, end) for start, end in heard if part["start"] <= (start + end) / 2 < part["end"]]
        times = "   ".join(f"{start:5.2f} - {end:5.2f} s" for start, end in heard)
        print(f"  {part['name']:14}{times or '    no speech'}")


def speech_segments(probabilities: array, shortest_pause: int) -> list:
    """First chunk and the one past the last, for every stretch of speech."""
    segments, speaking = [], False
    for i, p in enumerate(probabilities):
        if not speaking and p >= SPEECH_BEGINS:
            joins_last = segments and i - segments[-1][1] < shortest_pause
            segments.append((segments.pop()[0] if joins_last else i, i + 1))
            speaking = True
        elif speaking and p >= SPEECH_ENDS:
            segments[-1] = (segments[-1][0], i + 1)
        else:
            speaking = False
    return segments


def bars(probabilities: array) -> str:
    """One character for an equal share of the chunks, as high as their mean."""
    edges = [len(probabilities) * i // WIDTH for i in range(WIDTH + 1)]
    shares = (probabilities[start : max(end, start + 1)] for start, end in zip(edges, edges[1:]))
    return "".join(BARS[round(sum(share) / len(share) * (len(BARS) - 1))] for share in shares)


def ruler(seconds: float) -> str:
    marks = ["─"] * WIDTH
    step = next(s for s in (1, 2, 5, 10, 20, 60, 300, math.inf) if seconds / s <= 12)
    second = 0
    while second < seconds:
        at = int(second / seconds * WIDTH)
        text = f"┴ {second} s "
        if at + len(text) <= WIDTH:
            marks[at : at + len(text)] = text
        second += step
    return "".join(marks)


# ------------------------------------------------------------------------------------------------------------- table


def print_table(runs: dict, chunks: dict) -> None:
    reference = runs[REFERENCE]
    rounds, passes = len(reference.times), reference.passes
    print(f"\nWhat a chunk costs on one thread (its least time in {passes} passes, mean over the chunks; best of {rounds} rounds)\n")
    header = ("", "µs a chunk", "over C", "an empty call", "greatest difference")
    line(*header)
    line(*("─" * len(text) for text in header))
    for key in LANGUAGES:
        if key not in runs:
            continue
        run = runs[key]
        over = f"{run.time - runs['c'].time:+.1f} µs" if key != "c" and "c" in runs else ""
        difference = greatest_difference(run.probabilities, reference.probabilities)
        line(f"Stator, {run.name}", f"{run.time:.1f}", over, f"{1000 * min(run.all('abi_call_us')):.0f} ns", f"{difference:.1e}")
    line(reference.name, f"{reference.time:.1f}")
    line("  on the frozen module", f"{min(reference.all('frozen_us_per_chunk')):.1f}")

    if "c" in runs:
        heard = 1e6 * chunks["chunk"] / chunks["sample_rate"]
        print(f"\nA chunk is {heard / 1000:.0f} ms of sound: from C, Stator is {heard / runs['c'].time:.0f} times faster than real time.")
    spread = max(run.spread for run in runs.values())
    if rounds > 1 and spread > BUSY:
        print(f"The machine was busy: the same program took up to {spread:.0%} longer in another round, so small differences mean nothing.")


def line(name: str, time: str = "", over: str = "", call: str = "", difference: str = "") -> None:
    print(f"  {name:26}{time:>12}{over:>13}{call:>17}{difference:>23}".rstrip())


# ------------------------------------------------------------------------------------------------------------ checks


def greatest_difference(values: array, reference: array) -> float:
    """NaN where any of the values is NaN, so that no comparison lets it pass."""
    differences = [abs(a - b) for a, b in zip(values, reference)]
    return math.nan if any(map(math.isnan, differences)) else max(differences)


def disagreements(runs: dict) -> list:
    found = []
    oracle = runs[REFERENCE]
    present = [key for key in LANGUAGES if key in runs]
    for key in present:
        run = runs[key]
        difference = greatest_difference(run.probabilities, oracle.probabilities)
        if not difference <= TOLERANCE:
            found.append(f"{run.name} is {difference:.1e} away from TorchScript's interpreter, at most {TOLERANCE:.0e} is allowed")
        if any(result.get("passes") != oracle.passes for result in run.results):
            found.append(f"{run.name} did not run {oracle.passes} passes in every round, as the interpreter did")
    for key in present[1:]:
        first, other = runs[present[0]], runs[key]
        pairs = enumerate(zip(first.probabilities, other.probabilities))
        differing = next(((i, a, b) for i, (a, b) in pairs if pack("f", a) != pack("f", b)), None)
        if differing:
            i, a, b = differing
            found.append(f"{first.name} and {other.name} differ, first in chunk {i}: {a!r} and {b!r}")
    return found


if __name__ == "__main__":
    main()
