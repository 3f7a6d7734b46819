"""Worklists written from assessments, and labels read back from the filled-in files."""

import csv
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.frames.trec import read_qrels
from pt_active.frames.worklists import FORMATS, read_judgments, write_assessments

ASSESSMENTS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "2"],
        "docno": ["d1", "d,2", "d1"],
        "query": ["wooden lamp", "wooden lamp", 'a "quick", żółć'],
        "text": ["plain", 'several\nlines, "quoted"; {braces}\t\r\nand more', None],
        "inclusion": [1.0, 0.1 + 0.2, 5e-324],
        "stratum": [0, 12, 1],
    }
)
LABELS = [3, 0, None]
FILLED_IN = [name for name, format in FORMATS.items() if not format.by_query]
FOUND = {"qid": ["q1", "q1"], "docno": ["d1", "d,2"], "label": [3, 0]}


def filled(path, format):
    """Write labels into a worklist, as people and tools do: tables again as tables, prels with tabs and CRLF."""
    if format == "csv":
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        return table.assign(label=["" if label is None else label for label in LABELS]).to_csv(index=False)
    lines = zip(path.read_text(encoding="utf-8").split("\n")[:-1], LABELS, strict=True)
    if format == "jsonl":
        return "\n".join(json.dumps(json.loads(line) | {"label": label}) for line, label in lines)
    numbers = [(line.split(), "-1" if label is None else str(label)) for line, label in lines]
    if format == "prels":
        return "".join("\t".join([*row[:2], label, *row[3:]]) + "\r\n" for row, label in numbers)
    return "".join(" ".join([*row[:-1], label]) + "\n" for row, label in numbers)


@pytest.mark.parametrize("format", FILLED_IN)
@pytest.mark.parametrize("columns", [["qid", "docno"], list(ASSESSMENTS.columns)], ids=["pairs", "all"])
def test_labels_come_back_from_every_format(tmp_path, format, columns):
    path = tmp_path / "pool.txt"
    before = ASSESSMENTS.copy()
    design = FORMATS[format].design
    write_assessments(ASSESSMENTS[list(dict.fromkeys([*columns, *design]))], path, format)
    assert read_judgments(path).empty
    assert read_judgments(path).attrs["unjudged"] == 3
    content = filled(path, format)
    with open(path, "w", encoding="utf-8", newline="") as stream:
        stream.write(content)
    judgments = read_judgments(path)
    assert judgments.to_dict("list") == FOUND | {name: ASSESSMENTS[name].tolist()[:2] for name in design}
    assert judgments.attrs["unjudged"] == 1
    pd.testing.assert_frame_equal(ASSESSMENTS, before)


@pytest.mark.parametrize(
    ("format", "written"),
    [
        ("trec", "q1 0 d1 -1\nq1 0 d,2 -1\n2 0 d1 -1\n"),
        ("prels", "q1 d1 -1 1 1.0\nq1 d,2 -1 1 0.30000000000000004\n2 d1 -1 1 5e-324\n"),
        ("strata", "q1 0 d1 0 -1\nq1 0 d,2 12 -1\n2 0 d1 1 -1\n"),
    ],
)
def test_lines_are_those_of_trec_of_the_million_query_track_and_of_sample_eval(tmp_path, format, written):
    for name, assessments in (("pool", ASSESSMENTS), ("floats", ASSESSMENTS.astype({"stratum": float}))):
        write_assessments(assessments, tmp_path / name, format)
        assert (tmp_path / name).read_text() == written
    if format == "trec":
        assert read_qrels(tmp_path / "pool").empty


CHANCES = st.floats(0, 1, exclude_min=True) | st.floats(1e-9, 1e-3) | st.just(1.0)
IDS = st.text(st.characters(categories=("L", "N"), include_characters="_.,:/#'\"-"), min_size=1, max_size=9)


@settings(max_examples=25)
@given(pairs=st.dictionaries(st.tuples(IDS, IDS), CHANCES, min_size=1), label=st.sampled_from([-2, 0, 1, 4]))
def test_every_inclusion_probability_comes_back_to_the_last_bit(tmp_path_factory, pairs, label):
    path = tmp_path_factory.mktemp("prels") / "pool"
    qids, docnos = zip(*pairs, strict=True)
    assessments = pd.DataFrame({"qid": qids, "docno": docnos, "inclusion": list(pairs.values())})
    write_assessments(assessments, path, "prels")
    path.write_text(path.read_text(encoding="utf-8").replace(" -1 1 ", f" {label} 1 "), encoding="utf-8")
    found = read_judgments(path)[["qid", "docno", "inclusion"]]
    pd.testing.assert_frame_equal(found, assessments, check_exact=True, check_dtype=False)


@pytest.mark.parametrize(
    ("line", "columns", "row"),
    [
        ("q d 2 1 0.25", ["inclusion"], ["q", "d", 2, 0.25]),
        ("q d 2 1 1", ["inclusion"], ["q", "d", 2, 1.0]),
        ("q d -2 0 1e-05", ["inclusion"], ["q", "d", 0, 1e-05]),
        ("5 7 2 1 1", ["inclusion"], ["5", "7", 2, 1.0]),
        ("5 0 2 1 1.0", ["inclusion"], ["5", "0", 2, 1.0]),
        ("5 0 2 1 .5", ["inclusion"], ["5", "0", 2, 0.5]),
        ("5 d 2.0 1 .5", ["inclusion"], ["5", "d", 2, 0.5]),
        ("  5\t7  2 1 1\t", ["inclusion"], ["5", "7", 2, 1.0]),
        ("5 0 7 1 1", ["stratum"], ["5", "7", 1, 1]),
        ("q 0 d 3 2", ["stratum"], ["q", "d", 2, 3]),
        ("q 1 d 0 -2", ["stratum"], ["q", "d", 0, 0]),
        ("5 0 7 1", [], ["5", "7", 1]),
        ("q 0 d\u00a01 1", [], ["q", "d\u00a01", 1]),
    ],
)
def test_the_first_line_tells_the_columns_of_judgments(tmp_path, line, columns, row):
    (tmp_path / "filled").write_text(f"\n{line}\n", encoding="utf-8")
    judgments = read_judgments(tmp_path / "filled")
    assert list(judgments.columns) == ["qid", "docno", "label", *columns]
    assert judgments.iloc[0].tolist() == row
    assert judgments["label"].dtype == "int64"


@pytest.mark.parametrize("line", ["q Q0 d 1 0.5 tag", "q Q0 d 1 1 tag", "q 0 d x 1", "q d 0.5"])
def test_other_lines_are_no_judgments(tmp_path, line):
    (tmp_path / "filled").write_text(line)
    with pytest.raises(ValueError, match="line 1: expected 4 columns, qid iteration docno label"):
        read_judgments(tmp_path / "filled")


def test_tables_and_json_keep_texts_as_they_are(tmp_path):
    for format in ("csv", "jsonl"):
        write_assessments(ASSESSMENTS, tmp_path / format, format)
    with open(tmp_path / "csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["qid", "docno", "query", "text", "label"]
    assert [row["text"] for row in rows] == [*ASSESSMENTS["text"][:2], ""]
    assert [row["query"] for row in rows] == ASSESSMENTS["query"].tolist()
    assert {row["label"] for row in rows} == {""}
    content = (tmp_path / "jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in content.split("\n")[:-1]]
    assert "żółć" in content
    assert [row["text"] for row in rows] == [*ASSESSMENTS["text"][:2], None]
    assert rows[0] == {"qid": "q1", "docno": "d1", "query": "wooden lamp", "text": "plain", "label": None}
    write_assessments(pd.DataFrame({"qid": [1], "docno": [2]}), tmp_path / "whole", "jsonl")
    assert '"qid": "1", "docno": "2"' in (tmp_path / "whole").read_text()


def test_an_existing_file_is_never_overwritten(tmp_path):
    path = tmp_path / "pool"
    path.write_text("precious")
    for format in FORMATS:
        with pytest.raises(FileExistsError, match="pool"):
            write_assessments(ASSESSMENTS, path, format)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("assessments", "format", "complaint"),
    [
        (
            ASSESSMENTS,
            "xlsx",
            "format must be one of 'csv', 'opensearch', 'jsonl', 'strata', 'prels', 'trec', got 'xlsx'",
        ),
        (ASSESSMENTS[:0], "csv", "nothing to judge"),
        (ASSESSMENTS[["qid", "text"]], "csv", "need the columns qid and docno; missing: 'docno'"),
        (pd.concat([ASSESSMENTS, ASSESSMENTS[:1]]), "csv", "'d1' occurs more than once in query 'q1'"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d 1"]}), "trec", "no docno with white space: 'd 1'"),
        (pd.DataFrame({"qid": [""], "docno": ["d"]}), "trec", "a qid that is not empty; got ''"),
        (ASSESSMENTS[["qid", "docno"]], "prels", "'prels' needs assessments with 'inclusion'; missing: 'inclusion'"),
        (ASSESSMENTS[["qid", "docno"]], "strata", "'strata' needs assessments with 'stratum'; missing: 'stratum'"),
        (ASSESSMENTS.assign(inclusion=[1, 0.5, 0.0]), "prels", "an inclusion .* up to 1, for document .* '2'; got 0.0"),
        (ASSESSMENTS.assign(inclusion=[1, 1.5, 1]), "prels", "document 'd,2' of query 'q1'; got 1.5"),
        (ASSESSMENTS.assign(inclusion=[1, None, 1]), "prels", "document 'd,2' of query 'q1'; got nan"),
        (ASSESSMENTS.assign(stratum=[1, 0.5, 1]), "strata", "a stratum that is a whole number from 0.*got 0.5"),
        (ASSESSMENTS.assign(stratum=[1, -1, 1]), "strata", "expected a stratum that is a whole number from 0.*got -1"),
        (ASSESSMENTS.assign(docno=["d", "d 1", "d"]), "prels", "'prels' takes no docno with white space: 'd 1'"),
        (ASSESSMENTS.assign(qid=["q", "q", "q\u00a0"]), "strata", "'strata' takes no qid with white space"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, assessments, format, complaint):
    with pytest.raises(ValueError, match=complaint):
        write_assessments(assessments, tmp_path / "pool", format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_as_spreadsheets_save_them_and_plain_qrels_are_judgments(tmp_path, separator):
    rows = [
        ["label", "docno", "note", "qid"],
        ["3", "d1", "x", "q1"],
        [" 0.0 ", '"d,2"', "", "q1"],
        ["", "d3", "", "2"],
    ]
    content = "\ufeff" + "\r\n".join(separator.join(row) for row in rows)
    (tmp_path / "saved.csv").write_text(content, encoding="utf-8")
    (tmp_path / "q.qrels").write_text("q1 0 d1 3\nq1 0 d,2 -2\n2\t0\td1\t-1\n")
    for name in ("saved.csv", "q.qrels"):
        assert read_judgments(tmp_path / name).to_dict("list") == FOUND


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("q1 0 d1 3\nq1 0 d2 good\n", "line 2: expected 4 columns.*label 'good'"),
        ("qid,docno,label\nq1,d1,3\nq1,d2,good\n", "row 3: expected a label that .*'d2'.*'q1'; got 'good'"),
        ("qid,docno,label\nq1,d1,3\nq1,d2,-3\n", "row 3: expected a label that is a whole number from -2.*got '-3'"),
        ("qid,docno,grade\nq1,d1,3\n", "row 1: expected a header.*missing: 'label'"),
        ("qid,docno,label\nq1,d1,3\nq1,d2,3,4\n", "line 3"),
        ('{"qid": "q1", "docno": "d1", "label": 1.5}\n', "line 1: expected a label.*got 1.5"),
        ('\n{"qid": "q1", "docno": "d1", "label": true}\n', "line 2: expected a label.*got True"),
        ('{"qid": "q1", "docno": "d1"}\n', "line 1: expected a JSON object"),
        ("qid,docno,label\nq1,d1,3\nq1,d1,2\n", r"'d1' of query 'q1' has different labels: \[2, 3\]"),
        ("q1 d1 3 1 0.5\nq1 d2 1 1 1.5\n", "line 2: expected 5 columns, qid docno label method.*inclusion '1.5'"),
        ("q1 d1 3 1 1.5\n", "line 1: expected 5 columns.*inclusion '1.5', which is not a number above 0 and up to 1"),
        ("q1 d1 3 1 0\n", "line 1: .*inclusion '0'"),
        ("q1 d1 3 1 0.5\n\nq1 d2 1 1 -0.5\n", "line 3: .*inclusion '-0.5'"),
        ("q1 d1 3 1 nan\n", "line 1: .*inclusion 'nan'"),
        ("q1 d1 good 1 0.5\n", "line 1: .*label 'good'"),
        ("q1 d1 3 1 0.5\nq1 d2 1 both 0.5\n", "line 2: .*method 'both', which is not a whole number"),
        ("q1 d1 3 1 0.5\nq1 d2 1 0.5\n", "line 2: expected 5 columns.*got 4 columns"),
        ("q1 d1 3 1 0.5\n\nq1 d2 1 1 1\nq1 d1 3 1 0.5\n", "line 4: document 'd1' occurs more than once in query 'q1'"),
        ("q1 0 d1 1 3\nq1 0 d2 0.5 1\n", "line 2: expected 5 columns, qid iteration docno.*stratum '0.5'"),
        ("q1 0 d1 -1 3\n", "line 1: .*stratum '-1', which is not a whole number from 0"),
        ("q1 0 d1 1 -1\nq1 0 d1 1 -1\n", "line 2: document 'd1' occurs more than once in query 'q1'"),
        ("", "the file is empty"),
    ],
)
def test_malformed_judgments_are_named(tmp_path, content, complaint):
    (tmp_path / "filled").write_text(content)
    with pytest.raises(ValueError, match=rf"filled: .*{complaint}"):
        read_judgments(tmp_path / "filled")


@pytest.mark.parametrize("format", FORMATS)
def test_labels_that_are_known_are_filled_in(format, tmp_path):
    assessments = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "c"], "label": [2, None, 0]})
    write_assessments(assessments.assign(inclusion=0.5, stratum=1), tmp_path / "known", format)
    found = read_judgments(tmp_path / "known")
    assert found[["qid", "docno", "label"]].to_numpy().tolist() == [["1", "a", 2], ["2", "c", 0]]
    assert found.attrs["unjudged"] == (1 if format in FILLED_IN else 0)


def test_qrels_whose_label_stands_in_the_column_of_the_iteration_are_refused(tmp_path):
    (tmp_path / "a").write_text("".join(f"q {i % 3} d{i} 0\n" for i in range(6)))
    for read in (read_qrels, read_judgments):
        with pytest.raises(ValueError, match="the label 0 in every line and several iterations: these two columns"):
            read(tmp_path / "a")
    for lines in ([f"q 0 d{i} 0\n" for i in range(6)], [f"q {i % 3} d{i} {i % 2}\n" for i in range(6)]):
        (tmp_path / "a").write_text("".join(lines))
        assert len(read_qrels(tmp_path / "a")) == len(read_judgments(tmp_path / "a")) == 6
