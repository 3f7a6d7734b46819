"""Every tool gets what it takes, and what it gives back becomes the records of what people said."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from small_plan import DOCUMENTS, said

from pt_active import Plan
from pt_active.frames.records import RECORD_COLUMNS
from pt_active.judging.delivery import Delivery
from pt_active.judging.files import import_records, read_file, tool_of, write_worklist
from pt_active.judging.grade_names import GradeNames
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import Worklist

Row = tuple[str, str, "int | None", str, str, str]


def word(row: Row) -> str:
    """The label of a tool without a button to skip."""
    return {"judged": str(row[2]), "skipped": "skip", "unjudgeable": "unjudgeable"}[row[4]]


def label_studio(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """The full JSON export: annotators by number in the tool, or as objects; skips are cancelled annotations."""
    tasks = json.loads(path.read_text(encoding="utf-8"))
    for number, task in enumerate(tasks, start=11):
        mine = [row for row in judged if row[:2] == (task["data"]["qid"], task["data"]["docno"])]
        task |= {"id": number, "annotations": [], "drafts": [], "predictions": [], "cancelled_annotations": 0}
        for row in mine:
            result: list[dict[str, Any]] = []
            if row[4] != "skipped":
                value = {"choices": [word(row)]}
                result.append({"from_name": "label", "to_name": "text", "type": "choices", "value": value})
            if row[5]:
                value = {"text": row[5].split("\n")}
                result.append({"from_name": "note", "to_name": "text", "type": "textarea", "value": value})
            task["annotations"].append(
                {
                    "id": 900 + number,
                    "completed_by": {"id": 3, "email": row[3], "first_name": "", "last_name": ""},
                    "result": result,
                    "was_cancelled": row[4] == "skipped",
                    "lead_time": 3.25,
                    "created_at": "2026-03-01T09:30:00.123456Z",
                    "updated_at": "2026-03-01T09:30:05.250000Z",
                    "unique_id": "5f0c",
                }
            )
    (folder / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    return [folder / "export.json"]


def quepid(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """The exported book: a judge who puts a pair off is a skip."""
    book = json.loads(path.read_text(encoding="utf-8"))
    for pair in book["query_doc_pairs"]:
        ids = pair["options"]["pt_active"]
        pair["judgements"] = [
            {
                "rating": None if row[2] is None else float(row[2]),
                "unrateable": row[4] == "unjudgeable",
                "judge_later": row[4] == "skipped",
                "user_email": row[3],
                "explanation": row[5] or None,
            }
            for row in judged
            if row[:2] == (ids["qid"], ids["docno"])
        ]
    with zipfile.ZipFile(folder / "book.json.zip", "w") as archive:
        archive.writestr("book.json", json.dumps(book))
    return [folder / "book.json.zip"]


def doccano(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """An archive with one file for each annotator."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        for annotator in ("ann", "bob"):
            text = ""
            for number, line in enumerate(lines, start=1):
                row = next(row for row in judged if row[:2] == (line["qid"], line["docno"]) and row[3] == annotator)
                rest = {"label": [word(row)], "Comments": [row[5]] if row[5] else []}
                text += json.dumps({"id": number, **line, **rest}, ensure_ascii=False) + "\n"
            archive.writestr(f"{annotator}.jsonl", text)
    return [folder / "export.zip"]


def potato(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """The state of each user, whose answers are pairs of a label and its value."""
    items = [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]
    ids = dict(zip(zip(DOCUMENTS["qid"], DOCUMENTS["docno"], strict=True), items, strict=True))
    files = []
    for annotator in ("ann", "bob"):
        answers = {}
        for row in judged:
            if row[3] == annotator:
                answers[ids[row[:2]]] = [[{"schema": "label", "name": word(row)}, "true"]]
                answers[ids[row[:2]]] += [[{"schema": "note", "name": "text_box"}, row[5]]] if row[5] else []
        state = {"user_id": annotator, "instance_id_ordering": items, "instance_id_to_label_to_value": answers}
        file = folder / annotator / "user_state.json"
        file.parent.mkdir()
        file.write_text(json.dumps(state), encoding="utf-8")
        files.append(file)
    return files


def argilla(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """The flat records, which have the status of each response."""
    records = []
    for record in json.loads(path.read_text(encoding="utf-8")):
        rows = [row for row in judged if row[:2] == (record["metadata"]["qid"], record["metadata"]["docno"])]
        graded, noted = [row for row in rows if row[4] != "skipped"], [row for row in rows if row[5]]
        flat = {"id": record["id"], "_server_id": "0f3a", **record["fields"], **record["metadata"]}
        flat["label.responses"] = [word(row) for row in graded]
        flat["label.responses.users"] = [row[3] for row in graded]
        flat["label.responses.status"] = ["submitted" for _ in graded]
        skipped = [row for row in rows if row[4] == "skipped"]
        flat["note.responses"] = [row[5] for row in noted] + ["" for row in skipped if not row[5]]
        flat["note.responses.users"] = [row[3] for row in [*noted, *(row for row in skipped if not row[5])]]
        flat["note.responses.status"] = ["discarded" for _ in flat["note.responses.users"]]
        records.append(flat)
    (folder / "records.json").write_text(json.dumps(records), encoding="utf-8")
    return [folder / "records.json"]


def mturk(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """The results of a batch, with all cells in quotation marks."""
    with path.open(encoding="utf-8", newline="") as stream:
        inputs = list(csv.DictReader(stream))
    rows = []
    for number, given in enumerate(inputs):
        pair = DOCUMENTS.iloc[number]
        for row in judged:
            if row[:2] == (pair.qid, pair.docno):
                about = {
                    "HITId": f"3K{number}",
                    "AssignmentId": "3R",
                    "WorkerId": row[3],
                    "AssignmentStatus": "Approved",
                }
                about |= {"SubmitTime": "Tue Mar 03 14:05:14 PST 2026", "WorkTimeInSeconds": "21"}
                about |= {f"Input.{name}": value for name, value in given.items()}
                rows.append(about | {"Answer.label": word(row), "Answer.note": row[5], "Approve": "", "Reject": ""})
    with (folder / "Batch_1_batch_results.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    return [folder / "Batch_1_batch_results.csv"]


def guard(text: str) -> str:
    return f"'{text}" if text.startswith("=") else text


def fill_table(table: pd.DataFrame, judged: list[Row], annotator: str) -> pd.DataFrame:
    mine = [row for row in judged if row[3] == annotator]
    return table.assign(
        label=["" if row[2] is None else str(row[2]) for row in mine],
        status=["" if row[4] == "judged" else row[4] for row in mine],
        annotator=annotator,
        note=[guard(row[5]) for row in mine],
    )


def table_csv(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """One file for each judge, one as Excel saves it and one in upper case."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    ann, bob = (fill_table(table, judged, name) for name in ("ann", "bob"))
    ann.to_csv(folder / "ann.csv", index=False, sep=";", encoding="utf-16", lineterminator="\r\n")
    bob.rename(columns=str.upper).to_csv(folder / "bob.tsv", index=False, sep="\t", encoding="utf-8-sig")
    return [folder / "ann.csv", folder / "bob.tsv"]


def table_xlsx(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """One file for each judge, filled in as a spreadsheet keeps numbers: 2 and 2.0."""
    openpyxl = pytest.importorskip("openpyxl")
    files = []
    for annotator in ("ann", "bob"):
        book = openpyxl.load_workbook(path)
        sheet = book.worksheets[0]
        columns = {cell.value: cell.column for cell in sheet[1]}
        table = fill_table(pd.DataFrame(index=range(len(DOCUMENTS))), judged, annotator)
        for number, row in enumerate(table.to_dict("records"), start=2):
            for name, value in row.items():
                cell = sheet.cell(number, columns[name])
                cell.value = float(value) if name == "label" and value else value or None
        files.append(folder / f"{annotator}.xlsx")
        book.save(files[-1])
    return files


JUDGED_IN: dict[str, Callable[[Path, Path, list[Row]], list[Path]]] = {
    "label-studio": label_studio,
    "quepid": quepid,
    "doccano": doccano,
    "potato": potato,
    "argilla": argilla,
    "mturk": mturk,
    "csv": table_csv,
    "xlsx": table_xlsx,
}


def suffix(tool: str) -> str:
    return {"csv": ".csv", "mturk": ".csv", "xlsx": ".xlsx", "doccano": ".jsonl", "potato": ".jsonl"}.get(tool, ".json")


@pytest.mark.parametrize("tool", list(TOOLS))
def test_nothing_that_people_said_is_lost(
    tmp_path: Path, plan: Plan, worklist: Worklist, judged: list[Row], tool: str
) -> None:
    """Labels, skips, annotators and notes come back from every tool, by `import` and by content."""
    if tool == "xlsx":
        pytest.importorskip("openpyxl")
    path = write_worklist(worklist, tmp_path / f"work{suffix(tool)}", tool)[0]
    delivered = JUDGED_IN[tool](tmp_path, path, judged)
    records = import_records(tool, delivered, plan)
    assert said(records) == sorted(judged, key=str)
    assert list(records.columns) == RECORD_COLUMNS
    assert set(records["plan"]) == {plan.id}
    assert [tool_of(Delivery.read(file)) for file in delivered] == [tool] * len(delivered)
    assert said(pd.concat([read_file(file, plan) for file in delivered])) == said(records)
    times = {"label-studio": "2026-03-01T09:30:05.250000Z", "mturk": "2026-03-03T22:05:14Z"}
    assert set(records["time"]) == {times.get(tool, "")}


@pytest.mark.parametrize("tool", list(TOOLS))
def test_what_is_written_has_no_judgment_yet(tmp_path: Path, plan: Plan, worklist: Worklist, tool: str) -> None:
    if tool == "xlsx":
        pytest.importorskip("openpyxl")
    files = write_worklist(worklist, tmp_path / f"work{suffix(tool)}", tool)
    if tool in ("csv", "xlsx", "label-studio", "quepid", "argilla"):
        assert read_file(files[0], plan).empty
    before = {file: file.read_bytes() for file in files}
    with pytest.raises(FileExistsError):
        write_worklist(worklist, files[0], tool)
    assert {file: file.read_bytes() for file in files} == before


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


def test_quepid_gets_no_positions(tmp_path: Path, worklist: Worklist) -> None:
    (path,) = write_worklist(worklist, tmp_path / "book.json", "quepid")
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["scale"] == [0, 1, 2]
    assert not book["show_rank"]
    assert {pair["position"] for pair in book["query_doc_pairs"]} == {None}
    twins = pd.DataFrame({"qid": ["1", "2"], "docno": "d", "query": "lamp"})
    with pytest.raises(ValueError, match="queries '1', '2' have the same text, 'lamp', and document 'd'"):
        write_worklist(Worklist(twins, 1), tmp_path / "twins.json", "quepid")


def test_potato_gets_a_configuration_that_is_yaml(tmp_path: Path, worklist: Worklist) -> None:
    yaml = pytest.importorskip("yaml")
    items, config = write_worklist(worklist, tmp_path / "items.jsonl", "potato")
    scheme = yaml.safe_load(config.read_text(encoding="utf-8"))["annotation_schemes"][0]
    assert [label["name"] for label in scheme["labels"]] == ["0", "1", "2", "skip", "unjudgeable"]
    assert len({json.loads(line)["id"] for line in items.read_text(encoding="utf-8").splitlines()}) == len(DOCUMENTS)


def test_potato_states_may_be_nested_objects(tmp_path: Path, plan: Plan) -> None:
    item = f"007:0012:{plan.id}"
    for answers in ({"label": {"labels": {"2": True}}}, {"label": {"2": "true", "1": False}}):
        state = {"user_id": "ann", "instance_id_to_label_to_value": {item: answers}}
        (tmp_path / "state.json").write_text(json.dumps(state))
        assert said(read_file(tmp_path / "state.json", plan)) == [("007", "0012", 2, "ann", "judged", "")]


def test_argilla_records_may_be_nested(tmp_path: Path, plan: Plan, worklist: Worklist) -> None:
    (path,) = write_worklist(worklist, tmp_path / "records.json", "argilla")
    records = json.loads(path.read_text(encoding="utf-8"))
    user = "6d6fe1d4-0f2b-4a3c-8d2e-1b8f3d6f4a11"
    records[0]["responses"] = {
        "label": [{"value": "2", "user_id": user}],
        "note": [{"value": "sure", "user_id": user}],
    }
    (tmp_path / "export.json").write_text(json.dumps(records))
    assert said(read_file(tmp_path / "export.json", plan)) == [("007", "0012", 2, user, "judged", "sure")]


def test_mturk_answers_of_its_own_elements_and_rejections(tmp_path: Path, plan: Plan) -> None:
    header = "HITId,WorkerId,AssignmentStatus,SubmitTime,Input.qid,Input.docno,Answer.label.0,Answer.label.2"
    rows = ["1,A1,Submitted,,007,0012,false,true", "2,A2,Rejected,,007,0012,true,false", "3,A3,Approved,,q3,żółć,,"]
    (tmp_path / "batch.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    expected = [("007", "0012", 2, "A1", "judged", ""), ("q3", "żółć", None, "A3", "skipped", "")]
    assert said(read_file(tmp_path / "batch.csv", plan)) == expected
    single = "WorkerId,AssignmentStatus,Input.qid,Input.docno,Answer.label.label\nA1,Approved,007,0012,1\n"
    (tmp_path / "classifier.csv").write_text(single)
    assert said(read_file(tmp_path / "classifier.csv", plan)) == [("007", "0012", 1, "A1", "judged", "")]


def test_the_page_for_mturk_escapes_the_names_of_grades(tmp_path: Path, plan: Plan) -> None:
    names = GradeNames.parsed("<b>bad,good")
    _, page = write_worklist(Worklist(DOCUMENTS, 1, plan.id, names), tmp_path / "in.csv", "mturk")
    text = page.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "&lt;b&gt;bad" in text
    assert re.findall(r'value="(\w+)"', text) == ["0", "1", "skip", "unjudgeable"]


def test_spreadsheets_get_text_that_they_do_not_run(tmp_path: Path, worklist: Worklist) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (path,) = write_worklist(worklist, tmp_path / "work.xlsx", "xlsx")
    cells = [cell for row in openpyxl.load_workbook(path).worksheets[0].iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value is not None} == {"s"}
    assert "0012" in [cell.value for cell in cells]
    (path,) = write_worklist(worklist, tmp_path / "work.csv", "csv")
    for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
        assert not [cell for cell in row if cell[:1] in tuple("=+-@\t")]


def test_archives_of_other_files_are_not_read(tmp_path: Path, plan: Plan) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("a.png", b"\x89PNG")
    with pytest.raises(
        ValueError, match=r"photos.zip: neither a file of a known judging tool .* nor a table of labels"
    ):
        read_file(tmp_path / "photos.zip", plan)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "photos.zip").read_bytes()[:40])
    with pytest.raises(ValueError, match="cut.zip: the archive is damaged"):
        read_file(tmp_path / "cut.zip", plan)
