"""The command over a table of cases: progress, a summary, and an exit status. Each case runs in a process of its own, which may crash."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from cases import Case, Outcome, check
from comparison import DIALECTS

PATIENCE = 600  # seconds that a case may take

Options = list[dict[str, Any]]


def main(cases: Iterable[Case], description: str | None) -> int:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cases whose names match; may be given again")
    parser.add_argument("--dialect", action="append", default=[], choices=list(DIALECTS), help="instead of all three")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="for stator.load")
    parser.add_argument("--shard", default="0/1", help="every N-th case, from the I-th on: I/N")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    parser.add_argument("--json", type=Path, help="where summary and outcomes go")
    chosen = parser.parse_args()
    part, parts = (int(number) for number in chosen.shard.split("/"))
    picked = [case for case in cases if not chosen.only or any(fnmatch(case.name, pattern) for pattern in chosen.only)][part::parts]
    if chosen.list:
        print("\n".join(case.name for case in picked))
        return 0
    options: Options = [dict(option.split("=", 1) for option in chosen.option)]
    outcomes = run(picked, chosen.dialect or list(DIALECTS), options)
    summary = summarised(outcomes)
    if chosen.json:
        chosen.json.write_text(json.dumps({"summary": summary, "outcomes": [asdict(outcome) for outcome in outcomes]}, indent=1))
    show(summary, outcomes)
    return 0 if summary["passed"] and not summary["failed"] else 1


def run(cases: Sequence[Case], dialects: Sequence[str], options: Options) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for number, case in enumerate(cases, 1):
        begun = time.monotonic()
        found = _in_a_process(case, dialects, options)
        outcomes += found
        verdicts = ", ".join(f"{outcome.dialect} {outcome.verdict}" for outcome in found)
        print(f"{number}/{len(cases)} {case.name}: {verdicts} ({time.monotonic() - begun:.0f} s)", file=sys.stderr, flush=True)
        for outcome in found:
            if outcome.verdict == "failed":
                print(f"FAILED {case.name}, {outcome.dialect}: {outcome.reason}", file=sys.stderr, flush=True)
    return outcomes


def _in_a_process(case: Case, dialects: Sequence[str], options: Options) -> list[Outcome]:
    """Forked, so that torch is imported once; nothing has run in this process yet that a fork would break."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, case, dialects, options))
    process.start()
    theirs.close()
    try:
        found: list[Outcome] = mine.recv() if mine.poll(PATIENCE) else []
        reason = f"no answer for {PATIENCE} s"
    except EOFError:
        process.join()
        found, reason = [], f"the process ended with {process.exitcode}"
    process.kill()
    process.join()
    return found or [Outcome(case.name, "all", "failed", reason)]


def _send(answer: Connection, case: Case, dialects: Sequence[str], options: Options) -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    answer.send(check(case, dialects, options))


def summarised(outcomes: list[Outcome]) -> dict[str, Any]:
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    return {
        "cases": len({outcome.case for outcome in outcomes}),
        "passed": verdicts["passed"],
        "failed": verdicts["failed"],
        "not_exported": verdicts["not exported"],
        "runs": sum(outcome.runs for outcome in outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes)),
    }


def show(summary: dict[str, Any], outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.verdict == "not exported":
            print(f"not exported: {outcome.case}, {outcome.dialect}: {outcome.reason}")
    print(
        f"{summary['cases']} cases, {summary['runs']} runs in {summary['seconds']} s; {summary['not_exported']} archives not exported by Python"
    )
    print(f"{summary['passed']} passed, {summary['failed']} failed")
