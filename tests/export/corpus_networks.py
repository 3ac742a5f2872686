"""Whole networks: the benchmark's, the published ones, recurrent and attending ones with batch and length left open."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from cases import Call, Case

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from networks import BENCH_MODELS
from real_models import REAL_MODELS, input_sets, published
from weights import weights

D = Dim.DYNAMIC
BATCH = {0: D}
BATCH_AND_LENGTH = {0: D, 1: D}

# Which sizes of the benchmark's networks are open. TanhLoop's is not, as its loop is unrolled by export.
BENCH_SIZES: dict[str, Any] = {
    "deep_and_wide_1": None,
    "deep_and_wide_20": (BATCH, BATCH, BATCH),
    "chain": (BATCH, BATCH),
    "mlp_1": None,
    "mlp_32": (BATCH,),
    "dlrm_1": None,
    "dlrm_64": (BATCH, BATCH),
    "transformer": ({1: D},),
    "resnet18": ({2: Dim.AUTO, 3: Dim.AUTO},),
    "tanh_loop": (BATCH, BATCH),
}
# Silero VAD is published as TorchScript only.
REAL_SIZES: dict[str, Any] = {
    "attacut": ({0: D, 2: D},),
    "crepe_tiny": (BATCH,),
    "efficientnet_lite0": None,
    "khmer_ocr": ({0: Dim.AUTO, 3: Dim.AUTO},),
    "minilm": (BATCH_AND_LENGTH, BATCH_AND_LENGTH),
    "mtcnn_pnet": ({0: D, 2: D, 3: D},),
    "voice_encoder": (BATCH,),
}
# Recurrent layers are unrolled; a guard says that the batch is not one.
HOLDS_FOR: dict[str, Callable[..., bool]] = {
    "voice_encoder": lambda mels: mels.shape[1] == 160,
    "khmer_ocr": lambda line: line.shape[0] > 1,
}
assert set(REAL_SIZES) | {"silero_vad"} == set(REAL_MODELS)

MOST_SHAPES = 8


def bench_network(name: str) -> Case:
    model = BENCH_MODELS[name]

    def calls() -> list[Call]:
        fixed = BENCH_SIZES[name] is None
        others = (
            [model.inputs() for _ in range(2)]
            if fixed
            else [args for args in model.others() if all(size > 1 for size in args[0].shape[:1])]
        )
        first = model.inputs() if fixed or model.inputs()[0].shape[0] > 1 or name in ("transformer", "resnet18") else others[1]
        return [Call(args) for args in [first, *others[:: max(1, len(others) // MOST_SHAPES)]]]

    return Case(f"bench/{name}", model.network, calls, BENCH_SIZES[name])


def real_network(name: str) -> Case:
    def calls() -> list[Call]:
        sets = sorted(input_sets(name), key=lambda args: -args[0].shape[0])  # a batch of one would be taken to be fixed
        sets = [args for args in sets if name not in HOLDS_FOR or HOLDS_FOR[name](*args)]
        return [Call(args) for args in (sets if REAL_SIZES[name] else sets[:1])]

    return Case(f"real/{name}", lambda: published(name, weights(name)), calls, REAL_SIZES[name])


class Pooled(nn.Module):
    """A layer over sequences and what follows from their lengths."""

    def __init__(self, make: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.layer = make()
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.layer(x)
        y = y[0] if isinstance(y, tuple) else y
        half = x.shape[1] // 2
        weights = torch.arange(x.shape[1], dtype=x.dtype) / x.shape[1]
        return self.head(y[:, :half]), (y * weights[:, None]).sum(1), y.reshape(x.shape[0] * x.shape[1], -1)[:: x.shape[1]]


class Causal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf"), dtype=x.dtype).triu(1)
        return self.layer(x, src_mask=mask)


class Convolved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(8, 12, 3, padding=2, dilation=2), nn.ConvTranspose1d(12, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.second(torch.relu(self.first(x.transpose(1, 2))))).transpose(1, 2)


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.attention(x, x, x, key_padding_mask=x[:, :, 0] > 1.5)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "lstm": partial(nn.LSTM, 8, 8, 2, batch_first=True),
    "lstm_both_ways": partial(nn.LSTM, 8, 4, 1, batch_first=True, bidirectional=True),
    "gru": partial(nn.GRU, 8, 8, 1, batch_first=True),
    "rnn": partial(nn.RNN, 8, 8, 1, batch_first=True),
    "transformer": partial(nn.TransformerEncoderLayer, 8, 2, 16, batch_first=True),
    "transformer_norm_first": partial(nn.TransformerEncoderLayer, 8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
    "causal": Causal,
    "convolved": Convolved,
    "attention": SelfAttention,
}
# Of batch and length; recurrent layers are unrolled over a length, which is fixed thereby where they are decomposed.
SHAPES = [(2, 6), (3, 4), (2, 10), (5, 7), (4, 4), (7, 12)]


def over_sequences(name: str, make: Callable[[], nn.Module], dtype: torch.dtype) -> Case:
    recurrent = name.startswith(("lstm", "gru", "rnn"))
    shapes = [(batch, 6) for batch, _ in SHAPES] if recurrent else SHAPES
    return Case(
        f"sequence/{name}/{str(dtype).removeprefix('torch.')}",
        lambda: Pooled(make).to(dtype),
        lambda: [Call((torch.randn(*shape, 8, dtype=dtype),)) for shape in shapes],
        (BATCH if recurrent else BATCH_AND_LENGTH,),
    )


NETWORKS = [
    *(bench_network(name) for name in BENCH_SIZES),
    *(real_network(name) for name in REAL_SIZES),
    *(over_sequences(name, make, dtype) for (name, make), dtype in product(LAYERS.items(), (torch.float32, torch.float64))),
]
