"""Worklists written from assessments, and labels read back from the filled-in files."""

import json

import pandas as pd
import pytest

from pt_active.frames.trec import read_qrels
from pt_active.frames.worklists import FORMATS, write_assessments
from pt_active.judging.files import read_file

ASSESSMENTS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "2"],
        "docno": ["d1", "d,2", "d1"],
        "query": ["wooden lamp", "wooden lamp", 'a "quick", żółć'],
        "text": ["plain", 'several\nlines, "quoted"; {braces}\t\r\nand more', None],
        "inclusion": [1.0, 0.5, 0.1],
    }
)
SHOWN = ASSESSMENTS.drop(columns="inclusion").astype(object)
LABELS = [3, 0, None]
FOUND = {"qid": ["q1", "q1"], "docno": ["d1", "d,2"], "label": [3, 0]}


def fill_csv(path):
    """Ids and texts stand in the table as they are; write labels beside them."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False, lineterminator="\n")
    assert table.to_dict("records") == SHOWN.fillna("").assign(label="").to_dict("records")
    table.assign(label=["3", "0", ""]).to_csv(path, index=False)


def fill_jsonl(path):
    assert "żółć" in path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert rows == SHOWN.where(SHOWN.notna(), None).assign(label=None).to_dict("records")
    path.write_text("\n".join(json.dumps(row | {"label": label}) for row, label in zip(rows, LABELS, strict=True)))


def fill_trec(path):
    assert path.read_text() == "q1 0 d1 -1\nq1 0 d,2 -1\n2 0 d1 -1\n"
    path.write_text("q1 0 d1 3\r\nq1 0 d,2 0\r\n2 0 d1 -1\r\n", newline="")


@pytest.mark.parametrize("fill", [fill_csv, fill_jsonl, fill_trec])
def test_worklists_hold_ids_and_texts_as_they_are_and_labels_come_back(tmp_path, fill):
    path, before, format = tmp_path / "pool.txt", ASSESSMENTS.copy(), fill.__name__.removeprefix("fill_")
    write_assessments(ASSESSMENTS, path, format)
    assert read_file(path).empty
    fill(path)
    assert read_file(path).to_dict("list") == FOUND
    pd.testing.assert_frame_equal(ASSESSMENTS, before)
    with pytest.raises(FileExistsError, match="pool"):
        write_assessments(ASSESSMENTS, path, format)
    assert read_file(path).to_dict("list") == FOUND


@pytest.mark.parametrize("format", FORMATS)
def test_labels_that_are_known_are_filled_in(format, tmp_path):
    assessments = pd.DataFrame({"qid": [1, 1, 2], "docno": ["a", "b", "c"], "label": [2, None, 0]})
    write_assessments(assessments, tmp_path / "known", format)
    found = read_file(tmp_path / "known")
    assert found[["qid", "docno", "label"]].to_numpy().tolist() == [["1", "a", 2], ["2", "c", 0]]


@pytest.mark.parametrize(
    ("assessments", "format", "complaint"),
    [
        (ASSESSMENTS, "xlsx", "unknown format 'xlsx'; it is one of csv, opensearch, jsonl, trec"),
        (ASSESSMENTS[:0], "csv", "nothing to judge"),
        (ASSESSMENTS[["qid", "text"]], "csv", "must have the columns qid, docno; it lacks 'docno'"),
        (pd.concat([ASSESSMENTS, ASSESSMENTS[:1]]), "csv", "'d1' occurs more than once in query 'q1'"),
        (ASSESSMENTS.assign(docno="d 1").iloc[:1], "trec", "no docno with white space: 'd 1'"),
        (ASSESSMENTS.assign(qid=["q", "q", "q\u00a0"]), "trec", "'trec' takes no qid with white space"),
        (ASSESSMENTS, "opensearch", "holds labels, and none is known"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, assessments, format, complaint):
    with pytest.raises(ValueError, match=complaint):
        write_assessments(assessments, tmp_path / "pool", format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_as_spreadsheets_save_them_and_plain_qrels_are_judgments(tmp_path, separator):
    rows = ["label|docno|note|qid", "3|d1|x|q1", ' 0.0 |"d,2"||q1', "|d3||2"]
    content = "\ufeff" + "\r\n".join(rows).replace("|", separator)
    (tmp_path / "saved.csv").write_text(content, encoding="utf-8")
    (tmp_path / "q.qrels").write_text("q1 0 d1 3\nq1 0 d,2 -2\n2\t0\td1\t-1\n")
    for name in ("saved.csv", "q.qrels"):
        assert read_file(tmp_path / name)[["qid", "docno", "label"]].to_dict("list") == FOUND


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("q1 0 d1 3\nq1 0 d2 good\n", "line 2: expected a label that is .*'d2'.*; got 'good'"),
        ("q Q0 d 1 0.5 tag\n", "line 1: expected 4 columns, qid iteration docno label; got 6 columns"),
        ("qid,docno,label\nq1,d1,3\nq1,d2,good\n", "row 3: document 'd2' of query 'q1': .*'good'"),
        ("qid;label;doc\nq1;3;d1\n", "missing: 'docno'; got 'qid', 'label', 'doc'"),
        ("query,document,grade\nq1,d1,3\n", "line 1: expected 4 columns.*first line that names its columns"),
        ('{"qid": "q1", "docno": "d1", "label": 1.5}\n', "line 1: expected a label.*got 1.5"),
        ('{"qid": "q1", "docno": "d1"}\n', "line 1: expected a JSON object"),
        ("q1 0 d1 3\nq1 0 d1 2\n", r"'d1' of query 'q1' has different labels: \[2, 3\]"),
    ],
)
def test_malformed_judgments_are_named(tmp_path, content, complaint):
    path = tmp_path / ("filled.csv" if content.startswith("q") and "," in content else "filled")
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"{path.name}: .*{complaint}"):
        read_file(path)


def test_qrels_whose_label_stands_in_the_column_of_the_iteration_are_refused(tmp_path):
    path = tmp_path / "a"
    for read, label in ((read_qrels, "0"), (read_file, "0"), (read_qrels, "0\x0c")):
        path.write_text("".join(f"q {i % 3} d{i} {label}\n" for i in range(6)))
        with pytest.raises(ValueError, match="the label 0 in every line and several iterations"):
            read(path)
    for iterations, labels in ((1, 1), (3, 2)):
        path.write_text("".join(f"q {i % iterations} d{i} {i % labels}\n" for i in range(6)))
        assert len(read_qrels(path)) == 6
