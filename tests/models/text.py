"""Networks that read; parameter names are those of the published weights."""

import math

import torch
from torch import Tensor, nn


class WordSplitter(nn.Module):
    """AttaCut (Chormai et al. 2019): for each character of Thai text the logit of being the first of a word."""

    class Layer(nn.Module):
        def __init__(self, kernel: int, dilation: int):
            super().__init__()
            self.conv = nn.Conv1d(48, 64, kernel, dilation=dilation, padding=kernel // 2 + kernel // 2 * (dilation - 1))
            self.bn = nn.BatchNorm1d(64)

        def forward(self, x: Tensor) -> Tensor:
            return self.bn(self.conv(x))

    def __init__(self):
        super().__init__()
        self.ch_embeddings = nn.Embedding(139, 32, padding_idx=0)
        self.sy_embeddings = nn.Embedding(6227, 16, padding_idx=0)
        self.conv1 = self.Layer(3, 1)
        self.conv2 = self.Layer(5, 3)
        self.conv3 = self.Layer(9, 2)
        self.linear1 = nn.Linear(64, 32)
        self.linear2 = nn.Linear(32, 1)

    def forward(self, indices: Tensor) -> Tensor:
        characters, syllables = indices[:, 0, :], indices[:, 1, :]
        x = torch.cat((self.ch_embeddings(characters), self.sy_embeddings(syllables)), dim=2).permute(0, 2, 1)
        near = self.conv1(x).permute(0, 2, 1)
        middle = self.conv2(x).permute(0, 2, 1)
        far = self.conv3(x).permute(0, 2, 1)
        out, _ = torch.max(torch.stack((near, middle, far), 3), 3)
        return self.linear2(nn.functional.relu(self.linear1(out))).view(-1)


class Bert(nn.Module):
    """BERT (Devlin et al. 2018) of 6 layers, its tokens' mean as a unit vector: a sentence's meaning."""

    def __init__(self, width: int = 384, layers: int = 6):
        super().__init__()
        self.embeddings = BertEmbeddings(width)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(BertLayer(width) for _ in range(layers))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        x = self.embeddings(tokens)
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.encoder.layer:
            x = layer(x, hidden)
        weights = mask.unsqueeze(-1).expand(x.size()).to(x.dtype)
        mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, p=2.0, dim=1)


class BertEmbeddings(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.word_embeddings = nn.Embedding(30522, width, padding_idx=0)
        self.position_embeddings = nn.Embedding(512, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.register_buffer("position_ids", torch.arange(512).expand(1, -1))

    def forward(self, tokens: Tensor) -> Tensor:
        places = self.position_ids[:, : tokens.size(1)]
        types = torch.zeros_like(tokens)
        x = self.word_embeddings(tokens) + self.token_type_embeddings(types) + self.position_embeddings(places)
        return self.LayerNorm(x)


class BertLayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = BertAttention(width)
        self.intermediate = nn.Module()
        self.intermediate.dense = nn.Linear(width, 4 * width)
        self.output = BertOutput(4 * width, width)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        x = self.attention(x, hidden)
        return self.output(nn.functional.gelu(self.intermediate.dense(x)), x)


class BertAttention(nn.Module):
    HEADS = 12

    def __init__(self, width: int):
        super().__init__()
        self.self = nn.Module()
        self.self.query = nn.Linear(width, width)
        self.self.key = nn.Linear(width, width)
        self.self.value = nn.Linear(width, width)
        self.output = BertOutput(width, width)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        query, key, value = (self.heads(f(x)) for f in (self.self.query, self.self.key, self.self.value))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
        context = torch.matmul(torch.softmax(scores + hidden, dim=-1), value)
        context = context.permute(0, 2, 1, 3).contiguous()
        return self.output(context.view(x.size()), x)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.HEADS, -1).permute(0, 2, 1, 3)


class BertOutput(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)
        self.LayerNorm = nn.LayerNorm(outputs, eps=1e-12)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(x) + residual)
