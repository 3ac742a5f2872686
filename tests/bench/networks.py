"""The networks of the benchmark, their inputs, and other inputs that the same model takes. All weights and inputs are drawn from a seed.

Nine are the shapes of work that small models are made of; TanhLoop is nothing but the interpreter's overhead; the others are the published
models of tests/models, taken from the archives that `make real-models` made.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.append(str(Path(__file__).resolve().parents[1] / "models"))
from real_models import REAL_MODELS, input_sets, published
from weights import weights

Args = tuple[Any, ...]


class DeepAndWide(nn.Module):
    """The model of upstream Static Runtime's own benchmark: wide features, one dot product of embeddings, one dense unit."""

    def __init__(self, wide: int = 50) -> None:
        super().__init__()
        self.mu = nn.Parameter(torch.randn(1, wide))
        self.sigma = nn.Parameter(torch.randn(1, wide))
        self.weight = nn.Parameter(torch.randn(1, wide + 1))
        self.bias = nn.Parameter(torch.randn(1))

    def forward(self, ad: Tensor, user: Tensor, wide: Tensor) -> Tensor:
        wide = torch.clamp((wide + self.mu) * self.sigma, 0.0, 10.0)
        dot = torch.flatten(torch.bmm(ad, torch.transpose(user, 1, 2)), 1)
        return torch.sigmoid(F.linear(torch.cat([dot, wide], 1), self.weight, self.bias))


class Chain(nn.Module):
    """The design note's example: a pointwise chain with a concatenation and a sum."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        c = a + b
        d = c * a
        e = torch.cat([c, d], 0)
        return e * 2 + d.sum(0, keepdim=True)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.layers(x), -1)


class Dlrm(nn.Module):
    """After "Deep Learning Recommendation Model for Personalization and Recommendation Systems" (2019), small."""

    def __init__(self, tables: int = 8, width: int = 16, rows: int = 10000) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables)])
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        vectors = tables + 1
        self.top = nn.Sequential(nn.Linear(vectors * tables // 2 + width, 64), nn.ReLU(), nn.Linear(64, 1))
        self.register_buffer("left", torch.tensor([i for i in range(vectors) for _ in range(i)]))
        self.register_buffer("right", torch.tensor([j for i in range(vectors) for j in range(i)]))

    def forward(self, dense: Tensor, indices: Tensor) -> Tensor:
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(indices[:, i, :]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.left, self.right]
        return torch.sigmoid(self.top(torch.cat([x, products], 1)))


class EncoderLayer(nn.Module):
    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Sequential(EncoderLayer(), EncoderLayer()), nn.Linear(128, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).mean(1))


def conv_bn(inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.first, self.second = conv_bn(inputs, outputs, 3, stride), conv_bn(outputs, outputs)
        self.shortcut = conv_bn(inputs, outputs, 1, stride) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
        self.body = nn.Sequential(conv_bn(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *(BasicBlock(*width) for width in widths))
        self.head = nn.Linear(512, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).mean((2, 3)))


class TanhLoop(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for _ in range(100):
            x = torch.tanh(x * y)
        return x


class BenchModel(NamedTuple):
    title: str
    network: Callable[[], nn.Module]
    inputs: Callable[[], Args]
    others: Callable[[], list[Args]]  # of other shapes, in the order in which they are run
    scripted: bool = False
    archive: str = ""  # the name in build/real_models
    stateful: bool = False


def deep_and_wide(batch: int) -> Args:
    return torch.randn(batch, 1, 32), torch.randn(batch, 1, 32), torch.randn(batch, 50)


def dlrm(batch: int) -> Args:
    return torch.randn(batch, 13), torch.randint(0, 10000, (batch, 8, 4))


def except_for(own: int, count: int = 100) -> list[int]:
    return [size for size in range(1, count + 2) if size != own][:count]


def over_batches(title: str, network: type[nn.Module], make: Callable[[int], Args], batch: int) -> BenchModel:
    return BenchModel(title, network, lambda: make(batch), lambda: [make(other) for other in except_for(batch)])


def real(name: str, title: str) -> BenchModel:
    return BenchModel(
        title,
        lambda: published(name, weights(name)),
        lambda: input_sets(name)[0],
        lambda: input_sets(name)[1:],
        archive=name,
        stateful=name == "silero_vad",
    )


def float_rows(*columns: int) -> Callable[[int], Args]:
    return lambda batch: (torch.randn(batch, *columns),)


BENCH_MODELS = {
    "deep_and_wide_1": over_batches("DeepAndWide, batch 1", DeepAndWide, deep_and_wide, 1),
    "deep_and_wide_20": over_batches("DeepAndWide, batch 20", DeepAndWide, deep_and_wide, 20),
    "chain": BenchModel(
        "design note's example, 2x3",
        Chain,
        lambda: (torch.randn(2, 3), torch.randn(2, 3)),
        lambda: [(torch.randn(rows, 3), torch.randn(rows, 3)) for rows in except_for(2)],
    ),
    "mlp_1": over_batches("MLP 128-256-256-10, batch 1", Mlp, float_rows(128), 1),
    "mlp_32": over_batches("MLP 128-256-256-10, batch 32", Mlp, float_rows(128), 32),
    "dlrm_1": over_batches("DLRM-like, batch 1", Dlrm, dlrm, 1),
    "dlrm_64": over_batches("DLRM-like, batch 64", Dlrm, dlrm, 64),
    "transformer": BenchModel(
        "transformer, 2 layers, 16 tokens",
        Transformer,
        lambda: (torch.randn(1, 16, 128),),
        lambda: [(torch.randn(1, tokens, 128),) for tokens in except_for(16)],
    ),
    "resnet18": BenchModel(
        "ResNet-18, image 224x224",
        ResNet18,
        lambda: (torch.randn(1, 3, 224, 224),),
        lambda: [(torch.randn(1, 3, 32, 31 + width),) for width in except_for(0)],
    ),
    "tanh_loop": BenchModel(
        "100 times x = tanh(x * y), 4 floats",
        TanhLoop,
        lambda: (torch.randn(4), torch.randn(4)),
        lambda: [(torch.randn(size), torch.randn(size)) for size in except_for(4)],
        scripted=True,
    ),
    "mtcnn_pnet": real("mtcnn_pnet", "MTCNN's PNet, image 60x80"),
    "silero_vad": real("silero_vad", "Silero VAD, 512 samples"),
    "attacut": real("attacut", "AttaCut, 40 characters"),
    "crepe_tiny": real("crepe_tiny", "CREPE tiny, 1 frame"),
    "minilm": real("minilm", "MiniLM (BERT), 16 tokens"),
    "voice_encoder": real("voice_encoder", "voice encoder (LSTM), 160 frames"),
    "efficientnet_lite0": real("efficientnet_lite0", "EfficientNet-Lite0, image 224x224"),
    "khmer_ocr": real("khmer_ocr", "Khmer OCR (CRNN), line 48x192"),
}
assert all(not model.archive or model.archive in REAL_MODELS for model in BENCH_MODELS.values())


def network(name: str) -> nn.Module:
    torch.manual_seed(0)
    return BENCH_MODELS[name].network().eval()


def inputs(name: str) -> Args:
    torch.manual_seed(1)
    return BENCH_MODELS[name].inputs()


def other_inputs(name: str) -> list[Args]:
    torch.manual_seed(2)
    return BENCH_MODELS[name].others()
