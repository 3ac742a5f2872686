"""Threads inside a run concern nobody else, and cost nothing once it is over."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import torch


class Wide(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x).sum()


def test_the_hosts_thread_count_is_its_own(load):
    model = load(Wide())
    before = torch.get_num_threads()
    for threads in (1, 2, 3):
        runtime, arena = model.runtime(intra_op_threads=threads), model.arena()
        runtime.bind(np.ones(1 << 18, np.float32))
        runtime.run(arena)
        assert torch.get_num_threads() == before
    model(np.ones(4, np.float32))
    assert torch.get_num_threads() == before


IDLE = """
    import time, sys, numpy as np, stator
    model = stator.load(sys.argv[1])
    runtime, arena = model.runtime(intra_op_threads=2), model.arena()
    runtime.bind(np.ones(1 << 20, np.float32))
    for _ in range(20):
        runtime.run(arena)
    start = time.process_time()
    time.sleep(1)
    first = time.process_time() - start
    time.sleep(0.5)
    start = time.process_time()
    time.sleep(1)
    print(first, time.process_time() - start)
"""


def test_an_idle_process_takes_no_processor_time(tmp_path):
    file = tmp_path / "wide.pt"
    torch.jit.script(Wide()).save(str(file))
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(IDLE), file], capture_output=True, text=True, check=True, env=os.environ)
    first, later = map(float, done.stdout.split())
    assert first < 0.020
    assert later < 0.002


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.dense(x)).sum()


SMALL = """
    import pathlib, sys, numpy as np, stator
    model = stator.load(sys.argv[1])
    runtime, arena = model.runtime(intra_op_threads=2), model.arena()
    count = lambda: len(list(pathlib.Path("/proc/self/task").iterdir()))
    before = count()
    for rows in (3, 3, 4096, 4096):
        runtime.bind(np.ones((rows, 16), np.float32))
        runtime.run(arena)
        print(count() - before)
"""


def test_small_work_starts_no_threads_and_large_work_does(tmp_path):
    file = tmp_path / "small.pt"
    torch.jit.script(Small().eval()).save(str(file))
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SMALL), file], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["0", "0", "1", "1"]
