"""A short form of endurance.py, in a process of its own: what other tests leave behind would be counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_memory_does_not_grow():
    script = Path(__file__).parent / "endurance.py"
    done = subprocess.run([sys.executable, script, "--cycles", "20", "--runs", "4000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
