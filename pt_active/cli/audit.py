"""What the commands plan, export and status do for an audit of judges, such as language models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pt_active.cli.answer import Answer, beside, command_line
from pt_active.cli.files import RunFiles, check_topics, past_labels, read_judges, top_grade, with_texts_of
from pt_active.cli.options import Asked, LabelFiles
from pt_active.frames.topics import read_topics
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.kept import MANIFEST
from pt_active.relevance.losses import ZeroOne
from pt_active.risk.audit import DESIGN, Audit, AuditTables
from pt_active.risk.pairs import judged_pool, with_beliefs
from pt_active.risk.report import AuditReport

SEVERAL = "risk_mixture"
"""The design for several judges: a report asks for the errors of each, not for differences alone."""


def is_audit(folder: Path) -> bool:
    """Whether an audit is kept in a folder, and not a plan."""
    try:
        values = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("kind") == AuditTables.KIND


def audit_of(source: RunFiles, budget: Any, seed: int, out: Path) -> Answer:
    """Choose the pairs that people label, to learn how often judges such as LLMs are wrong."""
    if not source.judge:
        raise ValueError("pass --judge, once for each judge whose errors people are to find")
    judges, highest, told = read_judges(source.judge), source.max_grade, ""
    past = None if source.train_qrels is None else past_labels(source.train_qrels)
    if highest is None:
        highest, told = top_grade(judges, past)
    pool, columns = judged_pool(judges)
    pool = with_beliefs(pool, judges, highest, past)
    if source.texts is not None:
        pool = with_texts_of(source.texts, pool)
    if source.topics is not None:
        queries = read_topics(source.topics)[["qid", "query"]]
        check_topics(source.topics, queries, pool["qid"])
        pool = pool.merge(queries, how="left", on="qid").fillna({"query": ""})
    design = DESIGN if len(judges) == 1 else SEVERAL
    made = Audit.create(pool, columns, ZeroOne(), budget, design, seed).save(out)
    hint = f"The audit is in {out}. Next, write what people are to label:\n  "
    hint += command_line("export", out, "--out", beside(out, ".csv"), "--format", "csv")
    told = f"\n  grades    {told}" if told else ""
    return Answer({"audit": str(out), **made.manifest}, f"{made}{told}", hint)


def audit_shown(labels: LabelFiles, asked: Asked, rel: int) -> Answer:
    """How often each judge is wrong, and which of several errs less."""
    qrels = as_qrels(labels.of(None))
    found = AuditReport.of(Audit.load(labels.plan), qrels, rel, asked.confidence, asked.missing or "error")
    text = str(found) if found.ranking is None else f"{found}\n\n{found.ranking}"
    return Answer(found.to_dict(), text)
