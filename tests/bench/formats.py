"""One function for each file format: writes a network with its example inputs to a path. What cannot be exported raises."""

import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from networks import BENCH_MODELS, Args, inputs, network, other_inputs

AUTOTUNED = ("aoti", "compiled")  # how suffixes begin whose exporters time candidates: nothing else may run then
WARM_CALL = 20  # workers compare the first call's result, and that of this many calls later


def tensors_of(result: torch.Tensor | tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    return [result.clone()] if isinstance(result, torch.Tensor) else [tensor.clone() for tensor in result]


def write_torchscript(name: str, path: Path, archives: Path) -> None:
    model = BENCH_MODELS[name]
    if model.archive:
        shutil.copyfile(archives / f"{model.archive}.pt", path)
    elif model.scripted:
        torch.jit.script(network(name)).save(path)
    else:
        torch.jit.trace(network(name), inputs(name)).save(path)


def write_data(name: str, path: Path, _archives: Path) -> None:
    """(inputs, what the first call gives, what the one after WARM_CALL others gives, how far eager is off, [(other inputs, what they give,
    how far eager is off)])."""
    eager, model = network(name), BENCH_MODELS[name]
    precise = None if isinstance(eager, torch.jit.ScriptModule) else network(name).double()
    args = inputs(name)
    calls = [tensors_of(eager(*args)) for _ in range(WARM_CALL + 1)]
    others = []
    for other in [] if model.stateful else other_inputs(name):
        given = tensors_of(eager(*other))
        others.append((other, given, rounding_of(given, precise, other)))
    torch.save((args, calls[0], calls[-1], rounding_of(calls[0], precise, args), others), path)


def rounding_of(results: list[torch.Tensor], precise: nn.Module | None, args: Args) -> list[float]:
    """How far each of eager's results is from the same network's in double precision, at most; 0 if there is no such network."""
    if precise is None:
        return [0.0] * len(results)
    wide = [arg.double() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg for arg in args]
    exact = tensors_of(precise(*wide))
    return [(a.double() - b).abs().max().item() for a, b in zip(results, exact, strict=True)]


def module_of_python(name: str) -> nn.Module:
    eager = network(name)
    if isinstance(eager, torch.jit.ScriptModule):
        raise TypeError("published as a TorchScript archive; the exporter takes modules of Python only")
    return eager


def exported(name: str) -> torch.export.ExportedProgram:
    return torch.export.export(module_of_python(name), inputs(name))


def write_export(name: str, path: Path, _archives: Path) -> None:
    torch.export.save(exported(name), path)


def write_aotinductor(threads: int) -> Callable[[str, Path, Path], None]:
    def write(name: str, path: Path, _archives: Path) -> None:
        torch.set_num_threads(threads)
        settings = {"freezing": True, "max_autotune": True, "cpp.threads": threads}
        torch._inductor.aoti_compile_and_package(exported(name), package_path=str(path), inductor_configs=settings)

    return write


def write_onnx(name: str, path: Path, _archives: Path) -> None:
    torch.onnx.export(module_of_python(name), inputs(name), path, dynamo=True, optimize=True, external_data=False)


def write_onnx_of_torchscript(name: str, path: Path, _archives: Path) -> None:
    """The older exporter: what it writes is sometimes faster, and understood by more. It keeps loops."""
    eager = module_of_python(name)
    torch.onnx.export(torch.jit.script(eager) if BENCH_MODELS[name].scripted else eager, inputs(name), path, dynamo=False)


def write_executorch(name: str, path: Path, _archives: Path) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    lowered = to_edge_transform_and_lower(exported(name), partitioner=[XnnpackPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)


def fill_compile_cache(threads: int) -> Callable[[str, Path, Path], None]:
    """What torch.compile makes is no file, but compilers' work that it finds again: a worker's first run is with that done."""

    def write(name: str, path: Path, _archives: Path) -> None:
        from python_peers import TorchCompile, import_inductor

        import_inductor()
        torch.set_num_threads(threads)
        with torch.inference_mode():
            TorchCompile(path.with_name(name), threads, inputs(name), []).run()
        path.touch()

    return write


def formats(cores: int) -> dict[str, Callable[[str, Path, Path], None]]:
    """By the file's suffix. Inductor's code has its number of threads built in."""
    made = {
        "pt": write_torchscript,
        "data": write_data,
        "pt2": write_export,
        "onnx": write_onnx,
        "ts.onnx": write_onnx_of_torchscript,
        "pte": write_executorch,
        "aoti1.pt2": write_aotinductor(1),
        "compiled1": fill_compile_cache(1),
    }
    if cores > 1:
        made |= {"aoti_all.pt2": write_aotinductor(cores), "compiled_all": fill_compile_cache(cores)}
    return made


def write(name: str, suffix: str, path: Path, archives: Path, cores: int) -> None:
    torch.set_num_threads(1)
    args: Args = inputs(name)
    assert args, name
    with torch.no_grad():
        formats(cores)[suffix](name, path, archives)
