"""TorchVision's classification networks and architectures of Hugging Face's transformers, with random weights, through torch.export.

    zoo.py [--all] [--only PATTERN] [--dialect NAME] [--option KEY=VALUE] [--shard I/N] [--list] [--json FILE]

--all takes every member of TorchVision's families, not the smallest alone. make zoo installs both packages into .deps/zoo.
"""

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is fetched
sys.path.append(str(Path(__file__).resolve().parents[1] / "export"))

from runner import main

from language import LANGUAGE
from vision import OTHER_MEMBERS, VISION

if __name__ == "__main__":
    everything = "--all" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--all"]
    sys.exit(main([*VISION, *LANGUAGE, *(OTHER_MEMBERS if everything else [])], __doc__))
