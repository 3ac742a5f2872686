"""What models print and warn of reaches Python's logging, and not the process's output."""

import logging
import warnings

import numpy as np
import torch

import stator


class Speaks(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        print("n is", n, [1, 2], x.size(0), "done")
        if n > 5:
            warnings.warn("n is large", stacklevel=2)
        return x * n


def test_print_and_warnings_become_records(load, caplog, capfd):
    model = load(Speaks())
    with caplog.at_level(logging.DEBUG, logger="stator"):
        stator.start_logging(logging.DEBUG)
        try:
            model(np.ones(3, np.float32), 2)
            model(np.ones(3, np.float32), 6)
        finally:
            stator.stop_logging()
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("stator", "INFO", "n is 2 [1, 2] 3 done"),
        ("stator", "INFO", "n is 6 [1, 2] 3 done"),
        ("stator", "WARNING", "n is large"),
    ]
    assert capfd.readouterr() == ("", "")


def test_torchs_warnings_during_a_run_become_records(load, caplog):
    class Warns(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.complex(x, x).to(torch.float32)

    model = load(Warns())
    with caplog.at_level(logging.WARNING, logger="stator"):
        stator.start_logging(logging.WARNING)
        try:
            model(np.ones(3, np.float32))
        finally:
            stator.stop_logging()
    assert any("imaginary part" in record.getMessage() for record in caplog.records)


def test_without_logging_nothing_is_written_anywhere(load, capfd):
    load(Speaks())(np.ones(3, np.float32), 9)
    assert capfd.readouterr() == ("", "")


def test_logging_can_be_started_again(load, caplog):
    model = load(Speaks())
    with caplog.at_level(logging.DEBUG, logger="elsewhere"):
        for _ in range(2):
            stator.start_logging(logging.INFO, logging.getLogger("elsewhere"))
            stator.start_logging(logging.INFO, logging.getLogger("elsewhere"))
            model(np.ones(3, np.float32), 2)
            stator.stop_logging()
            stator.stop_logging()
    assert [record.name for record in caplog.records] == ["elsewhere"] * 2
