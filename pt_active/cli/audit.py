"""Commands for auditing judges, such as language models: audit plan, export, report."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path

from pt_active.cli.answer import Answer, beside, check_new, command_line
from pt_active.cli.commands import argument, of_every_command, option
from pt_active.cli.files import fitting_topics, past_labels, read_judges, top_grade, with_texts_of
from pt_active.cli.options import confidence_level, label_files, random_seed
from pt_active.frames.checks import how_many
from pt_active.frames.qrels import HIGHEST_LABEL, MISSING_POLICIES
from pt_active.frames.topics import read_topics
from pt_active.frames.worklists import FORMATS, TABLE_FORMAT, write_assessments
from pt_active.judging.files import read_labels, write_worklist
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames, Worklist
from pt_active.plans.making.judgments import as_qrels
from pt_active.relevance.losses import ZeroOne
from pt_active.risk.audit import DESIGN, Audit
from pt_active.risk.pairs import judged_pool, with_beliefs
from pt_active.risk.report import AuditReport

SEVERAL = "risk_mixture"
"""The design for several judges: a report asks for the errors of each, not for differences alone."""


def audit_folder() -> Path:
    """The argument for an audit."""
    return argument(MISSING, "The folder of an audit.", "AUDIT")


def plan(
    judge: list[str] = option(MISSING, "A judge's labels or votes; pass one for each judge.", "[NAME=]FILE"),
    out: Path = option(MISSING, "The folder to create.", "DIR"),
    budget: int = option(MISSING, "The number of labels that people can give.", "N", within=(1, 10**9)),
    train_qrels: Path | None = option(None, "People's labels of pairs that the judges graded too.", "FILE"),
    max_grade: int | None = option(
        None,
        "The highest grade that people may give; default: the highest in the files.",
        "N",
        within=(1, HIGHEST_LABEL),
    ),
    topics: Path | None = option(None, "The texts of the queries.", "FILE"),
    texts: Path | None = option(None, "Document texts, for the judges.", "FILE"),
    seed: int = random_seed(),
) -> Answer:
    """Choose the pairs that people label, to learn how often judges such as LLMs are wrong."""
    check_new(out)
    judges = read_judges(judge)
    past = None if train_qrels is None else past_labels(train_qrels)
    highest, told = top_grade(judges, past) if max_grade is None else (max_grade, "")
    pool, columns = judged_pool(judges)
    pool = with_beliefs(pool, judges, highest, past)
    pool = pool if texts is None else with_texts_of(texts, pool)
    if topics is not None:
        queries = fitting_topics(topics, read_topics(topics)[["qid", "query"]], pool["qid"])
        pool = pool.merge(queries, how="left", on="qid").fillna({"query": ""})
    design = DESIGN if len(judges) == 1 else SEVERAL
    made = Audit.create(pool, columns, ZeroOne(), budget, design, seed).save(out)
    hint = f"The audit is in {out}. Next, write what people are to label:\n  "
    hint += command_line("audit", "export", out, "--out", beside(out, ".csv"))
    told = f"\n  grades    {told}" if told else ""
    return Answer({"audit": str(out), **made.manifest}, f"{made}{told}", hint)


def export(
    audit: Path = audit_folder(),
    out: Path = option(MISSING, "The file to create.", "FILE"),
    format: str = option(TABLE_FORMAT, "One of {}.", "NAME", names=lambda: {**FORMATS, **TOOLS}),
    grade_names: str | None = of_every_command(None),
) -> Answer:
    """Write the pairs of an audit to a file for people, or for a tool in which they judge."""
    check_new(out)
    loaded, names = Audit.load(audit), GradeNames.parsed(grade_names)
    documents = loaded.assessments
    if format in FORMATS and not names.grades:
        write_assessments(documents, out, format)
    else:
        write_worklist(Worklist(documents, loaded.tables.pairs.max_grade or 1, "", names), out, format)
    content = {"file": str(out), "format": format, "assessments": len(documents)}
    text = f"{how_many('pair', len(documents))} to label in {out}."
    shown = command_line("audit", "report", audit, out)
    return Answer(content, text, f"Next, when the labels are filled in:\n  {shown}")


def report(
    audit: Path = audit_folder(),
    qrels: list[Path] = label_files(),
    rel: int = option(1, "The lowest grade that counts as relevant.", "N", within=(1, HIGHEST_LABEL)),
    missing: str = option(MISSING_POLICIES[0], "How missing labels count: {}.", "NAME", names=MISSING_POLICIES),
    confidence: float = confidence_level(),
    grade_names: str | None = of_every_command(None),
) -> Answer:
    """Estimate how often each judge is wrong, and which of several errs less.

    Prints error, precision, recall, F1 and agreement beyond chance of each judge. For two judges, or two versions of
    one, it also prints how they differ; for more, their order by error.
    """
    labels = as_qrels(read_labels(qrels, names=GradeNames.parsed(grade_names)))
    found = AuditReport.of(Audit.load(audit), labels, rel, None, confidence, missing)
    text = str(found) if found.ranking is None else f"{found}\n\n{found.ranking}"
    return Answer(found.to_dict(), text)
