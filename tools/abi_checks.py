"""Checks of abi.py against what is built and what the bindings declare. Each gives complaints; what does not exist yet is not looked at,
and abi.py says what was."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from abi_header import Header

FRONT_NEEDS = re.compile(r"lib(stdc\+\+|gcc_s|m|c|dl|pthread)\.so\.\d+|ld-linux\S*")
CORE_NEEDS = re.compile(
    FRONT_NEEDS.pattern + r"|libtorch_cpu\.so|libc10\.so|libz\.so\.1"
)
JAVA_TYPES = {"int32_t": "int", "int64_t": "long", "double": "double", "void": "void"}


def check_all(root: Path, header: Header, library: Path) -> tuple[list[str], list[str]]:
    """What was checked, and the complaints."""
    checked, complaints = [], []
    cores = sorted(library.parent.glob("libstator_torch*.so"))
    go_files = sorted((root / "bindings/go").rglob("*.go"))
    java_files = sorted((root / "bindings/java").glob("src/**/Native.java"))
    if library.exists():
        checked.append(library.name)
        complaints += exports(
            library, {f"{f.name}@@{f.version_node}" for f in header.functions}
        )
        complaints += needs(library, FRONT_NEEDS, set())
    for core in cores:
        checked.append(core.name)
        complaints += exports(core, {"stator_core_table"})
        complaints += needs(core, CORE_NEEDS, {"libtorch_cpu.so", "libc10.so"})
    if go_files:
        checked.append(f"{len(go_files)} Go files")
        complaints += go(root, go_files, header)
    for file in java_files:
        checked.append(file.name)
        complaints += java(file, header)
    return checked, complaints


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(library: Path, wanted: set[str]) -> list[str]:
    lines = output("nm", "-D", "--defined-only", str(library)).splitlines()
    found = {line.split()[-1] for line in lines if line.split()[-2] != "A"}
    return [
        f"{library.name} does not export {name}" for name in sorted(wanted - found)
    ] + [
        f"{library.name} exports {name}, which is not in its map"
        for name in sorted(found - wanted)
    ]


def needs(library: Path, allowed: re.Pattern, required: set[str]) -> list[str]:
    found = set(
        re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(library)))
    )
    return [
        f"{library.name} needs {name}, which it may not"
        for name in sorted(found)
        if not allowed.fullmatch(name)
    ] + [
        f"{library.name} does not need {name}, which it should"
        for name in sorted(required - found)
    ]


def go(root: Path, files: list[Path], header: Header) -> list[str]:
    known = (
        {f.name for f in header.functions}
        | {c.name for c in header.callbacks}
        | set(header.handles)
    )
    known |= set(header.constants) | {f"struct_{name}" for name in header.structs}
    complaints = []
    for file in files:
        text = file.read_text()
        own = (
            set(re.findall(r"\b(stator_\w+)\s*\(", text[: text.find('import "C"')]))
            if 'import "C"' in text
            else set()
        )
        for name in sorted(
            set(re.findall(r"\bC\.((?:stator|STATOR)_\w+|struct_DL\w+)", text))
            - known
            - own
        ):
            complaints.append(
                f"{file.relative_to(root)}: C.{name} is not in the headers"
            )
    return complaints


def java(file: Path, header: Header) -> list[str]:
    functions = {f.name: f for f in header.functions}
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(), flags=re.DOTALL)
    complaints = []
    for result, name, parameters in re.findall(
        r"\bstatic\s+native\s+([\w.\[\]]+)\s+(\w+)\s*\(([^)]*)\)", text
    ):
        if name not in functions:
            complaints.append(f"{file.name}: {name} is not in the headers")
            continue
        got = [
            " ".join(p.split()[:-1]).removeprefix("final ")
            for p in parameters.split(",")
            if p.strip()
        ]
        wanted = [JAVA_TYPES.get(p.type, "long") for p in functions[name].parameters]
        wanted_result = JAVA_TYPES.get(functions[name].result, "long")
        if (result, got) != (wanted_result, wanted):
            complaints.append(
                f"{file.name}: {result} {name}({', '.join(got)}); the header has {wanted_result} {name}({', '.join(wanted)})"
            )
    return complaints


def abidiff(root: Path, library: Path, write: bool) -> list[str]:
    """Compares types and symbols with the record, or writes it. Any difference is a complaint: the record changes in the commit that means it."""
    record = root / "capi/abi/libstator.abi"
    headers = str(root / "capi/include")
    if not library.exists():
        return [f"{library} is not built"]
    if write:
        record.parent.mkdir(parents=True, exist_ok=True)
        command = [
            "abidw",
            "--headers-dir",
            headers,
            "--drop-private-types",
            "--exported-interfaces-only",
            "--no-corpus-path",
            "--no-comp-dir-path",
            "--no-show-locs",
            "--out-file",
            str(record),
            str(library),
        ]
    elif not record.exists():
        return [f"{record} is missing: abi.py --abidiff --write"]
    else:
        command = [
            "abidiff",
            "--headers-dir2",
            headers,
            "--no-added-syms",
            str(record),
            str(library),
        ]
    try:
        result = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=with_downloaded_tools(root),
        )
    except FileNotFoundError:
        return [
            f"{command[0]} is missing: it comes with the Debian package abigail-tools"
        ]
    if write and result.returncode == 0:  # no machine's paths
        record.write_text(
            record.read_text(encoding="utf-8").replace(f"path='{root}/", "path='"),
            encoding="utf-8",
        )
    print(result.stdout, end="")
    return (
        [
            f"{command[0]} exits with {result.returncode}; see above {result.stderr}".rstrip()
        ]
        if result.returncode
        else []
    )


def with_downloaded_tools(root: Path) -> dict[str, str]:
    usr = root / ".deps/usr"
    libraries = ":".join(
        str(folder) for folder in sorted((usr / "lib").glob("*-linux-gnu*"))
    )
    paths = {"PATH": str(usr / "bin"), "LD_LIBRARY_PATH": libraries}
    return {
        **os.environ,
        **{
            name: ":".join(filter(None, [os.environ.get(name), value]))
            for name, value in paths.items()
        },
    }
