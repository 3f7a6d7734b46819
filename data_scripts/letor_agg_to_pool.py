"""Makes a labelled pool of real rankers from LETOR 4.0's rank aggregation data (MQ2007-agg, MQ2008-agg).

Each input file is a fold. A line holds the label, the query, and the document's place in the list of each ranker, or
NULL. Only some documents of each list were judged, so a ranking here has the judged documents alone, in the order of
the list. The features are 1/(1 + place) in each list, 0 for NULL.

    python data_scripts/letor_agg_to_pool.py A1.txt A2.txt A3.txt A4.txt A5.txt --out mq2007-agg.parquet
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from pool_writer import (
    BadInput,
    Documents,
    Grouping,
    add_folds,
    check_new,
    digests,
    fold_files,
    lines_of,
    parser,
    ranked,
    run,
    write_pool,
)

_LINE = re.compile(r"(\d+)\s+qid:(\S+)((?:\s+\d+:(?:\d+|NULL))+)\s*#\s*docid\s*=\s*(\S+).*")


def read_fold(path: Path, fold: int) -> Documents:
    """Read one file.

    Args:
        path: The file, plain or ``.gz``.
        fold: Number of the fold.

    Returns:
        ``line, qid, docno, label, fold``, and the places, float32[n, k]; NaN where a ranker does not retrieve the
        document.

    Raises:
        BadInput: If a line is malformed, or its number of rankers differs from that of the first line.
    """
    rows, places = [], []
    for line, text in enumerate(lines_of(path), 1):
        if not text.strip():
            continue
        label, qid, row, docno = _fields(text, f"{path}:{line}")
        rows.append((line, qid, docno, label, fold))
        places.append(row)
        if len(row) != len(places[0]):
            raise BadInput(f"{path}:{line}: expected {len(places[0])} rankers, got {len(row)}")
    if not rows:
        raise BadInput(f"{path}: expected documents, got blank lines")
    return Documents(pd.DataFrame(rows, columns=["line", "qid", "docno", "label", "fold"]), np.array(places))


def _fields(text: bytes, where: str) -> tuple[int, str, list[float], str]:
    line = text.decode("utf-8", "replace").strip()
    match = _LINE.fullmatch(line)
    if match is None or "�" in line:
        raise BadInput(
            f"{where}: expected 'LABEL qid:Q 1:PLACE … #docid = D', a place a whole number or NULL, got {line[:60]!r}"
        )
    tokens = [token.partition(":") for token in match[3].split()]
    for number, token in enumerate(tokens, 1):
        if token[0] != str(number):
            raise BadInput(f"{where}: expected the place in ranker {number}'s list, got {''.join(token)!r}")
    return int(match[1]), match[2], [np.nan if place == "NULL" else float(place) for *_, place in tokens], match[4]


def pool_of(folds: Iterable[Documents]) -> Documents:
    """All folds as one labelled pool.

    Raises:
        BadInput: If the folds have different numbers of rankers.
    """
    frames, places = zip(*folds, strict=True)
    widths = sorted({part.shape[1] for part in places})
    if len(widths) > 1:
        raise BadInput(f"the files have different numbers of rankers: {widths}")
    pool = pd.concat(frames, ignore_index=True).drop(columns="line")
    place = np.concatenate(places)
    columns: dict[str, np.ndarray] = {}
    for number, score in enumerate(-place.T, 1):
        columns[f"rank_system_{number}"] = ranked(pool, score)
        columns[f"score_system_{number}"] = score
    return Documents(pool.join(pd.DataFrame(columns)), np.nan_to_num(1 / (1 + place)).astype(np.float32))


def main(argv: list[str] | None = None) -> None:
    """Read and write."""
    options = parser(__doc__)
    add_folds(options)
    arguments = options.parse_args(argv)
    check_new(arguments.out)
    folds, grouping = fold_files(arguments.files, arguments.fold), Grouping()
    read = []
    for fold, path in folds:
        read.append(read_fold(path, fold))
        grouping.check(read[-1].frame, path)
    given = {"files": [path for _, path in folds], "fold": [fold for fold, _ in folds]}
    write_pool([pool_of(read)], arguments.out, Path(__file__).name, given, digests(path for _, path in folds))


if __name__ == "__main__":
    raise SystemExit(run(main))
