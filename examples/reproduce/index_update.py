"""One ranker before and after an index update: how often a sample picks the worse one [T Fig. 6.4 left].

The update removes 10 % of the documents at random, and the lists close up. Replayed are the source's active comparison
(``optimal``, `snis`), its passive sampling with replacement and its baselines, and what the package adds. The source
saves 75 % of the labels for ERR and 30 % for DCG against passive sampling with replacement.

    python examples/reproduce/index_update.py POOL.parquet … --out FOLDER [--quick]

writes ``index_update.csv`` and ``index_update.png``. The source's own data are MSLR-WEB30k, from Microsoft's page of
learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from figures import averaged, error_curves, error_panels, error_rows, parser, print_savings, write
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from tqdm import tqdm

from pt_active.simulate import labelled_population

MEASURES = ("ERR", "DCG")

REMOVED = 0.1
"""Share of the documents that the update removes."""

UPDATES = 4
"""Random updates of each training fold, over which the figure averages; one with ``--quick``."""


def updated(frame: pd.DataFrame, ranker: str, seed: int) -> pd.DataFrame:
    """The documents that a ranker found, with their ranks before and after a random update of the index.

    Args:
        frame: Graded documents with ``rank_<ranker>``.
        ranker: Its name.
        seed: Of the update.

    Returns:
        The frame with ``rank_before`` and ``rank_after`` (-1 for the documents that are gone) as its only rankers.
    """
    found = frame[frame[f"rank_{ranker}"] >= 0].sort_values(["qid", "docno"])
    before = found[f"rank_{ranker}"]
    stays = np.random.default_rng(seed).random(len(found)) >= REMOVED
    after = before[stays].groupby(found["qid"][stays]).rank() - 1
    ranked = found.columns[found.columns.str.match("rank_|score_")]
    after = after.reindex(found.index, fill_value=-1).astype(int)
    return found.drop(columns=ranked).assign(rank_before=before, rank_after=after)
