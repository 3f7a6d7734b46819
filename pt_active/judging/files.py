"""Labels read from the files of any tool, and worklists written for it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from pt_active.frames import records as frame_records
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import check_known, document_of, how_many
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import SAID_COLUMNS, is_records
from pt_active.frames.sources import naming
from pt_active.frames.tables import is_parquet, read_json_lines, read_parquet
from pt_active.frames.worklists import judgments_in, qids_of_texts
from pt_active.judging.delivery import Delivery, records_given
from pt_active.judging.records import checked_records, qrels_of
from pt_active.judging.server.store import is_store, stored_records
from pt_active.judging.tools import table
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import check_minus_ones

_NO_NAMES = GradeNames()


def import_records(
    tool: str, paths: Sequence[str | Path], plan: Plan, names: GradeNames = _NO_NAMES, annotator: str = ""
) -> pd.DataFrame:
    """Read what a judging tool delivered as records.

    Args:
        tool: A name in `tools.registry.TOOLS`.
        paths: Its files.
        plan: The plan whose documents were judged.
        names: The words for grades.
        annotator: Who judged, for files that do not say so.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If the tool is unknown, a file is not of the tool, or a record does not fit the plan.
    """
    check_known("tool", tool, TOOLS)
    files = []
    for path in paths:
        with naming(path):
            records = _records_of(Delivery.read(path), tool, names, plan)
            files.append(checked_records(records, plan))
    together = pd.concat(files, ignore_index=True)
    together["annotator"] = together["annotator"].mask(together["annotator"] == "", annotator)
    if (unknown := together["annotator"] == "").any():
        counted = how_many("record", int(unknown.sum()), "has")
        raise ValueError(f"{counted} no annotator: name the judge with annotator=")
    return together.assign(plan=plan.tables.manifest.origin)


def read_labels(paths: Sequence[str | Path], plan: Plan | None = None, names: GradeNames = _NO_NAMES) -> pd.DataFrame:
    """The labels in several files: qrels, worklists and tables that were filled in, or records.

    Args:
        paths: The files.
        plan: The plan that they are for, to check records.
        names: The words for grades.

    Returns:
        Records if any file says who judged, those of the other files without an annotator; else qrels.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If a file is malformed, holds no label, does not fit the plan, or contradicts
            another.
    """
    read = {str(path): read_file(path, plan, names) for path in paths}
    for path, frame in read.items():
        if frame.empty:
            raise ValueError(f"{path}: there is no label in it yet (-1 means not judged)")
    _check_consistent(read)
    if not any(is_records(frame) for frame in read.values()):
        return pd.concat(read.values(), ignore_index=True)
    plain = {"annotator": "", "status": frame_records.JUDGED, "time": "", "note": "", "plan": ""}
    records = [frame if is_records(frame) else frame.assign(**plain) for frame in read.values()]
    return frame_records.checked_records(pd.concat(records, ignore_index=True))


def read_file(path: str | Path, plan: Plan | None = None, names: GradeNames = _NO_NAMES) -> pd.DataFrame:
    """The labels of one file: records if it says who judged, else qrels."""
    check = partial(check_minus_ones, None if plan is None else plan.measure)
    with naming(path):
        if is_store(path):
            return checked_records(stored_records(path), plan)
        if is_parquet(path):
            frame = read_parquet(path, ("qid", "docno", "label"))
            if is_records(frame):
                return checked_records(frame, plan)
            check(frame["label"])
            return checked_qrels(frame.dropna(subset="label"))
        delivery = Delivery.read(path)
        line = delivery.first_line
        if line.lstrip().startswith("{") and all(f'"{name}"' in line for name in SAID_COLUMNS):
            return checked_records(read_json_lines(delivery.source, tuple(SAID_COLUMNS), ("judges",)), plan)
        if not table.is_table(delivery):
            if delivery.content.lstrip().startswith(b"["):
                raise ValueError("expected labels; got JSON: `pt-active import` reads what a judging tool exports")
            labels = judgments_in(delivery.source, check)
            if labels.attrs["by_query"] and plan is not None:
                labels = qids_of_texts(labels, plan.assessments)
            return labels[["qid", "docno", "label"]]
        records = _records_of(delivery, "xlsx" if delivery.is_archive else "csv", names, plan)
        if (records["annotator"] == "").all() and (records["status"] == frame_records.JUDGED).all():
            return records[["qid", "docno", "label"]].astype({"label": "int64"}).drop_duplicates(ignore_index=True)
        return checked_records(records, plan)


def write_worklist(worklist: Worklist, path: str | Path, tool: str) -> list[Path]:
    """Write what a judging tool takes.

    Args:
        worklist: What is to be judged.
        path: A new file. Files that go with it have the same name and another suffix.
        tool: A name in `tools.registry.TOOLS`.

    Returns:
        The files, that of the worklist first.

    Raises:
        FileExistsError: If a file exists; then none is written.
        ValueError: If the tool cannot hold the worklist.
    """
    path = Path(path)
    files = {path.with_suffix(suffix) if suffix else path: text for suffix, text in TOOLS[tool].write(worklist).items()}
    for each in files:
        if each.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(each))
    for each, content in files.items():
        write_file(each, content)
    return list(files)


def _records_of(delivery: Delivery, tool: str, names: GradeNames, plan: Plan | None) -> pd.DataFrame:
    given = list(TOOLS[tool].read(delivery))
    check_minus_ones(None if plan is None else plan.measure, (each.label for each in given))
    return records_given(given, names)


def _check_consistent(read: dict[str, pd.DataFrame]) -> None:
    """Raise if a document has different labels in files that do not say who judged, or in one and in the records."""
    plain = [frame.assign(path=path) for path, frame in read.items() if not is_records(frame)]
    records = [frame for frame in read.values() if is_records(frame)]
    if records:
        plain.append(qrels_of(pd.concat(records, ignore_index=True)).assign(path="the records"))
    labels = pd.concat(plain, ignore_index=True)
    for (qid, docno), found in labels[labels.duplicated(["qid", "docno"], keep=False)].groupby(["qid", "docno"]):
        if found["label"].nunique() > 1:
            said = ", ".join(f"{label} in {path}" for label, path in zip(found["label"], found["path"], strict=True))
            raise ValueError(f"{document_of(qid, docno)} has different labels: {said}")
