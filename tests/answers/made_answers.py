"""A table of answers with true scores, made here."""

from __future__ import annotations

import numpy as np
import pandas as pd

ITEMS = 120


def made(items: int = ITEMS, better: float = 0.4, runs: int = 1, noise: float = 0.1, seed: int = 0) -> pd.DataFrame:
    """``item, system, run, question, answer, cluster``, people's ``truth`` and a judge's ``score``, both 0 or 1."""
    rng = np.random.default_rng(seed)
    shape = (items, 2, runs)
    latent = rng.normal(size=(items, 1, 1)) + rng.normal(size=shape) + np.array([better, 0.0])[None, :, None]
    truth = (latent > 0).astype(int)
    wrong = rng.random(shape) < noise
    rows = [
        {
            "item": f"i{x}",
            "system": ("new", "old")[s],
            "run": r,
            "question": f"question {x}",
            "answer": f"answer {x} {s} {r}",
            "cluster": f"c{x // 2}",
            "truth": truth[x, s, r],
            "score": int(truth[x, s, r] ^ wrong[x, s, r]),
        }
        for x in range(items)
        for s in range(2)
        for r in range(runs)
    ]
    return pd.DataFrame(rows)


def true_scores(table: pd.DataFrame) -> pd.DataFrame:
    """What people say, as `Answers.labels` takes it."""
    return table.drop(columns="score").rename(columns={"truth": "score"})
