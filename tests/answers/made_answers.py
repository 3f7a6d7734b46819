"""A table of answers with true scores, made here."""

from __future__ import annotations

import numpy as np
import pandas as pd


def made(items: int = 120, better: float = 0.4, runs: int = 1, noise: float = 0.1) -> pd.DataFrame:
    """``item, system, run, question, answer, cluster``, people's ``truth`` and a judge's ``score``, both 0 or 1."""
    rng, shape = np.random.default_rng(0), (items, 2, runs)
    latent = rng.normal(size=(items, 1, 1)) + rng.normal(size=shape) + np.array([better, 0.0])[None, :, None]
    truth = (latent > 0).astype(int)
    score = truth ^ (rng.random(shape) < noise)
    rows = [(x, s, r, truth[x, s, r], score[x, s, r]) for x, s, r in np.ndindex(shape)]
    table = pd.DataFrame(rows, columns=["x", "s", "run", "truth", "score"])
    number = table[["x", "s", "run"]].astype(str)
    return table.assign(
        item="i" + number["x"],
        system=table["s"].map({0: "new", 1: "old"}),
        question="question " + number["x"],
        answer="answer " + number["x"] + " " + number["s"] + " " + number["run"],
        cluster="c" + (table["x"] // 2).astype(str),
    ).drop(columns=["x", "s"])


def true_scores(table: pd.DataFrame) -> pd.DataFrame:
    """What people say, as `Answers.labels` takes it."""
    return table.drop(columns="score").rename(columns={"truth": "score"})
