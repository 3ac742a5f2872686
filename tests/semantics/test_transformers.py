"""torch.nn's own transformer layers: what they become in eval mode is taken apart (cpp/passes/expand_transformer.h)."""

import io
import warnings

import pytest
import torch
from torch import nn

import stator

X, Y = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0)), torch.randn(3, 1, 16, generator=torch.Generator().manual_seed(1))


def layer(**options) -> nn.Module:
    torch.manual_seed(2)
    made = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True, **options).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) / 8)
    return made


class Attention(nn.Module):
    def __init__(self, *, weights: bool = False) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.inner, self.weights = nn.MultiheadAttention(16, 2, batch_first=True).eval(), weights

    def forward(self, x):
        return self.inner(x, x, x, need_weights=self.weights)[0] * 2


class Causal(nn.Module):
    def __init__(self, *, whole_row: bool = False) -> None:
        super().__init__()
        self.inner = layer()
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        if whole_row:
            mask[2] = -torch.inf
        self.register_buffer("mask", mask)

    def forward(self, x):
        return self.inner(x, src_mask=self.mask)


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = layer()

    def forward(self, x):
        return self.inner(x, src_key_padding_mask=x[:, :, 0] > 1)


class Nested(nn.Module):
    """Between its ends tensors are nested ones."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.TransformerEncoder(layer(), 2).eval()

    def forward(self, x):
        lengths = 1 + (x[:, 0, 0] > 0) * (x.shape[1] - 1)
        return self.inner(x, src_key_padding_mask=torch.arange(x.shape[1]) >= lengths[:, None])


LAYERS = {
    "relu": lambda: layer(),
    "gelu": lambda: layer(activation="gelu"),
    "norm_first": lambda: layer(norm_first=True, layer_norm_eps=1e-3),
    "double": lambda: layer(activation="gelu").double(),
    "stack": lambda: nn.TransformerEncoder(layer(), 2, nn.LayerNorm(16), enable_nested_tensor=False).eval(),
    "attention": Attention,
    "weights_that_nobody_wants": lambda: Attention(weights=True),
    "causal": Causal,
    "all_left_out": lambda: Causal(whole_row=True),
    "masked": Masked,
}
KEPT = {"nested": Nested}


def traced(model: nn.Module) -> bytes:
    archive = io.BytesIO()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = X.to(next(model.parameters()).dtype)
        torch.jit.save(torch.jit.trace(model, (x,), check_trace=False), archive)
    return archive.getvalue()


@pytest.mark.parametrize("plans", ["dynamic", "eager", "signature"])
@pytest.mark.parametrize("name", [*LAYERS, *KEPT])
def test_layers_are_as_the_interpreter_runs_them(name, plans):
    model = (LAYERS | KEPT)[name]()
    data = traced(model)
    interpreter = torch.jit.load(io.BytesIO(data))
    loaded = stator.load(data, plans=plans)
    for x in (X, Y, X[:, :1], X.transpose(0, 1), X[:, ::2], X):
        given = x.to(next(model.parameters()).dtype)
        for _ in range(2):
            try:
                with torch.inference_mode():
                    wanted = interpreter(given)
            except RuntimeError:  # the mask is for five steps
                with pytest.raises(stator.Error):
                    loaded(given)
                continue
            got = torch.from_dlpack(loaded(given))
            torch.testing.assert_close(got, wanted, check_stride=True, equal_nan=True)


@pytest.mark.parametrize("name", LAYERS)
def test_they_run_in_kernels(name, tmp_path):
    (tmp_path / "model.pt").write_bytes(traced(LAYERS[name]()))
    described = stator.load(tmp_path / "model.pt").plan()
    text = str(described)
    assert ("scaled_dot_product_attention" in text) == (name not in ("causal", "all_left_out", "masked"))
    assert "_transformer_encoder_layer_fwd" not in text
    assert "_native_multi_head_attention" not in text


def test_wrong_inputs_are_errors():
    loaded = stator.load(traced(layer()))
    for wrong in (X[0], X[:, :, :8], X[None]):
        with pytest.raises(stator.Error):
            loaded(wrong)
    torch.testing.assert_close(torch.from_dlpack(loaded(X)), layer()(X))


def test_exported_and_scripted():
    model = layer(activation="gelu")
    with torch.no_grad():
        archive = io.BytesIO()
        torch.export.save(torch.export.export(model, (X,)), archive)
        scripted = io.BytesIO()
        torch.jit.save(torch.jit.script(model), scripted)
        wanted = model(X)
    for data in (archive, scripted):
        loaded = stator.load(data.getvalue())
        for _ in range(3):
            torch.testing.assert_close(torch.from_dlpack(loaded(X)), wanted)
