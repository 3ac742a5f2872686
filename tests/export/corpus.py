"""The export corpus: models, dtypes, shapes, control flow, writes and containers through torch.export in three dialects.

corpus.py [--only PATTERN] [--dialect NAME] [--option KEY=VALUE] [--shard I/N] [--list] [--json FILE]
"""

import sys

from corpus_containers import CONTAINERS
from corpus_control import CONTROL
from corpus_dtypes import DTYPES
from corpus_networks import NETWORKS
from corpus_writes import WRITES
from runner import main

CORPUS = [*NETWORKS, *DTYPES, *CONTROL, *WRITES, *CONTAINERS]
assert len({case.name for case in CORPUS}) == len(CORPUS)

if __name__ == "__main__":
    sys.exit(main(CORPUS, __doc__))
