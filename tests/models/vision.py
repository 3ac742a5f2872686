"""Networks that look at images, written from their papers' tables; parameter names are those of the published weights."""

from typing import Final

import torch
from torch import Tensor, nn


class PNet(nn.Module):
    """First stage of MTCNN (Zhang et al. 2016): boxes and scores of faces, for an image of any size."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 10, 3)
        self.prelu1 = nn.PReLU(10)
        self.pool1 = nn.MaxPool2d(2, 2, ceil_mode=True)
        self.conv2 = nn.Conv2d(10, 16, 3)
        self.prelu2 = nn.PReLU(16)
        self.conv3 = nn.Conv2d(16, 32, 3)
        self.prelu3 = nn.PReLU(32)
        self.conv4_1 = nn.Conv2d(32, 2, 1)
        self.conv4_2 = nn.Conv2d(32, 4, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.pool1(self.prelu1(self.conv1(image)))
        x = self.prelu2(self.conv2(x))
        x = self.prelu3(self.conv3(x))
        return self.conv4_2(x), torch.softmax(self.conv4_1(x), dim=1)


class SameConv2d(nn.Conv2d):
    """A convolution padded as TensorFlow's SAME: it depends on the size of the image."""

    def forward(self, x: Tensor) -> Tensor:
        down = self.missing(x.size(2), self.stride[0], self.kernel_size[0])
        right = self.missing(x.size(3), self.stride[1], self.kernel_size[1])
        x = nn.functional.pad(x, [right // 2, right - right // 2, down // 2, down - down // 2])
        return nn.functional.conv2d(x, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)

    def missing(self, size: int, stride: int, kernel: int) -> int:
        outputs = (size + stride - 1) // stride
        return max((outputs - 1) * stride + kernel - size, 0)


class MBConv(nn.Module):
    """Inverted residual: widen, convolve each channel alone, narrow."""

    expands: Final[bool]
    skips: Final[bool]

    def __init__(self, inputs: int, outputs: int, expand: int, kernel: int, stride: int):
        super().__init__()
        wide = inputs * expand
        self.expands = expand != 1
        self.skips = stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv = nn.Conv2d(inputs, wide, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(wide, eps=1e-3)
        self._depthwise_conv = SameConv2d(wide, wide, kernel, stride, groups=wide, bias=False)
        self._bn1 = nn.BatchNorm2d(wide, eps=1e-3)
        self._project_conv = nn.Conv2d(wide, outputs, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(outputs, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        y = x
        if self.expands:
            y = nn.functional.relu6(self._bn0(self._expand_conv(y)))
        y = nn.functional.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return y + x if self.skips else y


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 (Tan and Le 2019, without squeeze and excitation): 1000 classes of ImageNet."""

    # blocks in a row, kernel, stride of the first, expansion, inputs, outputs
    STAGES = (
        (1, 3, 1, 1, 32, 16),
        (2, 3, 2, 6, 16, 24),
        (2, 5, 2, 6, 24, 40),
        (3, 3, 2, 6, 40, 80),
        (3, 5, 1, 6, 80, 112),
        (4, 5, 2, 6, 112, 192),
        (1, 3, 1, 6, 192, 320),
    )

    def __init__(self):
        super().__init__()
        self._conv_stem = SameConv2d(3, 32, 3, 2, bias=False)
        self._bn0 = nn.BatchNorm2d(32, eps=1e-3)
        self._blocks = nn.ModuleList(
            MBConv(outputs if i else inputs, outputs, expand, kernel, 1 if i else stride)
            for repeats, kernel, stride, expand, inputs, outputs in self.STAGES
            for i in range(repeats)
        )
        self._conv_head = nn.Conv2d(320, 1280, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(1280, eps=1e-3)
        self._dropout = nn.Dropout(0.2)
        self._fc = nn.Linear(1280, 1000)

    def forward(self, image: Tensor) -> Tensor:
        x = nn.functional.relu6(self._bn0(self._conv_stem(image)))
        for block in self._blocks:
            x = block(x)
        x = nn.functional.relu6(self._bn1(self._conv_head(x)))
        x = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return self._fc(self._dropout(x))


class TextLineReader(nn.Module):
    """CRNN (Shi et al. 2015) for lines of Khmer script: logits of characters for each step along the line."""

    def __init__(self):
        super().__init__()
        # The published names count dropout layers too.
        self.cnn = nn.Sequential(
            *self.layer(1, 64), nn.MaxPool2d(2), nn.Dropout2d(0.2),
            *self.layer(64, 128), nn.MaxPool2d(2), nn.Dropout2d(0.2),
            *self.layer(128, 256), *self.layer(256, 256), nn.MaxPool2d((2, 1)), nn.Dropout2d(0.2),
            *self.layer(256, 512), *self.layer(512, 512), nn.MaxPool2d((2, 1)), nn.Dropout2d(0.2),
            *self.layer(512, 512, kernel=2, padding=0),
        )  # fmt: skip
        self.rnn = nn.LSTM(512, 256, num_layers=2, bidirectional=True, dropout=0.2)
        self.fc = nn.Linear(512, 984)

    @staticmethod
    def layer(inputs: int, outputs: int, kernel: int = 3, padding: int = 1) -> list[nn.Module]:
        return [
            nn.Conv2d(inputs, outputs, kernel, padding=padding),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]

    def forward(self, line: Tensor) -> Tensor:
        steps = self.cnn(line).mean(dim=2).permute(2, 0, 1)
        return self.fc(self.rnn(steps)[0])
