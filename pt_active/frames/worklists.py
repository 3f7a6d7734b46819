"""Worklists in the formats of judging tools: written for judges, and read back with their labels.

Each format is one entry of `FORMATS`: a function that writes assessments as text, one that reads the filled-in file,
and a pattern that recognises such a file by its first line.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames import trec
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import Argument, ArgumentError, file_path, shown, some, unfit
from pt_active.frames.columns import check_pairs, refuse_rows, with_string_ids
from pt_active.frames.qrels import UNJUDGED, checked_qrels
from pt_active.frames.sources import Source, naming, read_source
from pt_active.frames.tables import check_filled, json_value, read_json_lines, read_spreadsheet
from pt_active.frames.trec import CODE, INCLUSION, LABEL, PRELS, QRELS, STRATA
from pt_active.frames.visible import guarded, json_text, unguarded, visible

_SHOWN = ("qid", "docno", "query", "text")  # The columns of a worklist that judges read
_JUDGED = ("qid", "docno", "label")  # The columns that a filled-in table or JSON file must have
_MAX_OPENING = 10_000  # Characters of a first line that show its format; patterns would take long on more
_METHOD = 1  # The value of the column method in ``prels`` files: the document was sampled with an inclusion probability
FORMAT = "trec"
"""The default format of worklists; also that in which files are read whose first line fits no other format."""

TABLE_FORMAT = "csv"  # The format for people who fill in labels in a spreadsheet


class Format(NamedTuple):
    """A worklist format."""

    write: Callable[[pd.DataFrame], str]  # from an assessments frame to the text of the file
    read: Callable[[Source], pd.DataFrame]  # to ``qid, docno, label`` and ``design``, unchecked; the index is the place
    place: str  # the unit of these positions, such as ``line``, for messages
    first_line: re.Pattern[str]  # A pattern that matches the first line of such a file
    design: tuple[str, ...] = ()  # columns of the design that it holds; then each pair occurs once
    by_query: bool = False  # whether it names queries by their texts, and has no document without a label


def write_assessments(assessments: pd.DataFrame, path: str | Path, format: str = "trec") -> None:
    """Write the pairs to be judged to a file in which judges fill in the labels.

    Formats:

    - ``trec``: lines of ``qid 0 docno -1``; in TREC qrels -1 means "pooled, not judged".
    - ``csv``: a table with qid, docno, query, text (those that the assessments have) and an empty label. A cell that
      a spreadsheet would take for a formula gets an apostrophe in front, which `read_judgments` removes.
    - ``jsonl``: a JSON object per line with the same keys and ``"label": null``.
    - ``prels``: lines of ``qid docno -1 1 inclusion``, as in TREC's Million Query Track 2007-2009 and for statAP;
      inclusion probabilities are written exactly.
    - ``strata``: lines of ``qid 0 docno stratum -1``, as NIST's ``sample_eval`` reads them for xinfAP.
    - ``opensearch``: the known labels as a judgment list, which OpenSearch's Search Relevance Workbench imports.

    Args:
        assessments: ``qid, docno``, and optionally ``query`` and ``text`` for the judges; for ``prels`` also
            ``inclusion``, in (0, 1], and for ``strata`` also ``stratum``, from 0. A column ``label`` holds the labels
            that are already known, NaN where there is none. Other columns are not written.
        path: The file to write, of which nothing is left if writing fails.
        format: A key of `FORMATS`.

    Raises:
        FileExistsError: If the file already exists, since it may contain judgments.
        ValueError: If the format is not known, there is nothing to judge, a pair occurs twice, or a column is missing
            or does not fit the format.
    """
    if format not in tuple(FORMATS):
        raise ArgumentError(Argument("format"), f" must be one of {some(FORMATS, len(FORMATS))}, got {format!r}")
    path = file_path("path", path)
    if path.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    write_file(path, FORMATS[format].write(_worklist(assessments, format)))


def read_judgments(path: str | Path) -> pd.DataFrame:
    """Read the labels that judges filled in.

    The first line determines the format, which is any of `FORMATS` or plain qrels. Pairs whose label is still empty,
    null or -1 are not judged; they are left out. A first line such as ``5 0 7 1 1`` fits both ``prels`` and ``strata``.
    It is read as ``strata`` if its second column is literally 0; files of `write_assessments` fit only one of the two.

    Args:
        path: The filled-in file, or a stream such as a pipe, which is read once.

    Returns:
        ``qid, docno, label``, and from ``prels`` also ``inclusion``, from ``strata`` also ``stratum``;
        ``attrs["unjudged"]`` holds the number of pairs left out. From ``opensearch``, the qid is the text of the query.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line does not fit its format, a label is not a grade, a pair has two
            labels, or a pair occurs twice in a ``prels`` or ``strata`` file.
    """
    return judgments_in(read_source(path))


def judgments_in(source: Source, check: Callable[[pd.Series], None] = lambda labels: None) -> pd.DataFrame:
    """The labels in a file that was read already, as `read_judgments` returns them; those in it are checked first."""
    opening = source.first_line()[:_MAX_OPENING]
    others = (format for name, format in FORMATS.items() if name != FORMAT)
    format = next((each for each in others if each.first_line.match(opening)), FORMATS[FORMAT])
    try:
        with naming(source):
            given = format.read(source)
    except ValueError as error:
        if source.suffixes[-1:] != [".csv"] or format is FORMATS[TABLE_FORMAT]:
            raise
        raise _without_header(source, error) from error
    with naming(source):
        check(given["label"])
        labels = given["label"] if given["label"].dtype == np.float64 else given["label"].map(_grade).astype(float)
        refuse_rows(given, ~LABEL.holds(labels.to_numpy()), "label", f"{LABEL.says}, or none", format.place)
        qrels = checked_qrels(given.assign(label=labels))
    for name in format.design:
        qrels[name] = given[name].to_numpy()[labels != UNJUDGED]
    qrels.attrs |= {"unjudged": int((labels == UNJUDGED).sum()), "by_query": format.by_query}
    return qrels


def qids_of_texts(qrels: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """The labels of a file that names queries by their texts, with the qids that have these texts among known ones."""
    texts = _texts_of(known)
    own = {text: _only(texts[text], text) if text in texts else text for text in qrels["qid"].unique()}
    return qrels.assign(qid=qrels["qid"].map(own))


def _texts_of(documents: pd.DataFrame) -> dict[str, list[str]]:
    """Text → the qids of the queries that have it; a query without a text is known by its qid."""
    texts: dict[str, list[str]] = {}
    queries = documents.drop_duplicates("qid").set_index("qid")
    for qid, text in queries.get("query", pd.Series(queries.index, queries.index)).items():
        texts.setdefault(str(qid) if pd.isna(text) else str(text).strip(), []).append(str(qid))
    return texts


def _only(qids: list[str], text: str) -> str:
    if len(qids) > 1:
        raise ValueError(f"OpenSearch knows queries by their texts, and {some(qids)} have the same text, {shown(text)}")
    return qids[0]


def _without_header(source: Source, error: ValueError) -> ValueError:
    """The error about a CSV file that is no table with the columns that it needs."""
    named = [name.strip(' "') for name in source.first_line().split(",")]
    lacking = [name for name in _JUDGED if name not in named]
    if 0 < len(lacking) < len(_JUDGED):
        said = f"line 1: no column {' or '.join(lacking)} among {', '.join(map(visible, named))}"
        return ValueError(f"{source.path}: {said}")
    return ValueError(f"{error}; a CSV table needs a first line that names its columns: qid,docno,label")


def _worklist(assessments: pd.DataFrame, format: str) -> pd.DataFrame:
    """The columns of the assessments that the format contains, after checks of the frame."""
    if missing := [name for name in ("qid", "docno") if name not in assessments.columns]:
        raise ValueError(f"assessments need the columns qid and docno; missing: {some(missing)}")
    if assessments.empty:
        raise ValueError("assessments: there is nothing to judge, the frame is empty")
    design = FORMATS[format].design
    if missing := [name for name in design if name not in assessments.columns]:
        raise ValueError(f"format {format!r} needs assessments with {some(design)}; missing: {some(missing)}")
    worklist = with_string_ids(assessments)
    check_pairs(worklist, "assessments")
    return worklist[[name for name in (*_SHOWN, *design, "label") if name in worklist.columns]]


def _with_labels(worklist: pd.DataFrame, unfilled: object) -> pd.DataFrame:
    """The worklist with the labels that are already known, and ``unfilled`` where there is none."""
    known = worklist["label"] if "label" in worklist else [None] * len(worklist)
    labels = [unfilled if pd.isna(label) else int(label) for label in known]
    return worklist.assign(label=pd.Series(labels, index=worklist.index, dtype=object))


def _grade(label: object) -> float:
    """A label as a number: -1 if it is empty, NaN if it is no number."""
    if label is None or isinstance(label, bool):
        return UNJUDGED if label is None else np.nan
    if isinstance(label, (int, float)):
        return float(label) if abs(label) < 2**53 else np.nan
    text = str(label).strip()
    return trec.as_number(text) if text else UNJUDGED


def _write_lines(format: str, line: str, worklist: pd.DataFrame) -> str:
    """Lines of columns that white space separates, after a pattern with the names of the columns."""
    for name in ("qid", "docno"):
        if wrong := some(worklist[name][worklist[name].str.contains(r"\s|^$", regex=True)]):
            raise ValueError(f"format {format!r} takes no {name} with white space: {wrong}; use another format")
    for name, rule, kind in (("inclusion", INCLUSION, np.float64), ("stratum", CODE, np.int64)):
        if name in FORMATS[format].design:
            numbers = pd.to_numeric(worklist[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
            refuse_rows(worklist, ~rule.holds(numbers), name, rule.says, f"format {format!r}: row")
            worklist = worklist.assign(**{name: numbers.astype(kind)})
    return "".join(line.format_map(row) + "\n" for row in _with_labels(worklist, UNJUDGED).to_dict("records"))


def _read_lines(layout: trec.Layout, source: Source) -> pd.DataFrame:
    """Read lines of columns that white space separates; a sampled document may not be repeated."""
    given = trec.read_columns(source, layout)
    if layout is QRELS:
        return given
    if (again := given.duplicated(["qid", "docno"])).any():
        row = given[again].iloc[0]
        raise ValueError(
            f"line {row.name}: document {shown(row.docno)} occurs more than once in query {shown(row.qid)}"
        )
    if layout is STRATA:
        return given.astype({"stratum": np.int64})
    if len(given) >= trec.MIN_SWAPPED and (given["label"] == _METHOD).all() and given["method"].nunique() > 1:
        said = f"the label {_METHOD} in every line and several methods: these two columns seem to be swapped"
        raise unfit(f"line {given.index[0]}", PRELS.shape, said)
    return given


def _write_csv(worklist: pd.DataFrame) -> str:
    shown = [name for name in ("query", "text") if name in worklist]
    texts = {name: worklist[name].map(lambda text: visible(text) if isinstance(text, str) else text) for name in shown}
    return _with_labels(worklist.assign(**texts).apply(guarded), "").to_csv(index=False, lineterminator="\n")


def _read_csv(source: Source) -> pd.DataFrame:
    """Read a table, with the ids as they were before `_write_csv` kept spreadsheets from running them."""
    table = read_spreadsheet(source, _JUDGED)
    check_filled(table, "qid", "docno")
    return table[list(_JUDGED)].assign(qid=unguarded(table["qid"]), docno=unguarded(table["docno"]))


def _write_jsonl(worklist: pd.DataFrame) -> str:
    shown = _with_labels(worklist, None).astype(object)
    rows = shown.where(shown.notna(), None).to_dict(orient="records")
    return "".join(json_text(row) + "\n" for row in rows)


def _write_opensearch(worklist: pd.DataFrame) -> str:
    known = worklist.dropna(subset="label") if "label" in worklist else worklist.head(0)
    if known.empty:
        raise ValueError("a judgment list of OpenSearch holds labels, and none is known")
    text = {_only(qids, text): text for text, qids in _texts_of(known).items()}
    lists: dict[str, list[dict[str, str]]] = {}
    for qid, docno, label in zip(known["qid"], known["docno"], known["label"].astype(int), strict=True):
        lists.setdefault(text[qid], []).append({"docId": docno, "rating": str(label)})
    rated = [{"query": query, "ratings": ratings} for query, ratings in lists.items()]
    return json_text({"name": "pt_active", "type": "IMPORT_JUDGMENT", "judgmentRatings": rated}, indent=1) + "\n"


def _read_opensearch(source: Source) -> pd.DataFrame:
    """Read a judgment list, as it is imported, or as `GET …/judgments/ID` returns it."""
    wanted, whole = "one judgment list of OpenSearch, with judgmentRatings", json_value(source.text)
    try:
        (about,) = [whole] if "judgmentRatings" in whole else [each["_source"] for each in whole["hits"]["hits"]]
        rows = [
            {"qid": each["query"].strip(), "docno": one["docId"], "label": one["rating"]}
            for each in about["judgmentRatings"]
            for one in each["ratings"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"expected {wanted}: query, and ratings with docId and rating") from error
    if wrong := [row["docno"] for row in rows if not isinstance(row["docno"], str) or not row["qid"]]:
        raise ValueError(f"expected a query and a docId that are texts, got docId {shown(wrong[0])}")
    return pd.DataFrame(rows, range(1, len(rows) + 1), _JUDGED, dtype=object)


_ANY = r"[^ \t\r\n]+"  # Patterns of the columns in a first line
_WHOLE = r"[+-]?\d+"
_NOT_WHOLE = rf"(?!{_WHOLE}[ \t]){_ANY}"
_FRACTION = r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?"
_STRATA = ((_ANY, "0", _ANY, _WHOLE, _WHOLE), (_ANY, _WHOLE, _NOT_WHOLE, _WHOLE, _WHOLE))
_PRELS_OR_MALFORMED = ((_ANY, _ANY, _WHOLE, _WHOLE, _ANY), (_ANY, _ANY, _ANY, _ANY, _FRACTION))
"""They also match some malformed lines, so that the message names the wrong number in a first line."""


def _of_lines(name: str, layout: trec.Layout, line: str, *design: str, shapes: Iterable[Sequence[str]] = ()) -> Format:
    """A format of lines whose columns white space separates; a first line has one of the shapes."""
    opening = "|".join(r"[ \t]*" + r"[ \t]+".join(columns) + r"\s*$" for columns in shapes)
    return Format(partial(_write_lines, name, line), partial(_read_lines, layout), "line", re.compile(opening), design)


FORMATS: dict[str, Format] = {
    "csv": Format(_write_csv, _read_csv, "row", re.compile(r"(?!\s*\{)(?=.*\bqid\b)(?=.*\bdocno\b)")),
    "opensearch": Format(
        _write_opensearch,
        _read_opensearch,
        "rating",
        re.compile(r'\s*\{(\s*$|.*"judgmentRatings")'),
        by_query=True,
    ),
    "jsonl": Format(_write_jsonl, partial(read_json_lines, keys=_JUDGED), "line", re.compile(r"\s*\{")),
    "strata": _of_lines("strata", STRATA, "{qid} 0 {docno} {stratum} {label}", "stratum", shapes=_STRATA),
    "prels": _of_lines(
        "prels", PRELS, "{qid} {docno} {label} 1 {inclusion!r}", "inclusion", shapes=_PRELS_OR_MALFORMED
    ),
    "trec": _of_lines("trec", QRELS, "{qid} 0 {docno} {label}"),
}
"""The formats by name, in the order in which they are tried on a file. A new format needs a function that writes, one
that reads, and an entry here."""
