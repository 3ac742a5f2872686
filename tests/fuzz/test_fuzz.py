"""Some hundred damaged archives, and what damaged ones did once."""

from __future__ import annotations

import io
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import stator
from damage import Member, members_of, zipped

HERE = Path(__file__).resolve().parent


def test_damaged_archives_end_in_a_status(tmp_path):
    ran = subprocess.run(
        [sys.executable, HERE / "fuzz.py", "--seed", "0", "--count", "400", "--build", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "400 archives of seed 0" in ran.stdout
    assert re.search(r"\d+ BadModelError", ran.stdout)
    assert re.search(r"\d+ ok, ok", ran.stdout)


@pytest.fixture(name="script", scope="module")
def _script() -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(nn.Linear(3, 4).eval(), torch.ones(2, 3)), buffer)
    return buffer.getvalue()


def changed(data: bytes, ending: str, change) -> bytes:
    """The archive with `change(content)` in the place of the members whose names end so."""
    members = members_of(data)
    found = [member for member in members if member.name.endswith(ending)]
    assert found
    for member in found:
        member.content = change(member.content)
    return zipped(members)


def test_an_archive_written_anew_loads(script):
    assert stator.load(zipped(members_of(script)))(torch.ones(2, 3)).shape == (2, 4)


def test_compressed_pickles_are_read(script):
    members = members_of(script)
    for member in members:
        member.compressed = True
    assert stator.load(zipped(members))(torch.ones(2, 3)).shape == (2, 4)


@pytest.mark.parametrize("version", [b"ZZ\n", b"", b"0", b"11\n", b"9" * 40], ids=repr)
def test_versions_that_are_none(script, version):
    """LibTorch's reader loses memory when it refuses one."""
    with pytest.raises(stator.BadModelError, match="expected a version from 1 to 10"):
        stator.load(changed(script, "/version", lambda _: version))


@pytest.mark.parametrize("kept", [0, 4, 15])
def test_weights_shorter_than_the_pickle_says(script, kept):
    """LibTorch's reader makes a tensor that reaches outside the memory that it has read."""
    with pytest.raises(stator.BadModelError, match="does not fit its record"):
        stator.load(changed(script, "/data/0", lambda content: content[:kept]))


def test_numbers_of_elements_that_overflow(script):
    huge = b"\x8a\x08" + struct.pack("<q", (1 << 62) + 1)  # four bytes each: four in all
    with pytest.raises(stator.BadModelError, match="does not fit its record"):
        stator.load(changed(script, "/data.pkl", lambda content: content.replace(b"K\x0ctQ", huge + b"tQ", 1)))


@pytest.mark.parametrize(
    ("pickle", "message"),
    [
        (b"\x80\2X\xff\xff\xff\x7fabc.", "announces more than it holds"),
        (b"\x80\2Nr\xff\xff\xff\x0f.", "numbers a value"),
        (b"\x80\2" + b"(" * 50_000 + b"t" * 50_000 + b".", "nested too deeply"),
        (b"\x80\2tt.", "takes what is not there"),
    ],
)
def test_pickles_are_read_before_they_are_believed(script, pickle, message):
    """LibTorch's reader makes room for what is announced, and destroys what is nested by recursion."""
    for member in ("/data.pkl", ".debug_pkl"):
        with pytest.raises(stator.BadModelError, match=message):
            stator.load(changed(script, member, lambda _: pickle))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb"\]\(K\x01", b"](K\x7f"),  # a text that the table does not have
        (rb"\]\(K\x01", b"](J\xff\xff\xff\xff"),
        (rb"^(..X.{4}FORMAT_WITH_STRING_TABLE).*", b"\\1\x85."),  # no table, no lines
        (rb"^.*", b"\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\1tQ."),  # a tensor's memory
    ],
)
def test_places_in_sources_are_looked_at_before_they_are_believed(script, old, new):
    """LibTorch's reader takes what a table of them says for granted, and ends the process."""
    damaged = changed(script, ".debug_pkl", lambda content: re.sub(old, new, content, flags=re.DOTALL))
    assert damaged != script
    with pytest.raises(stator.BadModelError):
        stator.load(damaged)


def test_what_holds_more_than_it_can_is_refused(script):
    """Source code is read whole."""
    members = [*members_of(script), Member("archive/code/more.py", bytes(64 << 20), compressed=True)]
    with pytest.raises(stator.BadModelError, match="hold more than they can"):
        stator.load(zipped(members))


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 30_000 + "input" + ")" * 30_000,
        "-" * 30_000 + "input",
        "not " * 30_000 + "input",
        "input" + " + input" * 30_000,
        "input" + ".t()" * 30_000,
        "[" * 30_000 + "]" * 30_000,
    ],
)
def test_source_that_is_nested_too_deeply(script, expression):
    """It is compiled by recursion."""
    with pytest.raises(stator.BadModelError, match="nested too deeply"):
        stator.load(changed(script, ".py", lambda source: re.sub(rb"return .*", b"return " + expression.encode(), source)))


def test_long_lists_in_source_are_not_deep(script):
    numbers = ", ".join(str(-number / 7) for number in range(5000))
    source = f"_0 = [{numbers}]\n    return torch.add(torch.linear(input, self.weight, self.bias), _0[0])"
    data = changed(script, ".py", lambda old: re.sub(rb"return .*", source.encode(), old))
    assert stator.load(data)(torch.ones(2, 3)).shape == (2, 4)
