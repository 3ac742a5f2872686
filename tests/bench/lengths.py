"""lengths.py FOLDER_OF_PROGRAMS [--lengths N] [--passes N] [--only NAME]: models that meet many lengths in random order.

Beside the same model that meets only one length at a time (lengths.cpp says how). Fails if in the second half of the passes
the 99th of a hundred runs takes over three times as long, or memory grows. The same of each length's median, and the 99th of the same
length alone, tell what of that is the machine, which may stop processors now and then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from networks import EncoderLayer, Mlp

MOST_TIMES_SLOWER = 3.0
MOST_GROWTH = 1.05  # of resident memory, in the second half of the passes: plans are made in the first


class TextCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.convs = nn.Embedding(100, 64), nn.ModuleList(nn.Conv1d(64, 64, size, padding=2) for size in (3, 4, 5))
        self.head = nn.Linear(192, 5)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids).transpose(1, 2)
        return self.head(torch.cat([functional.relu(conv(x)).amax(2) for conv in self.convs], 1))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.body, self.head = nn.Embedding(100, 64), nn.Sequential(EncoderLayer(64, 4), EncoderLayer(64, 4)), nn.Linear(64, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.body(self.words(ids)).mean(1))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(100, 32), nn.LSTM(32, 32, batch_first=True), nn.Linear(32, 9)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.log_softmax(self.head(self.lstm(self.words(ids))[0]), -1)


IDS = (torch.zeros(1, 8, dtype=torch.int64), "ids: int64[1, *]")
MODELS = {
    "text_cnn": (TextCnn, *IDS),
    "transformer": (Transformer, *IDS),
    "tagger": (Tagger, *IDS),
    "mlp": (Mlp, torch.zeros(2, 128), "x: float32[*, 128]"),
}


def measured(name: str, programs: Path, lengths: int, passes: int, folder: Path) -> dict:
    network, example, spec = MODELS[name]
    torch.manual_seed(0)
    path = folder / f"{name}.pt"
    with torch.no_grad():
        torch.jit.trace(network().eval(), (example,)).save(str(path))
    command = [programs / "stator_lengths", Path(torch.__file__).parent, path, spec, str(lengths), str(passes)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("programs", type=Path)
    arguments.add_argument("--lengths", type=int, default=1000)
    arguments.add_argument("--passes", type=int, default=10)
    arguments.add_argument("--only", choices=MODELS, action="append")
    chosen = arguments.parse_args()
    warnings.filterwarnings("ignore", message=".*torch.jit.*deprecated")
    failed = False
    columns = ("p50", "p90", "p99", "most", "p99, second half", "by length: p50", "p90", "p99", "alone: p99", "resident by pass, MB")
    print("| model | alone, µs, length 1 to N | changing: " + " | ".join(columns) + " |")
    print("|---" * (2 + len(columns)) + "|")
    for name in chosen.only or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(name, chosen.programs, chosen.lengths, chosen.passes, Path(folder))
        changing, settled, memory = found["changing"], found["settled"], found["resident_kb"]
        numbers = " | ".join(f"{changing[key]:.2f}" for key in ("p50", "p90", "p99", "most"))
        by_length = " | ".join(f"{found['by_length'][key]:.2f}" for key in ("p50", "p90", "p99"))
        resident = ", ".join(f"{kb / 1024:.0f}" for kb in memory)
        print(
            f"| {name} | {found['shortest_us']:.1f} to {found['longest_us']:.0f} | {numbers} | {settled['p99']:.2f} | {by_length} | "
            f"{found['fixed']['p99']:.2f} | {resident} |",
            flush=True,
        )
        failed |= settled["p99"] > MOST_TIMES_SLOWER or memory[-1] > MOST_GROWTH * memory[len(memory) // 2]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
