r"""Learning-to-rank data in SVMlight form (LETOR, MSLR-WEB, Istella, Yahoo, LightGBM's example) to a labelled pool.

Each input file is a fold, numbered from 1. The data hold features, not rankings, so say which rankers there are: one
that ranks by a feature, larger first, or one that is learned on the training fold.

    python data_scripts/letor_to_pool.py Fold1/train.txt Fold1/vali.txt Fold1/test.txt --ranker bm25=110 \
        --ranker forest=forest --ranker linear=linear --train-fold 1 --length-feature 15 --out mslr.parquet
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from pool_writer import BadInput, check_new, lines_of, named, parser, ranked, run, write_pool

LINES_AT_ONCE = 20_000

_LABEL = re.compile(r"\d+(\.0*)?")
_QID = re.compile(r"qid:\d+")
_FEATURE = re.compile(r"[1-9]\d*:[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_DOCID = re.compile(r"docid\s*=\s*(\S+)")


class Rows(NamedTuple):
    """Some documents, in the order of the file.

    Attributes:
        qid: One string a document.
        docno: One string a document; empty where the file names none.
        label: int64[n].
        features: float32[n, d] arrays, one after the other; n documents in all, d of each its own.
    """

    qid: list[str]
    docno: list[str]
    label: np.ndarray
    features: list[np.ndarray]


def read_fold(path: Path, sizes: Path | None) -> Rows:
    """Read one file, in any of the forms.

    Args:
        path: SVMlight text, plain or ``.gz``, or a two-dimensional ``.npy`` array: label, qid, features.
        sizes: Documents of each query, one number a line, where the lines have no ``qid:``.

    Raises:
        BadInput: If a line is malformed, a query comes twice, or the sizes do not add up.
    """
    if ".npy" in path.suffixes:
        rows = _read_array(path)
    else:
        rows = _joined(list(_read_text(path, numbered=sizes is None)))
    if sizes is not None:
        rows = rows._replace(qid=_queries_of_sizes(sizes, len(rows.label), path))
    _check_grouped(rows.qid, path)
    return rows


def _read_array(path: Path) -> Rows:
    with _opened(path) as stream:
        array = np.load(stream)
    if array.ndim != 2 or array.shape[1] < 3:
        raise BadInput(f"{path}: expected a two-dimensional array of label, qid, features, got shape {array.shape}")
    qid = array[:, 1].astype(np.int64).astype(str).tolist()
    return Rows(qid, [""] * len(qid), _grades(array[:, 0], path), [array[:, 2:].astype(np.float32)])


def _grades(values: np.ndarray, path: Path) -> np.ndarray:
    wrong = ~((values >= 0) & (values == np.floor(values)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadInput(f"{path}: row {row + 1}: expected a whole label from 0, got {values[row]:g}")
    return values.astype(np.int64)


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _read_text(path: Path, numbered: bool) -> Iterator[Rows]:
    """Blocks of lines as rows; features that a line leaves out are 0."""
    start, lines = 1, lines_of(path)
    while block := list(islice(lines, LINES_AT_ONCE)):
        yield _parsed(block, start, path, numbered)
        start += len(block)
    if start == 1:
        raise BadInput(f"{path}: the file is empty")


def _parsed(block: list[bytes], start: int, path: Path, numbered: bool) -> Rows:
    from sklearn.datasets import load_svmlight_file

    try:
        found = load_svmlight_file(BytesIO(b"".join(block)), dtype=np.float32, query_id=numbered, zero_based=False)
    except ValueError as error:
        raise _complaint(block, start, path, numbered) or BadInput(f"{path}: {error}") from None
    features, label = found[0].toarray(), found[1]
    qid = found[2].astype(str).tolist() if numbered else [""] * len(label)
    whole = (label >= 0) & (label == np.floor(label)) & np.isfinite(features).all(axis=1)
    if not whole.all() or (numbered and len(found[2]) != len(label)):
        raise _complaint(block, start, path, numbered) or BadInput(f"{path}: not SVMlight")
    return Rows(qid, _docnos(block, len(label)), label.astype(np.int64), [features])


def _docnos(block: list[bytes], documents: int) -> list[str]:
    """What the comments call the documents; empty strings where they do not."""
    comments = [line.partition(b"#")[2].decode("utf-8", "replace") for line in block if line.partition(b"#")[0].strip()]
    return [found[1] if (found := _DOCID.search(comment)) else "" for comment in comments] or [""] * documents


def _complaint(block: list[bytes], start: int, path: Path, numbered: bool) -> BadInput | None:
    """What is wrong with the first line that is."""
    for number, line in enumerate(block, start):
        tokens = line.partition(b"#")[0].decode("utf-8", "replace").split()
        if tokens and (wrong := _wrong(tokens, numbered)):
            return BadInput(f"{path}:{number}: {wrong}")
    return None


def _wrong(tokens: list[str], numbered: bool) -> str | None:
    if not _LABEL.fullmatch(tokens[0]):
        return f"expected a whole label from 0, got {tokens[0]!r}"
    if numbered and not (len(tokens) > 1 and _QID.fullmatch(tokens[1])):
        return f"expected qid:NUMBER after the label, got {tokens[1] if len(tokens) > 1 else 'nothing'!r}"
    features = tokens[2 if numbered else 1 :]
    for token in features:
        if not _FEATURE.fullmatch(token):
            return f"expected FEATURE:VALUE, a feature's number from 1 and a finite value, got {token!r}"
    numbers = [int(token.partition(":")[0]) for token in features]
    return "the features' numbers must increase" if numbers != sorted(set(numbers)) else None


def _joined(blocks: list[Rows]) -> Rows:
    return Rows(
        [qid for block in blocks for qid in block.qid],
        [docno for block in blocks for docno in block.docno],
        np.concatenate([block.label for block in blocks]),
        [features for block in blocks for features in block.features],
    )


def _queries_of_sizes(sizes: Path, documents: int, path: Path) -> list[str]:
    with _opened(sizes) as stream:
        lines = stream.read().decode().split()
    if not all(line.isdigit() for line in lines):
        wrong = next(n for n, line in enumerate(lines, 1) if not line.isdigit())
        raise BadInput(f"{sizes}:{wrong}: expected a number of documents, got {lines[wrong - 1]!r}")
    counts = np.array(lines, dtype=np.int64)
    if counts.sum() != documents:
        raise BadInput(f"{sizes} counts {counts.sum()} documents, but {path} has {documents}")
    return np.repeat(np.arange(len(counts)).astype(str), counts).tolist()


def _check_grouped(qid: list[str], path: Path) -> None:
    column = pd.Series(qid)
    starts = column[column != column.shift()]
    if starts.duplicated().any():
        again = starts[starts.duplicated()]
        raise BadInput(
            f"{path}: query {again.iloc[0]!r} comes back at document {again.index[0] + 1}, after other queries"
        )


def pool_of(folds: dict[int, Rows]) -> pd.DataFrame:
    """All folds as one frame without rankers and features.

    Raises:
        BadInput: If two folds share a query.
    """
    frames = []
    for fold, rows in folds.items():
        frame = pd.DataFrame({"qid": rows.qid, "docno": rows.docno, "label": rows.label, "fold": fold})
        place = frame.groupby("qid", sort=False).cumcount().astype(str)
        frame["docno"] = frame["docno"].where(frame["docno"] != "", frame["qid"] + "-" + place)
        frames.append(frame)
    pool = pd.concat(frames, ignore_index=True)
    shared = pool.drop_duplicates(["qid", "fold"])["qid"]
    if shared.duplicated().any():
        raise BadInput(f"query {shared[shared.duplicated()].iloc[0]!r} stands in two folds")
    return pool


def stacked(blocks: list[np.ndarray]) -> np.ndarray:
    """Blocks of features as one array, float32[N, d]; features that a block lacks are 0.

    The list is emptied on the way, so that the memory for two copies is never needed.
    """
    features = np.zeros((sum(map(len, blocks)), max(block.shape[1] for block in blocks)), dtype=np.float32)
    blocks.reverse()
    start = 0
    while blocks:
        block = blocks.pop()
        features[start : start + len(block), : block.shape[1]] = block
        start += len(block)
    return features


def learners(seed: int) -> dict[str, Callable[[], Any]]:
    """What ``--ranker NAME=KIND`` can learn."""
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "linear": lambda: make_pipeline(StandardScaler(), Ridge()),
        "forest": lambda: RandomForestRegressor(
            100, min_samples_leaf=5, max_features=0.3, n_jobs=-1, random_state=seed
        ),
        "boosting": lambda: HistGradientBoostingRegressor(random_state=seed),
    }


def scores(kind: str, features: np.ndarray, label: np.ndarray, train: np.ndarray, seed: int) -> np.ndarray:
    """Score all documents, float64[N].

    Args:
        kind: A feature's number, or a key of `learners`.
        features: float32[N, d].
        label: int64[N].
        train: bool[N], the documents to learn from.
        seed: Of learners.

    Raises:
        BadInput: If it is neither, or there is no such feature.
    """
    if kind.isdigit():
        if not 1 <= int(kind) <= features.shape[1]:
            raise BadInput(f"there is no feature {kind}; they are numbered from 1 to {features.shape[1]}")
        return features[:, int(kind) - 1].astype(np.float64)
    known = learners(seed)
    if kind not in known:
        raise BadInput(f"unknown ranker {kind!r}; it is a feature's number or one of {', '.join(known)}")
    return np.asarray(known[kind]().fit(features[train], label[train]).predict(features), dtype=np.float64)


def main(argv: list[str] | None = None) -> None:
    """Read, rank and write."""
    arguments = _arguments(argv)
    check_new(arguments.out)
    kinds = named(arguments.ranker, "--ranker")
    if arguments.query_sizes and len(arguments.query_sizes) != len(arguments.files):
        raise BadInput(f"{len(arguments.files)} files need as many --query-sizes, got {len(arguments.query_sizes)}")
    sizes = arguments.query_sizes or [None] * len(arguments.files)
    folds = {fold: read_fold(*pair) for fold, pair in enumerate(zip(arguments.files, sizes, strict=True), 1)}
    if arguments.query_sizes:
        folds = {n: rows._replace(qid=[f"{n}-{qid}" for qid in rows.qid]) for n, rows in folds.items()}
    pool = pool_of(folds)
    features = stacked([block for n in sorted(folds) for block in folds.pop(n).features])
    train = (pool["fold"] == arguments.train_fold).to_numpy()
    if not train.any():
        raise BadInput(f"--train-fold {arguments.train_fold}: the folds are 1 to {len(arguments.files)}")
    for name, kind in kinds.items():
        score = scores(kind, features, pool["label"].to_numpy(), train, arguments.seed)
        pool[f"rank_{name}"], pool[f"score_{name}"] = ranked(pool["qid"], pool["docno"], score), score
    if arguments.length_feature is not None:
        pool["length"] = scores(str(arguments.length_feature), features, pool["label"].to_numpy(), train, 0)
    given = {k: v for k, v in vars(arguments).items() if k != "out"}
    if all(kind.isdigit() for kind in kinds.values()):
        del given["train_fold"]
    write_pool(pool, arguments.out, [*arguments.files, *arguments.query_sizes], given, features)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    found = parser(__doc__)
    found.add_argument("files", type=Path, nargs="+", metavar="FILE", help="one fold each")
    found.add_argument(
        "--ranker", action="append", required=True, metavar="NAME=KIND", help="a feature's number, or a learner"
    )
    found.add_argument("--train-fold", type=int, default=1, metavar="N", help="what learners learn from (1)")
    found.add_argument("--length-feature", type=int, metavar="N", help="the feature that is the document's length")
    found.add_argument(
        "--query-sizes", type=Path, action="append", default=[], metavar="FILE", help="for lines without qid:"
    )
    found.add_argument("--seed", type=int, default=0, help="of learners (0)")
    return found.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(run(main))
