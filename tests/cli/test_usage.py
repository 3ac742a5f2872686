"""What needs no model: help, version, completion, and command lines that are wrong."""

import shutil
import subprocess

import pytest

COMMANDS = ["inspect", "plan", "convert", "run", "bench", "completion"]


@pytest.mark.parametrize("words", [[], *[[name] for name in COMMANDS]])
def test_help_goes_to_stdout_and_exits_with_0(stator, words):
    result = stator(*words, "--help", torch=None)
    assert (result.code, result.err) == (0, "")
    assert "Usage: stator" in result.out


def test_help_lists_every_command(stator):
    out = stator("--help", torch=None).out
    assert all(f"\n  {name} " in out for name in COMMANDS)


def test_version_needs_no_libtorch(stator):
    result = stator("--version", torch=None)
    assert result.code == 0
    assert result.out.startswith("stator ")


def test_version_as_json_says_which_libtorch(stator):
    info = stator("--version", "--json").json
    assert {
        "stator",
        "abi",
        "torch_built",
        "torch_loaded",
        "torch_path",
        "cpu_capability",
        "compiler",
    } <= set(info)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected a command"),
        (["nonsense"], "nonsense"),
        (["inspect"], "model is required"),
        (["bench", "m.pt", "--threads", "0"], "--threads"),
        (["bench", "m.pt", "--callers", "x"], "--callers"),
        (["bench", "m.pt", "--unknown"], "--unknown"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_says_why(stator, words, message):
    result = stator(*words, torch=None)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("stator: USAGE: ")
    assert message in result.err
    as_json = stator(*words, "--json", torch=None)
    assert as_json.code == 2
    assert as_json.error["code"] == "USAGE"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command_and_is_valid(stator, tmp_path, shell):
    script = stator("completion", shell, torch=None)
    assert script.code == 0
    assert all(name in script.out for name in COMMANDS)
    assert "outputs" in script.out
    if shell != "bash" and not shutil.which(shell):
        return  # the machine cannot tell whether the syntax is right
    file = tmp_path / "completion"
    file.write_text(script.out)
    assert subprocess.run([shell, "-n", file], check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["be"], {"bench"}),
        (["bench", "--s"], {"--shape", "--seconds"}),
        (["completion", "z"], {"zsh"}),
        (["run", "--inputs", "in"], {"inputs of mine.npz"}),
        (["inspect", "in"], {"inputs of mine.npz"}),
        (["bench", "--threads", ""], set()),
    ],
)
def test_bash_completes(stator, tmp_path, words, expected):
    (tmp_path / "inputs of mine.npz").touch()
    script = stator("completion", "bash", torch=None).out
    script += f'\nCOMP_WORDS=(stator {" ".join(w or chr(39) * 2 for w in words)}) COMP_CWORD={len(words)}; _stator; printf "%s\\n" "${{COMPREPLY[@]}}"'
    out = subprocess.check_output(["bash", "-c", script], text=True, cwd=tmp_path)
    assert set(out.split("\n")) - {""} == expected
