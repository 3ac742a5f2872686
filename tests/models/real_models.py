"""The table of real models: how each is made into a TorchScript archive, and three input sets for each, of different sizes.

Inputs are drawn from a seed and look like what the model was trained on: images, spectrograms, waves, token numbers.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from speech import CrepeTiny, VoiceEncoder
from text import Bert, WordSplitter
from vision import EfficientNetLite0, PNet, TextLineReader

Args = tuple[Any, ...]


class RealModel(NamedTuple):
    network: Callable[[], nn.Module] | None  # None: the published file is an archive
    traced: bool
    inputs: Callable[[], list[Args]]


def image(*shape: int) -> Args:
    """Soft patches of colour with some noise, as normalised images have them."""
    patches = torch.randn(shape[0], shape[1], 6, 8)
    soft = nn.functional.interpolate(patches, shape[2:], mode="bilinear", align_corners=False)
    return (soft + 0.1 * torch.randn(shape),)


def text_line(batch: int, width: int) -> Args:
    """Dark strokes on white, in [-1, 1]."""
    strokes = nn.functional.avg_pool2d(torch.rand(batch, 1, 48, width), 5, 1, 2)
    return (torch.where(strokes < 0.46, -1.0, 1.0),)


def mel_spectrogram(batch: int, frames: int) -> Args:
    """Power: positive and of a wide range."""
    return ((2 * torch.randn(batch, frames, 40) - 4).exp(),)


def wave(batch: int, samples: int, rate: int = 16000) -> Tensor:
    """A tone and its harmonics, with noise."""
    time = torch.arange(samples) / rate
    pitch = 100 + 200 * torch.rand(batch, 1)
    tones = sum(torch.sin(2 * torch.pi * k * pitch * time) / k for k in range(1, 5))
    return 0.3 * tones + 0.01 * torch.randn(batch, samples)


def pitch_frames(count: int) -> Args:
    """Each of mean 0 and deviation 1, as CREPE wants it."""
    frames = wave(count, 1024)
    return ((frames - frames.mean(1, keepdim=True)) / frames.std(1, keepdim=True),)


def speech_chunk(batch: int, samples: int, rate: int) -> Args:
    return (wave(batch, samples, rate), rate)


def thai_text(batch: int, length: int) -> Args:
    """Numbers of characters, and of the syllables that they belong to."""
    characters = torch.randint(1, 139, (batch, length))
    syllables = torch.randint(1, 6227, (batch, length // 3 + 1)).repeat_interleave(3, dim=1)[:, :length]
    return (torch.stack((characters, syllables), dim=1),)


def sentences(*lengths: int) -> Args:
    """Token numbers between [CLS] and [SEP], padded to the longest, and the mask that says so."""
    width = max(lengths)
    tokens = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in zip(tokens, lengths, strict=True):
        row[:length] = torch.randint(1996, 30522, (length,))
        row[0], row[length - 1] = 101, 102
    return (tokens, (tokens != 0).long())


REAL_MODELS = {
    "attacut": RealModel(WordSplitter, False, lambda: [thai_text(1, 40), thai_text(3, 25), thai_text(2, 90)]),
    "crepe_tiny": RealModel(CrepeTiny, True, lambda: [pitch_frames(1), pitch_frames(8), pitch_frames(3)]),
    "efficientnet_lite0": RealModel(
        EfficientNetLite0, False, lambda: [image(1, 3, 224, 224), image(2, 3, 160, 160), image(1, 3, 192, 249)]
    ),
    "khmer_ocr": RealModel(TextLineReader, True, lambda: [text_line(1, 192), text_line(2, 128), text_line(1, 256)]),
    "minilm": RealModel(Bert, True, lambda: [sentences(16), sentences(9, 32, 20, 5), sentences(7, 12)]),
    "mtcnn_pnet": RealModel(PNet, True, lambda: [image(1, 3, 60, 80), image(2, 3, 48, 48), image(1, 3, 33, 47)]),
    "silero_vad": RealModel(None, False, lambda: [speech_chunk(1, 512, 16000), speech_chunk(2, 512, 16000), speech_chunk(1, 256, 8000)]),
    "voice_encoder": RealModel(VoiceEncoder, False, lambda: [mel_spectrogram(1, 160), mel_spectrogram(3, 160), mel_spectrogram(2, 80)]),
}


def input_sets(name: str) -> list[Args]:
    torch.manual_seed(20)
    return REAL_MODELS[name].inputs()


def published(name: str, weights: Path) -> nn.Module:
    """The model in eval mode, as a module of Python's if we have its source."""
    model = REAL_MODELS[name]
    if model.network is None:
        return torch.jit.load(weights).eval()
    network = model.network()
    missing, unknown = network.load_state_dict(state_dict(weights), strict=False)
    assert not missing, missing
    assert set(unknown) <= UNUSED, unknown
    return network.eval()


def archive(name: str, network: nn.Module) -> torch.jit.ScriptModule:
    """`network` if it is an archive already."""
    if REAL_MODELS[name].traced:
        return torch.jit.trace(network, input_sets(name)[0], check_trace=False)
    return torch.jit.script(network)


def exact_results(name: str, network: nn.Module) -> list[list[Tensor]] | None:
    """What the model gives in double precision, for each input set; the network is changed. None if we do not have its source."""
    if REAL_MODELS[name].network is None:
        return None
    network.double()
    sets = [[arg.double() if arg.is_floating_point() else arg for arg in args] for args in input_sets(name)]
    return [tensors_of(network(*args)) for args in sets]


def tensors_of(result: Tensor | tuple[Tensor, ...]) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else list(result)


# Of the published weights: what training needs, and BERT's pooler, which sentence embeddings do not use.
UNUSED = {"similarity_weight", "similarity_bias", "pooler.dense.weight", "pooler.dense.bias"}


def state_dict(file: Path) -> dict[str, Tensor]:
    with file.open("rb") as opened:
        if opened.read(9)[8:] == b"{":
            return safetensors(file)
    saved = torch.load(file, map_location="cpu", weights_only=True)
    return saved.get("model_state", saved.get("model_state_dict", saved))


def safetensors(file: Path) -> dict[str, Tensor]:
    """The format: length of the header in 8 bytes, header as JSON, tensors one behind another."""
    data = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    entries.pop("__metadata__", None)
    dtypes = {"F32": torch.float32, "I64": torch.int64}
    return {
        name: torch.frombuffer(
            data, dtype=dtypes[entry["dtype"]], count=torch.Size(entry["shape"]).numel(),
            offset=start + entry["data_offsets"][0],
        ).reshape(entry["shape"])
        for name, entry in entries.items()
    }  # fmt: skip
