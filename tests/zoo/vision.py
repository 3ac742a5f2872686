"""TorchVision's networks for classification with random weights: every family, batch left open."""

from __future__ import annotations

from typing import Any

import torch
import torchvision
from cases import Call, Case
from torch import nn
from torch.export import Dim

# The smallest of each family; --all takes every member.
FAMILIES = (
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "maxvit_t",
    "mnasnet0_5",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x0_5",
    "squeezenet1_0",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vgg11",
    "vgg11_bn",
    "vit_b_16",
    "wide_resnet50_2",
)
# Where images of 64 x 64 do not do.
SIDES = {"inception_v3": 75, "maxvit_t": 224, "vit_h_14": 70}


def side_of(name: str) -> int:
    return SIDES.get(name, 64)


def network(name: str) -> nn.Module:
    arguments: dict[str, Any] = {}
    if name.startswith("vit"):
        arguments["image_size"] = side_of(name)
    if name in ("googlenet", "inception_v3"):
        arguments |= {"aux_logits": False, "init_weights": False}
    model = torchvision.models.get_model(name, weights=None, **arguments)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            with_statistics(part)
    return model


@torch.no_grad()
def with_statistics(norm: nn.BatchNorm2d) -> None:
    """As if it had been trained: a fresh one does nothing that could be wrong."""
    norm.running_mean.normal_(0, 0.1)
    norm.running_var.uniform_(0.5, 1.5)
    norm.weight.uniform_(0.5, 1.5)
    norm.bias.normal_(0, 0.1)


def case(name: str) -> Case:
    side = side_of(name)
    return Case(
        f"vision/{name}",
        lambda: network(name),
        lambda: [Call((torch.randn(batch, 3, side, side),)) for batch in (2, 3)],
        ({0: Dim.DYNAMIC},),
    )


VISION = [case(name) for name in FAMILIES]
OTHER_MEMBERS = [case(name) for name in torchvision.models.list_models(module=torchvision.models) if name not in FAMILIES]
