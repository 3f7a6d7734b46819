r"""Makes a labelled pool from SVMlight learning-to-rank data (LETOR, MSLR-WEB, Istella, Yahoo, LightGBM's example).

Each input file is a fold. The data hold features, not rankings, so the rankers must be specified: a ranker either ranks
by a feature, largest first, or is learned on the training fold (linear, forest, boosting).

    python data_scripts/letor_to_pool.py S1.txt S2.txt S3.txt --ranker bm25=110 --ranker forest=forest \
        --train-fold 1 --length-feature 15 --out mslr.parquet
"""

from __future__ import annotations

import argparse
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pandas as pd
from letor_files import padded, read_fold
from pool_writer import (
    BadInput,
    Documents,
    Grouping,
    add_folds,
    check_new,
    digests,
    fold_files,
    named,
    parser,
    progress,
    ranked,
    run,
    write_pool,
)

KINDS = ("linear", "forest", "boosting")
"""The learned kinds of ``--ranker NAME=KIND``."""

MAX_TRAINING_DOCUMENTS = 200_000
"""From a larger training fold, learners see as many random whole queries as fit."""

Scorer = Callable[[np.ndarray], np.ndarray]


class Spool:
    """Blocks of documents kept on disk, so that the inputs are parsed only once.

    Attributes:
        width: Number of features.
        sizes: Fold → query → number of documents.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.width = 0
        self.sizes: dict[int, Counter[str]] = {}
        self._stream = stream
        self._blocks = 0

    def add(self, documents: Documents, fold: int) -> None:
        """Add documents of a fold."""
        self.width = max(self.width, documents.features.shape[1])
        self.sizes.setdefault(fold, Counter()).update(documents.frame["qid"])
        kept = documents.frame[["qid", "docno", "label"]].assign(fold=fold)
        pickle.dump((kept, documents.features), self._stream, pickle.HIGHEST_PROTOCOL)
        self._blocks += 1

    def __iter__(self) -> Iterator[Documents]:
        """The documents in the order of the input, all with the same number of features."""
        self._stream.seek(0)
        for _ in range(self._blocks):
            frame, features = pickle.load(self._stream)
            yield Documents(frame, padded(features, self.width))


def fill(spool: Spool, folds: list[tuple[int, Path]], sizes: list[Path]) -> None:
    """Read the inputs.

    Args:
        spool: Where the documents are kept.
        folds: Number and file of each fold.
        sizes: Files with the number of documents of each query, one per fold; empty if the lines name their query.

    Raises:
        BadInput: If a file is malformed or has no documents, or a query or document is repeated.
    """
    grouping = Grouping()
    for place, (fold, path) in enumerate(folds):
        for documents in read_fold(path, sizes[place] if sizes else None, f"{fold}-"):
            grouping.check(documents.frame, path)
            spool.add(documents, fold)
        if fold not in spool.sizes:
            raise BadInput(f"{path}: expected documents, got blank lines")


def scorers(kinds: dict[str, str], spool: Spool, train_fold: int, seed: int) -> dict[str, Scorer]:
    """Ranker → function from features to scores, float32[n, d] → float64[n].

    Args:
        kinds: Ranker → a feature's number, or one of `KINDS`.
        spool: All documents.
        train_fold: The training fold.
        seed: Random seed of the learners.

    Raises:
        BadInput: If a feature or the training fold does not exist.
    """
    if not is_learned(kinds):
        return {name: column(int(kind), spool.width) for name, kind in kinds.items()}
    if train_fold not in spool.sizes:
        raise BadInput(f"--train-fold {train_fold}: the folds are {', '.join(map(str, spool.sizes))}")
    features, label = training_set(spool, train_fold, seed)
    return {
        name: learned(kind, features, label, seed) if kind in KINDS else column(int(kind), spool.width)
        for name, kind in progress("learning", iterable=kinds.items(), unit="ranker")
    }


def is_learned(kinds: dict[str, str]) -> bool:
    """Whether any ranker is learned."""
    return any(kind in KINDS for kind in kinds.values())


def column(number: int, width: int) -> Scorer:
    """The scorer that returns one feature, numbered from 1.

    Raises:
        BadInput: If the feature does not exist.
    """
    if not 1 <= number <= width:
        raise BadInput(f"there is no feature {number}; they are numbered from 1 to {width}")
    return lambda features: features[:, number - 1].astype(np.float64)


def training_set(spool: Spool, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features float32[n, d] and labels int64[n] of a fold, with n at most `MAX_TRAINING_DOCUMENTS`."""
    chosen = _drawn(spool.sizes[fold], seed)
    parts = [
        (features[taken], frame["label"].to_numpy()[taken])
        for frame, features in spool
        if (taken := frame["qid"].isin(chosen).to_numpy()).any()
    ]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _drawn(sizes: Counter[str], seed: int) -> set[str]:
    if sizes.total() <= MAX_TRAINING_DOCUMENTS:
        return set(sizes)
    qids = np.random.default_rng(seed).permutation(list(sizes)).tolist()
    ends = np.cumsum([sizes[qid] for qid in qids])
    return set(qids[: max(1, int(np.searchsorted(ends, MAX_TRAINING_DOCUMENTS, side="right")))])


def learned(kind: str, features: np.ndarray, label: np.ndarray, seed: int) -> Scorer:
    """Learn a regression of the label.

    Args:
        kind: One of `KINDS`.
        features: float32[n, d].
        label: int64[n].
        seed: Random seed of the learner.
    """
    model = _model(kind, seed).fit(features, label)
    if kind == "forest":
        model.set_params(n_jobs=1)  # with threads, the order of the sum over trees varies
    return lambda features: np.asarray(model.predict(features), dtype=np.float64)


def _model(kind: str, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "linear":
        return make_pipeline(StandardScaler(), Ridge())
    if kind == "boosting":
        return HistGradientBoostingRegressor(random_state=seed)
    return RandomForestRegressor(100, min_samples_leaf=5, max_features=0.3, n_jobs=-1, random_state=seed)


def pool_of(spool: Spool, rankers: dict[str, Scorer], length: Scorer | None) -> Iterator[Documents]:
    """The documents with ranks, scores and lengths.

    Args:
        spool: All documents.
        rankers: Name → scorer.
        length: Scorer that returns a document's length, or None.
    """
    for frame, features in progress("ranking", iterable=spool, unit="block"):
        columns: dict[str, np.ndarray] = {}
        for name, scorer in rankers.items():
            columns[f"score_{name}"] = scorer(features)
            columns[f"rank_{name}"] = ranked(frame, columns[f"score_{name}"])
        if length is not None:
            columns["length"] = length(features)
        yield Documents(frame.reset_index(drop=True).join(pd.DataFrame(columns)), features)


def main(argv: list[str] | None = None) -> None:
    """Read, rank and write."""
    arguments = _arguments(argv)
    check_new(arguments.out)
    folds, kinds = fold_files(arguments.files, arguments.fold), _kinds(arguments.ranker)
    sizes = arguments.query_sizes
    if sizes and len(sizes) != len(folds):
        raise BadInput(f"{len(folds)} files need as many --query-sizes, got {len(sizes)}")
    given = vars(arguments) | {"files": [path for _, path in folds], "fold": [fold for fold, _ in folds]}
    if not is_learned(kinds):
        del given["train_fold"], given["seed"]
    with TemporaryFile(dir=arguments.out.absolute().parent) as stream:
        spool = Spool(stream)
        fill(spool, folds, sizes)
        length = None if arguments.length_feature is None else column(arguments.length_feature, spool.width)
        pool = pool_of(spool, scorers(kinds, spool, arguments.train_fold, arguments.seed), length)
        sources = digests([*(path for _, path in folds), *sizes])
        write_pool(pool, arguments.out, Path(__file__).name, given, sources)


def _kinds(entries: list[str]) -> dict[str, str]:
    kinds = named(entries, "--ranker")
    for kind in kinds.values():
        if not kind.isdecimal() and kind not in KINDS:
            raise BadInput(f"unknown ranker {kind!r}; it is a feature's number or one of {', '.join(KINDS)}")
    return kinds


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    options = parser(__doc__)
    add_folds(options)
    options.add_argument(
        "--ranker", action="append", required=True, metavar="NAME=KIND", help="a feature's number, or a learner"
    )
    options.add_argument(
        "--train-fold", type=int, default=1, metavar="N", help="the training fold of learned rankers (1)"
    )
    options.add_argument("--length-feature", type=int, metavar="N", help="the feature that is the document's length")
    options.add_argument(
        "--query-sizes",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="numbers of documents per query, for lines without qid:",
    )
    options.add_argument("--seed", type=int, default=0, help="random seed of learned rankers (0)")
    return options.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(run(main))
