"""Commands for those who judge and those who collect labels: judge, export and import."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import typer

from pt_active.cli.answer import Answer, check_new, command_line, kept_at, next_look
from pt_active.cli.audit import is_audit
from pt_active.cli.files import texts_for, with_texts_of
from pt_active.cli.options import MARGIN, PLAN, REQUIRED, TEXTS, Meant, flag, word
from pt_active.cli.project import FILE
from pt_active.frames.checks import agreeing, check_known, how_many, shown, some, within
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import ADJUDICATOR, STATUSES
from pt_active.frames.topics import read_texts
from pt_active.frames.visible import visible, visible_field
from pt_active.frames.worklists import FORMAT, FORMATS, TABLE_FORMAT, write_assessments
from pt_active.judging.files import import_records, read_labels, write_worklist
from pt_active.judging.records import write_records
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.order import DOUBLE, JudgingOrder
from pt_active.judging.server.store import DOUBLE_SHARE, Lock, Store
from pt_active.judging.server.templates import guideline_html
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.queries import in_drawing_order
from pt_active.plans.plan import Plan
from pt_active.risk.audit import Audit

if TYPE_CHECKING:
    from pt_active.judging.server.app import Site

NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "markdown_it": "markdown-it-py"}
"""Module → package, of the extra ``judge``."""

_ORGANISER, _JUDGE = "organiser", "judge"  # How links are called: the organiser's, and the only judge's without names

_MAX_NAME = 60


_NO_TEXTS = "The plan has no texts, so judges see ids alone: pass --texts FILE here, or when the plan is made."

_TABLES = ("csv", "xlsx")  # Formats that come back in the file that was written


@dataclass(frozen=True)
class Address:
    """Where a judging server listens."""

    port: int = flag("The port; default 8765; 0 takes any that is free.", "N", 8765)
    host: str = flag("The address to listen on; 0.0.0.0 lets other machines in.", "ADDRESS", "127.0.0.1")
    address: str | None = flag("What links begin with, such as a proxy's https://NAME.", "NAME")
    json_output: bool = False  # Then one JSON object alone is on stdout, and links are not


@dataclass(frozen=True)
class Setting:
    """How a plan is judged."""

    judges: str | None = flag("The names of the judges, separated by commas; each gets a link.", "NAMES")
    guideline: Path | None = flag("A guideline in Markdown, which judges see beside the documents.", "FILE")
    grade_names: str | None = None
    store: Path | None = flag("The file that keeps the judgments; default: PLAN.sqlite.", "FILE")
    double: float | None = flag(f"The share of documents that two people judge; default {DOUBLE:g}, 0 with one judge.")
    margin: float | None = flag(MARGIN)
    project: Path = FILE

    def site(self, plan: Plan, folder: Path, texts: pd.DataFrame | None, meant: Meant) -> Site:
        """The pages of the plan."""
        from pt_active.judging.server.app import Site
        from pt_active.judging.server.organiser import Organiser
        from pt_active.judging.server.security import ORGANISER

        double = None if self.double is None else float(within("double", self.double, 0, 1))
        names = GradeNames.parsed(self.grade_names)
        judges = judge_names(self.judges)
        if len(plan.rankers) == 1 and self.margin is None:
            raise ValueError("the plan has one ranker: pass --margin, how far off its estimate may be")
        guideline = "" if self.guideline is None else guideline_html(self.guideline)
        store = Store(self.store or kept_at(folder), plan.tables.manifest.origin)
        store.token(ORGANISER)
        if not judges and len(store.people()) == 1:
            judges = [_JUDGE]
        for name in judges:
            store.token(name)
        campaign = Campaign(plan, JudgingOrder.of(plan, texts, double=_share(store, double)), store, names)
        return Site(campaign, Organiser(campaign, {"margin": self.margin, **meant.fields}), guideline)


def _share(store: Store, double: float | None) -> float:
    """The share of documents that two people judge: what is typed, that of an earlier start, or the default."""
    begun = store.setting(DOUBLE_SHARE)
    if double is not None:
        if begun is not None and float(begun) != double and store.entries():
            changed = f"judging began with --double {float(begun):g}; with --double {double:g} other labels count"
            typer.echo(f"warning: {changed}, and earlier looks do not", err=True)
        return double
    if begun is not None:
        return float(begun)
    # Without a second judge, no document could ever be judged twice.
    several = sum(not name.startswith(":") for name in store.people()) > 1
    return DOUBLE if several else 0.0


def judge(
    setting: Setting,
    meant: Meant,
    where: Address,
    plan: Path | None = word("The folder of a plan; not needed with --demo.", "PLAN"),
    texts: Path | None = flag(TEXTS, "FILE"),
    demo: bool = flag("Try the pages on a plan of simulated documents.", default=False),
) -> Answer:
    """Let people judge a plan in their browsers, and see at any time what is known."""
    if missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        raise ValueError(f"judge needs {', '.join(missing)}: pip install {' '.join(missing)}")
    if demo:
        from pt_active.demo.run import demo_plan

        folder, (made, collection) = Path("demo-plan"), demo_plan()
        loaded = Plan.load(folder) if folder.exists() else made.save(folder)
        given: pd.DataFrame | None = collection.documents if texts is None else read_texts(texts)
    elif plan is None:
        raise ValueError("pass the folder of a plan, or --demo")
    else:
        loaded = Plan.load(plan)
        given = texts_for(loaded, texts)
        # What is kept beside the folder is called after it, which "." and ".." are not.
        folder = plan if plan.name not in ("", "..") else plan.resolve()
    site = setting.site(loaded, folder, given, meant)
    campaign = site.campaign
    if untold := dict.fromkeys(each.docno for each in campaign.work.documents if not each.text):
        remedy = "" if given is not None else "; pass --texts FILE"
        typer.echo(f"warning: {how_many('document', len(untold), 'has')} no text: {some(untold)}{remedy}", err=True)
    lock = None
    try:
        lock = Lock(folder, "lets people judge it too, into another file: both give out the same documents")
    except ValueError as other:
        typer.echo(f"warning: {other}", err=True)
    except OSError:  # where nothing can be written
        pass
    try:
        _serve(site, where)
        settled, size, number = campaign.sharing.settled, len(campaign.work.documents), campaign.kept
    finally:
        campaign.store.close()
        if lock is not None:
            lock.release()
    kept = campaign.store.path
    text = f"{settled} of {how_many('document', size)} {agreeing('is', size)} done; "
    text += f"{how_many('record', number)} {agreeing('is', number)} kept in {kept}."
    project = None if setting.project == FILE else setting.project
    look = command_line("status", folder, kept, project=project)
    hint = f"Next, see what they show, or continue judging with the same command:\n  {look}"
    return Answer({"store": str(kept), "records": number, "settled": settled, "documents": size}, text, hint)


def judge_names(judges: str | None) -> list[str]:
    """The names of the judges."""
    names = [] if judges is None else [name.strip() for name in judges.split(",")]
    for name in names:
        taken = name in (_ORGANISER, ADJUDICATOR)
        if not 0 < len(name) <= _MAX_NAME or ":" in name or visible_field(name) != name or taken:
            raise ValueError(
                f"--judges: expected names of 1 to {_MAX_NAME} characters without colons, separated by commas, and "
                f"none of them {_ORGANISER} or {ADJUDICATOR}; got {shown(name)}"
            )
        if names.count(name) > 1:
            raise ValueError(f"--judges: the name {shown(name)} occurs more than once")
    return names


def _serve(site: Site, where: Address) -> None:
    from pt_active.judging.server.security import ORGANISER
    from pt_active.judging.server.serve import links, listening, risk, root_of, serve

    opened = listening(where.host, where.port)
    people = site.campaign.store.people()
    wide = max(map(len, people)) + 2
    lines = ["Open your own link, and send each judge theirs. Ctrl-C ends the server."]
    for name, link in links(people, root_of(opened, where.host, where.address)).items():
        lines.append(f"  {visible(_ORGANISER if name == ORGANISER else name):{wide}}{link}")
    if warning := risk(where.host):
        typer.echo(f"warning: {warning}", err=True)
    typer.echo("\n".join(lines), err=where.json_output)
    serve(site.application(), opened)


def file_formats() -> tuple[str, ...]:
    """The values of ``--format``: formats of what a plan has, and tools."""
    return tuple({**FORMATS, **TOOLS})


def export(
    plan: Path = word(PLAN, "PLAN", REQUIRED),
    out: Path = flag("The file to create.", "FILE", REQUIRED),
    format: str = flag(f"One of {', '.join(file_formats())}; default {FORMAT}.", "NAME", FORMAT),
    labels: Path | None = flag("Labels that you already have, to fill in.", "FILE"),
    texts: Path | None = flag(TEXTS, "FILE"),
    grade_names: str | None = None,
    project: Path | None = None,
) -> Answer:
    """Write the documents of a plan to a file for people, or for a tool in which they judge."""
    check_new(out)
    check_known("format", format, file_formats())
    names = GradeNames.parsed(grade_names)
    made: Plan | Audit = Audit.load(plan) if is_audit(plan) else Plan.load(plan)
    if isinstance(made, Plan):
        documents, origin = in_drawing_order(made.tables), made.tables.manifest.origin
        max_grade = made.tables.pool.max_grade
    else:
        documents, origin, max_grade = made.assessments, "", made.tables.pairs.max_grade or 1
    if texts is not None:
        documents = with_texts_of(texts, documents)
    worklist = Worklist(documents, max_grade, origin, names)
    content: dict[str, Any] = {"file": str(out), "format": format}
    beside: list[str] = []
    if format in FORMATS:
        if names.grades and format != TABLE_FORMAT:
            raise ValueError(f"--grade-names is not for --format {format}")
        if labels is not None:
            known = checked_qrels(as_qrels(read_labels([labels], made if isinstance(made, Plan) else None)))
            documents = documents.merge(known, how="left", on=["qid", "docno"])
        write_assessments(documents, out, format)
        if FORMATS[format].by_query:
            return Answer(content, f"The labels that are known are in {out}.")
    elif labels is not None:
        raise ValueError(f"--labels is for --format {', '.join(FORMATS)}")
    else:
        beside = [str(each) for each in write_worklist(worklist, out, format)[1:]]
    count = len(documents)
    content |= {"assessments": count, "texts": worklist.has_texts} | ({"beside": beside} if beside else {})
    text = f"{how_many('document', count)} to judge {agreeing('is', count)} in {out}."
    if names.grades and format in _TABLES:
        stand = (f"{grade} ({name})" for grade, name in names.listed(worklist.max_grade))
        text += f" A label is {', '.join(stand)}."
    if beside:
        text += f" Beside it, for the tool: {', '.join(beside)}."
    hint = "" if worklist.has_texts or format == FORMAT else f"{_NO_TEXTS}\n"
    if isinstance(made, Audit):
        return Answer(content, text, f"{hint}Next, when the labels are there:\n  {command_line('status', plan, out)}")
    if format in (*FORMATS, *_TABLES):
        return Answer(content, text, f"{hint}{next_look(made, plan, out, project)}")
    records = out.with_name(f"{out.stem}-records.jsonl")
    line = command_line("import", format, "EXPORTED-FILE", "--plan", plan, "--out", records)
    return Answer(content, text, f"{hint}Next, import what the tool exports:\n  {line}")


def import_(
    tool: str = word(f"One of {', '.join(TOOLS)}.", "TOOL", REQUIRED),
    files: list[Path] = word("A file that the tool exported.", "FILE", REQUIRED),
    plan: Path = flag("The folder of the plan.", "PLAN", REQUIRED),
    out: Path = flag("The file of records to create: .jsonl or .parquet.", "FILE", REQUIRED),
    annotator: str = flag("The judge, if the file names none.", "NAME", ""),
    grade_names: str | None = None,
) -> Answer:
    """Turn the export of a judging tool into records: who gave which grade to which document, and when."""
    check_new(out)
    loaded = Plan.load(plan)
    records = import_records(tool, files, loaded, GradeNames.parsed(grade_names), annotator)
    if records.empty:
        raise ValueError(f"{', '.join(map(str, files))}: nothing is judged")
    write_records(records, out)
    counts = {status: int((records["status"] == status).sum()) for status in STATUSES}
    people = records["annotator"].nunique()
    content = {"file": str(out), "records": len(records), **counts, "annotators": people}
    said = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    text = f"{how_many('record', len(records))} of {how_many('annotator', people)} in {out}: {said}."
    return Answer(content, text, next_look(loaded, plan, out))
