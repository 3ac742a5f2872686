"""The peers that are used from Python. Each loads a model for a number of threads; `run` is then one run on bound inputs, as close to
the library's compiled entry point as Python gets, and `outputs` are the last run's."""

import functools
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

Tensors = list[torch.Tensor]


class OnnxRuntime:
    """All graph optimisations, sequential execution, inputs and outputs bound to memory (I/O binding)."""

    suffix = "onnx"

    def __init__(self, stem: Path, threads: int, inputs: tuple, results: Tensors) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(f"{stem}.{self.suffix}", options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.results = [onnxruntime.OrtValue.ortvalue_from_numpy(np.empty_like(result.numpy())) for result in results]
        self.inputs = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy()) for tensor in tensors(inputs)]
        for described, value in zip(self.session.get_inputs(), self.inputs, strict=True):
            self.binding.bind_ortvalue_input(described.name, value)
        for described, value in zip(self.session.get_outputs(), self.results, strict=True):
            self.binding.bind_ortvalue_output(described.name, value)
        # What InferenceSession.run_with_iobinding calls.
        self.run = functools.partial(self.session._sess.run_with_iobinding, self.binding._iobinding, None)

    def outputs(self) -> Tensors:
        return [torch.from_numpy(value.numpy()) for value in self.results]


class OpenVino:
    """Latency hint, float32, the request's tensors are the caller's memory."""

    suffix = "onnx"

    def __init__(self, stem: Path, threads: int, inputs: tuple, _results: Tensors) -> None:
        import openvino

        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
        }
        self.model = openvino.Core().compile_model(f"{stem}.{self.suffix}", "CPU", settings)
        self.request = self.model.create_infer_request()
        self.inputs = [np.ascontiguousarray(tensor.numpy()) for tensor in tensors(inputs)]
        for index, array in enumerate(self.inputs):
            self.request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))
        # What InferRequest.infer calls; results are views, nothing is copied.
        compiled = type(self.request).__mro__[1].infer
        self.run = functools.partial(compiled, self.request, {}, share_outputs=True, decode_strings=False)

    def outputs(self) -> Tensors:
        return [torch.from_numpy(self.request.get_output_tensor(i).data.copy()) for i in range(len(self.model.outputs))]


class OnnxRuntimeOlderExport(OnnxRuntime):
    suffix = "ts.onnx"


class OpenVinoOlderExport(OpenVino):
    suffix = "ts.onnx"


class TorchCompile:
    """Inductor with frozen weights, autotuned kernels and its C++ wrapper, for static shapes, in inference mode."""

    def __init__(self, stem: Path, threads: int, inputs: tuple, _results: Tensors) -> None:
        from networks import network

        self.threads = threads
        eager = network(stem.name)
        if isinstance(eager, torch.jit.ScriptModule):
            raise TypeError("published as a TorchScript archive; torch.compile takes modules of Python only")
        torch._inductor.config.freezing = True
        options = {"max_autotune": True, "cpp_wrapper": True}
        self.compiled = torch.compile(eager, dynamic=False, options=options)
        self.inputs = inputs
        self.result: torch.Tensor | tuple[torch.Tensor, ...] = ()
        self.run = functools.partial(self.compiled, *inputs)

    def outputs(self) -> Tensors:
        result = self.run()
        return [result] if isinstance(result, torch.Tensor) else list(result)


class ExecuTorch:
    """XNNPACK's partitioner, portable kernels for the rest; results are views of the program's memory."""

    def __init__(self, stem: Path, threads: int, inputs: tuple, _results: Tensors) -> None:
        from executorch.extension.pybindings import portable_lib

        portable_lib._unsafe_reset_threadpool(threads)
        self.module = portable_lib._load_for_executorch(f"{stem}.pte")
        self.inputs = inputs
        self.run = functools.partial(self.module.run_method, "forward", inputs, False)

    def outputs(self) -> Tensors:
        return [tensor.clone() for tensor in self.run()]


def tensors(inputs: tuple) -> Tensors:
    """Arguments that are no tensors are part of an exported model."""
    return [argument for argument in inputs if isinstance(argument, torch.Tensor)]


def import_onnxruntime() -> None:
    import onnxruntime  # noqa: F401


def import_openvino() -> None:
    import openvino

    openvino.Core().available_devices  # noqa: B018  opens the plugins


def import_inductor() -> None:
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "build" / "bench" / "inductor"))
    import torch._inductor.compile_fx  # noqa: F401


def import_executorch() -> None:
    from executorch.extension.pybindings import portable_lib  # noqa: F401


# The class, and what a process does once for any model.
PYTHON_PEERS: dict[str, tuple[type, Callable[[], None]]] = {
    "onnxruntime": (OnnxRuntime, import_onnxruntime),
    "onnxruntime_ts": (OnnxRuntimeOlderExport, import_onnxruntime),
    "openvino": (OpenVino, import_openvino),
    "openvino_ts": (OpenVinoOlderExport, import_openvino),
    "torch_compile": (TorchCompile, import_inductor),
    "executorch": (ExecuTorch, import_executorch),
}
