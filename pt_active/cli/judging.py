"""Commands for those who collect labels: export, import and agreement."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any

from pt_active.cli.answer import Answer, check_new, command_line, new_path, next_look
from pt_active.cli.commands import argument, of_every_command, option
from pt_active.cli.files import texts_for
from pt_active.cli.judge import judge_names
from pt_active.cli.options import MEASURES, Pair, plan_folder
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import STATUSES, is_records
from pt_active.frames.topics import with_texts
from pt_active.frames.worklists import FORMAT, FORMATS, TABLE_FORMAT, write_assessments
from pt_active.judging.files import import_records, read_labels, write_worklist
from pt_active.judging.records import write_records
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.templates import guideline_html, offline_page
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.queries import ORDERS, in_drawing_order
from pt_active.plans.plan import Plan
from pt_active.showing.wording import is_of_answers

OFFLINE = "html"  # The value of ``--format`` for a page that works without a server

_SHOW_NO_TEXTS = ("trec", "prels")  # Formats that hold no texts in any case

_NO_TEXTS = "The plan has no texts, so judges see ids alone: pass --texts FILE here, or when the plan is made."

_TABLES = ("csv", "xlsx")  # Formats that come back in the file that was written


def file_formats() -> tuple[str, ...]:
    """The values of ``--format``: formats of what a plan has, tools, and a page that works without a server."""
    known = [name for name, format in FORMATS.items() if set(format.design) <= {"inclusion"}]
    return *known, *(name for name in TOOLS if name not in FORMATS), OFFLINE


def export(
    plan: Path = plan_folder(),
    out: Path = option(MISSING, "The file to make.", "FILE"),
    format: str = option(FORMAT, "One of {}.", "NAME", names=file_formats),
    labels: Path | None = option(None, "Labels that are already known.", "FILE"),
    order: str | None = option(
        None,
        "One of {}; default: drawn, whose labels status can use, if the plan has an order.",
        "NAME",
        names=ORDERS,
    ),
    texts: Path | None = option(None, "Document texts, if the plan has none.", "FILE"),
    grade_names: str | None = of_every_command(None),
    annotator: str = option("", "Who judges, for html, or a table with it.", "NAME"),
    judges: str | None = option(None, "For html: all judges, to share the documents out.", "NAMES"),
    guideline: Path | None = option(None, "For html: a Markdown file.", "FILE"),
) -> Answer:
    """Write the documents of a plan to a file for people, or for a tool in which they judge."""
    check_new(out)
    offline = format == OFFLINE
    if not offline and (judges is not None or guideline is not None):
        raise ValueError(f"--judges and --guideline are for --format {OFFLINE}")
    if offline and order is not None:
        raise ValueError(f"--order is not for --format {OFFLINE}, whose documents come in blocks of the drawn order")
    if offline and not annotator:
        raise ValueError(f"--format {OFFLINE} is for one judge: pass --annotator")
    loaded, names = Plan.load(plan), GradeNames.parsed(grade_names)
    documents = in_drawing_order(loaded.tables, order)
    given = texts_for(loaded, texts, warned=not offline)
    documents = documents if given is None else with_texts(documents, given)
    worklist = Worklist(documents, loaded.tables.pool.max_grade, loaded.id, names, annotator)
    written = [out]
    if format in FORMATS and not (format == TABLE_FORMAT and annotator):
        if annotator or (names.grades and format != TABLE_FORMAT):
            raise ValueError(f"--annotator and --grade-names are not for --format {format}")
        if labels is not None:
            known = checked_qrels(as_qrels(read_labels([labels], loaded)))
            documents = documents.merge(known, how="left", on=["qid", "docno"])
        write_assessments(documents, out, format)
    elif labels is not None:
        raise ValueError(f"--labels is for --format {', '.join(FORMATS)}")
    elif offline:
        shown = "" if guideline is None else guideline_html(guideline)
        work = JudgingOrder.of(loaded, given)
        write_file(out, offline_page(loaded, work, annotator, judge_names(judges), names, shown))
    else:
        written = write_worklist(worklist, out, format)
    return _exported(loaded, plan, written, worklist, format)


def _exported(loaded: Plan, plan: Path, written: list[Path], worklist: Worklist, format: str) -> Answer:
    """The answer of an export: the files, whether judges see texts, and what to type when labels come back."""
    count, out = len(worklist.documents), written[0]
    content: dict[str, Any] = {"file": str(out), "format": format, "assessments": count, "texts": worklist.has_texts}
    what = "answer" if is_of_answers(str(loaded.measure)) else "document"
    text = f"{how_many(what, count)} to judge {agreeing('is', count)} in {out}."
    if len(written) > 1:
        content["beside"] = [str(each) for each in written[1:]]
        text += f" Beside it, for the tool: {', '.join(content['beside'])}."
    records, labels = new_path(out.with_name(f"{out.stem}-records.jsonl")), out
    hint = f"{_NO_TEXTS}\n" if not worklist.has_texts and format not in _SHOW_NO_TEXTS else ""
    if format == OFFLINE:
        labels = records
        hint += "Send it to the judge, who opens it in a browser and sends the saved file back.\n"
    elif format not in (*FORMATS, *_TABLES):
        labels = records
        line = command_line("import", format, "EXPORTED-FILE", "--plan", plan, "--out", records)
        hint += f"Import what the tool exports:\n  {line}\n"
    return Answer(content, text, f"{hint}{next_look(loaded, plan, labels)}")


def import_(
    tool: str = argument(MISSING, "One of {}.", "TOOL", names=TOOLS),
    files: list[Path] = argument(MISSING, "What the tool exported.", "FILE…"),
    folder: Path = option(MISSING, "The folder of the plan.", "PLAN", typed="--plan"),
    out: Path = option(MISSING, "The records to make: .jsonl or .parquet.", "FILE"),
    grade_names: str | None = of_every_command(None),
    annotator: str = option("", "Who judged, where the file does not say so.", "NAME"),
) -> Answer:
    """Read what a judging tool exported, and keep it as records: who said what of which document, and when."""
    check_new(out)
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
    return Answer(content, text, next_look(loaded, folder, out))


def agreement(
    pair: Pair,
    plan: Path = plan_folder(),
    records: list[Path] = argument(MISSING, "Records, or exports of a tool that say who judged.", "RECORDS"),
    measure: str | None = option(None, "The measure, if not the plan's; the labels are the same.", "NAME", **MEASURES),
    grade_names: str | None = of_every_command(None),
) -> Answer:
    """Show how far the judges agree, who is far from the others, and whether the verdict depends on one of them."""
    loaded = Plan.load(plan)
    judged = read_labels(records, loaded, GradeNames.parsed(grade_names))
    if not is_records(judged):
        raise ValueError(f"{', '.join(map(str, records))}: the labels do not say who judged")
    agree = loaded.agreement(judged)
    content, text = agree.to_dict(), str(agree)
    if len(agree.judges) > 1 and (len(loaded.rankers) <= 2 or (pair.first and pair.second)):
        without = loaded.without_judges(judged, measure, **vars(pair))
        content["without"], text = without.to_dict(), f"{text}\n\n{without}"
    return Answer(content, text)
