"""seeds.py CORPUS FOLDER: what libFuzzer begins with: archives, their programs' JSON without what no reader looks at, and its words."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import intact
from damage import members_of

LARGEST = 30_000  # bytes of a seed: small ones are mutated more often


def words(value: Any) -> Iterator[str]:
    """All keys and texts of a JSON value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from words(item)
    elif isinstance(value, list):
        for item in value:
            yield from words(item)
    elif isinstance(value, str):
        yield value


def without_metadata(program: Any) -> Any:
    for node in program["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {}
    return program


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    intact.make(source)
    archives, programs = folder / "archive_seeds", folder / "program_seeds"
    known: set[str] = set()
    for kind in (archives, programs):
        kind.mkdir(parents=True, exist_ok=True)
    for path in (path for path in source.iterdir() if path.suffix in (".pt", ".pt2")):
        data = path.read_bytes()
        if len(data) <= LARGEST:
            shutil.copy(path, archives)
        for member in members_of(data):
            if member.name.endswith(("models/model.json", "exported_program.json")):
                program = without_metadata(json.loads(member.content))
                known.update(words(program))
                text = json.dumps(program, separators=(",", ":"))
                if len(text) <= LARGEST:
                    (programs / f"{path.stem}.json").write_text(text, encoding="utf-8")
    shown = sorted(word for word in known if 2 <= len(word) <= 60 and word.isascii() and word.isprintable())
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in shown)
    (folder / "words.dict").write_text("".join(f'"{word}"\n' for word in escaped), encoding="utf-8")


if __name__ == "__main__":
    main()
