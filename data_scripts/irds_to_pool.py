"""Runs and the qrels of an `ir_datasets` data set to a labelled pool.

    python data_scripts/irds_to_pool.py vaswani --run a=a.run.gz --run b=b.run.gz --depth 10 --out pool.parquet

Works offline on what `ir_datasets` has in its cache; what is not there it tries to fetch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pandas as pd
from pool_writer import BadInput, check_new, parser, run, write_pool
from tqdm import tqdm
from trec_to_pool import add_run_options, pool_of, run_files

from pt_active.files import read_run
from pt_active.frames import some


def dataset(name: str) -> Any:
    """Look a data set up.

    Raises:
        BadInput: If `ir_datasets` does not know it.
    """
    import ir_datasets

    os.environ.setdefault("IR_DATASETS_DL_TRIES", "1")
    try:
        return ir_datasets.load(name)
    except KeyError:
        raise BadInput(f"ir_datasets knows no data set {name!r}") from None


def table(data: Any, name: str, what: str, columns: dict[str, str]) -> pd.DataFrame:
    """The qrels or queries of a data set as a frame.

    Args:
        data: The data set.
        name: What it is called.
        what: ``qrels`` or ``queries``.
        columns: Field of an item → column.

    Raises:
        BadInput: If it has none, or they are neither cached nor to be had.
    """
    if not getattr(data, f"has_{what}")():
        raise BadInput(f"{name} has no {what}")
    items: Iterable[Any] = getattr(data, f"{what}_iter")()
    try:
        rows = [tuple(getattr(item, field) for field in columns) for item in tqdm(items, desc=what, leave=False)]
    except (OSError, RuntimeError) as error:
        raise BadInput(f"the {what} of {name} are not cached and could not be fetched: {error}") from error
    except AttributeError as error:
        raise BadInput(f"the {what} of {name} have other fields: {error}") from error
    return pd.DataFrame(rows, columns=list(columns.values()))


def with_texts(pool: pd.DataFrame, data: Any, name: str) -> pd.DataFrame:
    """Add the documents' texts and lengths in words.

    Raises:
        BadInput: If the documents are not to be had, or some are missing.
    """
    wanted = pool["docno"].unique().tolist()
    try:
        found = data.docs_store().get_many(wanted)
    except (OSError, RuntimeError) as error:
        raise BadInput(f"the documents of {name} are not cached and could not be fetched: {error}") from error
    absent = [docno for docno in wanted if docno not in found]
    if absent:
        raise BadInput(f"{name} has no document {some(absent)}")
    text = pool["docno"].map({docno: document.default_text() for docno, document in found.items()})
    return pool.assign(text=text, length=text.str.split().str.len())


def main(argv: list[str] | None = None) -> None:
    """Read, unite and write."""
    found = parser(__doc__)
    found.add_argument("dataset", metavar="ID", help="of ir_datasets, with qrels")
    add_run_options(found)
    found.add_argument("--text", action="store_true", help="add the documents' texts, which give their lengths")
    arguments = found.parse_args(argv)
    check_new(arguments.out)
    paths, data = run_files(arguments.run, arguments.runs), dataset(arguments.dataset)
    fields = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    qrels = table(data, arguments.dataset, "qrels", fields).drop_duplicates(["qid", "docno"])
    topics = table(data, arguments.dataset, "queries", {"query_id": "qid"})
    topics["query"] = [query.default_text() for query in data.queries_iter()]
    pool = pool_of(
        {name: read_run(path) for name, path in paths.items()}, qrels, topics, arguments.depth, arguments.unjudged
    )
    pool = with_texts(pool, data, arguments.dataset) if arguments.text else pool
    write_pool(pool, arguments.out, list(paths.values()), {k: v for k, v in vars(arguments).items() if k != "out"})


if __name__ == "__main__":
    raise SystemExit(run(main))
