"""What a program expects of its inputs, and what archives are refused for."""

import contextlib
import copy
import io
import json
import random
import zipfile

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.export.pt2_archive._package import package_pt2

import stator


class Adds(nn.Module):
    def forward(self, x, y):
        return x * 2 + y.sum()


BATCH = Dim("batch", min=3, max=8)


@pytest.fixture(name="module")
def _module(archive):
    return stator.load(archive(Adds(), torch.randn(4, 3), torch.randn(4), dynamic_shapes=({0: BATCH}, {0: BATCH})))


@pytest.mark.parametrize("size", [3, 5, 8])
def test_sizes_in_range_run(module, size):
    assert module(torch.randn(size, 3), torch.randn(size)).shape == (size, 3)


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        (
            torch.randn(4, 3).double(),
            torch.randn(4),
            stator.DTypeMismatchError,
            r'input "x" \(argument 1\): expected float32\[.*, 3\], got float64\[4, 3\]; dtype is float64 instead of float32',
        ),
        (torch.randn(4), torch.randn(4), stator.ShapeMismatchError, "dimension count is 1 instead of 2"),
        (torch.randn(4, 5), torch.randn(4), stator.ShapeMismatchError, "dimension 1 is 5 instead of 3"),
        (torch.randn(2, 3), torch.randn(2), stator.ShapeMismatchError, r"got float32\[2, 3\]; dimension 0 is 2, expected at least 3"),
        (torch.randn(9, 3), torch.randn(9), stator.ShapeMismatchError, "dimension 0 is 9, expected at most 8"),
        (
            torch.randn(4, 3),
            torch.randn(5),
            stator.ShapeMismatchError,
            r'input "y" \(argument 2\): .*dimension 0 is 5, expected 4 as dimension 0 of input "x" \(argument 1\)',
        ),
        (torch.randn(4, 3), 1.5, stator.TypeMismatchError, 'input "y".*expected Tensor, got float'),
    ],
)
def test_inputs_are_checked(module, x, y, error, message):
    with pytest.raises(error, match=message):
        module(x, y)
    assert module(torch.randn(4, 3), torch.randn(4)).shape == (4, 3)


def test_derived_sizes_are_checked(archive):
    size = Dim("size", min=2, max=6)
    module = stator.load(archive(Adds(), torch.randn(4), torch.randn(8), dynamic_shapes=({0: size}, {0: 2 * size})))
    assert module(torch.randn(3), torch.randn(6)).shape == (3,)
    with pytest.raises(stator.ShapeMismatchError, match=r"dimension 0 is 7, expected 2\*.* = 6"):
        module(torch.randn(3), torch.randn(7))


def test_conditions_of_branches_are_checked(archive):
    class Branches(nn.Module):
        def forward(self, x, table, n: int):
            y = x * 2 if x.shape[0] * 2 > 7 and x.shape[1] % 3 == 0 else x
            return torch.cat([y[:n], table["rows"][0]])

    args = (torch.randn(5, 6), {"rows": [torch.randn(3, 6)]}, 2)
    free = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    module = stator.load(archive(Branches(), *args, dynamic_shapes=(free, {"rows": [free]}, Dim.DYNAMIC)))
    assert module(torch.randn(4, 3), {"rows": [torch.randn(2, 3)]}, 3).shape == (5, 3)
    with pytest.raises(stator.ShapeMismatchError, match=r"exported for inputs with 2\*x.size\(\)\[0\] > 7, got 6 and 7"):
        module(torch.randn(3, 3), {"rows": [torch.randn(2, 3)]}, 3)
    with pytest.raises(stator.ShapeMismatchError, match=r"x.size\(\)\[1\] % 3"):
        module(torch.randn(4, 4), {"rows": [torch.randn(2, 4)]}, 3)
    with pytest.raises(stator.ShapeMismatchError, match=r"dimension 1 is 6, expected 3 as dimension 1 of input"):
        module(torch.randn(4, 3), {"rows": [torch.randn(2, 6)]}, 3)


def test_a_failed_assertion_is_the_model_s_error(archive):
    class Checks(nn.Module):
        def forward(self, n, x):
            count = n.item()
            torch._check(count > 2, lambda: "too few")
            return x * count

    module = stator.load(archive(Checks(), torch.tensor(3), torch.randn(2)))
    assert torch.from_dlpack(module(torch.tensor(4), torch.ones(2))).tolist() == [4, 4]
    with pytest.raises(stator.ModelError):
        module(torch.tensor(1), torch.ones(2))


def test_dynamic_sizes_are_described(module):
    first = module.describe()["methods"][0]["inputs"][0]
    assert (first["dtype"], first["shape"]) == ("float32", [None, 3])


def rewritten(data: bytes, change) -> bytes:
    """The archive with `change(name, bytes)` in the place of each member; None leaves it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = change(name.split("/", 1)[1], source.read(name))
            if content is not None:
                target.writestr(name, content)
    return out.getvalue()


@pytest.fixture(name="data")
def _data(archive):
    return archive(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.randn(2, 3))


def test_an_archive_written_by_others_loads(data):
    module = stator.load(rewritten(data, lambda _, content: content))
    assert module(torch.randn(2, 3)).shape == (2, 4)


def test_weights_are_mapped(data, tmp_path):
    path = tmp_path / "no_suffix"
    path.write_bytes(data)
    x = torch.randn(2, 3)
    assert torch.equal(torch.from_dlpack(stator.load(path, weights="map")(x)), torch.from_dlpack(stator.load(data)(x)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("archive_format", b"pt3", "format"),
        ("archive_version", b"1", "version 1"),
        ("byteorder", b"big", "byte order"),
        ("models/model.json", b"{", "no JSON"),
        ("models/model.json", b"[]", "schema_version"),
        ("models/model.json", b"[" * 100_000, "nested too deeply"),
        ("models/model.json", None, "has no program"),
        ("data/weights/weight_0", b"123", "does not fit its 3 bytes"),
        ("data/weights/weight_0", b"", "no values in the archive"),
        ("data/weights/weight_0", None, 'no "data/weights/weight_0"'),
        ("data/weights/model_weights_config.json", None, "has no values"),
        ("data/weights/model_weights_config.json", b'{"config": 3}', "has no table"),
    ],
)
def test_damaged_members_are_named(data, name, content, message):
    with pytest.raises(stator.Error, match=message):
        stator.load(rewritten(data, lambda member, old: content if member == name else old))


def test_several_programs_are_listed(tmp_path):
    one = torch.export.export(nn.ReLU(), (torch.randn(2),))
    package_pt2(tmp_path / "two.pt2", exported_programs={"decode": one, "prefill": one})
    with pytest.raises(stator.UnsupportedError, match=r"2 programs \(decode, prefill\); save each in a file of its own"):
        stator.load(tmp_path / "two.pt2")


def changed_json(data: bytes, change) -> bytes:
    def edit(name, content):
        if name != "models/model.json":
            return content
        program = json.loads(content)
        change(program)
        return json.dumps(program).encode()

    return rewritten(data, edit)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["schema_version"].update(major=9), "schema is version 9"),
        (
            lambda p: p["graph_module"]["graph"]["nodes"][0].update(target="torch.ops.nobody.knows.default"),
            r'operator "nobody::knows".*load its library first',
        ),
        (
            lambda p: p["graph_module"]["graph"]["nodes"][0].update(target="torch.ops.higher_order.flex_attention"),
            "flex_attention is not supported",
        ),
        (lambda p: p["graph_module"]["graph"]["nodes"][0].update(target="_operator.matmul"), "_operator.matmul is no function"),
        (lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"].pop(0), 'lacks its argument "input"'),
        (lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(arg={"as_new": 1}), 'unknown kind: "as_new"'),
        (
            lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(arg={"as_tensor": {"name": "zz"}}),
            '"zz" is used but never made',
        ),
        (
            lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0].update(arg={"as_string": "zz"}),
            'argument "input" should be Tensor',
        ),
        (lambda p: p["graph_module"]["signature"]["input_specs"].pop(), "does not fit the graph"),
        (
            lambda p: p["graph_module"]["signature"]["output_specs"][0].update(user_output=None, token={"arg": {"name": "t"}}),
            "does not fit the graph",
        ),
    ],
)
def test_damaged_programs_are_refused(data, change, message):
    with pytest.raises(stator.Error, match=message):
        stator.load(changed_json(data, change))


def places(value, path=()):
    """The way to everything in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def attempt(data: bytes) -> None:
    """Loads and runs what may be damaged: an error is right, and so is a result."""
    with contextlib.suppress(stator.Error):
        stator.load(data)(torch.randn(2, 3))


def test_no_change_of_the_program_crashes(data):
    chance = random.Random(0)
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        program = json.loads(next(source.read(name) for name in source.namelist() if name.endswith("models/model.json")))
    for node in program["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {}
    ways = [way for way in places(program) if way]
    junk = [None, True, -1, 1 << 62, 1 << 80, 0.5, "", "x", [], {}, [1], {"as_int": 1}, {"as_none": True}]
    for way in ways:
        altered = copy.deepcopy(program)
        holder = altered
        for step in way[:-1]:
            holder = holder[step]
        if chance.random() < 0.3:
            del holder[way[-1]]
        else:
            holder[way[-1]] = chance.choice(junk)
        attempt(rewritten(data, lambda name, old, altered=altered: json.dumps(altered).encode() if name == "models/model.json" else old))


def test_no_change_of_the_weights_table_crashes(data):
    name = "data/weights/model_weights_config.json"
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        table = json.loads(next(source.read(member) for member in source.namelist() if member.endswith(name)))
    for way in [way for way in places(table) if way]:
        for value in (None, -1, 1 << 62, 1 << 40, "../../etc/passwd", [], {}):
            altered = copy.deepcopy(table)
            holder = altered
            for step in way[:-1]:
                holder = holder[step]
            holder[way[-1]] = value
            attempt(rewritten(data, lambda member, old, altered=altered: json.dumps(altered).encode() if member == name else old))


def test_no_damage_of_the_bytes_crashes(data):
    chance = random.Random(1)
    for _ in range(400):
        damaged = bytearray(data)
        if chance.random() < 0.3:
            del damaged[chance.randrange(len(damaged)) :]
        for _ in range(chance.randrange(1, 6)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        attempt(bytes(damaged))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["p/data/aotinductor/model/x.so", "p/archive_format"], "an AOTInductor package"),
        (["p/data/executorch/model.pte"], "an ExecuTorch program"),
        (["a/data.pkl", "a/version"], "holds values but no program"),
        (["readme"], "holds no model"),
    ],
)
def test_other_archives_are_named(members, message):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in members:
            target.writestr(name, b"x")
    with pytest.raises(stator.Error, match=message):
        stator.load(out.getvalue())
    with pytest.raises(stator.Error, match="an ExecuTorch program"):
        stator.load(b"\x1c\0\0\0ET12" + bytes(40))
