"""Files with labels: tables as people save them, several files together, and wrong files, each of which is one line."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging_round_trips import DOCUMENTS, said

from pt_active import Plan
from pt_active.frames.records import RECORD_COLUMNS, STATUSES, is_records
from pt_active.judging.delivery import Given, records_given, utc_time
from pt_active.judging.files import import_records, read_file, read_labels
from pt_active.judging.records import write_records
from pt_active.judging.tools import table
from pt_active.judging.worklist import GradeNames

OF = "document '0012' of query '007'"
PLAIN = [("007", "0012", 2), ("007", "d:1/a b", 0)]


def as_rows(frame: pd.DataFrame) -> list[tuple[str, str, int]]:
    return sorted(zip(frame["qid"], frame["docno"], frame["label"].tolist(), strict=True))


def test_tables_come_as_people_save_them(tmp_path: Path, plan: Plan) -> None:
    path, rows = tmp_path / "work.csv", ["007,0012,2,née", "007,d:1/a b,0,", "q3,żółć,,"]
    for header, separator, end, encoding in (
        ("qid,docno,label,query", ",", "\n", "utf-8"),
        (' qid , DocNo ,"LABEL",query', ";", "\r\n", "utf-8-sig"),
        (' qid , DocNo ,"LABEL",query', "\t", "\n", "utf-8-sig"),
    ):
        path.write_bytes(end.join([header, *rows]).replace(",", separator).encode(encoding))
        assert as_rows(read_file(path, plan)) == PLAIN


def test_a_parquet_table_may_hold_labels_alone(tmp_path: Path, plan: Plan) -> None:
    path = tmp_path / "labels.parquet"
    plain = plan.assessments[["qid", "docno"]].assign(label=[1.0, None, -1, -2, *[2] * (len(plan.assessments) - 4)])
    plain.to_parquet(path, index=False)
    found = read_labels([path], plan)
    assert list(found.columns) == ["qid", "docno", "label"]
    assert found["label"].tolist() == [1, 0, *[2] * (len(plain) - 4)]
    plain[["qid", "label"]].to_parquet(path)
    with pytest.raises(ValueError, match=r"labels.parquet: expected .* missing: 'docno'"):
        read_labels([path], plan)
    plain.assign(label=1.5).to_parquet(path)
    with pytest.raises(ValueError, match=r"labels.parquet: row 1: expected a label that is a whole number"):
        read_labels([path], plan)


def test_a_table_that_says_who_judged_holds_records(tmp_path: Path, plan: Plan) -> None:
    text = "Annotator;Status;Docno;Qid;Label;Time\nann;;0012;007;1;2026-03-01 10:30+01:00\nbob;SKIPPED;0012;007;;\n"
    (tmp_path / "work.csv").write_text(text)
    records = read_file(tmp_path / "work.csv", plan)
    assert said(records) == [("007", "0012", 1, "ann", "judged", ""), ("007", "0012", None, "bob", "skipped", "")]
    assert records["time"].tolist() == ["2026-03-01T09:30:00Z", ""]


def test_words_stand_for_grades(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "work.csv").write_text("qid,docno,label\n007,0012,Good\n007,d:1/a b,bad\n")
    for names in ("bad,fair,good", "good=2,bad=0", "GOOD = 2, Bad = 0"):
        assert as_rows(read_file(tmp_path / "work.csv", plan, GradeNames.parsed(names))) == PLAIN
    with pytest.raises(ValueError, match=f"row 2: {OF}: expected a label .* got 'Good'; words"):
        read_file(tmp_path / "work.csv", plan)
    with pytest.raises(ValueError, match="or one of 'poor', 'great'; got 'Good'"):
        read_file(tmp_path / "work.csv", plan, GradeNames.parsed("poor,great"))


def test_wrong_names_of_grades_are_refused() -> None:
    for wrong in ("", "a,,b", "a,A", "1,2", "a=x", "skip,good", "good=2000", "a=-1"):
        with pytest.raises(ValueError, match="grade_names"):
            GradeNames.parsed(wrong)


def task(qid: str = "007", docno: str = "0012", choices: Any = ("2",), **more: Any) -> dict[str, Any]:
    result = [{"from_name": "label", "type": "choices", "value": {"choices": list(choices)}}]
    annotation = {"completed_by": 1, "result": result, "was_cancelled": False, "created_at": "2026-03-01T09:30:00Z"}
    return {"data": {"qid": qid, "docno": docno}, "annotations": [annotation | more]}


def book(judgements: Any, **options: Any) -> dict[str, Any]:
    ours = {"pt_active": {"qid": "007", "docno": "0012"}} | options
    return {"query_doc_pairs": [{"query_text": "x", "doc_id": "0012", "options": ours, "judgements": judgements}]}


def test_a_label_that_was_taken_back_is_none(tmp_path: Path, plan: Plan) -> None:
    path, rating = tmp_path / "export.json", {"rating": 2, "judge_name": "ann"}
    for tool, export, who, status in (
        ("label-studio", [task(was_cancelled=True)], "1", "skipped"),
        ("quepid", book([rating | {"judge_later": True}]), "ann", "skipped"),
        ("quepid", book([rating | {"unrateable": True}]), "ann", "unjudgeable"),
    ):
        path.write_text(json.dumps(export))
        assert said(import_records(tool, [path], plan)) == [("007", "0012", None, who, status, "")]


IDS = {"qid": "007", "docno": "0012"}
SAID = "qid,docno,label,annotator,status\n"
FOREIGN = [task() | {"data": IDS | {"pt_active": "feedfeed"}}]
NAIVE = "qid,docno,label,annotator,time\n007,0012,1,ann,2026-03-01 10:30\n"
TWO_KEYS = {"query_doc_pairs": [{"options": '{"pt_active": {"qid": "q1", "qid": "q2", "docno": "d"}}'}]}

OPENSEARCH = {"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d", "rating": "0.7"}]}]}

WRONG: list[tuple[str, str | object, str]] = [
    ("half.json", '[{"data": {"qid": "007", "docno":', "expected JSON; got "),
    ("twice.json", [task(), task()], f"task 1 and task 2 are both {OF}"),
    ("other.json", [{"data": {"text": "x"}, "annotations": []}], "task 1: expected the qid and docno that `pt-active"),
    ("grade.json", [task(choices=["7"])], "task 1: expected a label that is a grade of the plan, from 0 to 2"),
    ("many.json", [task(choices=["1", "2"])], "task 1: expected one grade; got ['1', '2']"),
    ("words.json", [task(choices=["good"])], f"task 1: {OF}: expected a label that is a whole "),
    ("when.json", [task(created_at="yesterday")], "a time with its zone, such as 2026-03-01T09:30:00Z; got 'yes"),
    ("annotations.json", [{"data": IDS, "annotations": 3}], "task 1: expected a list of anno"),
    ("min.json", [{"id": 1, "annotation_id": 3}], "this is Label Studio's JSON-MIN, which leaves skips out"),
    ("stray.json", [task(docno="0013")], "task 1: document '0013' of query '007' is not in the plan; 1 record is of "),
    ("near.json", [task(docno="12")], "the plan; 1 record is of such documents; document '12' of query '007' may be"),
    ("foreign.json", FOREIGN, "task 1: expected a plan that is '"),
    ("book.json", book([{"rating": 1.5}]), f"pair 1: {OF}: expected a label that is a whole grade"),
    ("bare.json", book([], pt_active=None), "pair 1: expected the qid and docno that `pt-active export --format quep"),
    ("pairs.json", {"query_doc_pairs": 3}, "the book: expected a list of pairs; got 3"),
    ("options.json", TWO_KEYS, "pair 1: options: expected JSON; got the key 'qid' more than once"),
    ("table.csv", SAID + "007,0012,,ann,done\n", f"row 2: {OF}: expected a status"),
    ("both.csv", SAID + "007,0012,1,ann,skipped\n", "the status is 'skipped' and the label '1'"),
    ("skip.csv", SAID + "007,0012,skip,ann,unjudgeable\n", "the status is 'unjudgeable' and the label 'skip'"),
    ("none.csv", SAID + "007,0012,,ann,judged\n", "the status is 'judged' and the label ''"),
    ("naive.csv", NAIVE, "expected a time with its zone"),
    ("two.csv", "qid,docno,label,Label\n007,0012,1,2\n", "expected each column once; got 'label' more than once"),
    ("empty.csv", "qid,docno,label,status\n,0012,1,\n", "row 2: expected a qid that is text"),
    ("high.csv", SAID + "007,0012,3,ann,\n", "row 2: expected a label that is a grade of the plan, from 0"),
    ("clash.csv", "qid,docno,label\n007,0012,1\n007,0012,2\n", f"row 2 and row 3 are both {OF}"),
    ("cut.csv", b"\xff\xfeq\x00i\x00d\x00,", "line 1: a NUL character"),
    ("bytes.csv", b"qid,docno,label\n007,\xe9,1\n", "line 2: bytes that are not UTF-8"),
    ("zeros.csv", "qid,docno,label,annotator\n7,12,2,ann\n", f"may be {OF} without its leading zeros"),
    ("rating.list", OPENSEARCH, "rating 1: expected a label that is a whole number"),
    ("keyed.list", {"judgmentRatings": {"a": []}}, "expected one judgment list of OpenSearch"),
    ("hits.list", '{\n"hits": {"hits": []}}', "expected one judgment list"),
    ("open.list", '{\n"judgmentRatings": [', "expected JSON"),
    ("tasks.list", [task()], "expected labels; got JSON: `pt-active import` reads what"),
    ("record.jsonl", json.dumps(dict.fromkeys(RECORD_COLUMNS, "")) + "\n", "row 1: expected a qid that is text"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, plan: Plan, name: str, content: object, message: str) -> None:
    path, text = tmp_path / name, content if isinstance(content, (str, bytes)) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    tool = "quepid" if "query_doc_pairs" in str(text) else "label-studio"
    read = partial(import_records, tool, [path], plan) if path.suffix == ".json" else partial(read_file, path, plan)
    with pytest.raises(ValueError, match=re.escape(message)) as told:
        read()
    assert str(told.value).startswith(f"{path}: ")
    assert str(told.value).count(str(path)) == 1
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500


def test_a_spreadsheet_that_made_dates_of_ids_or_has_formulas_alone_or_is_damaged(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    header = ["qid", "docno", "label"]
    sheets = {
        "dates": (
            [header, ["007", pd.Timestamp("2026-03-01").to_pydatetime(), 1]],
            "row 2: expected a docno that is text; the spreadsheet has made",
        ),
        "formulas": ([header, ["q", "a", "=1+1"]], "row 2: expected a label; got the formula '=1+1' without its value"),
        "empty": ([], "the first sheet is empty; expected a header"),
    }
    for name, (rows, message) in sheets.items():
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        path = tmp_path / f"{name}.xlsx"
        book.save(path)
        with pytest.raises(ValueError, match=f"{name}.xlsx: {re.escape(message)}"):
            read_file(path)
    content = bytearray(path.read_bytes())
    content[200:260] = b"x" * 60
    (tmp_path / "damaged.xlsx").write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged.xlsx: the (spreadsheet|archive) is damaged"):
        read_file(tmp_path / "damaged.xlsx")


def test_an_import_says_what_it_lacks(tmp_path: Path, plan: Plan) -> None:
    path = tmp_path / "work.csv"
    path.write_text("qid,docno,label\n007,0012,1\n")
    records = import_records("csv", [path], plan, annotator="ann")
    assert said(records) == [("007", "0012", 1, "ann", "judged", "")]
    for tool, message in {
        "csv": "1 record has no annotator: name the judge with annotator=",
        "quepid": "work.csv: expected JSON",
        "excel": "tool must be one of 'label-studio'.*, got 'excel'",
    }.items():
        with pytest.raises(ValueError, match=message):
            import_records(tool, [path], plan)


def test_files_together_do_not_contradict_each_other(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "a.qrels").write_text("007 0 0012 1\n")
    (tmp_path / "b.csv").write_text("qid,docno,label\n007,0012,1\nq3,żółć,2\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("qid,docno,label\n007,0012,0\n")
    records = pd.DataFrame({"qid": "007", "docno": ["0012", "d:1/a b"], "label": [1, 0], "annotator": "ann"})
    write_records(records.assign(status="judged"), tmp_path / "r.jsonl")
    qrels = read_labels([tmp_path / "a.qrels", tmp_path / "b.csv"], plan)
    assert not is_records(qrels)
    together = read_labels([tmp_path / "a.qrels", tmp_path / "b.csv", tmp_path / "r.jsonl"], plan)
    assert is_records(together)
    assert sorted(together["annotator"]) == ["", "", "", "ann", "ann"]
    for other in ("a.qrels", "r.jsonl"):
        with pytest.raises(ValueError, match="document '0012' of query '007' has different labels"):
            read_labels([tmp_path / other, tmp_path / "c.csv"], plan)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
PAIRS = st.sampled_from(list(zip(DOCUMENTS["qid"], DOCUMENTS["docno"], strict=True)))
NAMES = TEXT.map(str.strip).filter(bool)


@settings(max_examples=10)
@given(rows=st.lists(st.tuples(PAIRS, st.sampled_from(STATUSES), st.integers(0, 2), NAMES, TEXT), min_size=1))
def test_tables_keep_whatever_people_wrote(tmp_path_factory, plan: Plan, rows: list[Any]) -> None:
    """Ids, names and notes of any characters survive a table whose cells no spreadsheet runs."""
    expected = {
        (*pair, grade if status == "judged" else None, who, status, note) for pair, status, grade, who, note in rows
    }
    columns = ["qid", "docno", "label", "annotator", "status", "note"]
    filled = pd.DataFrame(expected, columns=columns).astype({"label": "Int64"}).astype(object)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    filled.fillna("").astype(str).apply(table.guarded).to_csv(path, index=False)
    assert said(read_file(path, plan)) == sorted(expected, key=str)


def test_times_are_kept_in_utc_and_those_without_zone_refused() -> None:
    moment = "2026-03-01T09:30:00Z"
    whole = (moment, "2026-03-01T01:30-0800", pd.Timestamp("2026-03-01T09:30", tz="UTC").to_pydatetime())
    assert {utc_time(each) for each in whole} == {moment}
    assert (utc_time("2026-03-01 10:30:00.5+01:00"), utc_time(None)) == ("2026-03-01T09:30:00.500000Z", "")
    for wrong in ("2026-03-01", "2026-13-01T00:00Z", "12.5", "2026-03-01T09:30:00"):
        with pytest.raises(ValueError, match="expected a time"):
            utc_time(wrong)


def test_labels_of_trec_mean_what_they_mean_in_qrels_and_a_note_without_a_grade_is_a_skip() -> None:
    records = records_given([Given(1, "q", "d", note="cannot open"), Given(2, "q", "e")], GradeNames())
    assert said(records) == [("q", "d", None, "", "skipped", "cannot open")]
    grades = [GradeNames().judgment(each) for each in (-1, "-2", "2.0", 0, " 1 ")]
    assert grades == [(None, ""), *((grade, "judged") for grade in (0, 2, 0, 1))]
    for wrong in ("-3", "1.5", True, 1001, "٣x"):
        with pytest.raises(ValueError, match="expected a label that is a whole grade from 0"):
            GradeNames().judgment(wrong)


def test_a_judgment_list_of_opensearch_names_queries_by_their_texts(tmp_path: Path, plan: Plan) -> None:
    """As `PUT` and `GET _plugins/_search_relevance/judgments` have it in OpenSearch's documentation."""
    path, labels = tmp_path / "list.json", plan.assessments[["qid", "docno"]].head(4).assign(label=[2, 0, 1, 1])
    plan.export(path, "opensearch", labels)
    made = json.loads(path.read_text(encoding="utf-8"))
    assert {name: made[name] for name in ("name", "type")} == {"name": "pt_active", "type": "IMPORT_JUDGMENT"}
    first, row = made["judgmentRatings"][0], labels[labels["qid"] == "007"].iloc[0]
    rated = {"docId": row.docno, "rating": str(row.label)}
    assert first["query"] == "wooden lamp"
    assert rated in first["ratings"]
    assert as_rows(read_labels([path], plan)) == as_rows(labels)
    other = {"query": "of no plan", "ratings": [{"docId": "x", "rating": "3.000"}]}
    stored = {"_source": {"status": "COMPLETED", "judgmentRatings": [*made["judgmentRatings"], other]}}
    for indent in (None, 2):
        path.write_text(json.dumps({"took": 36, "hits": {"hits": [stored]}}, indent=indent), encoding="utf-8")
        assert as_rows(read_labels([path], plan)) == sorted([*as_rows(labels), ("of no plan", "x", 3)])


def test_a_query_text_of_two_queries_is_refused_both_ways(tmp_path: Path) -> None:
    columns = {"qid": ["1", "2"], "docno": "d", "query": "lamp", "rank_a": 0, "grade_0": 0.5, "grade_1": 0.5}
    plan, same = Plan.create(pd.DataFrame(columns), None, "P@1", budget=2), "'1', '2' have the same text, 'lamp'"
    with pytest.raises(ValueError, match=same):
        plan.export(tmp_path / "out.json", "opensearch", plan.assessments[["qid", "docno"]].assign(label=1))
    rated = [{"query": "lamp", "ratings": [{"docId": "d", "rating": 1}]}]
    (tmp_path / "in.json").write_text(json.dumps({"judgmentRatings": rated}))
    with pytest.raises(ValueError, match=f"in.json: .*{same}"):
        read_labels([tmp_path / "in.json"], plan)
