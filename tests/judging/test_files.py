"""Files with labels and records: from tables and from every tool, several together, and wrong ones, each one line."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging_round_trips import DOCUMENTS, JUDGED_IN, opinions, said, suffix

from pt_active import Plan
from pt_active.frames.records import RECORD_COLUMNS, STATUSES, is_records
from pt_active.judging.delivery import Given, records_given, utc_time
from pt_active.judging.files import import_records, read_file, read_labels, write_worklist
from pt_active.judging.records import write_records
from pt_active.judging.tools import table
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist

OF = "document '0012' of query '007'"
PLAIN = [("007", "0012", 2), ("007", "d:1/a b", 0)]


def as_rows(frame: pd.DataFrame) -> list[tuple[str, str, int]]:
    return sorted(zip(frame["qid"], frame["docno"], frame["label"].tolist(), strict=True))


def saved(path: Path, content: Any) -> Path:
    """A file of bytes, of text, or of what becomes JSON."""
    if not isinstance(content, bytes):
        content = (content if isinstance(content, str) else json.dumps(content)).encode()
    path.write_bytes(content)
    return path


def parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


def sheet(*rows: list[Any]) -> bytes:
    openpyxl, file = pytest.importorskip("openpyxl"), io.BytesIO()
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize("tool", list(TOOLS))
def test_nothing_that_people_said_is_lost(tmp_path: Path, plan: Plan, worklist: Worklist, tool: str) -> None:
    """Labels, skips, annotators and notes come back from every tool, and tables are labels too."""
    if tool == "xlsx":
        pytest.importorskip("openpyxl")
    files = write_worklist(worklist, tmp_path / f"work{suffix(tool)}", tool)
    assert import_records(tool, files[:1], plan).empty
    before = {file: file.read_bytes() for file in files}
    with pytest.raises(FileExistsError):
        write_worklist(worklist, files[0], tool)
    assert {file: file.read_bytes() for file in files} == before
    delivered = JUDGED_IN[tool](tmp_path, files[0], opinions())
    records = import_records(tool, delivered, plan)
    assert said(records) == sorted(opinions(), key=str)
    assert list(records.columns) == RECORD_COLUMNS
    assert set(records["plan"]) == {plan.id}
    assert set(records["time"]) == {"2026-03-01T09:30:05.250000Z" if tool == "label-studio" else ""}
    if tool in ("csv", "xlsx"):
        assert said(pd.concat([read_file(file, plan) for file in delivered])) == said(records)


def test_label_studio_gets_tasks_and_a_configuration_for_the_grades(tmp_path: Path, plan: Plan) -> None:
    names = GradeNames.parsed("bad,<fair> & so,good")
    tasks, config = write_worklist(Worklist(DOCUMENTS, 2, plan.id, names), tmp_path / "t.json", "label-studio")
    assert json.loads(tasks.read_text(encoding="utf-8"))[0] == {
        "data": {"qid": "007", "docno": "0012", "query": "wooden lamp", "text": "plain", "pt_active": plan.id}
    }
    assert config.name == "t.config.xml"
    choices = ElementTree.fromstring(config.read_text(encoding="utf-8")).findall(".//Choice")
    assert [each.get("value") for each in choices] == ["bad", "<fair> & so", "good", "unjudgeable"]
    assert [each.get("alias") for each in choices] == ["0", "1", "2", None]
    bare = Worklist(DOCUMENTS[["qid", "docno"]], 2, plan.id)
    tasks, config = write_worklist(bare, tmp_path / "bare.json", "label-studio")
    assert 'value="$docno"' in config.read_text()
    assert json.loads(tasks.read_text())[0]["data"]["text"] == ""
    with pytest.raises(ValueError, match="there is nothing to judge"):
        Worklist(DOCUMENTS.head(0), 2)


def test_quepid_gets_no_positions(tmp_path: Path, worklist: Worklist) -> None:
    (path,) = write_worklist(worklist, tmp_path / "book.json", "quepid")
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["scale"] == [0, 1, 2]
    assert not book["show_rank"]
    assert {pair["position"] for pair in book["query_doc_pairs"]} == {None}
    twins = pd.DataFrame({"qid": ["1", "2"], "docno": "d", "query": "lamp"})
    with pytest.raises(ValueError, match="queries '1', '2' have the same text, 'lamp', and document 'd'"):
        write_worklist(Worklist(twins, 1), tmp_path / "twins.json", "quepid")


def test_spreadsheets_get_text_that_they_do_not_run(tmp_path: Path, worklist: Worklist) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (path,) = write_worklist(worklist, tmp_path / "work.xlsx", "xlsx")
    cells = [cell for row in openpyxl.load_workbook(path).worksheets[0].iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value is not None} == {"s"}
    assert "0012" in [cell.value for cell in cells]
    with pytest.raises(ValueError, match=r"a spreadsheet cannot hold the control characters of 'd\\x01'; use CSV"):
        write_worklist(Worklist(pd.DataFrame({"qid": ["q"], "docno": ["d\x01"]}), 1), tmp_path / "c.xlsx", "xlsx")
    (path,) = write_worklist(worklist, tmp_path / "work.csv", "csv")
    for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
        assert not [cell for cell in row if cell[:1] in tuple("=+-@\t")]


def test_a_spreadsheet_without_its_package_says_what_to_install(tmp_path, worklist, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match="pip install openpyxl; or use CSV"):
        write_worklist(worklist, tmp_path / "work.xlsx", "xlsx")


ROWS = "007,0012,2,née\n007,d:1/a b,0,\nq3,żółć,,\n"


@pytest.mark.parametrize(
    ("header", "separator", "end", "encoding"),
    [
        ("qid,docno,label,query", ",", "\n", "utf-8"),
        (' qid , DocNo ,"LABEL",query', ";", "\r\n", "utf-8-sig"),
        (' qid , DocNo ,"LABEL",query', "\t", "\n", "utf-8-sig"),
    ],
)
def test_tables_come_as_people_save_them(tmp_path: Path, plan: Plan, header, separator, end, encoding) -> None:
    text = f"{header}\n{ROWS}".replace(",", separator).replace("\n", end)
    assert as_rows(read_file(saved(tmp_path / "work.csv", text.encode(encoding)), plan)) == PLAIN


def test_a_parquet_table_may_hold_labels_alone(tmp_path: Path, plan: Plan) -> None:
    plain = plan.assessments[["qid", "docno"]].assign(label=[1.0, None, -1, -2, *[2] * (len(plan.assessments) - 4)])
    found = read_labels([saved(tmp_path / "labels.parquet", parquet(plain))], plan)
    assert list(found.columns) == ["qid", "docno", "label"]
    assert found["label"].tolist() == [1, 0, *[2] * (len(plain) - 4)]


def test_a_table_that_says_who_judged_holds_records(tmp_path: Path, plan: Plan) -> None:
    text = "Annotator;Status;Docno;Qid;Label;Time\nann;;0012;007;1;2026-03-01 10:30+01:00\nbob;SKIPPED;0012;007;;\n"
    records = read_file(saved(tmp_path / "work.csv", text), plan)
    assert said(records) == [("007", "0012", 1, "ann", "judged", ""), ("007", "0012", None, "bob", "skipped", "")]
    assert records["time"].tolist() == ["2026-03-01T09:30:00Z", ""]


def test_words_stand_for_grades(tmp_path: Path, plan: Plan) -> None:
    path = saved(tmp_path / "work.csv", "qid,docno,label\n007,0012,Good\n007,d:1/a b,bad\n")
    for names in ("bad,fair,good", "good=2,bad=0", "GOOD = 2, Bad = 0"):
        assert as_rows(read_file(path, plan, GradeNames.parsed(names))) == PLAIN
    for names, message in ((None, f"row 2: {OF}: expected a label .* got 'Good'; words"), ("poor,great", "got 'Good'")):
        with pytest.raises(ValueError, match=message):
            read_file(path, plan, GradeNames.parsed(names))
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


@pytest.mark.parametrize(
    ("tool", "export", "who", "status"),
    [
        ("label-studio", [task(was_cancelled=True)], "1", "skipped"),
        ("quepid", book([{"rating": 2, "judge_name": "ann", "judge_later": True}]), "ann", "skipped"),
        ("quepid", book([{"rating": 2, "judge_name": "ann", "unrateable": True}]), "ann", "unjudgeable"),
    ],
)
def test_a_label_that_was_taken_back_is_none(tmp_path: Path, plan: Plan, tool, export, who, status) -> None:
    records = import_records(tool, [saved(tmp_path / "export.json", export)], plan)
    assert said(records) == [("007", "0012", None, who, status, "")]


IDS = {"qid": "007", "docno": "0012"}
SAID = "qid,docno,label,annotator,status\n"
FOREIGN = [task() | {"data": IDS | {"pt_active": "feedfeed"}}]
TWO_KEYS = {"query_doc_pairs": [{"options": '{"pt_active": {"qid": "q1", "qid": "q2", "docno": "d"}}'}]}

HEADER, MARCH = ["qid", "docno", "label"], pd.Timestamp("2026-03-01").to_pydatetime()
OPENSEARCH = {"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d", "rating": "0.7"}]}]}

WRONG: list[tuple[str, Any, str]] = [
    ("half.json", '[{"data": {"qid": "007", "docno":', "expected JSON; got "),
    ("twice.json", [task(), task()], f"task 1 and task 2 are both {OF}"),
    ("other.json", [{"data": {"text": "x"}, "annotations": []}], "task 1: expected the qid and docno that `pt-active"),
    ("grade.json", [task(choices=["7"])], "task 1: expected a label that is a grade of the plan, from 0 to 2"),
    ("many.json", [task(choices=["1", "2"])], "task 1: expected one grade; got ['1', '2']"),
    ("when.json", [task(created_at="yesterday")], "a time with its zone, such as 2026-03-01T09:30:00Z; got 'yes"),
    ("annotations.json", [{"data": IDS, "annotations": 3}], "task 1: expected a list of anno"),
    ("min.json", [{"id": 1, "annotation_id": 3}], "task 1: expected an object with data; got"),
    ("stray.json", [task(docno="0013")], "task 1: document '0013' of query '007' is not in the plan; 1 record is of "),
    ("foreign.json", FOREIGN, "task 1: expected a plan that is '"),
    ("book.json", book([{"rating": 1.5}]), f"pair 1: {OF}: expected a label that is a whole grade"),
    ("bare.json", book([], pt_active=None), "pair 1: expected the qid and docno that `pt-active export --format quep"),
    ("options.json", TWO_KEYS, "pair 1: options: expected JSON; got the key 'qid' more than once"),
    ("both.csv", SAID + "007,0012,1,ann,skipped\n", "the status is 'skipped' and the label '1'"),
    ("skip.csv", SAID + "007,0012,skip,ann,unjudgeable\n", "the status is 'unjudgeable' and the label 'skip'"),
    ("none.csv", SAID + "007,0012,,ann,judged\n", "row 2: expected a label that is a whole number"),
    ("two.csv", "qid,docno,label,Label\n007,0012,1,2\n", "expected each column once; got 'label' more than once"),
    ("clash.csv", "qid,docno,label\n007,0012,1\n007,0012,2\n", f"row 2 and row 3 are both {OF}"),
    ("cut.csv", b"\xff\xfeq\x00i\x00d\x00,", "line 1: a NUL character"),
    ("zeros.csv", "qid,docno,label,annotator\n7,12,2,ann\n", f"may be {OF} without its leading zeros"),
    ("rating.list", OPENSEARCH, "rating 1: expected a label that is a whole number"),
    ("keyed.list", {"judgmentRatings": {"a": []}}, "expected one judgment list of OpenSearch"),
    ("hits.list", '{\n"hits": {"hits": []}}', "expected one judgment list"),
    ("open.list", '{\n"judgmentRatings": [', "expected JSON"),
    ("tasks.list", [task()], "expected labels; got JSON: `pt-active import` reads what"),
    ("lacks.parquet", lambda: parquet(DOCUMENTS[["qid"]].assign(label=1)), "missing: 'docno'"),
    ("halves.parquet", lambda: parquet(DOCUMENTS.assign(label=1.5)), "row 1: expected a label that is a whole number"),
    (
        "dates.xlsx",
        lambda: sheet(HEADER, ["007", MARCH, 1]),
        "row 2: expected a docno that is text; the spreadsheet has",
    ),
    (
        "formulas.xlsx",
        lambda: sheet(HEADER, ["q", "a", "=1+1"]),
        "expected a label; got the formula '=1+1' without its v",
    ),
    ("empty.xlsx", lambda: sheet(), "the first sheet is empty; expected a header"),
    ("damaged.xlsx", lambda: sheet()[:200] + b"x" * 60 + sheet()[260:], " is damaged"),
    ("record.jsonl", json.dumps(dict.fromkeys(RECORD_COLUMNS, "")) + "\n", "row 1: expected a qid that is text"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, plan: Plan, name: str, content: Any, message: str) -> None:
    path = saved(tmp_path / name, content() if callable(content) else content)
    tool = "quepid" if "query_doc_pairs" in str(content) else "label-studio"
    read = partial(import_records, tool, [path], plan) if path.suffix == ".json" else partial(read_file, path, plan)
    with pytest.raises(ValueError, match=re.escape(message)) as told:
        read()
    assert str(told.value).startswith(f"{path}: ")
    assert str(told.value).count(str(path)) == 1
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500


def test_an_import_says_what_it_lacks(tmp_path: Path, plan: Plan) -> None:
    path = saved(tmp_path / "work.csv", "qid,docno,label\n007,0012,1\n")
    records = import_records("csv", [path], plan, annotator="ann")
    assert said(records) == [("007", "0012", 1, "ann", "judged", "")]
    for tool, message in {
        "csv": "1 record has no annotator: name the judge with annotator=",
        "quepid": "work.csv: expected JSON",
        "excel": "unknown tool 'excel'; it is one of label-studio",
    }.items():
        with pytest.raises(ValueError, match=message):
            import_records(tool, [path], plan)


def test_files_together_do_not_contradict_each_other(tmp_path: Path, plan: Plan) -> None:
    qrels = saved(tmp_path / "a.qrels", "007 0 0012 1\n")
    same = saved(tmp_path / "b.csv", "qid,docno,label\n007,0012,1\nq3,żółć,2\n")
    other = saved(tmp_path / "c.csv", "qid,docno,label\n007,0012,0\n")
    frame = pd.DataFrame({"qid": "007", "docno": ["0012", "d:1/a b"], "label": [1, 0], "annotator": "ann"})
    records = tmp_path / "r.jsonl"
    write_records(frame.assign(status="judged"), records)
    assert not is_records(read_labels([qrels, same], plan))
    together = read_labels([qrels, same, records], plan)
    assert is_records(together)
    assert sorted(together["annotator"]) == ["", "", "", "ann", "ann"]
    for one in (qrels, records):
        with pytest.raises(ValueError, match="document '0012' of query '007' has different labels"):
            read_labels([one, other], plan)


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
        saved(path, json.dumps({"took": 36, "hits": {"hits": [stored]}}, indent=indent))
        assert as_rows(read_labels([path], plan)) == sorted([*as_rows(labels), ("of no plan", "x", 3)])


def test_a_query_text_of_two_queries_is_refused_both_ways(tmp_path: Path) -> None:
    columns = {"qid": ["1", "2"], "docno": "d", "query": "lamp", "rank_a": 0, "grade_0": 0.5, "grade_1": 0.5}
    plan, same = Plan.create(pd.DataFrame(columns), None, "P@1", budget=2), "'1', '2' have the same text, 'lamp'"
    with pytest.raises(ValueError, match=same):
        plan.export(tmp_path / "out.json", "opensearch", plan.assessments[["qid", "docno"]].assign(label=1))
    rated = [{"query": "lamp", "ratings": [{"docId": "d", "rating": 1}]}]
    with pytest.raises(ValueError, match=f"in.json: .*{same}"):
        read_labels([saved(tmp_path / "in.json", {"judgmentRatings": rated})], plan)
