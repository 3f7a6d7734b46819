"""Reading runs, judgments, topics and texts, and the messages about malformed files."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.plans.making.manifest import digest

TEXT = "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n2 Q0 d1 1 -3e-2 tag\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return write


@pytest.mark.parametrize(("name", "end"), [("a.run", "\n"), ("a.run.gz", "\r\n")])
def test_run_has_the_columns_of_pyterrier_and_its_ids_stay_strings(write, name, end):
    run = read_run(write(name, (TEXT + 'NA Q0 007 1 2 t\nzażółć Q0 "文書" 1 1 t\n').replace("\n", end)))
    found = run[["qid", "docno", "score", "rank"]].to_numpy().tolist()
    first = [["q1", "d1", 2.5, 0], ["q1", "d2", 1.5, 1], ["2", "d1", -0.03, 0]]
    assert found == [*first, ["NA", "007", 2, 0], ["zażółć", '"文書"', 1, 0]]


SEVERAL = "qid,query,qlen\n1,lamp,1\n1,lamp,2\n"
SHORT = "qid\tquery\tqlen\n1\tlamp\t1\n2\tshoes\n"
OPEN = '<topics>\n<topic number="1"><query>lamp</topic></topics>'


@pytest.mark.parametrize(
    ("read", "content", "complaint"),
    [
        (read_run, "q1 Q0 d3 3 1.0", "line 1: expected 6 columns, qid Q0 docno rank score tag; got 5 columns"),
        (read_run, "q1 Q0 d3 3 high tag", "a score that is a finite number, for document 'd3' .*; got 'high'"),
        (read_run, f"{TEXT}\r\n\r\nq1 Q0 d3 3 nan tag", "line 6: expected a score .*; got '?nan"),
        (read_run, "q1 Q0 \x0b 3 1 tag", "expected a docno that is text or a whole number, not empty"),
        (read_run, TEXT.encode() + b"q1 Q0 d\xe9 3 1.0 tag\n", "line 4: bytes that are not UTF-8"),
        (read_run, "q1 Q0 d1 1 2 t\n\nq1 Q0 d1 2 1 t\n", r"1 duplicate row; .* in query 'q1' \(line 3\)"),
        (read_topics, SHORT, r"line 3: expected 'qid', 'query', 'qlen' .*; got '2', 'shoes'"),
        (read_topics, "qid\tquery\n\n", "a header but no topics"),
        (read_topics, "qid\tquery\n1\tlamp\n \tshoes\n", "row 3: expected a qid that .* not empty"),
        (read_topics, SEVERAL, "each qid must have one row; these have several different rows: '1'"),
        (read_topics, "1\tlamp\n\n2\tshoes\t1\n", "line 3: expected qid<TAB>query; got more .* add a first line"),
        (read_topics, "1\tlamp\n1\tshoes\n", r"each qid must have one query; these have several: '1'"),
        (read_topics, "<top>\n<title>lamp\n</top>\n", "expected TREC topics"),
        (read_topics, OPEN, "expected TREC topics.*line 2"),
        (read_texts, "d1\tb\nd2\n", "line 2: expected docno<TAB>text; got 'd2"),
        (read_texts, "d1\tb\nd1\tc\n", "each docno must have one text; .* several: 'd1'"),
    ],
)
def test_malformed_lines_are_named(write, read, content, complaint):
    name = {read_run: "bad.gz", read_topics: "t.tsv", read_texts: "d.tsv"}[read]
    with pytest.raises(ValueError, match=rf"{name}: .*{complaint}"):
        read(write(name, content))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((20, 20, 10), "the last query, 'q2', has 10 lines and all other queries at least 20; is the file whole"),
        ((20, 12, 1), "the last query, 'q2', has 1 line and all other queries at least 12; is the file whole"),
        ((10, 20, 20), ""),
        ((10,), ""),
    ],
)
def test_a_run_that_may_have_been_cut_is_said(write, lines, said):
    rows = [f"q{x} Q0 d{i} {i} {-i} r\n" for x, number in enumerate(lines) for i in range(number)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(read_run(write("a.run", "".join(rows)))) == sum(lines)
    assert len(caught) == bool(said)
    assert all(said in str(each.message) for each in caught)


def test_qrels_follow_trec(write):
    qrels = read_qrels(write("q.txt", "1 0 a 2\n1 0 b -1\n1 0 c -2\n2 x a 0\n"))
    assert qrels.to_dict("list") == {"qid": ["1", "1", "2"], "docno": ["a", "c", "a"], "label": [2, 0, 0]}
    assert qrels["label"].dtype == np.int64


SGML = """<top>\n<num> Number: 007\n<title> wooden "lamp"\n<desc> Description:\nnone\n</top>
<top>\n<num>0x1</num>\n<title>żółć</title>\n</top>\n"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<topics><topic number="007"><query>wooden "lamp"</query><narrative>none</narrative></topic>
<topic number="0x1"><title>żółć</title></topic></topics>"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", '007\twooden "lamp"\n0x1\tżółć\n'),
        ("t.tsv.gz", '007\twooden "lamp"\r\n\r\n0x1\tżółć\r\n'),
        ("t.trec", SGML),
        ("t.xml", XML),
        ("t.tsv", ' \ufeffqid\tquery\tqkind\tlength\r\n007\twooden "lamp"\tbuy\t3\r\n\r\n0x1\tżółć\t\t1\r\n'),
        ("t.csv", 'qid,query,qkind,length\n007,"wooden ""lamp""",buy,3\n0x1,żółć,,1\n0x1,żółć,,1\n'),
        ("t.csv", '"qid","length","query","qkind"\n007,3,"wooden ""lamp""",buy\n0x1,1,żółć,\n'),
    ],
)
def test_topics_and_their_columns(write, name, content):
    found = read_topics(write(name, content))
    topics = {"qid": ["007", "0x1"], "query": ['wooden "lamp"', "żółć"]}
    further = {"qkind": ["buy", None], "length": ["3", "1"]} if "qkind" in content else {}
    assert found.where(found.notna(), None).to_dict("list") == topics | further


def test_texts(write):
    texts = {"docno": ["d1", "d2", "d3"], "text": ['say "hi', "a\tb, żółć", ""]}
    found = read_texts(write("d.tsv.gz", 'd1\tsay "hi\nd2\ta\tb, żółć\nd3\t\nd1\tsay "hi\n'))
    assert found.to_dict("list") == texts


def test_parquet_frames(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"qid": [1, 1], "docno": ["a", "b"], "score": [1, 2], "query": "lamp"}).to_parquet(path)
    run = read_run(path)[["qid", "docno", "score", "rank", "query"]]
    assert run.to_numpy().tolist() == [["1", "b", 2, 0, "lamp"], ["1", "a", 1, 1, "lamp"]]
    assert read_topics(path)[["qid", "query"]].to_dict("list") == {"qid": ["1"], "query": ["lamp"]}
    for read, columns, missing in (
        (read_qrels, "'qid', 'docno', 'label'", "label"),
        (read_texts, "'docno', 'text'", "text"),
    ):
        with pytest.raises(ValueError, match=rf"a\.parquet: expected the columns {columns}; missing: '{missing}'"):
            read(path)
    pd.DataFrame({"docno": ["a"], "text": ["b"]})[:0].to_parquet(path)
    with pytest.raises(ValueError, match=r"a\.parquet: the table is empty"):
        read_texts(path)


def test_digest_sees_what_a_frame_says_not_how_it_is_kept():
    frame = pd.DataFrame({"qid": ["1", "2", "2"], "score": [0.0, 1.5, np.nan], "text": ["a", None, "ż"]})
    vectors = frame.assign(features=[np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.zeros(2)])
    same = [frame[::-1], frame.set_index(pd.Index([5, 5, 6])), frame[["text", "qid", "score"]]]
    same += [frame.astype({"qid": object, "text": object}), frame.assign(score=[-0.0, 1.5, np.nan])]
    assert {digest(each) for each in same} == {digest(frame)}
    assert digest(vectors) == digest(vectors[::-1])
    other = [frame, frame[:2], frame.rename(columns={"qid": "docno"}), frame.assign(qid=["2", "1", "2"])]
    other += [frame.assign(score=[0.0, 1.5, 0.0]), pd.concat([frame, frame]), vectors]
    other += [vectors.assign(features=[np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.zeros(2)])]
    assert len({digest(each) for each in other}) == len(other)
