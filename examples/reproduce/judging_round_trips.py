"""Which part of what people say survives the way through each judging tool? Prints a table in Markdown.

    python examples/reproduce/judging_round_trips.py

A worklist with hard ids and texts is exported for every tool. What two people say about it is filled in, in the shape
in which the tool exports it, and is imported again. The table counts what came back.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active import Plan
from pt_active.judging.files import import_records, write_worklist
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import Worklist

Row = tuple[str, str, "int | None", str, str, str]
"""qid, docno, label, annotator, status and note."""

DOCUMENTS = pd.DataFrame(
    {
        "qid": ["007", "007", "q,2", "=q3", "q3"],
        "docno": ["0012", "d:1/a b", 'd"2', "-d", "żółć"],
        "query": ["wooden lamp", "wooden lamp", 'a "quick" <b>', "=1+1", "@home"],
        "text": ["plain", "several\nlines; <script>alert(1)</script>", "=HYPERLINK(1)", "x & y", "\ttab"],
    }
)


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
    (folder / "book.json").write_text(json.dumps(book), encoding="utf-8")
    return [folder / "book.json"]


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
    ann.to_csv(folder / "ann.csv", index=False, sep=";", lineterminator="\r\n")
    bob.rename(columns=str.upper).to_csv(folder / "bob.tsv", index=False, sep="\t", encoding="utf-8-sig")
    return [folder / "ann.csv", folder / "bob.tsv"]


def table_xlsx(folder: Path, path: Path, judged: list[Row]) -> list[Path]:
    """One file for each judge, filled in as a spreadsheet keeps numbers: 2 and 2.0."""
    import openpyxl

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
    "csv": table_csv,
    "xlsx": table_xlsx,
}


def suffix(tool: str) -> str:
    return {"csv": ".csv", "xlsx": ".xlsx"}.get(tool, ".json")


def small_plan() -> Plan:
    """A census of five documents."""
    count = DOCUMENTS.groupby("qid").cumcount()
    size = DOCUMENTS.groupby("qid")["docno"].transform("size")
    grades = DOCUMENTS.assign(rank_a=count, rank_b=size - 1 - count, grade_0=0.5, grade_1=0.3, grade_2=0.2)
    return Plan.create(grades, None, "DCG@2", budget=float(len(DOCUMENTS)))


def opinions() -> list[Row]:
    """What two people say: grades, skips, documents that nobody can judge, and notes."""
    rng, rows = np.random.default_rng(1), []
    for annotator in ("ann", "bob"):
        for qid, docno in zip(DOCUMENTS["qid"], DOCUMENTS["docno"], strict=True):
            status = ("judged", "judged", "skipped", "unjudgeable")[rng.integers(4)]
            note = ("", "=not a formula", "two\nlines, «ł»")[rng.integers(3)]
            rows.append((qid, docno, int(rng.integers(3)) if status == "judged" else None, annotator, status, note))
    return rows


def round_trip(tool: str, folder: Path, plan: Plan, judged: list[Row]) -> pd.DataFrame:
    """The records that come back from a tool."""
    path = write_worklist(Worklist(DOCUMENTS, 2, plan.id), folder / f"work{suffix(tool)}", tool)[0]
    return import_records(tool, JUDGED_IN[tool](folder, path, judged), plan)


def said(records: pd.DataFrame) -> list[Row]:
    """What records say, in the order of their ids."""
    labels = [None if pd.isna(label) else int(label) for label in records["label"]]
    columns = [records[name] for name in ("annotator", "status", "note")]
    return sorted(zip(records["qid"], records["docno"], labels, *columns, strict=True), key=str)


def counts(records: pd.DataFrame, judged: list[Row]) -> list[str]:
    """How many labels, skips, unjudgeable documents and notes came back with their annotator, of how many."""
    back, kept = said(records), []
    for status in ("judged", "skipped", "unjudgeable"):
        wanted = [row[:5] for row in judged if row[4] == status]
        kept.append(f"{len(set(wanted) & {row[:5] for row in back})} of {len(wanted)}")
    notes = {(*row[:2], row[3], row[5]) for row in judged if row[5]}
    return [*kept, f"{len(notes & {(*row[:2], row[3], row[5]) for row in back})} of {len(notes)}"]


def main() -> None:
    plan, judged = small_plan(), opinions()
    print("| tool | labels | skips | unjudgeable | notes | time |\n|---|---|---|---|---|---|")
    for tool in TOOLS:
        with tempfile.TemporaryDirectory() as folder:
            records = round_trip(tool, Path(folder), plan, judged)
        time = "kept" if (records["time"] != "").all() else "the tool exports none"
        time = "if the table has that column" if tool in ("csv", "xlsx") else time
        print(f"| `{tool}` | {' | '.join(counts(records, judged))} | {time} |")


if __name__ == "__main__":
    main()
