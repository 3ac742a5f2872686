"""Networks that listen; parameter names are those of the published weights."""

import torch
from torch import Tensor, nn


class VoiceEncoder(nn.Module):
    """Speaker embedding (Wan et al. 2018): the last state of an LSTM over a mel spectrogram, as a unit vector."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(40, 256, num_layers=3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, mels: Tensor) -> Tensor:
        _, (hidden, _) = self.lstm(mels)
        raw = torch.relu(self.linear(hidden[-1]))
        return raw / torch.norm(raw, dim=1, keepdim=True)


class CrepeTiny(nn.Module):
    """CREPE (Kim et al. 2018), the smallest: 360 likelihoods of pitch for each frame of 1024 samples."""

    CHANNELS = (1, 128, 16, 16, 16, 32, 64)

    def __init__(self):
        super().__init__()
        for i, (inputs, outputs) in enumerate(zip(self.CHANNELS, self.CHANNELS[1:], strict=False), start=1):
            kernel, stride = (512, 4) if i == 1 else (64, 1)
            self.add_module(f"conv{i}", nn.Conv2d(inputs, outputs, (kernel, 1), (stride, 1)))
            self.add_module(f"conv{i}_BN", nn.BatchNorm2d(outputs, eps=0.0010000000474974513))
        self.classifier = nn.Linear(256, 360)

    def forward(self, frames: Tensor) -> Tensor:
        x = frames[:, None, :, None]
        for i in range(1, len(self.CHANNELS)):
            x = nn.functional.pad(x, (0, 0, 254, 254) if i == 1 else (0, 0, 31, 32))
            x = nn.functional.relu(getattr(self, f"conv{i}")(x))
            x = nn.functional.max_pool2d(getattr(self, f"conv{i}_BN")(x), (2, 1))
        x = x.permute(0, 2, 1, 3).reshape(-1, 256)
        return torch.sigmoid(self.classifier(x))
