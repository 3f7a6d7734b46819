"""Commands for auditing judges, such as language models: audit plan, export, estimate, compare, report, replace."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pt_active.cli import options
from pt_active.cli.command_line import (
    Answer,
    check_names,
    check_new,
    command_line,
    new_path,
    read_judged,
)
from pt_active.cli.options import one_of, whole
from pt_active.cli.pools import read_judges, top_grade
from pt_active.cli.texts import with_texts
from pt_active.frames.checks import how_many, shown
from pt_active.frames.qrels import HIGHEST_LABEL, MISSING_LABELS, MISSING_POLICIES
from pt_active.frames.records import is_records
from pt_active.frames.strays import restored_zeros
from pt_active.frames.topics import read_topics
from pt_active.frames.trec import read_qrels
from pt_active.frames.worklists import FORMATS, TABLE_FORMAT, write_assessments
from pt_active.inference.ratios import risk_estimators
from pt_active.inference.several_judges import TIES
from pt_active.judging.files import read_labels, write_worklist
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist
from pt_active.plans.making.judgments import RULES, qrels_of
from pt_active.relevance.grades.judge_tables import judge_labels
from pt_active.relevance.losses import F1, Accuracy, Loss, Precision, Recall, Squared, ZeroOne
from pt_active.risk.audit import DESIGN, Audit
from pt_active.risk.judges import judged_pool, with_beliefs
from pt_active.risk.page import page_of
from pt_active.risk.replacing import replacement
from pt_active.risk.report import AuditReport
from pt_active.sampling.designs import audit_designs
from pt_active.showing.page import format_of

LOSSES: dict[str, Callable[[int], Loss]] = {
    "error": lambda rel: ZeroOne(),
    "accuracy": lambda rel: Accuracy(),
    "squared": lambda rel: Squared(),
    "precision": lambda rel: Precision(rel=rel),
    "recall": lambda rel: Recall(rel=rel),
    "f1": lambda rel: F1(rel=rel),
}
"""The values of ``--loss``."""

SEVERAL = "risk_mixture"
"""The default design for several judges: a report asks for the errors of each, not for differences alone."""

AuditFolder = Annotated[Path, typer.Argument(metavar="AUDIT", help="The folder of an audit.")]

Labels = Annotated[
    list[Path],
    typer.Argument(metavar="QRELS", help="People's labels: qrels, records, or filled-in exports of any tool."),
]

Rel = Annotated[int, whole("--rel", 1, HIGHEST_LABEL, "The lowest grade that counts as relevant.")]

MaxGrade = Annotated[
    int | None,
    whole("--max-grade", 1, HIGHEST_LABEL, "The highest grade that people may give; default: that in the files."),
]

Estimator = Annotated[str | None, one_of(risk_estimators, "One of {}; default regression.")]

Missing = Annotated[str, one_of(MISSING_LABELS, "What to do about missing labels: {}.")]


def plan(
    judge: Annotated[list[str], typer.Option(metavar="[NAME=]FILE", help="A judge's labels or votes; repeat it.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")],
    budget: Annotated[int, whole("--budget", 1, 10**9, "The number of labels that people can give.")],
    loss: Annotated[str, one_of(LOSSES, "What the sample should tell best: {}.")] = "error",
    rel: Rel = 1,
    train_qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labels of people for pairs that the judges graded too.")
    ] = None,
    max_grade: MaxGrade = None,
    common: Annotated[bool, typer.Option("--common", help="Audit only the pairs that all judges graded.")] = False,
    design: Annotated[
        str | None, one_of(audit_designs, f"One of {{}}; default {DESIGN}, or {SEVERAL} for several judges.")
    ] = None,
    topics: Annotated[Path | None, typer.Option(metavar="FILE", help="The texts of the queries.")] = None,
    texts: Annotated[Path | None, typer.Option(metavar="FILE", help="Document texts, for the people.")] = None,
    seed: options.Seed = 0,
) -> Answer:
    """Choose the pairs whose labels tell how far judges, such as language models, agree with people."""
    check_new(out)
    check_names({"--loss": (loss, LOSSES), "--design": (design, audit_designs())})
    judges = read_judges(judge)
    past = None if train_qrels is None else read_qrels(train_qrels)
    highest, told = top_grade(judges, past) if max_grade is None else (max_grade, "")
    pool, columns = judged_pool(judges, common)
    pool = with_beliefs(pool, judges, highest, past)
    pool = pool if texts is None else with_texts(pool, texts)
    if topics is not None:
        queries = read_topics(topics)[["qid", "query"]]
        pool = pool.merge(queries, how="left", on="qid").fillna({"query": ""})
    chosen = design or (DESIGN if len(judges) == 1 else SEVERAL)
    made = Audit.create(pool, columns, LOSSES[loss](rel), budget, chosen, seed).save(out)
    worklist = new_path(out.with_name(f"{out.name}.csv"))
    hint = f"The audit is in {out}. Next, write what people are to label:\n  "
    hint += command_line("audit", "export", out, "--out", worklist)
    told = f"\n  grades    {told}" if told else ""
    return Answer({"audit": str(out), **made.manifest}, f"{made}{told}", hint)


def export(
    audit: AuditFolder,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
    format: Annotated[str, one_of(lambda: tuple({**FORMATS, **TOOLS}), "One of {}.")] = TABLE_FORMAT,
    texts: Annotated[Path | None, typer.Option(metavar="FILE", help="Document texts, if the audit has none.")] = None,
    grade_names: options.GradeWords = None,
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who labels, for a table.")] = "",
) -> Answer:
    """Write the pairs of an audit to a file for people, or for a tool in which they judge."""
    check_new(out)
    check_names({"--format": (format, {**FORMATS, **TOOLS})})
    loaded, names = Audit.load(audit), GradeNames.parsed(grade_names)
    documents = loaded.assessments if texts is None else with_texts(loaded.assessments, texts)
    if format in FORMATS and not annotator and not names.grades:
        write_assessments(documents, out, format)
    else:
        write_worklist(Worklist(documents, loaded.tables.pairs.max_grade or 1, "", names, annotator), out, format)
    content = {"file": str(out), "format": format, "assessments": len(documents)}
    text = f"{how_many('pair', len(documents))} to label in {out}."
    html = new_path(audit.with_name(f"{audit.name}.html"))
    shown = command_line("audit", "report", audit, out, "--out", html)
    return Answer(content, text, f"Next, when the labels are filled in:\n  {shown}")


def estimate(
    audit: AuditFolder,
    qrels: Labels,
    rel: Rel = 1,
    estimator: Estimator = None,
    confidence: options.Confidence = 0.95,
    missing: Missing = MISSING_LABELS[0],
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Estimate how often each judge is wrong: error, precision, recall, F1, and agreement beyond chance."""
    loaded, labels, _ = _labelled(audit, qrels, grade_names, rule, ties)
    found = AuditReport.of(loaded, labels, rel, estimator, confidence, missing, by_grade=False)
    return Answer(found.to_dict(), str(found), _page_next(audit, qrels, rel))


def compare(
    audit: AuditFolder,
    qrels: Labels,
    first: Annotated[str | None, typer.Option(metavar="NAME", help="A judge; default: the first of two.")] = None,
    second: Annotated[str | None, typer.Option(metavar="NAME", help="The judge to compare it with.")] = None,
    estimator: Estimator = None,
    confidence: options.Confidence = 0.95,
    missing: Missing = MISSING_LABELS[0],
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Compare two judges, or two versions of one, by the loss of the audit. Without two names, rank all of many."""
    loaded, labels, _ = _labelled(audit, qrels, grade_names, rule, ties)
    if len(loaded.predictors) == 1:
        raise ValueError(f"the audit has one judge, {shown(loaded.predictors[0])}: use pt-active audit estimate")
    many = len(loaded.predictors) > 2 and first is None and second is None
    found = (
        loaded.rank(labels, estimator, confidence, missing)
        if many
        else loaded.compare(labels, estimator, confidence, missing, first=first, second=second)
    )
    return Answer(found.to_dict(), str(found), _page_next(audit, qrels, 1))


def report(
    audit: AuditFolder,
    qrels: Labels,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
    format: options.ReportFormat = None,
    rel: Rel = 1,
    estimator: Estimator = None,
    confidence: options.Confidence = 0.95,
    missing: Missing = MISSING_LABELS[0],
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Write all that an audit and its labels say into one file: errors, agreement, drift, agreement by grade."""
    check_new(out)
    kind = format_of(out, format)
    loaded, labels, records = _labelled(audit, qrels, grade_names, rule, ties)
    made = AuditReport.of(loaded, labels, rel, estimator, confidence, missing, records=records)
    page_of(made).save(out, kind)
    return Answer({"file": str(out), **made.to_dict()}, str(made), f"The report is {out}.")


def replace(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    judge: Annotated[str, typer.Option(metavar="[NAME=]FILE", help="The judge's labels or votes of all documents.")],
    measure: options.Measure = None,
    confidence: options.Confidence = 0.95,
    missing: options.Missing = MISSING_POLICIES[0],
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Say whether a judge may replace people for a comparison of rankers, from people's labels of a plan of them."""
    [(name, said)] = read_judges([judge]).items()
    loaded, known, _ = read_judged(plan, qrels, False, grade_names, rule, ties)
    found = replacement(loaded, known, judge_labels(said), name, measure, confidence, missing)
    return Answer(found.to_dict(), str(found))


def _labelled(
    folder: Path, paths: list[Path], names: str | None, rule: str, ties: str
) -> tuple[Audit, pd.DataFrame, pd.DataFrame | None]:
    """An audit, its labels, and the records that they follow from; None if the files do not say who judged."""
    check_names({"--rule": (rule, RULES), "--ties": (ties, TIES)})
    loaded = Audit.load(folder)
    labels = read_labels(paths, None, GradeNames.parsed(names))
    records = labels if is_records(labels) else None
    qrels = labels if records is None else qrels_of(records, rule, ties)
    restored, changes = restored_zeros(loaded.tables.pairs.keys, qrels)
    if changes:
        counted = how_many("id", len(changes), "has")
        warnings.warn(f"{counted} lost leading zeros; taken as {'; '.join(changes[:3])}", stacklevel=2)
    return loaded, restored, records


def _page_next(audit: Path, qrels: list[Path], rel: int) -> str:
    html = new_path(audit.with_name(f"{audit.name}.html"))
    asked = [] if rel == 1 else ["--rel", str(rel)]
    return f"All of it on one page:\n  {command_line('audit', 'report', audit, *qrels, *asked, '--out', html)}"
