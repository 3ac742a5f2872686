"""Functional graphs of AOTAutograd as programs of torch.export, which can be saved."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch._export.passes.lift_constants_pass import ConstantAttrMap, lift_constants_pass
from torch._export.verifier import TrainingIRVerifier
from torch._guards import detect_fake_mode
from torch.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from stator._errors import UnsupportedError


def program_of(graph_module: GraphModule, weights: Mapping[int, torch.Tensor]) -> ExportedProgram:
    """The graph with the inputs at some places replaced by weights. What is left are positional arguments; results are one tuple."""
    copied = copy.deepcopy(graph_module)
    _keep_what_files_hold(copied)
    placeholders = [node for node in copied.graph.nodes if node.op == "placeholder"]
    _refuse_other_devices(copied)
    signature = _signature(copied, placeholders, weights)
    flat = pytree.tree_structure(((0,) * (len(placeholders) - len(weights)), {})), pytree.tree_structure((0,) * len(signature.output_specs))
    constants = lift_constants_pass(copied, signature, ConstantAttrMap())
    return ExportedProgram(
        root=copied,
        graph=copied.graph,
        graph_signature=signature,
        state_dict={_name(place): weight.detach() for place, weight in weights.items()},
        range_constraints=_ranges(placeholders),
        module_call_graph=[ModuleCallEntry("", ModuleCallSignature([], [], *flat))],
        constants=constants,
        verifiers=[TrainingIRVerifier],
    )


def _keep_what_files_hold(graph_module: GraphModule) -> None:
    """Of what Dynamo notes about nodes: what they give, and the source lines."""
    for part in graph_module.modules():
        for node in part.graph.nodes if isinstance(part, GraphModule) else ():
            kept = {key: node.meta[key] for key in ("val", "stack_trace") if key in node.meta}
            node.meta = {**kept, "nn_module_stack": {}}


def _name(place: int) -> str:
    return f"weight_{place}"


def _signature(copied: GraphModule, placeholders: list[Node], weights: Collection[int]) -> ExportGraphSignature:
    inputs = [
        InputSpec(InputKind.BUFFER, TensorArgument(node.name), _name(place), persistent=True)
        if place in weights
        else InputSpec(InputKind.USER_INPUT, _argument(node), None)
        for place, node in enumerate(placeholders)
    ]
    results = next(node for node in copied.graph.nodes if node.op == "output").args[0]
    return ExportGraphSignature(inputs, [OutputSpec(OutputKind.USER_OUTPUT, _argument(result), None) for result in results])


def _argument(node: Any) -> ArgumentSpec:
    if not isinstance(node, Node):
        return ConstantArgument("", node)
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return TensorArgument(node.name)
    for kind, form in ((torch.SymInt, SymIntArgument), (torch.SymFloat, SymFloatArgument), (torch.SymBool, SymBoolArgument)):
        if isinstance(value, kind):
            return form(node.name)
    if isinstance(value, (int, float, bool)):
        return ConstantArgument(node.name, value)
    raise UnsupportedError(f'the graph takes or gives a {type(value).__name__} as "{node.name}", which Stator cannot')


def _ranges(placeholders: list[Node]) -> dict[Any, Any]:
    """What Dynamo knows of the sizes."""
    mode = detect_fake_mode([node.meta.get("val") for node in placeholders])
    return dict(mode.shape_env.var_to_range) if mode and mode.shape_env else {}


def _refuse_other_devices(copied: GraphModule) -> None:
    for node in copied.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                raise UnsupportedError(f'Stator runs on CPUs, and "{node.name}" is on {value.device}')
