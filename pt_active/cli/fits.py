"""Do the files of a project fit together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ir_measures.measures as irm
import pandas as pd

from pt_active.cli.files import RunFiles, doubts_about, fitting_texts, past_labels, read_judges, top_grade
from pt_active.frames.checks import how_many, some
from pt_active.frames.columns import unused_weights
from pt_active.frames.strays import lost_zeros
from pt_active.frames.topics import read_topics
from pt_active.frames.trec import read_run
from pt_active.plans.making.pool import query_weights, traffic_told
from pt_active.relevance.grades.judges import judge_table
from pt_active.relevance.grades.models import MIN_JUDGED_SHARE, USUAL_DEPTH
from pt_active.relevance.measures import has_rank_form, parse_measure
from pt_active.showing.rounding import amount


class Finding(NamedTuple):
    """What was found of a ranker or of an option when files were compared, and whether it is probably wrong."""

    about: str
    said: str
    wrong: bool = False


def findings(source: RunFiles, measure: str, budget: float | None) -> Iterator[Finding]:
    """What a user should know of the files before a plan is made of them."""
    runs, judges = source.runs(), read_judges(source.judge or [])
    qrels = None if source.train_qrels is None else past_labels(source.train_qrels)
    highest = source.max_grade
    if highest is None and qrels is not None:
        highest = int(qrels["label"].max())
    elif highest is None and judges:
        highest, _ = top_grade(judges)
    parsed = parse_measure(measure, highest)
    returned = pd.concat([run[["qid", "docno", "rank"]] for run in runs.values()])
    queries = returned["qid"].unique()
    sizes = {name: run.groupby("qid").size() for name, run in runs.items()}
    for name, size in sizes.items():
        least, most = size.min(), size.max()
        depth = least if least == most else f"{least} to {most}"
        yield Finding(name, f"{how_many('query', len(size))}, {depth} documents each")
    if all(len(size) == len(queries) for size in sizes.values()):
        yield Finding("queries", f"the same {how_many('query', len(queries))} in every run")
    for about, doubt in doubts_about(runs, parsed, source.depth):
        yield Finding(about, doubt, True)
    pairs = returned
    if has_rank_form(parsed) and (cutoff := parsed.params.get("cutoff")) is not None:
        pairs = returned[returned["rank"] < cutoff]
    pairs = pairs[["qid", "docno"]].drop_duplicates()
    if source.topics is not None:
        topics = read_topics(source.topics)
        yield from _of_topics(source.topics, topics, list(queries))
        pairs = pairs[pairs["qid"].isin(topics["qid"])]
    if source.texts is not None:
        yield _of_texts(source.texts, pairs["docno"].drop_duplicates())
    yield from _of_judges(judges, pairs) if qrels is None else _of_past(source, qrels, parsed)
    if gains := gains_of(parsed):
        yield Finding("measure", gains)
    whole, of = len(pairs), f"{how_many('document', len(pairs))} that count for {parsed}"
    if budget is None:
        yield Finding("budget", f"none yet, of {of}")
    else:
        everything = ": everything can be judged" if budget >= whole else ""
        said = f"{amount(budget)} of {of} ({min(budget / whole, 1):.0%}){everything}"
        yield Finding("budget", said, budget >= whole)


def _of_topics(path: Path, topics: pd.DataFrame, queries: list[str]) -> Iterator[Finding]:
    """Which queries of the runs are among the topics."""
    known = set(topics["qid"])
    absent = [qid for qid in queries if qid not in known]
    if len(absent) == len(queries):
        raise ValueError(
            f"{path}: none of the queries of the runs is among the topics: the runs have {some(queries)}, "
            f"the topics {some(topics['qid'])}"
        )
    if zeros := lost_zeros(sorted(known.difference(queries)), absent):
        yield Finding("topics", zeros, True)
    if said := unused_weights(topics.columns):
        yield Finding("topics", said, True)
    counted = topics[topics["qid"].isin(queries)]
    if told := traffic_told(counted, query_weights(counted)):
        yield Finding("topics", f"queries count{told}")
    if absent:
        said = f"no topic for {how_many('query', len(absent))} ({some(absent)}) of the runs, which the plan leaves out"
        yield Finding("topics", said, True)
    else:
        idle = len(known) - len(queries)
        yield Finding("topics", f"every query has one{f'; {idle} more without a run' if idle else ''}")


def _of_texts(path: Path, docnos: pd.Series) -> Finding:
    """How many of some documents have a text."""
    _, absent = fitting_texts(path, docnos, docnos, "runs")
    if len(absent):
        share = f"{len(absent)} of {len(docnos)} documents that may be judged ({len(absent) / len(docnos):.0%})"
        return Finding("texts", f"none for {share}: {some(absent)}", True)
    return Finding("texts", f"every one of {how_many('document', len(docnos))} that may be judged has one")


def _of_judges(judges: Mapping[str, Any], pairs: pd.DataFrame) -> Iterator[Finding]:
    """How many documents other judges have graded, where no person has."""
    for name, labels in judges.items():
        seen = len(pairs.merge(judge_table(labels), on=["qid", "docno"]))
        said = f"{name} has graded {seen} of {how_many('document', len(pairs))} that may be judged"
        yield Finding("judge", f"{said}; no human label has checked it", seen < len(pairs))
    if not judges:
        yield Finding("past", "no judgments, so the plan guesses grades from ranks and needs more labels")


def _of_past(source: RunFiles, qrels: pd.DataFrame, measure: irm.Measure) -> Iterator[Finding]:
    """What past judgments tell a grade model."""
    counts = qrels["label"].value_counts().sort_index()
    said = ", ".join(f"{number} of grade {grade}" for grade, number in counts.items())
    yield Finding("past", f"{how_many('label', len(qrels))}: {said}", len(counts) < 2)
    if source.train_run:
        past = pd.concat([read_run(file) for file in source.train_run], ignore_index=True)
        if past.merge(qrels, on=["qid", "docno"]).empty:
            raise ValueError(
                f"{source.train_qrels}: no document of {', '.join(map(str, source.train_run))} has a label: the labels "
                f"are of queries {some(qrels['qid'].unique())}, the runs of {some(past['qid'].unique())}; pass "
                "--train-run, the run that was judged"
            )
        depth = measure.params.get("cutoff") or USUAL_DEPTH
        top = past[past["rank"] < depth][["qid", "docno"]].drop_duplicates()
        judged = top.merge(qrels, on=["qid", "docno"], how="left")["label"].notna().mean()
        said = f"{judged:.0%} of the top {depth} of the past runs has a label"
        yield Finding("past", said, bool(judged < MIN_JUDGED_SHARE))


def gains_of(measure: irm.Measure) -> str:
    """What a grade is worth in DCG and nDCG, whose gains differ by default; empty for other measures."""
    if measure.NAME == "DCG":
        linear = measure.params.get("gain") == "linear"
        other = "nDCG has linear ones, unless you write nDCG(dcg='exp-log2')"
    elif measure.NAME == "nDCG":
        linear = measure.params.get("dcg", "log2") == "log2"
        other = "DCG has exponential ones, unless you write DCG(gain='linear')"
    else:
        return ""
    return f"{measure} has {'linear gains (the grade)' if linear else 'exponential gains (2^grade - 1)'}; {other}"
