"""A few cases of every part of the export corpus; `make corpus` runs all of it."""

import pytest

from cases import REPEATS, check
from corpus import CORPUS

BY_NAME = {case.name: case for case in CORPUS}
QUICK = (
    "bench/deep_and_wide_20",
    "bench/dlrm_64",
    "bench/transformer",
    "real/mtcnn_pnet",
    "sequence/gru/float32",
    "sequence/causal/float32",
    "dtype/arithmetic/int32",
    "dtype/shapes/bfloat16",
    "dtype/where/complex64",
    "dtype/conversion/float8_e5m2",
    "dtype/unsigned/uint16",
    "control/nested_branches",
    "control/loop_in_a_branch",
    "control/scanned",
    "writes/into_a_view_of_an_argument",
    "writes/at_a_counted_place",
    "containers/10",
    "containers/14",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_case_agrees_with_python(name):
    outcomes = check(BY_NAME[name])
    assert {outcome.dialect: outcome.reason for outcome in outcomes} == dict.fromkeys(("training", "functional", "core"), "")
    assert all(outcome.runs >= REPEATS for outcome in outcomes)


def test_a_difference_is_a_failure(monkeypatch):
    """Of the harness itself: values that are not Python's are told."""
    monkeypatch.setattr("cases.as_torch", lambda value: [value])
    outcomes = check(BY_NAME["dtype/arithmetic/int32"], dialects=["functional"])
    assert [outcome.verdict for outcome in outcomes] == ["failed"]
