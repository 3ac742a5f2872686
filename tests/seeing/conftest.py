"""What a service sees of Stator from outside: errors, log, profiles, metrics, threads. Models are scripted here and loaded from bytes."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import torch

import stator

warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", category=DeprecationWarning)


@pytest.fixture
def load() -> Any:
    def load(module: torch.nn.Module, **options: Any) -> stator.Module:
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.save(torch.jit.script(module.eval()), buffer)
        return stator.load(buffer.getvalue(), **options)

    return load
