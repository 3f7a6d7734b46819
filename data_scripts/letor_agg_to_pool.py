"""LETOR 4.0's rank aggregation data (MQ2007-agg, MQ2008-agg) to a labelled pool of real rankers.

Each input file is a fold, numbered from 1. A line holds the label, the query, and the document's place in the list of
each ranker, or NULL. Only some documents of each list were judged, so a ranker's ranking here is that of the judged
documents alone, in the order of its list. The features are 1/(1 + place) in each list, 0 for NULL.

    python data_scripts/letor_agg_to_pool.py A1.txt A2.txt A3.txt A4.txt A5.txt --out mq2007-agg.parquet
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from pool_writer import BadInput, check_new, lines_of, parser, ranked, run, write_pool

_LINE = re.compile(r"(\d+) qid:(\S+)((?: \d+:(?:\d+|NULL))+) ?#docid = (\S+).*")


def read_fold(path: Path, fold: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Read one file.

    Args:
        path: Plain or ``.gz``.
        fold: Its number.

    Returns:
        ``qid, docno, label, fold``, and the places, float64[n, k]; NaN where a ranker does not retrieve the document.

    Raises:
        BadInput: If a line is malformed, or has another number of rankers than the first.
    """
    rows, places = [], []
    for number, line in enumerate(lines_of(path), 1):
        found = _LINE.fullmatch(line.decode("utf-8", "replace").strip())
        if found is None:
            raise BadInput(
                f"{path}:{number}: expected 'LABEL qid:Q 1:PLACE … #docid = D', a place a whole number or NULL, "
                f"got {line.decode('utf-8', 'replace')[:60]!r}"
            )
        rows.append((found[2], found[4], int(found[1]), fold))
        places.append([_place(token) for token in found[3].split()])
        if len(places[-1]) != len(places[0]):
            raise BadInput(f"{path}:{number}: expected {len(places[0])} rankers, got {len(places[-1])}")
    if not rows:
        raise BadInput(f"{path}: the file is empty")
    return pd.DataFrame(rows, columns=["qid", "docno", "label", "fold"]), np.array(places)


def _place(token: str) -> float:
    value = token.partition(":")[2]
    return np.nan if value == "NULL" else float(value)


def pool_of(folds: list[tuple[pd.DataFrame, np.ndarray]]) -> pd.DataFrame:
    """All folds as one labelled pool.

    Raises:
        BadInput: If the folds have different numbers of rankers.
    """
    widths = {places.shape[1] for _, places in folds}
    if len(widths) > 1:
        raise BadInput(f"the files have different numbers of rankers: {sorted(widths)}")
    pool = pd.concat([frame for frame, _ in folds], ignore_index=True)
    places = np.vstack([places for _, places in folds])
    columns: dict[str, object] = {}
    for ranker, place in enumerate(places.T, 1):
        columns[f"rank_system_{ranker}"] = ranked(pool["qid"], pool["docno"], -place)
        columns[f"score_system_{ranker}"] = -place
    columns["features"] = list(np.nan_to_num(1 / (1 + places)).astype(np.float32))
    return pool.assign(**columns).sort_values(["fold", "qid"], kind="stable", ignore_index=True)


def main(argv: list[str] | None = None) -> None:
    """Read and write."""
    found = parser(__doc__)
    found.add_argument("files", type=Path, nargs="+", metavar="FILE", help="one fold each")
    arguments = found.parse_args(argv)
    check_new(arguments.out)
    pool = pool_of([read_fold(path, fold) for fold, path in enumerate(arguments.files, 1)])
    write_pool(pool, arguments.out, arguments.files, {"files": arguments.files})


if __name__ == "__main__":
    raise SystemExit(run(main))
