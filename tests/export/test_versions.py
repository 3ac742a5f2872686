"""Archives that older versions of torch wrote themselves (fixtures/make.sh), beside what those versions made of the same arguments."""

from __future__ import annotations

import copy

import pytest

import stator
from comparison import OPTIONS, as_torch, planned, same
from fixtures.kept import archives, runs

AUTOCAST = {name for name in archives() if name.endswith("/mixed.export.pt2")}
VERSIONS = sorted({name.split("/")[0] for name in archives()})


def run_all(module: stator.Module, archive: str, what: str) -> None:
    forward = module.runtime().method("forward")
    kept, has_state = runs(archive)
    for number, run in enumerate(kept if has_state else kept * 3):
        args, kwargs = copy.deepcopy((run["args"], run["kwargs"]))
        same(as_torch(forward.call(*args, **kwargs)), run["result"], f"{what}, run {number}")
        same([args, kwargs], run.get("afterwards", [run["args"], run["kwargs"]]), f"{what}, run {number}: inputs after the run")


@pytest.mark.parametrize("archive", sorted(archives().keys() - AUTOCAST))
def test_archives_run_as_where_they_were_written(archive):
    for options in OPTIONS:
        module = stator.load(archives()[archive], **options)
        run_all(module, archive, str(options))
    run_all(planned(module), archive, "a planned file")


@pytest.mark.parametrize("archive", sorted(AUTOCAST))
def test_autocast_is_refused_with_what_to_do(archive):
    with pytest.raises(stator.UnsupportedError, match=r"torch.autocast .* save ep.run_decompositions"):
        stator.load(archives()[archive])


@pytest.mark.parametrize(
    ("version", "member"),
    [
        ("2.5.1", b"serialized_exported_program.json"),
        ("2.7.1", b"serialized_exported_program.json"),
        ("2.8.0", b"data/weights/model.pt"),
        ("2.9.1", b"data/weights/model_weights_config.json"),
        ("2.12.1", b"data/weights/model_weights_config.json"),
        ("2.15.0", b"data/weights/model_weights_config.json"),
    ],
)
def test_every_layout_is_there(version, member):
    assert member in archives()[f"{version}/dense.core.pt2"]


@pytest.mark.parametrize("version", VERSIONS)
def test_dynamic_sizes_and_their_ranges_are_described(version):
    def inputs(model: str) -> list[dict]:
        return stator.load(archives()[f"{version}/{model}.core.pt2"]).describe()["methods"][0]["inputs"]

    batch = inputs("dense")[0]
    assert (batch["shape"], batch["dynamic"][0]["dimension"], batch["dynamic"][0]["most"]) == ([None, 4], 0, 64)
    x, twice = inputs("lengths")
    assert (x["dynamic"][0]["least"], x["dynamic"][0]["most"]) == (3, 16)
    assert twice["dynamic"][0]["size"] == "2*" + x["dynamic"][0]["size"]
    assert "most" not in inputs("attention")[0]["dynamic"][0]


@pytest.mark.parametrize("version", VERSIONS)
def test_sizes_are_checked(version):
    module = stator.load(archives()[f"{version}/lengths.export.pt2"])
    (run, *_), _ = runs(f"{version}/lengths.export.pt2")
    x, twice = run["args"]
    with pytest.raises(stator.ShapeMismatchError, match=r'input "x".*dimension 0 is 2, expected at least 3'):
        module(x[:2], twice[:4])
    with pytest.raises(stator.ShapeMismatchError, match=r'input "twice".*dimension 0 is 6, expected 2\*s[0-9]+ = 8'):
        module(x, twice[:6])
