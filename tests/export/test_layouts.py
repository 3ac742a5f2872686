"""Archives as older versions of torch laid them out. torch's own loader says whether they are made right."""

import io
import zipfile

import torch
from torch import nn
from torch._export.serde.serialize import serialize

import stator


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.register_buffer("count", torch.zeros(()))
        self.constant = torch.arange(4.0)

    def forward(self, x):
        self.count += 1
        return self.linear(x) + self.constant * self.count


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name, content in members.items():
            target.writestr(name, content)
    return out.getvalue()


def same_as_torch(data: bytes) -> None:
    reference = torch.export.load(io.BytesIO(data)).module()
    module = stator.load(data)
    for _ in range(3):
        x = torch.randn(2, 3)
        with torch.no_grad():
            torch.testing.assert_close(torch.from_dlpack(module(x)), reference(x))


def program() -> torch.export.ExportedProgram:
    return torch.export.export(Model().eval(), (torch.randn(2, 3),))


def test_a_zip_archive_without_folders():
    parts = serialize(program())
    same_as_torch(
        zipped(
            {
                "version": b"8.20",
                "serialized_exported_program.json": parts.exported_program,
                "serialized_state_dict.pt": parts.state_dict,
                "serialized_constants.pt": parts.constants,
                "serialized_example_inputs.pt": parts.example_inputs,
            }
        )
    )


def test_pickled_weights():
    exported = program()
    parts = serialize(exported)
    buffer = io.BytesIO()
    torch.export.save(exported, buffer)
    members = {}
    with zipfile.ZipFile(buffer) as source:
        for name in source.namelist():
            if "/data/weights/" not in name and "/data/constants/" not in name:
                members[name] = source.read(name)
        root = source.namelist()[0].split("/")[0]
    out = io.BytesIO()
    writer = torch._C.PyTorchFileWriter(out)
    for name, content in members.items():
        inner = name.removeprefix(root + "/")
        if not inner.startswith(".data/") and inner != "byteorder":
            writer.write_record(inner, content, len(content))
    writer.write_record("byteorder", b"little", 6)
    writer.write_record("data/weights/model.pt", parts.state_dict, len(parts.state_dict))
    writer.write_record("data/constants/model.pt", parts.constants, len(parts.constants))
    writer.write_end_of_file()
    same_as_torch(out.getvalue())
