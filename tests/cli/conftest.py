"""The command under test and the models, as the build leaves them (STATOR_BUILD_DIR, else build/)."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("STATOR_BUILD_DIR", ROOT / "build"))
MODELS = Path(os.environ.get("STATOR_TEST_MODELS", BUILD / "models"))


@pytest.fixture(scope="session")
def torch_home():
    given = os.environ.get("STATOR_TORCH_HOME")
    return (
        given
        or subprocess.check_output(
            [ROOT / "packaging/libtorch/locate.sh"], text=True
        ).strip()
    )


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def json(self):
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self):
        assert self.out == ""
        return json.loads(self.err)["error"]


@pytest.fixture
def stator(torch_home, tmp_path):
    def call(*words, torch=torch_home):
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "STATOR_TORCH_HOME"
        }
        if torch:
            environment["STATOR_TORCH_HOME"] = str(torch)
        command = [BUILD / "bin" / "stator", *map(str, words)]
        return Result(
            subprocess.run(
                command,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        )

    return call


@pytest.fixture
def model():
    def path(name):
        file = MODELS / f"{name}.pt"
        assert file.exists(), f"{file} is missing: make_models writes it"
        return file

    return path


@pytest.fixture
def operators():
    """The folder of operator libraries that the build made for tests."""
    return BUILD / "tests" / "operators"
