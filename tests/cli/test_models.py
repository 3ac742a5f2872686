"""Commands on models; the oracle of results is TorchScript's interpreter."""

import numpy as np
import pytest
import torch

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
Y = np.arange(6, dtype=np.float32).reshape(2, 3)


def expected(path, *args, method="forward"):
    module = torch.jit.load(path).eval()
    with torch.inference_mode():
        return getattr(module, method)(*args)


def test_inspect_shows_inputs_defaults_and_the_eval_mode(stator, model):
    result = stator("inspect", model("defaults"))
    assert result.code == 0, result.err
    assert "file was saved in training mode: runs in eval mode" in result.out
    assert "scale  float" in result.out
    assert "2.0" in result.out
    description = stator("inspect", model("defaults"), "--json").json
    inputs = description["methods"][0]["inputs"]
    assert [i["name"] for i in inputs] == ["x", "scale", "shift"]
    assert [i.get("default") for i in inputs] == [None, "2.0", "None"]


def test_inspect_shows_state_methods_and_written_inputs(stator, model):
    counter = stator("inspect", model("counter"), "--json").json
    assert {m["name"] for m in counter["methods"]} == {"forward", "reset"}
    assert {s["name"] for s in counter["state"]} == {"n", "total"}
    assert "one copy per runtime" in stator("inspect", model("counter")).out
    assert (
        stator("inspect", model("writes"), "--json").json["methods"][0]["inputs"][0][
            "written"
        ]
        is True
    )
    assert "no state" in stator("inspect", model("add_mul")).out


def test_plan_lists_every_node_with_kind_and_counts(stator, model):
    result = stator("plan", model("deep_and_wide"))
    assert result.code == 0, result.err
    nodes = stator("plan", model("deep_and_wide"), "--json").json["nodes"]
    assert any("bmm" in node["operator"] for node in nodes)
    assert {node["kind"] for node in nodes} <= {
        "bound",
        "out",
        "native",
        "fallback",
        "control",
    }
    for node in nodes:
        assert node["operator"] in result.out
        assert "why" in node
    assert f"{len(nodes)} nodes: " in result.out


def test_plan_tells_bytes_after_a_run(stator, model):
    shapes = [
        "--shape",
        "float32[4,1,32]",
        "--shape",
        "float32[4,1,32]",
        "--shape",
        "float32[4,50]",
    ]
    plan = stator("plan", model("deep_and_wide"), *shapes, "--json").json
    assert plan["workspace_bytes"] > 0
    assert plan["output_bytes"] >= 16


@pytest.mark.parametrize(
    "way", ["positional npz", "named npz", "list pt", "tuple pt", "dict pt"]
)
def test_run_takes_inputs_from_every_kind_of_file(stator, model, tmp_path, way):
    tensors = [torch.from_numpy(X), torch.from_numpy(Y)]
    if way == "positional npz":
        np.savez(tmp_path / "in.npz", X, Y)
    elif way == "named npz":
        np.savez_compressed(tmp_path / "in.npz", y=Y, x=X)
    else:
        value = {
            "list pt": tensors,
            "tuple pt": tuple(tensors),
            "dict pt": {"y": tensors[1], "x": tensors[0]},
        }[way]
        torch.save(value, tmp_path / "in.pt")
    file = "in.npz" if way.endswith("npz") else "in.pt"
    result = stator("run", model("add_mul"), "--inputs", file, "--outputs", "out.npz")
    assert result.code == 0, result.err
    torch.testing.assert_close(
        torch.from_numpy(np.load(tmp_path / "out.npz")["arr_0"]),
        expected(model("add_mul"), *tensors),
    )


def test_run_writes_what_torch_load_reads(stator, model, tmp_path):
    np.savez(tmp_path / "in.npz", X, Y)
    result = stator(
        "run",
        model("containers"),
        "--inputs",
        "in.npz",
        "--outputs",
        "out.pt",
        "--json",
    ).json
    assert [entry["place"] for entry in result["outputs"]] == [
        '[0]["sum"]',
        '[0]["product"]',
        "[1][0]",
        "[1][1]",
        "[1][2]",
    ]
    assert all(entry["type"] == "float32[2, 3]" for entry in result["outputs"])
    named, listed = torch.load(tmp_path / "out.pt", weights_only=True)
    want_named, want_listed = expected(
        model("containers"), torch.from_numpy(X), torch.from_numpy(Y)
    )
    for got, want in [
        *zip(named.values(), want_named.values(), strict=True),
        *zip(listed, want_listed, strict=True),
    ]:
        torch.testing.assert_close(got, want)


def test_run_takes_scalars_from_npz_and_leaves_defaults(stator, model, tmp_path):
    np.savez(tmp_path / "in.npz", x=X, n=5)
    result = stator("run", model("loops"), "--inputs", "in.npz", "--json").json
    assert result["outputs"][1] == {"place": "[1]", "kind": "int", "value": 10}
    np.savez(tmp_path / "in.npz", x=X, shift=Y)
    assert (
        stator(
            "run", model("defaults"), "--inputs", "in.npz", "--outputs", "out.npz"
        ).code
        == 0
    )
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npz")["arr_0"], X * 2 + Y, rtol=1e-6
    )


def test_run_takes_another_method(stator, model, tmp_path):
    np.savez(tmp_path / "in.npz", X, Y)
    assert (
        stator(
            "run",
            model("two_methods"),
            "--method",
            "score",
            "--inputs",
            "in.npz",
            "--outputs",
            "out.npz",
        ).code
        == 0
    )
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npz")["arr_0"], (X * Y).sum(-1), rtol=1e-5
    )


def test_values_of_every_type_can_be_given(stator, model):
    given = ["t=float32[2]", "i=5", "f=2", "b=true", "s=a=b", "o=none"]
    result = stator(
        "run",
        model("kinds"),
        *[word for spec in given for word in ("--shape", spec)],
        "--json",
    ).json
    values = [entry.get("value", entry.get("type")) for entry in result["outputs"]]
    assert values == ["float32[2]", 6, 4.0, False, "a=b!", None]


def test_bench_measures(stator, model):
    result = stator(
        "bench",
        model("add_mul"),
        "--shape",
        "float32[1,8]",
        "--shape",
        "y=float32[1,8]",
        "--seconds",
        "0.2",
        "--json",
    ).json
    assert 0 < result["min_us"] <= result["p50_us"] <= result["p99_us"]
    assert result["runs"] == result["batch"] * result["batches"] > 0
    assert (result["threads"], result["callers"]) == (1, 1)
    assert result["load_ms"] > 0
    assert result["first_call_us"] > 0


def test_bench_with_callers_and_threads_and_state(stator, model):
    result = stator(
        "bench",
        model("counter"),
        "--shape",
        "float32[3]",
        "--callers",
        "3",
        "--threads",
        "2",
        "--seconds",
        "0.2",
        "--json",
    ).json
    assert (result["threads"], result["callers"]) == (2, 3)
    text = stator(
        "bench",
        model("counter"),
        "--shape",
        "float32[3]",
        "--callers",
        "2",
        "--seconds",
        "0.1",
    )
    assert text.code == 0
    assert text.err == ""  # progress is for terminals only
    assert "p50" in text.out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["missing x: Tensor, y: Tensor", "--shape x=float32[1,32]"]),
        (["--shape", "float32[2]"], ["missing y: Tensor"]),
        (["--shape", "z=float32[2]"], ['no input "z"', "x: Tensor, y: Tensor"]),
        (["--shape", "float[2]"], ['no dtype "float"']),
        (["--shape", "float32[2,-1]"], ["whole numbers"]),
        (
            ["--shape", "float32[1]", "--shape", "x=float32[1]"],
            ['"x" was given before'],
        ),
        (["--shape", "1", "--shape", "1", "--shape", "1"], ["one too many"]),
        (["--shape", "float32[1]", "--inputs", "in.npz"], ["exclude each other"]),
    ],
)
def test_bench_says_which_inputs_are_wrong(stator, model, words, parts):
    result = stator("bench", model("add_mul"), *words)
    assert (result.code, result.out) == (2, "")
    assert all(part in result.err for part in parts), result.err


def test_errors_have_codes_and_places(stator, model, tmp_path):
    assert stator("inspect", "none.pt", "--json").error["code"] == "NOT_FOUND"
    assert stator("inspect", model("truncated"), "--json").error["code"] == "BAD_MODEL"
    assert (
        stator("run", model("add_mul"), "--method", "nonsense", "--json").error["code"]
        == "NOT_FOUND"
    )
    result = stator("run", model("raises"), "--shape", "float32[2]", "--shape", "n=-1")
    assert result.code == 1
    assert result.err.startswith("stator: MODEL_ERROR: ")
    assert "n must be positive, got -1" in result.err
    np.savez(tmp_path / "in.npz", x=X)
    missing = stator("run", model("add_mul"), "--inputs", "in.npz", "--json")
    assert missing.code == 1
    assert missing.error["code"] == "INPUT_MISSING"
    assert "missing y: Tensor" in missing.error["message"]
    wrong = stator("run", model("linear"), "--shape", "float32[2,3]", "--json").error
    assert wrong["code"] in ("SHAPE_MISMATCH", "OPERATOR_ERROR")
    assert "aten::linear" in wrong["operator"]


def test_a_folder_without_libtorch_is_an_error(stator, model, tmp_path):
    result = stator("inspect", model("add_mul"), "--torch", tmp_path)
    assert result.code == 1
    assert result.err.startswith("stator: TORCH_NOT_FOUND: ")
    assert str(tmp_path) in result.err


def test_models_with_operators_of_a_library_need_it(stator, model, operators):
    missing = stator("inspect", model("operators_library"))
    assert missing.code == 1
    assert "stator_library::outer" in missing.err
    library = ("--op-library", operators / "liblibrary.so")
    for words in (
        ["inspect"],
        ["plan"],
        ["run", "--shape", "float32[2]", "--shape", "float32[3]"],
    ):
        done = stator(*words, model("operators_library"), *library)
        assert done.code == 0, done.err
    assert (
        "nothing.so"
        in stator("inspect", model("add_mul"), "--op-library", "./nothing.so").err
    )


def test_convert_writes_a_file_that_runs_the_same(stator, model, tmp_path):
    out = tmp_path / "mlp.stator"
    result = stator(
        "convert",
        model("mlp"),
        str(out),
        "--signature",
        "x: float32[2,128]",
        "--shape",
        "float32[5,128]",
    )
    assert result.code == 0, result.err
    assert "2 plans" in result.out
    assert "float32[2, 128]" in result.out
    described = stator("inspect", str(out), "--json").json
    assert described["planned"]["restored"] == 2
    assert "2 plans ready" in stator("inspect", str(out)).out
    inputs = ["--shape", "float32[2,128]"]
    for source, result in ((str(out), "planned.npz"), (model("mlp"), "original.npz")):
        assert (
            stator("run", source, *inputs, "--outputs", str(tmp_path / result)).code
            == 0
        )
    planned, original = (
        np.load(tmp_path / name) for name in ("planned.npz", "original.npz")
    )
    assert planned.files == original.files
    assert all(np.array_equal(planned[name], original[name]) for name in original.files)
    nodes = [
        [
            (node["operator"], node["kind"], node["source"])
            for node in stator("plan", source, "--json").json["nodes"]
        ]
        for source in (str(out), model("mlp"))
    ]
    assert nodes[0] == nodes[1]


def test_convert_plans_for_as_many_threads_as_asked(stator, model, tmp_path):
    out = tmp_path / "mlp.stator"
    result = stator(
        "convert",
        model("mlp"),
        str(out),
        "--signature",
        "x: float32[2,128]",
        "--threads",
        "1",
        "--threads",
        "2",
        "--json",
    )
    assert result.code == 0, result.err
    assert result.json["bytes"] == out.stat().st_size
    assert [plan["inputs"] for plan in result.json["plans"]] == [
        ["float32[2, 128]"]
    ] * 2


def test_convert_says_what_is_wrong(stator, model, tmp_path):
    assert stator("convert", model("mlp")).code == 2
    assert stator("convert", model("mlp"), str(tmp_path / "missing" / "x")).code == 1
    result = stator(
        "convert", model("mlp"), str(tmp_path / "x"), "--signature", "y: float32[2]"
    )
    assert result.code == 1
    assert '"y"' in result.err
    assert list(tmp_path.iterdir()) == []
