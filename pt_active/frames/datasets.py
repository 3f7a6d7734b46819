"""Which texts and queries has a data set of ir_datasets?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from pt_active.frames.checks import shown

PREFIXES = ("irds:", "ir_datasets:")
"""Before the id of a data set that stands in the place of a file, such as ``irds:msmarco-passage``."""

_ABOUT = ("description", "narrative")
"""Further columns of queries that judges are shown."""


def dataset_id(path: str | Path) -> str | None:
    """The id of the data set that stands in the place of a file; None if it is a file."""
    text = str(path)
    return next((text.removeprefix(prefix) for prefix in PREFIXES if text.startswith(prefix)), None)


def dataset_texts(name: str, docnos: Iterable[str] | None = None) -> pd.DataFrame:
    """``docno, text`` of a data set."""
    with _fetched(name, "docs") as dataset:
        if docnos is None:
            documents = list(dataset.docs_iter())
        else:
            wanted = list(dict.fromkeys(docnos))
            known = dataset.docs_store().get_many(wanted)
            documents = [known[docno] for docno in wanted if docno in known]
        return pd.DataFrame(
            {"docno": [each.doc_id for each in documents], "text": [each.default_text() for each in documents]},
            dtype=object,
        )


def dataset_topics(name: str) -> pd.DataFrame:
    """``qid, query`` (+ ``description``, ``narrative``) of a data set."""
    with _fetched(name, "queries") as dataset:
        queries = list(dataset.queries_iter())
    rows = {"qid": [each.query_id for each in queries], "query": [_title(each) for each in queries]}
    rows |= {about: [getattr(each, about) for each in queries] for about in _ABOUT if hasattr(queries[0], about)}
    return pd.DataFrame(rows, dtype=object)


def _title(query: Any) -> str:
    """What a searcher typed: the title of a TREC topic, or the text of another query."""
    return str(getattr(query, "title", None) or query.default_text()).strip()


@contextmanager
def _fetched(name: str, kind: str) -> Iterator[Any]:
    """The data set; everything that fails on the way to its content is one message."""
    import ir_datasets

    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise ValueError(f"ir_datasets has no data set {shown(name)}; ir-datasets.com lists them") from error
    if not getattr(dataset, f"has_{kind}")():
        raise ValueError(f"the data set {shown(name)} has no {kind} of its own; ir-datasets.com says which has")
    try:
        yield dataset
    except (OSError, RuntimeError) as error:
        raise ValueError(
            f"the {kind} of the data set {shown(name)} are not on this machine and cannot be fetched "
            f"({shown(str(error).splitlines()[0] if str(error) else type(error).__name__)}); with a network, "
            f"`ir_datasets export {name} {kind}` fetches them once, or give a file"
        ) from error
