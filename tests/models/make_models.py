#!/usr/bin/env python3
"""Writes the real models into OUTDIR: NAME.pt, its input sets as NAME.inputs.pt (a list of tuples), and NAME.exact.pt: what each gives
in double precision (a list of lists of tensors, or None).

    make_models.py OUTDIR [--record]

--record also writes what the models give, in short, to expected.json beside this file.
"""

import argparse
import json
import warnings
from pathlib import Path

import torch

from real_models import REAL_MODELS, archive, exact_results, input_sets, published, tensors_of
from summary import summary
from weights import weights

EXPECTED = Path(__file__).resolve().parent / "expected.json"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
    recorded = {}
    for name in REAL_MODELS:
        network = published(name, weights(name))
        made = archive(name, network)
        made.save(arguments.outdir / f"{name}.pt")
        torch.save(input_sets(name), arguments.outdir / f"{name}.inputs.pt")
        with torch.inference_mode():
            if arguments.record:
                recorded[name] = [summary(tensors_of(made(*args))) for args in input_sets(name)]
            torch.save(exact_results(name, network), arguments.outdir / f"{name}.exact.pt")
    if arguments.record:
        EXPECTED.write_text(json.dumps(recorded, indent=1) + "\n")


main()
