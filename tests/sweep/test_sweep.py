"""One sample of every operator of LibTorch's database, in every way of writing the call, beside TorchScript's interpreter."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def test_every_operator_agrees_with_the_interpreter_on_one_sample():
    sweep = Path(__file__).with_name("sweep.py")
    ran = subprocess.run([sys.executable, sweep, "--quick"], capture_output=True, text=True, check=False)
    failed = [line for line in ran.stderr.splitlines() if line.startswith("FAILED")]
    assert not failed
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(re.findall(r"(\d+) passed, 0 failed", ran.stdout)[0]) > 1500
