"""From a plan's assessments to a judge's file and back."""

import csv
import json
import re

import pandas as pd
import pytest

from pt_active.exports import FORMATS, read_judgments, write_assessments
from pt_active.files import read_qrels

ASSESSMENTS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "2"],
        "docno": ["d1", "d,2", "d1"],
        "query": ["wooden lamp", "wooden lamp", 'a "quick", żółć'],
        "text": ["plain", 'several\nlines, "quoted"; {braces}\t\r\nand more', None],
        "inclusion": [1.0, 0.5, 1.0],
    }
)
LABELS = [3, 0, None]
FOUND = {"qid": ["q1", "q1"], "docno": ["d1", "d,2"], "label": [3, 0]}


def fill_trec(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    filled = [
        re.sub("-1$", "-1" if label is None else str(label), line) for line, label in zip(lines, LABELS, strict=True)
    ]
    path.write_text("\n".join(filled) + "\n", encoding="utf-8")


def fill_csv(path):
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.assign(label=["" if label is None else label for label in LABELS]).to_csv(path, index=False)


def fill_jsonl(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    filled = [json.dumps(row | {"label": label}) for row, label in zip(rows, LABELS, strict=True)]
    path.write_text("\n".join(filled), encoding="utf-8")


FILL = {"trec": fill_trec, "csv": fill_csv, "jsonl": fill_jsonl}


@pytest.mark.parametrize("format", list(FORMATS))
@pytest.mark.parametrize("columns", [["qid", "docno"], list(ASSESSMENTS.columns)], ids=["pairs", "all"])
def test_labels_come_back_from_every_format(tmp_path, format, columns):
    path = tmp_path / "pool.txt"
    before = ASSESSMENTS.copy()
    write_assessments(ASSESSMENTS[columns], path, format)
    assert read_judgments(path).empty
    assert read_judgments(path).attrs["unjudged"] == 3
    FILL[format](path)
    judgments = read_judgments(path)
    assert judgments.to_dict("list") == FOUND
    assert judgments.attrs["unjudged"] == 1
    pd.testing.assert_frame_equal(ASSESSMENTS, before)


def test_trec_worklist_is_read_by_trec_tools(tmp_path):
    write_assessments(ASSESSMENTS, tmp_path / "pool", "trec")
    assert (tmp_path / "pool").read_text() == "q1 0 d1 -1\nq1 0 d,2 -1\n2 0 d1 -1\n"
    assert read_qrels(tmp_path / "pool").empty


def test_csv_keeps_texts_as_they_are(tmp_path):
    write_assessments(ASSESSMENTS, tmp_path / "pool.csv", "csv")
    with open(tmp_path / "pool.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["qid", "docno", "query", "text", "label"]
    assert [row["text"] for row in rows] == [*ASSESSMENTS["text"][:2], ""]
    assert [row["query"] for row in rows] == ASSESSMENTS["query"].tolist()
    assert {row["label"] for row in rows} == {""}


def test_jsonl_keeps_texts_as_they_are(tmp_path):
    write_assessments(ASSESSMENTS, tmp_path / "pool.jsonl", "jsonl")
    content = (tmp_path / "pool.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in content.split("\n")[:-1]]
    assert "żółć" in content
    assert [row["text"] for row in rows] == [*ASSESSMENTS["text"][:2], None]
    assert rows[0] == {"qid": "q1", "docno": "d1", "query": "wooden lamp", "text": "plain", "label": None}


def test_integer_ids_become_strings(tmp_path):
    write_assessments(pd.DataFrame({"qid": [1], "docno": [2]}), tmp_path / "pool.jsonl", "jsonl")
    assert '"qid": "1", "docno": "2"' in (tmp_path / "pool.jsonl").read_text()


@pytest.mark.parametrize("format", list(FORMATS))
def test_an_existing_file_is_never_overwritten(tmp_path, format):
    path = tmp_path / "pool"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="pool"):
        write_assessments(ASSESSMENTS, path, format)
    assert path.read_text() == "precious"


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_assessments(ASSESSMENTS, tmp_path / "pool", "csv")
    assert not (tmp_path / "pool").exists()


@pytest.mark.parametrize(
    ("assessments", "format", "complaint"),
    [
        (ASSESSMENTS, "xlsx", "format must be one of 'csv', 'jsonl', 'trec', got 'xlsx'"),
        (ASSESSMENTS[:0], "csv", "nothing to judge"),
        (ASSESSMENTS[["qid", "text"]], "csv", "need the columns qid and docno; missing: 'docno'"),
        (pd.concat([ASSESSMENTS, ASSESSMENTS[:1]]), "csv", "'d1' stands more than once in query 'q1'"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d 1"]}), "trec", "no docno with white space: 'd 1'"),
        (pd.DataFrame({"qid": [""], "docno": ["d"]}), "trec", "no qid with white space: ''"),
    ],
    ids=["format", "empty", "column", "twice", "white space", "empty id"],
)
def test_what_cannot_be_written_is_refused(tmp_path, assessments, format, complaint):
    with pytest.raises(ValueError, match=complaint):
        write_assessments(assessments, tmp_path / "pool", format)
    assert list(tmp_path.iterdir()) == []


def test_plain_qrels_are_judgments(tmp_path):
    (tmp_path / "q.qrels").write_text("q1 0 d1 3\nq1 0 d,2 -2\n2\t0\td1\t-1\n")
    assert read_judgments(tmp_path / "q.qrels").to_dict("list") == FOUND


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_as_spreadsheets_save_it(tmp_path, separator):
    rows = [
        ["label", "docno", "note", "qid"],
        ["3", "d1", "x", "q1"],
        [" 0.0 ", '"d,2"', "", "q1"],
        ["", "d3", "", "2"],
    ]
    content = "\ufeff" + "\r\n".join(separator.join(row) for row in rows)
    (tmp_path / "saved.csv").write_text(content, encoding="utf-8")
    assert read_judgments(tmp_path / "saved.csv").to_dict("list") == FOUND


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("q1 0 d1 3\nq1 0 d2 good\n", "line 2: expected 4 columns.*label 'good'"),
        (
            "qid,docno,label\nq1,d1,3\nq1,d2,good\n",
            "row 3: expected a label that is a whole number.*'d2'.*'q1'; got 'good'",
        ),
        ("qid,docno,label\nq1,d1,3\nq1,d2,-3\n", "row 3: expected a label that is a whole number from -2.*got '-3'"),
        ("qid,docno,grade\nq1,d1,3\n", "row 1: expected a header.*missing: 'label'"),
        ("qid,docno,label\nq1,d1,3\nq1,d2,3,4\n", "line 3"),
        ('{"qid": "q1", "docno": "d1", "label": 1.5}\n', "line 1: expected a label.*got '1.5'"),
        ('\n{"qid": "q1", "docno": "d1", "label": true}\n', "line 2: expected a label.*got 'True'"),
        ('{"qid": "q1", "docno": "d1"}\n', "line 1: expected a JSON object"),
        ("qid,docno,label\nq1,d1,3\nq1,d1,2\n", r"'d1' of query 'q1' has different labels: \[2, 3\]"),
        ("", "the file is empty"),
    ],
)
def test_malformed_judgments_are_named(tmp_path, content, complaint):
    (tmp_path / "filled").write_text(content)
    with pytest.raises(ValueError, match=rf"filled: .*{complaint}"):
        read_judgments(tmp_path / "filled")


def test_missing_judgments_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_judgments(tmp_path / "nowhere")
