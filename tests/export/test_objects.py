"""Objects of classes in C++ (TorchBind), which a library of operators brings: as constants, as arguments of operators, and their methods."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._custom_class_base import CustomClassBase
from torch._library.opaque_object import get_opaque_type_name, register_custom_class
from torch.export import Dim

import stator

LIBRARY = Path(os.environ.get("STATOR_BUILD_DIR", Path(__file__).resolve().parents[2] / "build")) / "tests" / "operators" / "libobjects.so"
SCALER = "__torch__.torch.classes.stator_objects.Scaler"
X = torch.tensor([1.0, -2.0])
Y = torch.tensor([[0.5, 4.0], [3.0, -1.0], [7.0, 2.0]])


class FakeScaler:
    def __init__(self, weight: Tensor, offsets: list[float]) -> None:
        self.weight, self.offsets = weight, offsets

    @classmethod
    def __obj_unflatten__(cls, state: Any) -> FakeScaler:
        return cls(**dict(state))

    def scale(self, x: Tensor, factor: float = 1.0) -> Tensor:
        return x * self.weight * factor

    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.scale(x), self.scale(x)


class FakeTotal:
    def __init__(self, sum: Tensor) -> None:
        self.total = sum

    @classmethod
    def __obj_unflatten__(cls, state: Any) -> FakeTotal:
        return cls(**dict(state))

    def put(self, x: Tensor) -> None:
        self.total = self.total + x

    def sum(self) -> Tensor:
        return torch.empty_like(self.total)


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    torch.ops.load_library(LIBRARY)
    torch._library.register_fake_class("stator_objects::Scaler")(FakeScaler)
    torch._library.register_fake_class("stator_objects::Total")(FakeTotal)
    torch.library.register_fake("stator_objects::scale")(lambda x, scaler: torch.empty_like(x))
    torch.library.register_fake("stator_objects::add_up")(lambda total, x: torch.empty_like(x))


def scaler() -> Any:
    return torch.classes.stator_objects.Scaler(torch.tensor([2.0, -3.0]), [0.5, 0.25])


class Scales(nn.Module):
    """An object that nothing changes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.inner.scaler = scaler()

    def forward(self, x: Tensor) -> Any:
        one = torch.ops.stator_objects.scale(self.inner(x), self.inner.scaler).relu()
        two = self.inner.scaler.scale(x) + self.inner.scaler.scale(x, 0.5)
        return one, two


class Totals(nn.Module):
    """Objects that each run changes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.classes.stator_objects.Total(torch.zeros(2))
        self.second = torch.classes.stator_objects.Total(torch.ones(2))

    def forward(self, x: Tensor) -> Any:
        before = self.second.sum()
        first = torch.ops.stator_objects.add_up(self.first, x)
        self.second.put(first)
        return first, before, self.second.sum()


def test_objects_are_arguments_and_have_methods(compare):
    compare(Scales(), (Y,), (X.repeat(5, 1),), dynamic_shapes={"x": {0: Dim.DYNAMIC}})


def test_methods_with_several_results(compare):
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaler = scaler()

        def forward(self, x: Tensor) -> Any:
            one, other = self.scaler.both(x)
            return one - other, other

    compare(Both(), (Y,), (2 * Y,), dialects=("training",))  # Python does not decompose it


def test_what_a_run_does_to_an_object_the_next_one_sees(compare):
    compare(Totals(), (X,), (-2 * X,))


def test_each_runtime_has_objects_of_its_own(archive):
    module = stator.load(archive(Totals(), X))
    one, two = module.runtime(), module.runtime()
    for runtime in one, two:
        for times in 1, 2, 3:
            torch.testing.assert_close(torch.from_dlpack(runtime.call(X)[0]), X * times)


def test_an_object_that_several_names_have_is_one(compare):
    class Shares(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = self.other = torch.classes.stator_objects.Total(torch.zeros(2))

        def forward(self, x: Tensor) -> Any:
            self.one.put(x)
            return self.other.sum()

    compare(Shares(), (X,))


def test_an_object_as_an_argument_is_refused_by_its_name(archive):
    class Given(nn.Module):
        def forward(self, x: Tensor, how: Any) -> Tensor:
            return torch.ops.stator_objects.scale(x, how)

    with pytest.raises(stator.UnsupportedError, match=f'"how" is an object of the class {re.escape(SCALER)}.*attribute of the model'):
        stator.load(archive(Given(), X, scaler()))


class InPython(CustomClassBase):
    def __init__(self) -> None:
        self.number = 3


def test_an_object_of_a_class_in_python_is_refused_by_its_name(archive):
    register_custom_class(InPython, typ="symbolic")
    name = get_opaque_type_name(InPython)
    torch.library.define("stator_objects_in_python::add", f"(Tensor x, {name} object) -> Tensor")
    torch.library.impl("stator_objects_in_python::add", "CompositeExplicitAutograd", lambda x, it: x + it.number)
    torch.library.register_fake("stator_objects_in_python::add", lambda x, it: torch.empty_like(x))

    class Holds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.it = InPython()

        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.stator_objects_in_python.add(x, self.it)

    with pytest.raises(stator.UnsupportedError, match=f"object of the Python class {re.escape(name)}, which needs Python; give"):
        stator.load(archive(Holds(), X))


def changed(data: bytes, ending: str, change: Any) -> bytes:
    """The archive with one of its records changed; LibTorch's zip files have no compression, Python's need none."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        assert sum(name.endswith(ending) for name in old.namelist()) == 1
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name.endswith(ending) else old.read(name))
    return out.getvalue()


RECORD = "constants/custom_obj_0"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda record: b"", "custom_obj_0"),
        (lambda record: record[:-100], "custom_obj_0"),
        (lambda record: changed(record, "data.pkl", lambda pickle: pickle[:-12]), "custom_obj_0"),
        (lambda record: changed(record, "data.pkl", lambda pickle: pickle.replace(b"Scaler", b"Total\n")), "custom_obj_0"),
        (lambda record: changed(record, "data.pkl", lambda _: b"\x80\x02K\x05."), "should be of type .*Scaler, but is of type int"),
        (lambda record: changed(record, "data.pkl", lambda pickle: pickle.replace(b"K\x02t(", b"M\xff\xfft(")), "custom_obj_0"),
        (lambda record: changed(record, "data/0", lambda tensor: tensor[:3]), "custom_obj_0.*does not fit its record"),
        (
            lambda record: changed(record, "data.pkl", lambda p: p.replace(b"stator_objects\nScaler", b"stator_objects\nScales")),
            "Scales.*load its library",
        ),
    ],
)
def test_damaged_objects_are_refused(archive, change, why):
    data = archive(Scales(), Y)
    stator.load(changed(data, RECORD, lambda record: record)).close()
    with pytest.raises((stator.BadModelError, stator.UnsupportedError), match=why):
        stator.load(changed(data, RECORD, change))


def test_a_damaged_object_is_read_or_refused(archive):
    data, chance, refused = archive(Scales(), Y), random.Random(0), 0

    def damaged(pickle: bytes) -> bytes:
        out = bytearray(pickle)
        for _ in range(chance.choice((1, 1, 3))):
            place = chance.randrange(len(out))
            out[place : place + chance.choice((0, 1, 1, 9))] = chance.randbytes(chance.choice((0, 1, 1, 9)))
        return bytes(out)

    for _ in range(200):
        try:
            with stator.load(changed(data, RECORD, lambda record: changed(record, "data.pkl", damaged))) as module:
                module(Y)
        except stator.Error as error:
            assert error.code_name != "INTERNAL", error
            refused += 1
    assert 100 < refused < 200


def test_a_record_that_is_not_there(archive):
    data = archive(Scales(), Y)
    renamed = changed(data, "model_constants_config.json", lambda table: table.replace(b"custom_obj_0", b"custom_obj_7"))
    with pytest.raises(stator.BadModelError, match="custom_obj_7"):
        stator.load(renamed)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"as_string": "scale"', b'"as_string": "scald"', 'the method "scald" of the class .*Scaler'),
        (b'"as_string": "scale"', b'"as_string": "both"', '"both" has arguments it does not take'),
        (b'"as_float": 0.5', b'"as_string": "a"', '"factor" should be float, but is str'),
    ],
)
def test_calls_that_the_class_does_not_take(archive, old, new, why):
    data = archive(Scales(), Y)
    with pytest.raises((stator.BadModelError, stator.UnsupportedError), match=why):
        stator.load(changed(data, "models/model.json", lambda program: program.replace(old, new)))


def test_a_class_needs_its_library(archive, tmp_path):
    """In a process of its own, where nobody has loaded it."""
    (tmp_path / "model.pt2").write_bytes(archive(Scales(), Y))
    stator.load(tmp_path / "model.pt2").save(tmp_path / "model.stator")
    story = """
        import sys, numpy, stator
        files = sys.argv[2:]
        for file in files:
            try:
                stator.load(file)
                raise SystemExit("the model was loaded without its class")
            except stator.UnsupportedError as error:
                assert "torch.classes.stator_objects.Scaler" in str(error) and "load its library first" in str(error), error
        stator.load_op_library(sys.argv[1])
        x = numpy.array([[1, -2]] * 3, dtype="float32")
        for file in files:
            with stator.load(file) as module:
                for _ in range(3):
                    numpy.testing.assert_allclose(module(x)[1].numpy(), x * [3, -4.5] + 1.5)
    """
    command = [sys.executable, "-c", textwrap.dedent(story), LIBRARY, tmp_path / "model.pt2", tmp_path / "model.stator"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
