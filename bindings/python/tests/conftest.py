"""Shared by the tests: models, and the check that every handle is given back."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stator

MODELS = Path(os.environ.get("STATOR_TEST_MODELS", Path(__file__).resolve().parents[3] / "build" / "models"))


@pytest.fixture(autouse=True)
def every_handle_is_given_back() -> Iterator[None]:
    gc.collect()
    before = stator.live_handles()
    yield
    gc.collect()
    after = stator.live_handles()
    # Fewer is no leak: a test that failed before may have been holding some.
    assert {kind: count for kind, count in after.items() if count > before[kind]} == {}


@pytest.fixture
def models() -> Path:
    return MODELS


@pytest.fixture
def load() -> Callable[..., stator.Module]:
    return lambda name, **options: stator.load(MODELS / f"{name}.pt", **options)


@pytest.fixture
def x() -> Any:
    return np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
