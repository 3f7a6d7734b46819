"""Every tool gets what it takes, and what it gives back becomes the records of what people said."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from judging_round_trips import DOCUMENTS, JUDGED_IN, said, suffix

from pt_active import Plan
from pt_active.frames.records import RECORD_COLUMNS
from pt_active.judging.files import import_records, read_file, write_worklist
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist


@pytest.mark.parametrize("tool", list(TOOLS))
def test_nothing_that_people_said_is_lost(tmp_path, plan, worklist, judged, tool) -> None:
    """Labels, skips, annotators and notes come back from every tool, and tables are labels too."""
    if tool == "xlsx":
        pytest.importorskip("openpyxl")
    path = write_worklist(worklist, tmp_path / f"work{suffix(tool)}", tool)[0]
    delivered = JUDGED_IN[tool](tmp_path, path, judged)
    records = import_records(tool, delivered, plan)
    assert said(records) == sorted(judged, key=str)
    assert list(records.columns) == RECORD_COLUMNS
    assert set(records["plan"]) == {plan.id}
    assert set(records["time"]) == {"2026-03-01T09:30:05.250000Z" if tool == "label-studio" else ""}
    if tool in ("csv", "xlsx"):
        assert said(pd.concat([read_file(file, plan) for file in delivered])) == said(records)


def test_a_spreadsheet_without_its_package_says_what_to_install(tmp_path, worklist, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match="pip install openpyxl; or use CSV"):
        write_worklist(worklist, tmp_path / "work.xlsx", "xlsx")


@pytest.mark.parametrize("tool", list(TOOLS))
def test_what_is_written_has_no_judgment_yet(tmp_path: Path, plan: Plan, worklist: Worklist, tool: str) -> None:
    if tool == "xlsx":
        pytest.importorskip("openpyxl")
    files = write_worklist(worklist, tmp_path / f"work{suffix(tool)}", tool)
    assert import_records(tool, files[:1], plan).empty
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
