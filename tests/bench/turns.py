"""A process that has one model open in one peer and is timed in turns: the caller's side of what bench.cpp and worker.py speak."""

import json
import statistics
import subprocess
from typing import Any

# A sample lasts as long at least, so that reading the clock (about 0.05 µs) is lost in it: short runs are timed many at a time.
SAMPLE_US = 20
WARM_US = 3000


class Worker:
    """A process that has one model open in one peer."""

    def __init__(self, peer: str, command: list[str]) -> None:
        self.peer = peer
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.report: dict[str, Any] = self.answer() or {"failed": f"the process ended with {self.process.wait()}"}
        self.samples: list[float] = []
        self.medians: list[float] = []  # of each round
        self.runs = self.count = self.warm = 1

    @property
    def failed(self) -> bool:
        return "failed" in self.report

    def answer(self) -> Any:
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, warm: int, samples: int, runs: int) -> list[float]:
        try:
            self.process.stdin.write(f"{warm} {samples} {runs}\n")
            self.process.stdin.flush()
            times = self.answer()
        except BrokenPipeError:
            times = None
        if times is None:
            self.report = {"failed": f"the process ended with {self.process.wait()} while it was timed"}
        return times or []

    def settle(self, turn_us: float) -> None:
        """Finds how many runs make a sample and a turn."""
        once = min(self.ask(10, 5, 1), default=1.0)
        once = min(self.ask(max(1, int(WARM_US / once)), 5, max(1, int(SAMPLE_US / once))), default=1.0)
        self.runs = max(1, round(SAMPLE_US / once))
        self.count = min(max(3, int(turn_us / (self.runs * once))), 5000)
        self.warm = max(1, int(WARM_US / once))

    def take_turn(self) -> None:
        times = self.ask(self.warm, self.count, self.runs)
        if times:
            self.samples += times
            self.medians.append(statistics.median(times))

    def result(self) -> dict[str, Any]:
        if self.failed or not self.samples:
            return self.report
        return self.report | {
            "p50_us": percentile(self.samples, 0.50),
            "p99_us": percentile(self.samples, 0.99),
            "samples": len(self.samples),
            "runs_per_sample": self.runs,
            "round_medians_us": self.medians,
        }

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
