"""Checks that includes between the rooms of cpp/ point one way. Prints what does not."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAY_INCLUDE = {
    "graph": set(),
    "memory": {"graph"},
    "kernels": set(),
    "analysis": {"graph", "memory"},
    "passes": {"graph", "analysis"},
    "frontend": {"graph"},
    "ops": {"graph"},
    "plan": {"graph", "analysis", "memory", "ops", "kernels"},
    "profile": {"graph", "plan"},
    "values": {"graph", "frontend"},
    "runtime": {
        "graph",
        "analysis",
        "memory",
        "ops",
        "kernels",
        "plan",
        "profile",
        "passes",
        "values",
    },
}
MAY_INCLUDE_JIT = {"frontend/torchscript", "graph/operator.cpp"}
MAY_INCLUDE_JSON = {"frontend/json", "frontend/export", "frontend/planned"}


def is_in(name: pathlib.Path, places: set[str]) -> bool:
    return any(str(name).startswith(place) for place in places)


def main() -> int:
    faults = []
    files = sorted(
        path for path in (ROOT / "cpp").rglob("*") if path.suffix in {".h", ".cpp"}
    )
    for path in files:
        name = path.relative_to(ROOT / "cpp")
        room = name.parts[0]
        for included in re.findall(
            r'#include ["<]([^">]+/[^">]+)[">]', path.read_text()
        ):
            target = included.split("/")[0]
            if (
                target in MAY_INCLUDE
                and target != room
                and target not in MAY_INCLUDE.get(room, MAY_INCLUDE.keys())
            ):
                faults.append(f"cpp/{name}: {room} includes {included}")
            if (
                included.startswith("torch/csrc/jit")
                and not is_in(name, MAY_INCLUDE_JIT)
            ) or (
                included.startswith("nlohmann/") and not is_in(name, MAY_INCLUDE_JSON)
            ):
                faults.append(f"cpp/{name}: includes {included}")
            if target in {"capi", "stator"}:
                faults.append(f"cpp/{name}: includes the C interface")
    print(
        "\n".join(faults)
        if faults
        else f"{len(files)} files, all includes point one way"
    )
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
