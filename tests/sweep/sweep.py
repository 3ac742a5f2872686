"""Sweeps LibTorch's operator database: every operator in Stator and in TorchScript's interpreter, or as torch.export's program in Python.

    sweep.py [--through export] [--quick] [--samples K] [--op NAME] [--shard I/N] [--option KEY=VALUE] [--jobs J] [--json FILE]

Prints `N passed, 0 failed` and fails if anything failed. Operators run in worker processes, so that a crash costs one case.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PATIENCE = 120  # seconds that a case may take
MOST_CRASHES = 5  # of one operator; the rest of its cases is left out then

Json = dict[str, Any]


class Worker:
    """A process that checks operators."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
        )
        self.unread = b""
        self.operators: list[str] = (self.reply() or {"operators": []})["operators"]

    def ask(self, request: Json) -> None:
        stdin: Any = self.process.stdin
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()

    def reply(self) -> Json | None:
        """None if the process ended or takes too long."""
        pipe: Any = self.process.stdout
        while b"\n" not in self.unread:
            if not select.select([pipe], [], [], PATIENCE)[0]:
                self.process.kill()
                return None
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                return None
            self.unread += data
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line)  # type: ignore[no-any-return]

    def end(self) -> str:
        """Waits for its end; says why it ended."""
        status = self.process.wait()
        self.errors.seek(0)
        last = self.errors.read()[-400:].decode(errors="replace").strip()
        return f"no answer for {PATIENCE} s" if status == -signal.SIGKILL else f"the process ended with {status}: {last}"


class Sweep:
    def __init__(self, request: Json) -> None:
        self.request = request
        self.outcomes: list[Json] = []
        self.begun = time.monotonic()
        self.lock = threading.Lock()

    def work(self, worker: Worker, operators: queue.SimpleQueue[int]) -> None:
        while True:
            try:
                operator = operators.get_nowait()
            except queue.Empty:
                break
            skip, lost = 0, 0
            while (skip := self.one(worker, operator, skip)) >= 0:
                worker, lost = Worker(), lost + 1
                if lost == MOST_CRASHES:
                    break
        worker.process.kill()
        worker.process.wait()

    def one(self, worker: Worker, operator: int, skip: int) -> int:
        """Checks an operator from case number `skip` on; the number to go on from if the worker is lost, else -1."""
        last: Json = {"index": skip - 1, "event": "ready", "case": f"operator {operator}"}
        worker.ask({"operator": operator, "skip": skip, **self.request})
        while (said := worker.reply()) is not None:
            if said["event"] == "done":
                return -1
            if said["event"] == "outcome":
                self.add(said)
            last = said
        why = worker.end()
        if last["event"] == "stator":
            self.add({**last, "verdict": "failed", "reason": f"crash: {why}"})
        elif last["event"] == "interpreter":
            self.add({**last, "verdict": "skipped", "reason": "the interpreter crashes", "detail": why})
        else:
            self.add({**last, "verdict": "skipped", "reason": "making the case crashes", "detail": why})
            last["index"] += 1
        return int(last["index"]) + 1

    def add(self, outcome: Json) -> None:
        with self.lock:
            self.outcomes.append(outcome)
            if outcome["verdict"] == "failed":
                print(f"FAILED {outcome['case']}: {outcome['reason']}", file=sys.stderr, flush=True)
            if len(self.outcomes) % 500 == 0:
                print(f"{len(self.outcomes)} cases, {time.monotonic() - self.begun:.0f} s", file=sys.stderr, flush=True)

    def summary(self) -> Json:
        verdicts = Counter(outcome["verdict"] for outcome in self.outcomes)
        nodes: Counter[str] = Counter()
        fallbacks: Counter[str] = Counter()
        for outcome in self.outcomes:
            nodes.update(outcome.get("nodes", {}))
            fallbacks.update(outcome.get("fallbacks", []))
        return {
            "passed": verdicts["passed"],
            "failed": verdicts["failed"],
            "passed_by_raising": sum(outcome["verdict"] == "passed" and outcome["raises"] for outcome in self.outcomes),
            "operators": len(self._operators("passed")),
            "operators_without_a_case": sorted(self._operators("skipped") - self._operators("passed", "failed", "refused")),
            "refused": self._reasons("refused"),
            "skipped": self._reasons("skipped"),
            "nodes": dict(nodes.most_common()),
            "fallbacks": dict(fallbacks.most_common()),
            "seconds": round(time.monotonic() - self.begun),
        }

    def _operators(self, *verdicts: str) -> set[str]:
        return {outcome["case"].split("/")[0] for outcome in self.outcomes if outcome["verdict"] in verdicts}

    def _reasons(self, verdict: str) -> dict[str, int]:
        return dict(Counter(outcome["reason"] for outcome in self.outcomes if outcome["verdict"] == verdict).most_common())


def chosen(names: list[str], options: argparse.Namespace) -> list[int]:
    if options.op:
        return [i for i, name in enumerate(names) if name == options.op]
    part, parts = (int(number) for number in options.shard.split("/"))
    return list(range(part, len(names), parts))


def show(summary: Json) -> None:
    for verdict in ("refused", "skipped"):
        for reason, count in summary[verdict].items():
            print(f"{count:7} {verdict}: {reason}")
    for kind, count in summary["nodes"].items():
        print(f"{count:7} nodes: {kind}")
    print(f"{summary['passed_by_raising']:7} raise as the interpreter does")
    print(f"{summary['operators']} operators in {summary['seconds']} s")
    print(f"{summary['passed']} passed, {summary['failed']} failed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--through", choices=["torchscript", "export"], default="torchscript", help="what makes archives of the operators")
    parser.add_argument("--quick", action="store_true", help="one sample of each operator")
    parser.add_argument("--samples", type=int, default=1000, help="at most so many of each dtype")
    parser.add_argument("--op", help="one operator, as the database names it: nn_functional_gelu")
    parser.add_argument("--shard", default="0/1", help="every N-th operator, from the I-th on: I/N")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="for stator.load")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--json", type=Path, help="where summary and outcomes go")
    options = parser.parse_args()
    loading = dict(option.split("=", 1) for option in options.option)
    sweep = Sweep({"through": options.through, "quick": options.quick, "samples": options.samples, "options": loading})
    operators: queue.SimpleQueue[int] = queue.SimpleQueue()
    first = Worker()
    for operator in chosen(first.operators, options):
        operators.put(operator)
    workers = [first, *(Worker() for _ in range(1, min(options.jobs, operators.qsize())))]
    threads = [threading.Thread(target=sweep.work, args=(worker, operators)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    summary = sweep.summary()
    if options.json:
        options.json.write_text(json.dumps({"summary": summary, "outcomes": sweep.outcomes}, indent=1), encoding="utf-8")
    show(summary)
    return 0 if summary["passed"] and not summary["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
