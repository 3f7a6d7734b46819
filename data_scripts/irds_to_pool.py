"""Makes a labelled pool from runs and the qrels of an `ir_datasets` data set.

    python data_scripts/irds_to_pool.py vaswani --run a=a.run.gz --run b=b.run.gz --depth 10 --out pool.parquet

It works offline on what `ir_datasets` has in its cache, and warns on stderr before any download.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
from pool_writer import BadInput, check_new, digests, parser, progress, run
from trec_to_pool import add_run_options, pool_of, read_runs, run_files, with_texts, write

from pt_active.frames.qrels import checked_qrels
from pt_active.plans.making.manifest import digest


def dataset(name: str) -> Any:
    """Look up a data set.

    Raises:
        BadInput: If `ir_datasets` does not know it, or it has no qrels or queries.
    """
    import ir_datasets

    try:
        data = ir_datasets.load(name)
    except KeyError:
        raise BadInput(f"ir_datasets knows no data set {name!r}") from None
    for what in ("qrels", "queries"):
        if not getattr(data, f"has_{what}")():
            raise BadInput(f"{name} has no {what}")
    return data


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Warn before `ir_datasets` downloads something.

    Args:
        what: What is read, for messages, such as ``the qrels of vaswani``.

    Raises:
        BadInput: If it is neither cached nor available for download.
    """
    from ir_datasets.util import RequestsDownload

    download = RequestsDownload.stream

    def warned(self: RequestsDownload) -> Any:
        warnings.warn(f"{what} are not cached; ir_datasets downloads {self.url}", stacklevel=2)
        return download(self)

    try:
        with mock.patch.object(RequestsDownload, "stream", warned):
            yield
    except (OSError, RuntimeError) as error:
        raise BadInput(f"{what} are not cached and cannot be downloaded: {error}") from error


def read_judgments(data: Any, name: str) -> pd.DataFrame:
    """The qrels of a data set.

    Args:
        data: The data set.
        name: Its id.

    Raises:
        BadInput: If they are neither cached nor available for download, or not whole grades, one per pair.
    """
    fields = ("query_id", "doc_id", "relevance")
    if not set(fields) <= set(data.qrels_cls()._fields):
        raise BadInput(f"{name}: expected qrels with {', '.join(fields)}, got {', '.join(data.qrels_cls()._fields)}")
    with announced(f"the qrels of {name}"):
        rows = [[getattr(item, field) for field in fields] for item in progress("qrels", iterable=data.qrels_iter())]
    try:
        return checked_qrels(pd.DataFrame(rows, columns=["qid", "docno", "label"]))
    except ValueError as error:
        raise BadInput(f"{name}: {error}") from error


def read_queries(data: Any, name: str) -> pd.DataFrame:
    """The queries of a data set, ``qid, query``.

    Raises:
        BadInput: If they are neither cached nor available for download.
    """
    with announced(f"the queries of {name}"):
        rows = [(query.query_id, query.default_text()) for query in data.queries_iter()]
    return pd.DataFrame(rows, columns=["qid", "query"])


def read_documents(data: Any, name: str, docnos: list[str]) -> dict[str, str]:
    """The texts of some documents; unknown documents are left out.

    Raises:
        BadInput: If they are neither cached nor available for download.
    """
    with announced(f"the documents of {name}"):
        return {docno: document.default_text() for docno, document in data.docs_store().get_many(docnos).items()}


def main(argv: list[str] | None = None) -> None:
    """Read, unite and write."""
    arguments = _arguments(argv)
    check_new(arguments.out)
    name, paths = arguments.dataset, run_files(arguments.run, arguments.runs)
    data = dataset(name)
    qrels, topics = read_judgments(data, name), read_queries(data, name)
    pool = pool_of(read_runs(paths), qrels, topics, arguments.depth, arguments.unjudged)
    if arguments.text:
        pool = with_texts(pool, read_documents(data, name, pool["docno"].unique().tolist()), name)
    sources = {**digests(paths.values()), f"qrels of {name}": digest(qrels), f"queries of {name}": digest(topics)}
    write(pool, arguments, paths, Path(__file__).name, sources)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("dataset", metavar="ID", help="id of an ir_datasets data set with qrels")
    add_run_options(options)
    options.add_argument("--text", action="store_true", help="add the documents' texts, which give their lengths")
    return options.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(run(main))
