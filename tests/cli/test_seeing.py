"""Profiles and pictures by command."""

import json
from xml.etree import ElementTree

SHAPES = [
    "--shape",
    "float32[4,1,32]",
    "--shape",
    "float32[4,1,32]",
    "--shape",
    "float32[4,50]",
]


def test_profile_shows_where_the_time_goes(stator, model):
    result = stator("profile", model("deep_and_wide"), *SHAPES, "--runs", 7)
    assert result.code == 0, result.err
    for part in ("forward: 7 runs", "by operator", "by node", "aten::bmm"):
        assert part in result.out


def test_profile_gives_json_and_a_trace(stator, model, tmp_path):
    result = stator(
        "profile",
        model("deep_and_wide"),
        *SHAPES,
        "--runs",
        5,
        "--json",
        "--trace",
        "trace.json",
    ).json
    (method,) = result["methods"]
    assert method["runs"] == 5
    assert {
        node["calls"] for node in method["nodes"] if node["operator"] == "aten::bmm"
    } == {5}
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["cat"] == "run" for event in events) == 5


def test_profile_reports_what_it_cannot_write(stator, model):
    error = stator(
        "profile",
        model("deep_and_wide"),
        *SHAPES,
        "--json",
        "--trace",
        "no/such/folder.json",
    ).error
    assert error["code"] == "IO"
    assert "no/such/folder.json" in error["message"]


def test_plan_draws_its_memory(stator, model, tmp_path):
    result = stator("plan", model("deep_and_wide"), *SHAPES, "--svg", "plan.svg")
    assert result.code == 0, result.err
    picture = ElementTree.parse(tmp_path / "plan.svg").getroot()
    assert picture.tag.endswith("svg")
    assert "bytes at offset" in (tmp_path / "plan.svg").read_text()
    assert stator("plan", model("deep_and_wide"), "--svg", "plan.svg").code == 2


def test_completion_knows_profile(stator):
    for shell in ("bash", "zsh", "fish"):
        assert "profile" in stator("completion", shell).out
