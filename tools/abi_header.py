"""Reads the public headers into plain data: functions with types and documentation, constants, handles, callbacks.

Declarations come from pycparser over the preprocessed header, documentation and constants from its text.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast, c_parser

SCALARS = {"int32_t", "int64_t", "double"}
POINTED_ONLY = {"void", "char", "uint8_t"}
THREADS = re.compile(r"(any|one per \w+( and per \w+)*)( \(.+\))?$")
STUB_HEADERS = {
    "stdint.h": "".join(
        f"typedef int {kind}{bits}_t;"
        for kind in ("int", "uint")
        for bits in (8, 16, 32, 64)
    ),
    "stddef.h": "typedef unsigned size_t;",
}


@dataclass
class Parameter:
    name: str
    type: str


@dataclass
class Function:
    name: str
    result: str
    parameters: list[Parameter]
    since: str = ""
    threads: str = ""
    doc: dict[str, str] = field(
        default_factory=dict
    )  # parameter -> what the header says of it
    experimental: bool = False

    @property
    def version_node(self) -> str:
        return "STATOR_EXPERIMENTAL" if self.experimental else f"STATOR_{self.since}"

    @property
    def returns_status(self) -> bool:
        return self.result == "stator_status *"


@dataclass
class Header:
    functions: list[Function]
    constants: dict[str, str]  # as written
    handles: list[str]
    structs: list[str]
    callbacks: list[Function]
    complaints: list[str]


def read(paths: list[Path]) -> Header:
    """All headers as one; what comes from a file named *_experimental.h is marked."""
    header = Header([], {}, [], [], [], [])
    for path in paths:
        text = path.read_text()
        first = len(header.functions)
        declarations(path, header)
        own = header.functions[first:]
        for function in own:
            function.experimental = path.stem.endswith("_experimental")
        document(own, text, header.complaints)
        constants(text, header)
    check_types(header)
    return header


def declarations(path: Path, header: Header) -> None:
    for node in c_parser.CParser().parse(preprocessed(path)).ext:
        if node.coord.file != str(path):
            continue
        if isinstance(node, c_ast.Typedef) and isinstance(node.type, c_ast.TypeDecl):
            if (
                not isinstance(node.type.type, c_ast.Struct)
                or node.type.type.decls
                or node.type.type.name != node.name
            ):
                header.complaints.append(
                    f"{node.name}: a handle is `typedef struct NAME NAME;` and nothing else"
                )
            header.handles.append(node.name)
        elif isinstance(node, c_ast.Typedef):
            header.callbacks.append(function_of(node.name, node.type.type))
        elif isinstance(node.type, c_ast.FuncDecl):
            header.functions.append(function_of(node.name, node.type))
        elif isinstance(node.type, c_ast.Struct) and not node.type.decls:
            header.structs.append(node.type.name)
        else:
            header.complaints.append(
                f"{node.coord}: neither a function, a handle nor a callback"
            )


def check_types(header: Header) -> None:
    known = set(header.handles) | {f"struct {name}" for name in header.structs}
    names = {callback.name for callback in header.callbacks}
    for function in header.functions + header.callbacks:
        for what, type_ in [("result", function.result)] + [
            (p.name, p.type) for p in function.parameters
        ]:
            if not allowed(type_, known, names, is_result=what == "result"):
                header.complaints.append(
                    f"{function.name}: {what} has type `{type_}`; only int32_t, int64_t, double, pointers and callbacks cross the ABI"
                )


def preprocessed(path: Path) -> str:
    with tempfile.TemporaryDirectory() as stubs:
        for name, content in STUB_HEADERS.items():
            (Path(stubs) / name).write_text(content)
        command = [
            "gcc",
            "-E",
            "-nostdinc",
            "-U__GNUC__",
            "-I",
            stubs,
            "-I",
            str(path.parent.parent),
            "-x",
            "c",
            str(path),
        ]
        return subprocess.run(
            command, check=True, capture_output=True, text=True
        ).stdout


def function_of(name: str, node: c_ast.FuncDecl) -> Function:
    parameters = []
    for parameter in node.args.params if node.args else []:
        if isinstance(parameter, c_ast.EllipsisParam):
            parameters.append(Parameter("...", "..."))
        elif rendered(parameter.type) != "void":
            parameters.append(Parameter(parameter.name or "", rendered(parameter.type)))
    return Function(name, rendered(node.type), parameters)


def rendered(node: c_ast.Node) -> str:
    """The C spelling of a type without a name, as in `const stator_value *const *`."""
    stars = ""
    while isinstance(node, c_ast.PtrDecl):
        stars = (
            "*" + " ".join(node.quals) + (" " if node.quals and stars else "") + stars
        )
        node = node.type
    if not isinstance(node, c_ast.TypeDecl):
        return type(node).__name__  # an array or a function: refused by allowed()
    kind = node.type
    base = (
        " ".join(kind.names)
        if isinstance(kind, c_ast.IdentifierType)
        else f"{type(kind).__name__.lower()} {kind.name}"
    )
    base = " ".join([*node.quals, base])
    return f"{base} {stars}" if stars else base


def allowed(
    type_: str, pointed: set[str], callbacks: set[str], is_result: bool
) -> bool:
    if type_ in SCALARS or type_ in callbacks or (is_result and type_ == "void"):
        return True
    base = type_.split("*")[0].strip().removeprefix("const ")
    return "*" in type_ and (base in SCALARS | POINTED_ONLY | pointed)


def document(functions: list[Function], text: str, complaints: list[str]) -> None:
    """Fills in what the comments say, and complains about what they do not."""
    comments = {}
    for comment, name in re.findall(
        r"/\*\*((?:(?!\*/).)*)\*/\s*STATOR_API\b[^;(]*?\b(stator_\w+)\(",
        text,
        re.DOTALL,
    ):
        comments[name] = re.sub(r"(?m)^\s*\* ?", "", comment)
    for function in functions:
        if function.name not in comments:
            complaints.append(f"{function.name}: no comment, or no STATOR_API")
            continue
        tags = re.findall(r"(?ms)^@(\w+) +(.*?)(?=^@|\Z)", comments[function.name])
        documented = [body.split(None, 1) for tag, body in tags if tag == "param"]
        function.doc = {
            entry[0]: " ".join(entry[1].split()) if len(entry) > 1 else ""
            for entry in documented
        }
        wanted, got = (
            [p.name for p in function.parameters],
            [entry[0] for entry in documented],
        )
        if wanted != got:
            complaints.append(
                f"{function.name}: parameters are ({', '.join(wanted)}), @param names ({', '.join(got)})"
            )
        single = {tag: " ".join(body.split()) for tag, body in tags}
        if ("return" in single) != (function.result != "void"):
            complaints.append(
                f"{function.name}: @return {'is missing' if function.result != 'void' else 'on a void function'}"
            )
        function.threads = single.get("threads", "")
        if not THREADS.match(function.threads):
            complaints.append(
                f"{function.name}: @threads is `any` or `one per NOUN [and per NOUN]`, got `{function.threads}`"
            )
        function.since = single.get("since", "")
        if not re.fullmatch(r"\d+\.\d+", function.since):
            complaints.append(
                f"{function.name}: @since is MAJOR.MINOR, got `{function.since}`"
            )


def constants(text: str, header: Header) -> None:
    for name, value in re.findall(
        r"(?m)^#define (STATOR_\w+)[ \t]+(?:\\\n\s*)?(-?(?:0x[0-9a-fA-F]+|\d+))\b", text
    ):
        if name in header.constants:
            header.complaints.append(f"{name} is defined twice")
        header.constants[name] = value
