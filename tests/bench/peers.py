"""The table of peers: what each is called, how it is set up, and what it runs."""

from typing import NamedTuple


class PeerInfo(NamedTuple):
    title: str
    setup: str
    suffix: str  # of the model's file, for a thread and for all
    suffix_all: str = ""
    program: str = "python"  # or a program of the build
    ours: bool = False
    variant_of: str = ""  # tables show the faster of a peer and its variants

    def needs(self, threads: int) -> str:
        return self.suffix if threads == 1 else self.suffix_all or self.suffix


PEERS = {
    "stator": PeerInfo(
        "Stator",
        "C interface, `plans=signature`, `latencies=off`, bound inputs, one arena recycled",
        "pt",
        program="stator_bench",
        ours=True,
    ),
    "stator_pt2": PeerInfo(
        "Stator, `.pt2`", "as Stator, of the archive that `torch.export.save` wrote", "pt2", program="stator_bench", ours=True
    ),
    "stator_dynamic": PeerInfo(
        "Stator, dynamic plan",
        "as Stator, with `plans=dynamic`",
        "pt",
        program="stator_bench",
        ours=True,
    ),
    "stator_core": PeerInfo(
        "Stator, C++ core",
        "as Stator, the C++ core called without the C interface; only to measure that interface",
        "pt",
        program="stator_bench_core",
        ours=True,
    ),
    "torchscript": PeerInfo("TorchScript", "`torch::jit::freeze`, inference mode", "pt", program="stator_bench"),
    "torchscript_ofi": PeerInfo(
        "TorchScript, o.f.i.", "`torch::jit::optimize_for_inference`, inference mode", "pt", program="stator_bench"
    ),
    "static_runtime": PeerInfo(
        "Static Runtime",
        "upstream's, out variants, memory optimised, output tensors managed",
        "pt",
        program="stator_bench",
    ),
    "aotinductor": PeerInfo(
        "AOTInductor",
        "C++ loader, single-threaded runs, weights frozen, `max_autotune`, compiled for these shapes and this number of threads",
        "aoti1.pt2",
        "aoti_all.pt2",
        program="stator_bench",
    ),
    "onnxruntime": PeerInfo(
        "ONNX Runtime",
        "all graph optimisations, sequential, inputs and outputs bound (I/O binding), from Python; the faster of both exporters' files",
        "onnx",
    ),
    "onnxruntime_ts": PeerInfo("ONNX Runtime", "the older exporter's file", "ts.onnx", variant_of="onnxruntime"),
    "openvino": PeerInfo(
        "OpenVINO", "latency hint, one stream, float32, tensors shared, from Python; the faster of both exporters' files", "onnx"
    ),
    "openvino_ts": PeerInfo("OpenVINO", "the older exporter's file", "ts.onnx", variant_of="openvino"),
    "torch_compile": PeerInfo(
        "torch.compile",
        "weights frozen, `max_autotune`, C++ wrapper, static shapes, inference mode, compiled code cached, from Python",
        "compiled1",
        "compiled_all",
    ),
    "executorch": PeerInfo("ExecuTorch", "XNNPACK partitioner, portable kernels for the rest, from Python", "pte"),
}
