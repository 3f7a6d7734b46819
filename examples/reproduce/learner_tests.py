"""How often do the tests of two equally good learners find a difference?

Each learner sees one of two features that matter equally, and learns from 20 queries whether more of it is better. The
table of ``pt_docs/crossval.md`` has the share of 2,000 cross-validations in which each test rejects at the level .05.

    python examples/reproduce/learner_tests.py
"""

from __future__ import annotations

import numpy as np

from pt_active.inference.significance import cross_validated_error, two_sided_pvalue
from pt_active.studies.crossval import fold_numbers

QUERIES, DOCUMENTS, SAMPLES = 20, 5, 2000


def differences(rng: np.random.Generator, folds: int, repeats: int) -> np.ndarray:
    """The difference of the two learners in each fold: sample × repeat × fold."""
    drawn = [
        (
            rng.normal(size=(2, QUERIES, DOCUMENTS)),
            rng.normal(size=(QUERIES, DOCUMENTS)),
            fold_numbers(QUERIES, folds, repeats, seed=int(rng.integers(10**9))),
        )
        for _ in range(SAMPLES)
    ]
    x, noise, fold_of = (np.array(part) for part in zip(*drawn, strict=True))
    worth = 0.05 * x.sum(axis=1, keepdims=True) + noise[:, None]
    slope = (x * worth).sum(axis=3)[:, None]
    best, worst = (np.take_along_axis(worth, i[..., None], 3)[:, None, ..., 0] for i in (x.argmax(3), x.argmin(3)))
    tested = (fold_of[..., None] == np.arange(folds)).astype(float)
    learned = slope.sum(axis=3, keepdims=True) - slope @ tested
    values = np.where(learned > 0, best @ tested, worst @ tested) / tested.sum(axis=2, keepdims=True)
    return np.asarray(values[:, :, 0] - values[:, :, 1])


def main() -> None:
    """Print the table."""
    print("folds repeats  plain  corrected")
    for folds, repeats in ((5, 1), (10, 1), (5, 5), (10, 5)):
        delta = differences(np.random.default_rng(1), folds, repeats)
        rates = []
        for corrected in (False, True):
            error = cross_validated_error(delta, corrected)
            rates.append((two_sided_pvalue(delta.mean(axis=(1, 2)), error, folds * repeats - 1) < 0.05).mean())
        print(f"{folds:5} {repeats:7} {rates[0]:6.3f} {rates[1]:10.3f}")


if __name__ == "__main__":
    main()
