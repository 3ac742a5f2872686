"""What programs write: their buffers, and what they are given."""

import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x):
        self.step.add_(1)
        self.sum.mul_(0.5).add_(x.mean(0))
        return x * self.step + self.sum


def test_buffers_are_kept_between_runs(compare):
    compare(Counter(), (torch.randn(2, 3),), (torch.randn(2, 3),))


def test_state_is_returned(compare):
    class Returns(Counter):
        def forward(self, x):
            self.sum += x.sum(0)
            return self.sum, self.sum[:2], self.step

    compare(Returns(), (torch.randn(2, 3),), (torch.randn(2, 3),))


def test_views_of_one_buffer(compare):
    class Shifts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.zeros(4))

        def forward(self, x):
            self.window[:-1] = self.window[1:].clone()
            self.window[-1] = x.sum()
            return self.window.clone()

    compare(Shifts(), (torch.randn(3),), (torch.randn(3),))


def test_batch_norm_in_training(compare):
    class Trains(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x):
            self.norm.train()
            return self.norm(x)

    compare(Trains(), (torch.randn(4, 3),), (torch.randn(4, 3),))


def test_inputs_are_written(compare):
    class Writes(nn.Module):
        def forward(self, x, pair):
            x.add_(1)
            pair[0].mul_(x)
            return pair[0] + pair[1]

    args = (torch.randn(3), [torch.randn(3), torch.randn(3)])
    compare(Writes(), args, args)


def test_a_key_value_cache(compare):
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", torch.zeros(1, 8, 4))

        def forward(self, x, position):
            self.keys.index_copy_(1, position, x)
            return (self.keys @ x.transpose(1, 2)).softmax(1)

    steps = [(torch.randn(1, 1, 4), torch.tensor([position])) for position in range(4)]
    compare(Cache(), *steps, repeats=2)


def test_an_input_that_is_written_and_returned_is_returned_as_it_is(compare):
    class Writes(nn.Module):
        def forward(self, x):
            return x.mul_(2)

    wide = torch.randn(3, 8)
    compare(Writes(), (torch.randn(3, 4),), (wide[:, ::2],), (torch.randn(4, 3).t(),))
