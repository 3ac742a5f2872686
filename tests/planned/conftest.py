"""Planned files: what `Module.save` and `stator convert` write, read again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import stator

sys.path.insert(0, str(Path(__file__).resolve().parent))

from planned_files import Mlp, scripted


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    """Planned for one signature."""
    torch.manual_seed(0)
    module = stator.load(scripted(Mlp()))
    module.warm_up("x: float32[4, 64]")
    path = tmp_path / "mlp.stator"
    module.save(path)
    return path
