"""soak.py [--seconds N] [--first SEED] [--count N] [--show SEED]: random models beside the interpreter; a failure says its seed."""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings

import torch

from random_check import check_model
from random_models import make_model


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=600)
    arguments.add_argument("--first", type=int, default=None, help="seeds count up from here; random without it")
    arguments.add_argument("--count", type=int, default=sys.maxsize, help="most models")
    arguments.add_argument("--show", type=int, default=None, help="print this one model and what differs, and leave")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message=".*torch.jit.*deprecated")
    if chosen.show is not None:
        model = make_model(chosen.show)
        print(model.source)
        print("\n".join(check_model(model)) or "no difference")
        return 0
    first = chosen.first if chosen.first is not None else random.SystemRandom().randrange(1 << 40)
    end = time.monotonic() + chosen.seconds
    done = failed = 0
    while done < chosen.count and time.monotonic() < end:
        seed = first + done
        print(seed, end="\r", flush=True)  # a crash leaves it on the screen
        problems = check_model(make_model(seed))
        done += 1
        if problems:
            failed += 1
            print(f"seed {seed}: {len(problems)} differences, such as {problems[0]}", flush=True)
    print(f"{done} models from seed {first}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
