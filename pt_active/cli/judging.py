"""Commands for those who judge and those who collect labels: judge, export and import."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from pt_active.cli.answer import Answer, check_new, command_line, kept_at, next_look
from pt_active.cli.audit import is_audit
from pt_active.cli.files import texts_for
from pt_active.cli.options import Margin, Meant, OutFile, PlanFolder, Texts, check_known, flag, word
from pt_active.cli.project import FILE, go_on_with
from pt_active.frames.checks import agreeing, how_many, shown, some, within
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import ADJUDICATOR, STATUSES
from pt_active.frames.topics import read_texts, with_texts
from pt_active.frames.visible import visible, visible_field
from pt_active.frames.worklists import FORMAT, FORMATS, TABLE_FORMAT, write_assessments
from pt_active.judging.files import import_records, read_labels, write_worklist
from pt_active.judging.records import write_records
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.order import DOUBLE, JudgingOrder, OrderOf, texts_together
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

    port: Annotated[int, flag("The port; default 8765; 0 takes any that is free.", "N")] = 8765
    host: Annotated[str, flag("The address to listen on; 0.0.0.0 lets other machines in.", "ADDRESS")] = "127.0.0.1"
    address: Annotated[str | None, flag("What links begin with, such as a proxy's https://NAME.", "NAME")] = None
    json_output: bool = False  # Then one JSON object alone is on stdout, and links are not


@dataclass(frozen=True)
class Setting:
    """How a plan is judged; the project file continues with the longer plan after a next round."""

    judges: Annotated[str | None, flag("The names of the judges, separated by commas; each gets a link.", "NAMES")] = (
        None
    )
    guideline: Annotated[
        Path | None, flag("A guideline in Markdown, which judges see beside the documents.", "FILE")
    ] = None
    grade_names: str | None = None
    store: Annotated[Path | None, flag("The file that keeps the judgments; default: PLAN.sqlite.", "FILE")] = None
    double: Annotated[
        float | None, flag(f"The share of documents that two people judge; default {DOUBLE:g}, 0 with one judge.")
    ] = None
    margin: Margin = None
    project: Path = FILE

    def site(self, plan: Plan, folder: Path, texts: pd.DataFrame | None, meant: Meant) -> Site:
        """The pages of the plan, or of the plan that extends it if it was extended from the organiser's page."""
        from pt_active.judging.server.app import Site
        from pt_active.judging.server.organiser import Organiser
        from pt_active.judging.server.security import ORGANISER

        double = None if self.double is None else float(within("double", self.double, 0, 1))
        names = GradeNames.parsed(self.grade_names)
        judges, kept = judge_names(self.judges), self.store or kept_at(folder)
        if len(plan.rankers) == 1 and self.margin is None:
            raise ValueError("the plan has one ranker: pass --margin, how far off its estimate may be")
        guideline = "" if self.guideline is None else guideline_html(self.guideline)
        store = Store(kept, plan.tables.manifest.origin)
        store.token(ORGANISER)
        for name in judges or ([] if len(store.people()) > 1 else [_JUDGE]):
            store.token(name)
        order_of: OrderOf = partial(JudgingOrder.of, double=_share(store, double))
        work, longer = order_of(plan, texts), store.setting("folder")
        if plan.id not in (store.setting("extended") or "").split():
            store.set("folder", str(folder.absolute()))
        elif longer is not None and Path(longer).is_dir() and Path(longer) != folder.absolute():
            texts = texts_together(plan, texts)
            plan, folder = Plan.load(longer), Path(longer)
            work = order_of(plan, texts)
        campaign = Campaign(plan, work, store, names)
        extended = partial(go_on_with, self.project, store=kept)
        asked = {"margin": self.margin, **meant.fields}
        organiser = Organiser(campaign, folder, order_of, texts, asked, extended)
        return Site(campaign, organiser, guideline)


def _share(store: Store, asked: float | None) -> float:
    """The share of documents that two people judge: what was said, that of an earlier start, or the default."""
    begun = store.setting(DOUBLE_SHARE)
    if asked is None:
        # Without a second judge, no document could ever be judged twice.
        several = sum(not name.startswith(":") for name in store.people()) > 1
        return float(begun) if begun is not None else DOUBLE if several else 0.0
    if begun is not None and float(begun) != asked and store.entries():
        said = f"judging began with --double {float(begun):g}; with --double {asked:g} other labels count"
        typer.echo(f"warning: {said}, and earlier looks do not", err=True)
    return asked


def judge(
    setting: Setting,
    meant: Meant,
    where: Address,
    plan: Annotated[Path | None, word("The folder of a plan; not needed with --demo.", "PLAN")] = None,
    texts: Texts = None,
    demo: Annotated[bool, flag("Try the pages on a plan of simulated documents.")] = False,
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
        given = texts_for(loaded, texts, warned=False)
        # What is kept beside the folder is called after it, which "." and ".." are not.
        folder = plan if plan.name not in ("", "..") else plan.resolve()
    site, kept = setting.site(loaded, folder, given, meant), setting.store or kept_at(folder)
    _warn_without_text(site, given is not None)
    campaign, lock = site.campaign, _of_plan(folder)
    try:
        _serve(site, where)
        settled, size, number = campaign.sharing.settled, len(campaign.work.documents), campaign.kept
    finally:
        campaign.store.close()
        if lock is not None:
            lock.release()
    text = f"{settled} of {how_many('document', size)} {agreeing('is', size)} done; "
    text += f"{how_many('record', number)} {agreeing('is', number)} kept in {kept}."
    project = None if setting.project == FILE else setting.project
    look = command_line("status", site.organiser.folder, kept, project=project)
    hint = f"Next, see what they show, or continue judging with the same command:\n  {look}"
    return Answer({"store": str(kept), "records": number, "settled": settled, "documents": size}, text, hint)


def _of_plan(folder: Path) -> Lock | None:
    """The lock of a plan, with a warning if another server has it; None then, or where nothing can be written."""
    try:
        return Lock(folder, "lets people judge it too, into another file: both give out the same documents")
    except ValueError as other:
        typer.echo(f"warning: {other}", err=True)
    except OSError:
        pass
    return None


def judge_names(judges: str | None) -> list[str]:
    """The names of the judges."""
    names = [name.strip() for name in judges.split(",")] if judges is not None else []
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


def _warn_without_text(site: Site, given: bool) -> None:
    """Name documents that judges cannot read; whether texts were ``given`` decides what helps."""
    if untold := dict.fromkeys(each.docno for each in site.campaign.work.documents if not each.text):
        remedy = "" if given else "; pass --texts FILE"
        typer.echo(f"warning: {how_many('document', len(untold), 'has')} no text: {some(untold)}{remedy}", err=True)


def _serve(site: Site, where: Address) -> None:
    from pt_active.judging.server.security import ORGANISER
    from pt_active.judging.server.serve import links, listening, risk, root_of, serve

    opened = listening(where.host, where.port)
    people = site.campaign.store.people()
    lines = links(people, root_of(opened, where.host, where.address))
    if warning := risk(where.host):
        typer.echo(f"warning: {warning}", err=True)
    wide = max(map(len, people)) + 2
    named = {(_ORGANISER if name == ORGANISER else name): link for name, link in lines.items()}
    told = "\n".join(f"  {visible(name):{wide}}{link}" for name, link in named.items())
    typer.echo(
        f"Open your own link, and send each judge theirs. Ctrl-C ends the server.\n{told}", err=where.json_output
    )
    serve(site.application(), opened)


def file_formats() -> tuple[str, ...]:
    """The values of ``--format``: formats of what a plan has, and tools."""
    return *FORMATS, *(name for name in TOOLS if name not in FORMATS)


def export(
    plan: PlanFolder,
    out: OutFile,
    format: Annotated[str, flag(f"One of {', '.join(file_formats())}; default {FORMAT}.", "NAME")] = FORMAT,
    labels: Annotated[Path | None, flag("Labels that you already have, to fill in.", "FILE")] = None,
    texts: Texts = None,
    grade_names: str | None = None,
    project: Path | None = None,
) -> Answer:
    """Write the documents of a plan to a file for people, or for a tool in which they judge."""
    check_new(out)
    check_known("format", format, file_formats())
    names = GradeNames.parsed(grade_names)
    if is_audit(plan):
        return _pairs(plan, out, format, names)
    loaded = Plan.load(plan)
    documents = in_drawing_order(loaded.tables)
    given = texts_for(loaded, texts)
    documents = documents if given is None else with_texts(documents, given)
    worklist = Worklist(documents, loaded.tables.pool.max_grade, loaded.tables.manifest.origin, names)
    written = [out]
    if format in FORMATS:
        if names.grades and format != TABLE_FORMAT:
            raise ValueError(f"--grade-names is not for --format {format}")
        if labels is not None:
            known = checked_qrels(as_qrels(read_labels([labels], loaded)))
            documents = documents.merge(known, how="left", on=["qid", "docno"])
        write_assessments(documents, out, format)
    elif labels is not None:
        raise ValueError(f"--labels is for --format {', '.join(FORMATS)}")
    else:
        written = write_worklist(worklist, out, format)
    count = len(documents)
    if format in FORMATS and FORMATS[format].by_query:
        return Answer({"file": str(out), "format": format}, f"The labels that are known are in {out}.")
    content: dict[str, Any] = {"file": str(out), "format": format, "assessments": count, "texts": worklist.has_texts}
    text = f"{how_many('document', count)} to judge {agreeing('is', count)} in {out}."
    if names.grades and format in _TABLES:
        stand = (f"{grade} ({name})" for grade, name in names.listed(worklist.max_grade))
        text += f" A label is {', '.join(stand)}."
    if len(written) > 1:
        content["beside"] = [str(each) for each in written[1:]]
        text += f" Beside it, for the tool: {', '.join(content['beside'])}."
    hint = f"{_NO_TEXTS}\n" if not worklist.has_texts and format != FORMAT else ""
    if format in (*FORMATS, *_TABLES):
        return Answer(content, text, f"{hint}{next_look(loaded, plan, out, project)}")
    records = out.with_name(f"{out.stem}-records.jsonl")
    line = command_line("import", format, "EXPORTED-FILE", "--plan", plan, "--out", records)
    return Answer(content, text, f"{hint}Next, import what the tool exports:\n  {line}")


def _pairs(folder: Path, out: Path, format: str, names: GradeNames) -> Answer:
    """Write the pairs of an audit."""
    audit = Audit.load(folder)
    pairs = audit.assessments
    if format in FORMATS and not names.grades:
        write_assessments(pairs, out, format)
    else:
        write_worklist(Worklist(pairs, audit.tables.pairs.max_grade or 1, "", names), out, format)
    content = {"file": str(out), "format": format, "assessments": len(pairs)}
    hint = f"Next, when the labels are filled in:\n  {command_line('status', folder, out)}"
    return Answer(content, f"{how_many('pair', len(pairs))} to label in {out}.", hint)


def import_(
    tool: Annotated[str, word(f"One of {', '.join(TOOLS)}.", "TOOL")],
    files: Annotated[list[Path], word("A file that the tool exported.", "FILE")],
    plan: Annotated[Path, flag("The folder of the plan.", "PLAN")],
    out: Annotated[Path, flag("The file of records to create: .jsonl or .parquet.", "FILE")],
    annotator: Annotated[str, flag("The judge, if the file names none.", "NAME")] = "",
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
