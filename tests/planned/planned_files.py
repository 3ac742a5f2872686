"""Models to plan, and ways to change what stands in a planned file."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", message=".*TorchScript.*")

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("STATOR_TEST_MODELS", ROOT / "build" / "models"))


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.layers(x), -1)


def scripted(model: torch.nn.Module) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(model.eval()), buffer)
    return buffer.getvalue()


def rewritten(path: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Each record through `change`, without the archive's folder in its name; None leaves it out. The checksums are right."""
    with zipfile.ZipFile(path) as archive:
        records = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records:
            changed = change(name.split("/", 1)[1], content)
            if changed is not None:
                archive.writestr(name, changed)


def rewrite_json(path: Path, record: str, change: Callable[[Any], None]) -> None:
    def edit(name: str, content: bytes) -> bytes:
        if name != f"stator/{record}.json":
            return content
        value = json.loads(content)
        change(value)
        return json.dumps(value).encode()

    rewritten(path, edit)
