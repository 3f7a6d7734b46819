"""Commands for those who collect labels: export, import and agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pt_active.cli import options
from pt_active.cli.command_line import (
    EARLIER,
    EARLIER_TOLD,
    Answer,
    check_names,
    check_new,
    command_line,
    new_path,
    next_answer,
    next_look,
)
from pt_active.cli.judge import judge_names
from pt_active.cli.options import one_of
from pt_active.cli.texts import texts_for
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import STATUSES, is_records
from pt_active.frames.topics import with_texts
from pt_active.frames.worklists import FORMAT, FORMATS, TABLE_FORMAT, write_assessments
from pt_active.inference.estimators import ESTIMATOR
from pt_active.judging.files import import_records, read_labels, write_worklist
from pt_active.judging.records import write_records
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.templates import guideline_html, offline_page
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.queries import ORDERS, has_order, in_drawing_order
from pt_active.plans.plan import Plan

OFFLINE = "html"
"""The value of ``--format`` for a page that works without a server."""

_SHOW_NO_TEXTS = ("trec", "prels")
"""Formats that hold no texts in any case."""

_NO_TEXTS = "The plan has no texts, so judges see ids alone: say --texts FILE here, or when the plan is made."

_TABLES = ("csv", "xlsx")
"""Formats that come back in the file that was written."""


def file_formats() -> tuple[str, ...]:
    """The values of ``--format``: formats of what a plan has, tools, and a page that works without a server."""
    known = [name for name, format in FORMATS.items() if set(format.design) <= {"inclusion"}]
    return *known, *(name for name in TOOLS if name not in FORMATS), OFFLINE


def export(
    plan: options.PlanFolder,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
    format: Annotated[str, one_of(file_formats, "One of {}.")] = FORMAT,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Labels that are already known.")] = None,
    order: Annotated[
        str | None, one_of(ORDERS, "One of {}; default: drawn, whose labels status can use, if the plan has an order.")
    ] = None,
    texts: Annotated[Path | None, typer.Option(metavar="FILE", help="Document texts, if the plan has none.")] = None,
    grade_names: options.GradeWords = None,
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who judges, for html, or a table with it.")] = "",
    judges: Annotated[
        str | None, typer.Option(metavar="NAMES", help="For html: all judges, to share the documents out.")
    ] = None,
    guideline: Annotated[Path | None, typer.Option(metavar="FILE", help="For html: a Markdown file.")] = None,
) -> Answer:
    """Write the documents of a plan to a file for people, or for a tool in which they judge."""
    check_new(out)
    check_names({"--format": (format, file_formats())})
    if format != OFFLINE and (judges is not None or guideline is not None):
        raise ValueError(f"--judges and --guideline are for --format {OFFLINE}")
    loaded, names = Plan.load(plan), GradeNames.parsed(grade_names)
    documents = in_drawing_order(loaded.tables, order)
    if texts is not None:
        documents = with_texts(documents, texts_for(loaded, texts))
    worklist = Worklist(documents, loaded.tables.pool.max_grade, loaded.id, names, annotator)
    if format in FORMATS and not (format == TABLE_FORMAT and annotator):
        if annotator or names.grades:
            raise ValueError(f"--annotator and --grade-names are not for --format {format}")
        if labels is not None:
            known = checked_qrels(as_qrels(read_labels([labels], loaded)))
            documents = documents.merge(known, how="left", on=["qid", "docno"])
        write_assessments(documents, out, format)
        written = [out]
    elif labels is not None:
        raise ValueError(f"--labels is for --format {', '.join(FORMATS)}")
    elif format == OFFLINE:
        if order is not None:
            raise ValueError(
                f"--order is not for --format {OFFLINE}, whose documents come in blocks of the drawn order"
            )
        given = None if texts is None else texts_for(loaded, texts, warned=False)
        page = _offline(loaded, given, annotator, judge_names(judges), names, guideline)
        write_file(out, page)
        written = [out]
    else:
        written = write_worklist(worklist, out, format)
    return _exported(loaded, plan, written, worklist, format)


def _offline(
    plan: Plan, texts: pd.DataFrame | None, annotator: str, judges: list[str], names: GradeNames, guideline: Path | None
) -> str:
    """The page of one judge."""
    if not annotator:
        raise ValueError(f"--format {OFFLINE} is for one judge: say --annotator")
    shown_guideline = "" if guideline is None else guideline_html(guideline)
    return offline_page(plan, JudgingOrder.of(plan, texts), annotator, judges, names, shown_guideline)


def agreement(
    plan: options.PlanFolder,
    records: Annotated[
        list[Path], typer.Argument(metavar="RECORDS", help="Records, or exports of a tool that say who judged.")
    ],
    measure: options.Measure = None,
    estimator: options.Estimator = ESTIMATOR,
    confidence: options.Confidence = 0.95,
    first: options.First = None,
    second: options.Second = None,
    grade_names: options.GradeWords = None,
) -> Answer:
    """Say how far the judges agree, who is far from the others, and whether the verdict hangs on one of them."""
    loaded = Plan.load(plan)
    judged = read_labels(records, loaded, GradeNames.parsed(grade_names))
    if not is_records(judged):
        raise ValueError(f"{', '.join(map(str, records))}: the labels do not say who judged")
    agree = loaded.agreement(judged)
    content, text = agree.to_dict(), str(agree)
    if len(agree.judges) > 1 and (len(loaded.rankers) <= 2 or (first and second)):
        without = loaded.without_judges(judged, measure, estimator, confidence, first=first, second=second)
        content["without"], text = without.to_dict(), f"{text}\n\n{without}"
    return Answer(content, text)


def _exported(loaded: Plan, plan: Path, written: list[Path], worklist: Worklist, format: str) -> Answer:
    """The answer of an export: the files, whether judges see texts, and what to type when labels come back."""
    count, out = len(worklist.documents), written[0]
    content: dict[str, Any] = {"file": str(out), "format": format, "assessments": count, "texts": worklist.has_texts}
    text = f"{how_many('document', count)} to judge {agreeing('is', count)} in {out}."
    if len(written) > 1:
        content["beside"] = [str(each) for each in written[1:]]
        text += f" Beside it, for the tool: {', '.join(content['beside'])}."
    untold = not worklist.has_texts and format not in _SHOW_NO_TEXTS
    records = new_path(out.with_name(f"{out.stem}-records.jsonl"))
    labels, hint = (out, "") if format in (*FORMATS, *_TABLES) else (records, _import_line(format, plan, records))
    if format == OFFLINE:
        labels, hint = records, "Send it to the judge, who opens it in a browser and sends the saved file back.\n"
    hint = f"{_NO_TEXTS}\n{hint}" if untold else hint
    answer = next_answer(loaded, plan, labels)
    if has_order(loaded.tables) or len(loaded.tables.rounds) > 1 or loaded.tables.manifest.extensions:
        look = next_look(loaded, plan, labels)
        hint += f"{EARLIER_TOLD}\n" if EARLIER in look.split() else ""
        return Answer(content, text, f"{hint}Next, as labels come in:\n  {look}\nWhen all are there:\n  {answer}")
    return Answer(content, text, f"{hint}Next, when the labels are filled in:\n  {answer}")


def _import_line(format: str, plan: Path, records: Path) -> str:
    line = command_line("import", format, "EXPORTED-FILE", "--plan", plan, "--out", records)
    return f"Import what the tool exports:\n  {line}\n"


def import_(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help=f"One of {', '.join(TOOLS)}.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="What the tool exported.")],
    folder: Annotated[Path, typer.Option("--plan", metavar="PLAN", help="The folder of the plan.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The records to make: .jsonl or .parquet.")],
    grade_names: options.GradeWords = None,
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who judged, where the file does not say so.")] = "",
) -> Answer:
    """Read what a judging tool exported, and keep it as records: who said what of which document, and when."""
    check_new(out)
    check_names({"TOOL": (tool, TOOLS)})
    loaded = Plan.load(folder)
    records = import_records(tool, files, loaded, GradeNames.parsed(grade_names), annotator)
    if records.empty:
        raise ValueError(f"{', '.join(map(str, files))}: nothing is judged")
    write_records(records, out)
    counts = {status: int((records["status"] == status).sum()) for status in STATUSES}
    people = records["annotator"].nunique()
    content = {"file": str(out), "records": len(records), **counts, "annotators": people}
    said = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    text = f"{how_many('record', len(records))} of {how_many('annotator', people)} in {out}: {said}."
    look = next_look(loaded, folder, out)
    told = f"{EARLIER_TOLD}\n" if EARLIER in look.split() else ""
    return Answer(content, text, f"{told}Next:\n  {look}\n  {next_answer(loaded, folder, out)}")
