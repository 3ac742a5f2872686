#!/usr/bin/env python3
"""Prints what the four language programs found in the recording, and what each of them costs.

    report.py OUTDIR

Exits with 1 when a language is missing, strays from TorchScript's interpreter, or differs from the other languages.
"""

import json
import math
import sys
from array import array
from pathlib import Path
from struct import pack

LANGUAGES = {"c": "C", "java": "Java", "go": "Go", "python": "Python"}
TOLERANCE = 1e-5
SPEECH_BEGINS = 0.5
SPEECH_ENDS = 0.35  # lower, and for a while, so that a weak chunk does not cut a word in two
SHORTEST_PAUSE = 0.1  # seconds
BAR_WIDTH = 100


class Failure(Exception):
    pass


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: report.py OUTDIR")
    folder = Path(sys.argv[1])
    try:
        chunks = read_json(folder / "chunks.json")
        reference = read_floats(folder / "reference.f32", chunks["n"])
        print_timeline(reference, chunks)
        check_and_print_table(folder, reference)
    except Failure as failure:
        sys.exit(f"report.py: {failure}")


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


def print_timeline(probabilities: array, chunks: dict) -> None:
    seconds = chunks["chunk"] / chunks["sample_rate"]
    segments = speech_segments(probabilities, round(SHORTEST_PAUSE / seconds))
    if not segments:
        raise Failure("the model heard no speech in the recording")

    speaking = [False] * len(probabilities)
    for start, end in segments:
        speaking[start:end] = [True] * (end - start)
    print(f"Speech in {len(probabilities) * seconds:.1f} s of recording, {len(probabilities)} chunks of {chunks['chunk']} samples:\n")
    print("  " + ruler(len(probabilities) * seconds))
    print("  " + bar(speaking))
    for start, end in segments:
        start, end = start * seconds, end * seconds
        print(f"  {start:6.2f} - {end:6.2f} s   {file_at((start + end) / 2, chunks.get('parts', []))}".rstrip())
    print()


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


def file_at(second: float, parts: list) -> str:
    return next((part["name"] for part in parts if part["start"] <= second < part["end"]), "")


def bar(speaking: list) -> str:
    """One character for an equal share of the chunks, '#' where most of them are speech."""
    edges = [len(speaking) * i // BAR_WIDTH for i in range(BAR_WIDTH + 1)]
    shares = (speaking[start:max(end, start + 1)] for start, end in zip(edges, edges[1:]))
    return "".join("#" if 2 * sum(share) >= len(share) else "." for share in shares)


def ruler(seconds: float) -> str:
    marks = [" "] * (BAR_WIDTH + 6)
    step = next(s for s in (1, 2, 5, 10, 20, 60, 300, math.inf) if seconds / s <= 12)
    second = 0
    while second < seconds:
        at = int(second / seconds * BAR_WIDTH)
        text = f"|{second} s"
        marks[at:at + len(text)] = text
        second += step
    return "".join(marks).rstrip()


def check_and_print_table(folder: Path, reference: array) -> None:
    interpreter = read_json(folder / "reference.json")
    failures, outputs, rows = [], {}, {}
    for key in LANGUAGES:
        try:
            outputs[key] = read_floats(folder / f"{key}.f32", len(reference))
            rows[key] = read_json(folder / f"{key}.json")
            rows[key]["us_per_chunk"] = positive(rows[key].get("us_per_chunk"), folder / f"{key}.json")
        except Failure as failure:
            failures.append(f"{LANGUAGES[key]} gave no result: {failure}")
            outputs.pop(key, None)

    print(f"{'':28}{'µs per chunk':>12}{'over C, µs':>13}{'over C':>9}{'empty ABI call, µs':>21}{'greatest difference':>22}")
    c_time = rows["c"]["us_per_chunk"] if "c" in outputs else None
    for key, values in outputs.items():
        time = rows[key]["us_per_chunk"]
        over = (f"{time - c_time:+13.1f}{(time / c_time - 1) * 100:+8.1f}%") if c_time and key != "c" else f"{'':22}"
        call = rows[key].get("abi_call_us")
        difference = greatest_difference(values, reference)
        print(f"{LANGUAGES[key]:28}{time:12.1f}{over}{'' if call is None else format(call, '.3f'):>21}{difference:22.1e}")
        if not difference <= TOLERANCE:
            failures.append(f"{LANGUAGES[key]} is {difference:.1e} away from TorchScript's interpreter, at most {TOLERANCE:.0e} is allowed")
    print(f"{'TorchScript interpreter':28}{interpreter['us_per_chunk']:12.1f}")
    print(f"{'  the same, module frozen':28}{interpreter['frozen_us_per_chunk']:12.1f}")

    failures += disagreements(outputs)
    if failures:
        print(flush=True)
        raise Failure("\n           ".join(failures))
    print("\nAll four languages gave the same bits.")


def positive(value, path: Path) -> float:
    if not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise Failure(f"{path}: expected \"us_per_chunk\" above 0, got {value!r}")
    return float(value)


def greatest_difference(values: array, reference: array) -> float:
    """NaN where any of the values is NaN, so that no comparison lets it pass."""
    differences = [abs(a - b) for a, b in zip(values, reference)]
    return math.nan if any(map(math.isnan, differences)) else max(differences)


def disagreements(outputs: dict) -> list:
    found = []
    first, *others = outputs or [None]
    for other in others:
        pairs = enumerate(zip(outputs[first], outputs[other]))
        differing = next(((i, a, b) for i, (a, b) in pairs if pack("f", a) != pack("f", b)), None)
        if differing:
            i, a, b = differing
            found.append(f"{LANGUAGES[first]} and {LANGUAGES[other]} differ, first in chunk {i}: {a!r} and {b!r}")
    return found


if __name__ == "__main__":
    main()
