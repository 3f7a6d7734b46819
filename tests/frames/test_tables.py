"""Tables with a header: its width is that of every row, and nothing is dropped or moved in silence."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ranked_run
from pt_active.frames.sources import Source
from pt_active.frames.tables import read_table
from pt_active.frames.trec import read_qrels, read_run
from pt_active.judging.files import read_file


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_cells_hold_what_quotation_marks_enclose(end):
    content = end.join(["a,b", '"x, ""y""",2', f'"one{end}two",', "", ' "c,5" d', ",", "e,f"])
    found = read_table(Source("t.csv", content.encode()), ",", ("a", "b"))
    assert found.to_dict("list") == {"a": ['x, "y"', f"one{end}two", ' "c', "e"], "b": ["2", "", '5" d', "f"]}
    assert found.index.tolist() == [2, 3, 5, 7]


WIDE = "line 2: expected 'a', 'b' (2 cells, as in the header); got '1', '2', '3' (3 cells)"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2,3\n4,5\n", WIDE),
        ('a,b\n"1\n1",2\n4\n', "line 4: expected"),
        ('a,b\n1,"2\n3,4\n', "line 2: a quotation mark opens a cell, and none closes it"),
        ('a,b\n1,"2"x\n', "line 2: characters after the quotation mark that closes a cell"),
        ("a,b,a\n1,2,3\n", "row 1: the header must name each column once; got 'a' more than once"),
        ("a,b,\n1,2,\n1,2,x\n", "line 3: 'x' in a column that has no name in the header"),
        ("a,,b\n1,x,2\n", "line 2: 'x' in a column that has no name in the header"),
        ("a,c\n1,2\n", "row 1: expected a header with 'a', 'b'; missing: 'b'; got 'a', 'c'"),
        ("\n,\n", "the file is empty; expected a header with 'a', 'b'"),
    ],
)
def test_other_rows_are_refused_with_their_line(content, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read_table(Source("t.csv", content.encode()), ",", ("a", "b"))


def test_json_lines_are_strict(tmp_path):
    nested = "[" * 100_000 + "]" * 100_000
    for fields, said in (('"label": 3', "got the key 'label' more than once"), (f'"x": {nested}', "nested too deeply")):
        (tmp_path / "a.jsonl").write_text(f'\n{{"qid": "q", "docno": "d", "label": 1, {fields}}}\n')
        with pytest.raises(ValueError, match=rf"a\.jsonl: line 2: .*{said}") as caught:
            read_file(tmp_path / "a.jsonl")
        assert len(str(caught.value)) < 500


IDS = (["a"], {"a": 1}, b"a", True, 1.0, np.float32(2), Decimal("1.0"), "", "\u00a0\t", "a\0b")
SCORES = (True, pd.Timestamp("2026-01-01"), np.inf, np.nan, "high", [1], [{"a": 1}], [])
LABELS = (False, datetime.date(2026, 1, 1), pd.Timedelta(1), 0.5, "good", [1])
READERS = {
    "docno": (ranked_run, read_run, checked_qrels, read_qrels),
    "score": (ranked_run, read_run),
    "label": (checked_qrels, read_qrels),
}


@pytest.mark.parametrize("column", ["docno", "score", "label"])
def test_ids_and_numbers_are_the_same_in_frames_and_in_parquet(column, tmp_path):
    said = "text or a whole number, not empty" if column == "docno" else "a .*, for document 'd' of"
    for value in {"docno": IDS, "score": SCORES, "label": LABELS}[column]:
        columns = {"qid": ["q"], "docno": ["d"], "score": [1.0], "label": [1]} | {column: [value]}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        frame = pd.DataFrame(columns).assign(**{column: pd.Series([value], dtype=object)})
        for read in READERS[column]:
            given = frame if read in (ranked_run, checked_qrels) else tmp_path / "a.parquet"
            with pytest.raises(ValueError, match=f"row [01]: expected a {column} that is {said}"):
                read(given)


def test_a_parquet_run_without_rows_is_empty_whatever_its_columns(tmp_path):
    for kind in (pa.null(), pa.string()):
        columns = {name: pa.array([], type=kind) for name in ("qid", "docno", "score")}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match=r"a\.parquet: the table is empty; expected rows with 'qid', 'docno'"):
            read_run(tmp_path / "a.parquet")


def test_parquet_texts_that_are_not_utf_8_are_refused_by_the_name_of_the_file(tmp_path):
    docno = pa.array([b"d\xff"]).view(pa.string())
    pq.write_table(pa.table({"qid": ["1"], "docno": docno, "label": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: .*utf-8|a\.parquet: this is not a Parquet table"):
        read_qrels(tmp_path / "a.parquet")
