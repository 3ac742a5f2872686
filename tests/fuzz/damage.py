"""Ways to damage an archive. All randomness comes from the generator that is given, so that a seed says everything."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

Json = Any
Way = tuple[str | int, ...]

sys.setrecursionlimit(20_000)  # deep values are copied and written

HUGE = [0, 1, 2, 7, -1, -2, 1 << 16, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 40, (1 << 62) + 3, (1 << 63) - 1, -(1 << 63)]
JUNK: list[Json] = [
    None,
    True,
    False,
    0.5,
    -1e308,
    "",
    "x",
    "NaN",
    "torch",
    [],
    {},
    [1],
    [[]],
    {"as_int": 1},
    {"as_none": True},
    1 << 63,
    1 << 80,
]
TARGETS = [
    "torch.ops.aten.add.Tensor",
    "torch.ops.aten.as_strided.default",
    "torch.ops.aten.view.default",
    "torch.ops.aten.expand.default",
    "torch.ops.aten.slice.Tensor",
    "torch.ops.aten.select.int",
    "torch.ops.aten.index.Tensor",
    "torch.ops.aten.gather.default",
    "torch.ops.aten.cat.default",
    "torch.ops.aten.full.default",
    "torch.ops.aten.addmm.default",
    "torch.ops.aten.bmm.default",
    "torch.ops.aten.permute.default",
    "torch.ops.aten.sum.dim_IntList",
    "torch.ops.aten.embedding.default",
    "torch.ops.aten.transpose_.default",
    "torch.ops.aten.resize_.default",
    "torch.ops.aten.set_.source_Tensor",
    "torch.ops.aten.convolution.default",
    "torch.ops.aten.unbind.int",
    "torch.ops.aten.item.default",
    "torch.ops.aten.native_layer_norm.default",
    "torch.ops.higher_order.cond",
    "torch.ops.higher_order.while_loop",
    "torch.ops.higher_order.scan",
    "_operator.floordiv",
    "_operator.pow",
    "torch.sym_float",
    "math.trunc",
]


@dataclass
class Member:
    name: str
    content: bytes
    compressed: bool = False


def members_of(data: bytes) -> list[Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        return [Member(info.filename, source.read(info), info.compress_type != 0) for info in source.infolist()]


def zipped(members: list[Member]) -> bytes:
    """Content as it was, in a sound archive: what is damaged gets past the checksums. Stored content begins at multiples of 64."""
    out, directory = bytearray(), bytearray()
    for member in members:
        name, content = member.name.encode(), member.content
        stored = _deflated(content) if member.compressed else content
        gap = 0 if member.compressed else -(len(out) + 30 + len(name) + 4) % 64
        sizes = (8 if member.compressed else 0, 0, 0, zlib.crc32(content), len(stored), len(content), len(name))
        at = len(out)
        out += (
            struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, *sizes, gap + 4) + name + struct.pack("<HH", 0x4246, gap) + bytes(gap) + stored
        )
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, *sizes, 0, 0, 0, 0, 0, at) + name
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(members), len(members), len(directory), len(out), 0)
    return bytes(out + directory + end)


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


# --------------------------------------------------------------------------------------------------------------- bytes


def flip_bytes(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randrange(1, 9)):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def flip_directory(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    first = data.index(b"PK\1\2")
    for _ in range(chance.randrange(1, 5)):
        out[chance.randrange(first, len(out))] = chance.randrange(256)
    return bytes(out)


def truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def cut_or_double(data: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(data)) for _ in range(2))
    return data[:first] + data[last:] if chance.random() < 0.5 else data[:last] + data[first:]


def header_numbers(data: bytes, chance: random.Random) -> bytes:
    """A number of a header or of the directory is something else: sizes, offsets, checksums, counts."""
    out = bytearray(data)
    signature, fields = chance.choice(
        [
            (b"PK\3\4", [(8, "H"), (14, "I"), (18, "I"), (22, "I"), (26, "H"), (28, "H")]),
            (b"PK\1\2", [(10, "H"), (16, "I"), (20, "I"), (24, "I"), (28, "H"), (30, "H"), (32, "H"), (42, "I")]),
            (b"PK\5\6", [(8, "H"), (10, "H"), (12, "I"), (16, "I"), (20, "H")]),
            (b"PK\6\6", [(24, "Q"), (32, "Q"), (40, "Q"), (48, "Q")]),
            (b"PK\6\7", [(8, "Q")]),
        ]
    )
    places = [match.start() for match in re.finditer(re.escape(signature), data)]
    for place in chance.sample(places, min(len(places), chance.randrange(1, 3))):
        offset, kind = chance.choice(fields)
        if place + offset + struct.calcsize(kind) <= len(out):
            mask = (1 << 8 * struct.calcsize(kind)) - 1
            struct.pack_into("<" + kind, out, place + offset, chance.choice([*HUGE, chance.randrange(len(out))]) & mask)
    return bytes(out)


# ------------------------------------------------------------------------------------------------------------- members


def member_bytes(data: bytes, chance: random.Random) -> bytes:
    """Bytes of one member change; the checksum fits."""
    members = members_of(data)
    member = chance.choice([member for member in members if member.content])
    damage = chance.choice([flip_bytes, flip_bytes, truncate, cut_or_double])
    member.content = damage(member.content, chance)
    return zipped(members)


def member_list(data: bytes, chance: random.Random) -> bytes:
    """A member is gone, there twice, renamed, or has another one's content."""
    members = members_of(data)
    index = chance.randrange(len(members))
    how = chance.randrange(5)
    if how == 0:
        del members[index]
    elif how == 1:
        members.insert(chance.randrange(len(members)), Member(members[index].name, chance.choice(members).content))
    elif how == 2:
        names = [
            "",
            "/",
            "../" * 9 + "x",
            "a" * 60_000,
            members[index].name + "\0x",
            "é\n",
            "models/model.json",
            "data.pkl",
            "constants.pkl",
        ]
        members[index].name = chance.choice(names)
    elif how == 3:
        members[index].content = chance.choice(members).content
    else:
        members[index].content = b""
    return zipped(members)


def record_sizes(data: bytes, chance: random.Random) -> bytes:
    """Weights are shorter or longer than the program says."""
    members = members_of(data)
    raw = [member for member in members if re.search(r"/(weight_|tensor_)?\d+$", member.name)]
    for member in raw or members:
        if chance.random() < 0.5:
            size = len(member.content)
            wanted = chance.choice([0, 1, size // 2, size - 1, size + 1, size * 3, 100_000])
            member.content = (member.content * 3 + bytes(100_000))[: max(0, wanted)]
    return zipped(members)


@cache
def _zeros(mebibytes: int) -> bytes:
    return _deflated(bytes(mebibytes << 20))


def bomb(data: bytes, chance: random.Random) -> bytes:
    """A member holds a lot in little space, and may say that it is less or more."""
    members = members_of(data)
    index = chance.randrange(len(members))
    members[index].compressed, members[index].content = True, b"bomb"
    mebibytes = chance.choice([1, 64, 512])
    stored = _zeros(mebibytes)
    out = zipped(members).replace(_deflated(b"bomb"), stored, 1)
    grown = len(stored) - len(_deflated(b"bomb"))
    return _sizes_of_bomb(out, members, index, grown, chance.choice([mebibytes << 20, 5, 1 << 31, 1 << 32]), len(stored))


def _sizes_of_bomb(data: bytes, members: list[Member], index: int, grown: int, size: int, stored: int) -> bytes:
    out = bytearray(data)
    places = [match.start() for match in re.finditer(b"PK\1\2", data)][-len(members) :]
    crc = zlib.crc32(bytes(size)) if size <= 1 << 20 else 0
    for number, place in enumerate(places):
        header = struct.unpack_from("<I", out, place + 42)[0]
        if number > index:
            struct.pack_into("<I", out, place + 42, header + grown)
        elif number == index:
            for at in (place + 16, header + 14):
                struct.pack_into("<III", out, at, crc, stored, size & 0xFFFFFFFF)
    struct.pack_into("<I", out, len(out) - 6, struct.unpack_from("<I", out, len(out) - 6)[0] + grown)
    return bytes(out)


# ---------------------------------------------------------------------------------------------------------------- JSON


def places(value: Json, way: Way = ()) -> Iterator[Way]:
    """The way to everything in a JSON value."""
    if way:
        yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key != "metadata":  # most of a program, and of no consequence
            yield from places(item, (*way, key))


def at(value: Json, way: Way) -> Json:
    for step in way:
        value = value[step]
    return value


def put(value: Json, way: Way, new: Json) -> None:
    at(value, way[:-1])[way[-1]] = new


Edit = Callable[[Json, list[Way], random.Random], None]


def edit_retype(value: Json, ways: list[Way], chance: random.Random) -> None:
    put(value, chance.choice(ways), copy.deepcopy(chance.choice([*JUNK, *HUGE])))


def edit_remove(value: Json, ways: list[Way], chance: random.Random) -> None:
    way = chance.choice(ways)
    del at(value, way[:-1])[way[-1]]


def edit_number(value: Json, ways: list[Way], chance: random.Random) -> None:
    """Another number of the same type: what is checked last."""
    numbers = [way for way in ways if isinstance(at(value, way), int) and not isinstance(at(value, way), bool)]
    if numbers:
        way = chance.choice(numbers)
        put(value, way, chance.choice([*HUGE, at(value, way) + 1, at(value, way) * 1000, 3, 5, 12, 13]))


def edit_text(value: Json, ways: list[Way], chance: random.Random) -> None:
    """Another text of the same document: names of other values, targets of other nodes."""
    texts = [way for way in ways if isinstance(at(value, way), str)]
    if texts:
        put(value, chance.choice(texts), at(value, chance.choice(texts)))


def edit_target(value: Json, ways: list[Way], chance: random.Random) -> None:
    targets = [way for way in ways if way[-1] == "target"]
    if targets:
        put(value, chance.choice(targets), chance.choice([*TARGETS, *(at(value, way) for way in targets)]))


def edit_swap(value: Json, ways: list[Way], chance: random.Random) -> None:
    one, other = (chance.choice([way for way in ways if way[-1] == key]) for key in [chance.choice(ways)[-1]] * 2)
    first, second = copy.deepcopy(at(value, one)), copy.deepcopy(at(value, other))
    put(value, one, second)
    try:
        put(value, other, first)
    except (KeyError, IndexError, TypeError):  # one was within the other
        return


def edit_list(value: Json, ways: list[Way], chance: random.Random) -> None:
    lists = [way for way in ways if isinstance(at(value, way), list)]
    if lists:
        found = at(value, chance.choice(lists))
        how = chance.randrange(4)
        if how == 0:
            found.clear()
        elif how == 1:
            chance.shuffle(found)
        elif found:
            found.extend(copy.deepcopy(chance.choice(found)) for _ in range(chance.choice([1, 2, 65, 3000])))


def edit_depth(value: Json, ways: list[Way], chance: random.Random) -> None:
    way = chance.choice(ways)
    nested = at(value, way)
    key = chance.choice([None, "as_tensors", "as_graph", "graph"])
    for _ in range(chance.choice([10, 70, 900])):
        nested = [nested] if key is None else {key: nested}
    put(value, way, nested)


EDITS: list[Edit] = [edit_retype, edit_remove, edit_number, edit_number, edit_text, edit_target, edit_swap, edit_list, edit_depth]


def json_values(data: bytes, chance: random.Random) -> bytes:
    """Values of the program or of a table of weights are gone, of another type, huge, somewhere else, nested deeply."""
    members = members_of(data)
    tables = [member for member in members if member.name.endswith(".json")]
    if not tables:
        return member_bytes(data, chance)
    member = chance.choice([*tables, *(table for table in tables if "config" not in table.name)])
    value = json.loads(member.content)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        ways = list(places(value))
        if ways:
            chance.choice(EDITS)(value, ways, chance)
    member.content = json.dumps(value).encode()
    return zipped(members)


def json_text(data: bytes, chance: random.Random) -> bytes:
    """The text is no JSON, or more of it than anybody wants to read."""
    members = members_of(data)
    tables = [member for member in members if member.name.endswith(".json")]
    if not tables:
        return source_text(data, chance)
    member = chance.choice(tables)
    depth = chance.choice([100, 100_000, 3_000_000])
    texts = [
        b"[" * depth,
        b'{"a":' * depth,
        b"[" * depth + b"]" * depth,
        b'"' + b"\\u0000" * depth,
        b"1" * depth,
        b"[" + b"0," * depth + b"0]",
    ]
    where = chance.randrange(len(member.content))
    member.content = chance.choice([b"", member.content[:where]]) + chance.choice(texts) + chance.choice([b"", member.content[where:]])
    return zipped(members)


def source_text(data: bytes, chance: random.Random) -> bytes:
    """Words of TorchScript's source change places, or numbers are others."""
    members = members_of(data)
    sources = [member for member in members if member.name.endswith(".py")]
    if not sources:
        return json_values(data, chance)
    member = chance.choice(sources)
    words = re.split(rb"(\w+)", member.content)
    for _ in range(chance.randrange(1, 4)):
        index = chance.randrange(1, max(2, len(words) - 1))
        word = words[index]
        words[index] = str(chance.choice(HUGE)).encode() if word.isdigit() else chance.choice([b"", chance.choice(words), word * 3])
    member.content = b"".join(words)
    return zipped(members)


Damage = Callable[[bytes, random.Random], bytes]
DAMAGES: list[Damage] = [
    *[json_values] * 10,
    *[json_text] * 1,
    *[member_bytes] * 4,
    *[record_sizes] * 2,
    *[member_list] * 2,
    *[header_numbers] * 3,
    *[flip_bytes] * 2,
    *[flip_directory] * 2,
    truncate,
    cut_or_double,
    bomb,
    *[source_text] * 2,
]


def damaged(data: bytes, chance: random.Random) -> tuple[str, bytes]:
    """The name of the damage, and the archive."""
    damage = chance.choice(DAMAGES)
    return damage.__name__, damage(data, chance)
