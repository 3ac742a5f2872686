"""What is recorded of a model's result: enough to notice that a model, its inputs or LibTorch changed, and small."""

from typing import Any

from torch import Tensor


def summary(tensors: list[Tensor]) -> list[dict[str, Any]]:
    """One entry for each."""
    return [
        {
            "shape": list(tensor.shape),
            "norm": float(f"{tensor.double().norm().item():.6g}"),
            "spread": [float(f"{value:.6g}") for value in tensor.flatten()[:: max(1, tensor.numel() // 6)].tolist()],
        }
        for tensor in tensors
    ]
