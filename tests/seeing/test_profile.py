"""Profiles, metrics and pictures, from Python."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

import stator

RUNS = 20


class Loops(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        y = self.layer(x)
        for _ in range(n):
            y = torch.tanh(y * 0.5)
        if n > 2:
            y = torch.relu(y)
        return y


@pytest.mark.parametrize("plans", ["dynamic", "signature"])
def test_calls_are_counted_by_node_and_time_adds_up(load, plans):
    model = load(Loops(), plans=plans)
    runtime, arena = model.runtime(), model.arena()
    runtime.bind(np.ones((2, 8), np.float32), 3)
    for _ in range(4):
        runtime.run(arena)
    with runtime.profile(events=100) as profile:
        for _ in range(RUNS):
            runtime.run(arena)
    runtime.run(arena)
    (method,) = profile.data()["methods"]
    assert (method["method"], method["runs"]) == ("forward", RUNS)
    calls = {row["operator"]: row["calls"] for row in method["operators"]}
    assert calls["aten::tanh"] == 3 * RUNS
    assert calls["aten::linear"] == calls["aten::relu"] == RUNS
    assert 0 < sum(row["total_ns"] for row in method["nodes"]) <= method["total_ns"] * 1.01
    assert {row["kind"] for row in method["nodes"]} <= {"bound", "out", "native", "fallback", "control"}
    if plans == "signature":
        assert "bound" in {row["kind"] for row in method["operators"]}
    text = profile.text()
    assert f"forward: {RUNS} runs" in text
    for row in method["operators"]:
        assert row["operator"] in text
    assert "test_profile.py" in text


def test_a_trace_holds_the_first_events_inside_their_runs(load):
    model = load(Loops())
    runtime, arena = model.runtime(), model.arena()
    runtime.bind(np.ones((2, 8), np.float32), 1)
    profile = runtime.profile(events=1000)
    runtime.run(arena)
    runtime.run(arena)
    events = json.loads(profile.trace())["traceEvents"]
    runs = [event for event in events if event["cat"] == "run"]
    nodes = [event for event in events if event["cat"] != "run"]
    assert [event["name"] for event in runs] == ["forward"] * 2
    assert {event["ph"] for event in events} == {"X"}
    assert sum(event["name"] == "aten::linear" for event in nodes) == 2
    slack = 1e-3
    for event in nodes:
        assert any(r["ts"] - slack <= event["ts"] and event["ts"] + event["dur"] <= r["ts"] + r["dur"] + slack for r in runs)
    short = runtime.profile(events=3)
    runtime.run(arena)
    assert len(json.loads(short.trace())["traceEvents"]) == 3


def test_metrics_tell_runs_failures_latencies_and_plans(load):
    model = load(Loops(), plans="signature", name="loops")
    runtime, arena = model.runtime(), model.arena()
    runtime.bind(np.ones((2, 8), np.float32), 1)
    for _ in range(5):
        runtime.run(arena)
    runtime.bind(np.ones((2, 7), np.float32), 1)
    with pytest.raises(stator.OperatorError):
        runtime.run(arena)
    metrics = model.metrics()
    assert (metrics["name"], metrics["runs"], metrics["failures"]) == ("loops", 5, {"OPERATOR_ERROR": 1})
    assert metrics["plan_cache"] == {"hits": 3, "misses": 3, "builds": 1, "evictions": 0}
    latency = metrics["latency"]
    assert sum(count for _, count in latency["buckets"]) == 5
    assert 0 < latency["p50_ns"] <= latency["p99_ns"]
    assert latency["sum_ns"] <= sum(bound * count for bound, count in latency["buckets"])
    assert metrics["arena_bytes"] == arena.bytes
    assert metrics["workspace_bytes"] == runtime.workspace_bytes


def test_the_page_for_prometheus_is_well_formed(load):
    model = load(Loops(), name='a "name"\nof two lines')
    model(np.ones((2, 8), np.float32), 1)
    seen = set()
    named = False
    for line in stator.prometheus_metrics().splitlines():
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert family not in seen
            seen.add(family)
        elif not line.startswith("#"):
            labels, value = line.rsplit(" ", 1)
            float(value)
            assert labels.startswith(family)
            named |= 'module="a \\"name\\"\\nof two lines"' in labels
    assert named
    assert {"stator_runs_total", "stator_run_seconds", "stator_pool_lent"} <= seen


def test_the_picture_shows_each_planned_tensor_where_the_plan_has_it(load):
    model = load(Loops())
    model(np.ones((2, 8), np.float32), 3)
    model(np.ones((2, 8), np.float32), 3)
    picture = ElementTree.fromstring(model.method("forward").plan_svg())
    titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    made = [buffer for buffer in model.plan()["buffers"] if buffer["bytes"]]
    assert len(titles) == len(made) > 2
    for buffer in made:
        line = f"{buffer['value']}: {buffer['bytes']} bytes at offset {buffer['offset']}, alive from {buffer['first']} to {buffer['last']}"
        assert line in titles
