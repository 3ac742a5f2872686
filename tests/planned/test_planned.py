"""What a planned file keeps, what it saves, and what becomes of one that does not fit or is damaged."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stator
from planned_files import MODELS, Mlp, rewrite_json, rewritten, scripted

X = np.linspace(-1, 1, 4 * 64, dtype=np.float32).reshape(4, 64)


def counts(module: stator.Module) -> dict[str, int]:
    return {key: module.metrics()["plan_cache"][key] for key in ("hits", "misses", "builds")}


def test_first_run_finds_its_plan(mlp):
    module = stator.load(mlp)
    assert module.describe()["planned"]["restored"] == 1
    assert module.describe()["planned"]["outdated"] is None
    module(X)
    assert counts(module) == {"hits": 1, "misses": 0, "builds": 0}


def test_results_are_the_same_bit_for_bit(mlp):
    torch.manual_seed(0)
    original = stator.load(scripted(Mlp()))
    original.warm_up("x: float32[4, 64]")
    for rows in (4, 4, 3, 1):
        assert np.array_equal(stator.load(mlp)(X[:rows]).numpy(), original(X[:rows]).numpy())


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.pt")), ids=lambda path: path.stem)
def test_models_are_described_as_before(path, tmp_path):
    try:
        original = stator.load(path)
    except stator.Error:
        pytest.skip("no model, on purpose")
    original.save(tmp_path / "model.stator")
    planned = stator.load(tmp_path / "model.stator")
    before, after = original.describe(), planned.describe()
    after.pop("planned")
    assert before == after
    for name, method in original.methods.items():
        assert outcome(planned.method(name)) == outcome(method)


def outcome(method: Any) -> Any:
    try:
        return [(node["operator"], node["kind"], node.get("why"), node.get("source")) for node in method.plan()["nodes"]]
    except stator.Error as error:
        return type(error), str(error)


def test_saved_again_is_the_same_file(mlp, tmp_path):
    stator.load(mlp).save(tmp_path / "again.stator")
    assert records(mlp) == records(tmp_path / "again.stator")


def records(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}

    def keep(name: str, content: bytes) -> bytes:
        if name.startswith("stator/"):
            found[name] = content
        return content

    rewritten(path, keep)
    return found


def test_tied_weights_stay_tied(tmp_path):
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(1000, 64)
            self.out = torch.nn.Linear(64, 1000, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.out(self.embed(ids))

    original = stator.load(scripted(Tied()))
    original.save(tmp_path / "tied.stator")
    assert (tmp_path / "tied.stator").stat().st_size < 1.5 * 1000 * 64 * 4
    assert stator.load(tmp_path / "tied.stator").describe()["weights_bytes"] == original.describe()["weights_bytes"]


def test_state_that_is_one_object_stays_one(tmp_path):
    class Shares(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            buffer = torch.zeros(3)
            self.register_buffer("whole", buffer)
            self.register_buffer("part", buffer[1:])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.whole.add_(x)
            return self.part + 0

    path = tmp_path / "shares.stator"
    stator.load(scripted(Shares())).save(path)
    runtime = stator.load(path).runtime()
    for run in (1, 2):
        assert runtime.method("forward").call(np.ones(3, np.float32)).numpy().tolist() == [run, run]


def test_texts_of_any_bytes_and_numbers_of_any_kind(tmp_path):
    class Odd(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return ["\x00é\u2028", ""], {"a": float("inf"), "b": -0.0}, float("nan"), 1.0, 1, 2 - 3j, True, None, x

    path = tmp_path / "odd.stator"
    stator.load(scripted(Odd())).save(path)
    got = stator.load(path)(np.ones(1, np.float32))
    assert repr(got[:-1]) == repr((["\x00é\u2028", ""], {"a": float("inf"), "b": -0.0}, float("nan"), 1.0, 1, 2 - 3j, True, None))


def test_contracts_of_exported_programs_are_kept(tmp_path):
    rows = torch.export.Dim("rows", min=2, max=8)
    program = torch.export.export(Mlp().eval(), (torch.randn(4, 64),), dynamic_shapes={"x": {0: rows}})
    torch.export.save(program, tmp_path / "model.pt2")
    original = stator.load(tmp_path / "model.pt2")
    original.save(tmp_path / "model.stator")
    planned = stator.load(tmp_path / "model.stator")
    for wrong in (np.ones((9, 64), np.float32), np.ones((4, 65), np.float32), np.ones((4, 64), np.int64)):
        with pytest.raises(stator.Error) as expected:
            original(wrong)
        with pytest.raises(type(expected.value)) as got:
            planned(wrong)
        assert str(got.value) == str(expected.value)


def test_strict_mode_takes_the_plan_of_its_signature(mlp):
    module = stator.load(mlp)
    module.warm_up("x: float32[2, 64]")
    module.save(mlp)
    for rows in (2, 4):
        strict = stator.load(mlp, strict="on", signature=f"x: float32[{rows}, 64]")
        assert np.array_equal(strict(X[:rows]).numpy(), module(X[:rows]).numpy())
        assert all(plan["inputs"] == [f"float32[{rows}, 64]"] for plan in strict.plan()["signatures"])
    with pytest.raises(stator.InvalidArgumentError, match="strict"):
        stator.load(mlp, strict="on", signature="x: float32[?, 64]")


@pytest.mark.parametrize("options", [{"plans": "dynamic"}, {"memory_limit_bytes": 1 << 20}, {"memory_planner": "none"}], ids=str)
def test_options_of_loading_hold(mlp, options):
    assert np.allclose(stator.load(mlp, **options)(X).numpy(), stator.load(mlp)(X).numpy())


def test_bytes_are_copied(mlp):
    assert np.array_equal(stator.load(mlp.read_bytes())(X).numpy(), stator.load(mlp)(X).numpy())


def test_a_file_in_use_can_be_written_anew(mlp):
    module = stator.load(mlp)
    before = module(X).numpy().copy()
    stator.load(scripted(torch.nn.Identity())).save(mlp)
    assert np.array_equal(module(X).numpy(), before)


@pytest.mark.parametrize(
    ("weight", "named"),
    [
        (torch.ones(3).to_sparse(), "sparse"),
        (torch.ones(3, dtype=torch.complex64).conj(), "conjugate"),
    ],
    ids=["sparse", "conjugate"],
)
def test_what_has_no_form_is_refused_by_name(tmp_path, weight, named):
    class Holds(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", weight)

        @torch.jit.export
        def grow(self) -> None:
            self.weight = torch.cat([self.weight.dequantize(), torch.ones(1)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.weight.dequantize()

    module = stator.load(scripted(Holds()))
    with pytest.raises(stator.UnsupportedError, match=rf'state "weight".*{named}'):
        module.save(tmp_path / "model.stator")
    assert list(tmp_path.iterdir()) == []


def test_writing_fails_with_a_status(mlp, tmp_path):
    module = stator.load(mlp)
    with pytest.raises(stator.FileError, match="cannot write"):
        module.save(tmp_path / "missing" / "x.stator")
    assert list(tmp_path.iterdir()) == [mlp]


# Files that do not fit ----------------------------------------------------------------------------------------------


def run_elsewhere(path: Path, **environment: str) -> dict[str, Any]:
    """Loads the file and runs it in another process."""
    program = (
        "import json, sys, numpy as np, stator\n"
        "m = stator.load(sys.argv[1]); x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64)\n"
        "y = m(x).numpy().tolist()\n"
        "print(json.dumps({**m.describe()['planned'], 'y': y, 'hits': m.metrics()['plan_cache']['hits']}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_another_cpu_makes_the_plans_anew(mlp):
    planned = run_elsewhere(mlp, ATEN_CPU_CAPABILITY="default")
    assert (planned["restored"], planned["made_anew"], planned["hits"]) == (0, 1, 1)
    assert "this is Stator" in planned["outdated"]
    assert np.allclose(planned["y"], stator.load(mlp)(X).numpy(), rtol=1e-5)


@pytest.mark.parametrize("what", ["stator", "torch"])
def test_another_version_makes_the_plans_anew(mlp, what):
    wanted = stator.load(mlp)(X).numpy()
    rewrite_json(mlp, "manifest", lambda manifest: manifest.update({what: "0.0.7"}))
    module = stator.load(mlp)
    planned = module.describe()["planned"]
    assert (planned["restored"], planned["made_anew"]) == (0, 1)
    assert "0.0.7" in planned["outdated"]
    assert np.array_equal(module(X).numpy(), wanted)
    assert counts(module)["hits"] == 1


def test_a_record_of_another_plan_is_not_believed(mlp):
    def change(plans: Any) -> None:
        plans["plans"][0]["record"][0] += 1

    rewrite_json(mlp, "plans", change)
    planned = stator.load(mlp).describe()["planned"]
    assert (planned["restored"], planned["made_anew"]) == (0, 1)


LAYERS = {
    "panels of": (torch.nn.Linear(64, 32), (4, 64)),
    "channels in": (torch.nn.Conv2d(3, 8, 3), (1, 3, 8, 8)),
}


@pytest.mark.parametrize("form", LAYERS)
def test_a_packed_weight_of_another_size_is_not_believed(form, tmp_path):
    layer, sizes = LAYERS[form]
    original = stator.load(scripted(layer))
    original.warm_up(f"input: float32{list(sizes)}")
    original.save(tmp_path / "layer.stator")

    def change(plans: Any) -> None:
        (weight,) = plans["weights"]
        assert form in weight[1]
        weight[2] = 0 if weight[0] else 1  # the bias is smaller

    rewrite_json(tmp_path / "layer.stator", "plans", change)
    x = np.linspace(-1, 1, int(np.prod(sizes)), dtype=np.float32).reshape(sizes)
    np.testing.assert_allclose(stator.load(tmp_path / "layer.stator")(x).numpy(), original(x).numpy(), rtol=1e-5, atol=1e-5)


def test_another_format_is_refused(mlp):
    rewrite_json(mlp, "manifest", lambda manifest: manifest.update(format=2))
    with pytest.raises(stator.UnsupportedError, match=r"format 2.*convert the model anew"):
        stator.load(mlp)


def test_an_operator_that_is_missing_is_named(mlp):
    def change(program: Any) -> None:
        program["operators"] = [["my::softmax", *row[1:]] if row[0] == "aten::softmax" else row for row in program["operators"]]

    rewrite_json(mlp, "program", change)
    with pytest.raises(stator.UnsupportedError, match=r"my::softmax.*load its library first"):
        stator.load(mlp)


# Damage -----------------------------------------------------------------------------------------------------------------


def loads_or_says_why(path: Path) -> None:
    try:
        module = stator.load(path)
        module(X)
    except stator.Error as error:
        assert str(error)


def test_truncated_files_are_refused(mlp):
    data = mlp.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 60)):
        mlp.write_bytes(data[:size])
        with pytest.raises(stator.Error):
            stator.load(mlp)


def test_flipped_bytes_of_the_program_are_seen(mlp):
    data = mlp.read_bytes()
    chance = random.Random(1)
    for record in (b"manifest.json", b"program.json", b"plans.json"):
        start = data.index(b"stator/" + record) + 200
        for _ in range(10):
            place = start + chance.randrange(100)
            mlp.write_bytes(data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :])
            loads_or_says_why(mlp)


@pytest.mark.parametrize("record", ["manifest", "program", "plans"])
def test_what_is_written_on_purpose_does_no_harm(mlp, record):
    """Values of one JSON record are replaced, with a right checksum."""
    data = mlp.read_bytes()
    chance = random.Random(2)
    odd = [None, True, -1, 0, 1, 7, 1 << 31, (1 << 63) - 1, 1.5, "", "Tensor", "aten::add", [], {}, [[]], {"tensor": 0}, {"value": 9}]

    def change(value: Any) -> None:
        while True:
            places = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
            if not places:
                return
            key, inner = chance.choice(places)
            if not isinstance(inner, (dict, list)) or not inner or chance.random() < 0.1:
                break
            value = inner
        if chance.random() < 0.2:
            del value[key]
        else:
            value[key] = chance.choice(odd)

    for _ in range(int(os.environ.get("STATOR_PLANNED_DAMAGE", "150"))):
        mlp.write_bytes(data)
        rewrite_json(mlp, record, change)
        loads_or_says_why(mlp)


def test_records_that_are_missing_are_named(mlp):
    data = mlp.read_bytes()
    for missing in ("stator/program.json", "stator/plans.json", "stator/memory/0"):
        mlp.write_bytes(data)
        rewritten(mlp, lambda name, content, missing=missing: None if name == missing else content)
        with pytest.raises(stator.BadModelError, match=missing):
            stator.load(mlp)


# Memory -----------------------------------------------------------------------------------------------------------------


class Wide(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*itertools.chain(*((torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(16))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


HOLDER = """
import sys, numpy as np, stator
m = stator.load(sys.argv[1])
m(np.ones((4, 512), np.float32))
print("ready", flush=True)
sys.stdin.readline()
"""


def mapped(pid: int, path: Path) -> dict[str, int]:
    """Kilobytes of the pages of a file in a process, by what smaps calls them."""
    sums: dict[str, int] = {}
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        if "-" in key.split(" ")[0] and key[0] in "0123456789abcdef":
            inside = line.endswith(str(path))
        elif inside and rest.endswith(" kB"):
            sums[key] = sums.get(key, 0) + int(rest.split()[0])
    return sums


def test_processes_share_the_pages_of_weights(tmp_path):
    path = tmp_path / "wide.stator"
    module = stator.load(scripted(Wide()))
    module.warm_up("x: float32[4, 512]")
    module.save(path)
    weights_kb = 16 * 512 * 512 * 4 // 1024
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for holder in holders:
            assert holder.stdout.readline() == "ready\n"
        for holder in holders:
            pages = mapped(holder.pid, path)
            assert pages["Rss"] >= 0.9 * weights_kb, pages  # the run has read all weights: here
            assert pages["Anonymous"] + pages["Private_Clean"] + pages["Private_Dirty"] == 0, pages
            assert pages["Pss"] <= 0.6 * pages["Rss"], pages  # two have them
    finally:
        for holder in holders:
            holder.communicate("\n")
