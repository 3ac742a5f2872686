"""Checks operators in a process of its own: reads requests and writes what happens, a line of JSON each.

A request is {"operator": index, "skip": how many cases, "quick": bool, "samples": number, "through": "torchscript" or
"export", "options": of stator.load}. The replies to it are
{"event": "interpreter" or "stator", "case", "index"} when a case begins in either, {"event": "outcome", ...} when it ends, and
{"event": "done"}.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from functools import partial
from typing import Any, TextIO

import torch

from cases import OPERATORS, NotACase, cases
from check import Outcome, check
from exported import export_cases

Json = dict[str, Any]

CASES = {"torchscript": cases, "export": export_cases}


def sweep(request: Json, replies: TextIO) -> None:
    def tell(**said: Any) -> None:
        replies.write(json.dumps(said) + "\n")
        replies.flush()

    made = CASES[request["through"]](OPERATORS[request["operator"]], quick=request["quick"], samples=request["samples"])
    for index, case in enumerate(made):
        if index < request["skip"]:
            continue
        if isinstance(case, NotACase):
            tell(event="outcome", index=index, case=case.name, verdict="skipped", reason=case.why, detail=case.detail)
            continue
        try:
            telling = partial(tell, index=index, case=case.name)
            outcome = check(case, request["options"], lambda phase, telling=telling: telling(event=phase))
        except Exception as error:
            outcome = Outcome("failed", f"the check itself: {type(error).__name__}: {error}")
        tell(event="outcome", index=index, case=case.name, **vars(outcome))
    tell(event="done")


def main() -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what models print is no reply
    replies.write(json.dumps({"event": "ready", "operators": [info.formatted_name for info in OPERATORS]}) + "\n")
    replies.flush()
    for line in sys.stdin:
        sweep(json.loads(line), replies)


if __name__ == "__main__":
    main()
