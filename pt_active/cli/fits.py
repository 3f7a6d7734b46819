"""Do the files of a project fit together?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import ir_measures.measures as irm
import pandas as pd

from pt_active.cli.files import RunFiles, check_texts, doubts_about, past_labels, read_judges, top_grade
from pt_active.cli.options import JudgingCosts
from pt_active.frames.checks import agreeing, how_many, some
from pt_active.frames.columns import unused_weights
from pt_active.frames.strays import lost_zeros
from pt_active.frames.topics import read_texts, read_topics, with_texts
from pt_active.frames.trec import read_run
from pt_active.plans.making.pool import query_weights, traffic_told
from pt_active.relevance.costs import UnitCost, unit_of
from pt_active.relevance.grades.judges import judge_table
from pt_active.relevance.grades.models import MIN_JUDGED_SHARE, USUAL_DEPTH
from pt_active.relevance.measures import has_rank_form, parse_measure
from pt_active.showing.rounding import amount


class Finding(NamedTuple):
    """What was found of a ranker or of an option when files were compared, and whether it is probably wrong."""

    about: str
    said: str
    wrong: bool = False


@dataclass(frozen=True)
class Files:
    """The files of a project, each of which is read once."""

    source: RunFiles

    @cached_property
    def runs(self) -> dict[str, pd.DataFrame]:
        """Ranker → ``qid, docno, rank, …``."""
        runs, depth = self.source.runs(), self.source.depth
        return runs if depth is None else {name: run[run["rank"] < depth] for name, run in runs.items()}

    @cached_property
    def topics(self) -> pd.DataFrame | None:
        """The topics."""
        return None if self.source.topics is None else read_topics(self.source.topics)

    @cached_property
    def texts(self) -> pd.DataFrame | None:
        """``docno, text`` of the documents of the runs."""
        texts = self.source.texts
        return None if texts is None else read_texts(texts, docnos=self.documents["docno"].unique())

    @cached_property
    def past(self) -> pd.DataFrame | None:
        """The runs that have been judged, one after the other."""
        past = [read_run(file) for file in self.source.train_run or []]
        return pd.concat(past, ignore_index=True) if past else None

    @cached_property
    def qrels(self) -> pd.DataFrame | None:
        """``qid, docno, label`` of the past."""
        return None if self.source.train_qrels is None else past_labels(self.source.train_qrels)

    @cached_property
    def judges(self) -> dict[str, pd.DataFrame]:
        """Other judges by name, as `read_judges` returns them."""
        return read_judges(self.source.judge or [])

    @cached_property
    def queries(self) -> list[str]:
        """The queries of all runs, in the order in which they come."""
        return list(dict.fromkeys(qid for run in self.runs.values() for qid in run["qid"]))

    @cached_property
    def documents(self) -> pd.DataFrame:
        """``qid, docno`` of all runs, each pair once."""
        return pd.concat([run[["qid", "docno"]] for run in self.runs.values()]).drop_duplicates()

    def highest_grade(self) -> int | None:
        """The highest grade: what is said, that of the past judgments, or that which other judges give."""
        if self.source.max_grade is not None or (self.qrels is None and not self.judges):
            return self.source.max_grade
        return top_grade(self.judges)[0] if self.qrels is None else int(self.qrels["label"].max())

    def judgeable(self, measure: irm.Measure) -> pd.DataFrame:
        """``qid, docno`` that count for a measure, of queries that have a topic if there are topics."""
        cutoff = measure.params.get("cutoff") if has_rank_form(measure) else None
        runs = [run if cutoff is None else run[run["rank"] < cutoff] for run in self.runs.values()]
        pairs, topics = pd.concat([run[["qid", "docno"]] for run in runs]).drop_duplicates(), self.topics
        return pairs if topics is None else pairs[pairs["qid"].isin(topics["qid"])]


def findings(files: Files, measure: str, budget: float | None, prices: JudgingCosts) -> list[Finding]:
    """What a user should know of the files before a plan is made of them."""
    parsed = parse_measure(measure, files.highest_grade())
    found = []
    for name, run in files.runs.items():
        sizes = run.groupby("qid").size()
        deep = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes.max()}"
        found.append(Finding(name, f"{how_many('query', len(sizes))}, {deep} documents each"))
    found += _of_shared_queries(files)
    found += [Finding(*each, wrong=True) for each in doubts_about(files.runs, parsed, files.source.depth)]
    found += _of_topics(files)
    pairs = files.judgeable(parsed)
    found += _of_texts(files, pairs["docno"].drop_duplicates())
    found += [*_of_past(files, parsed, pairs), *_of_measure(files, parsed)]
    whole, of = float(len(pairs)), f"{how_many('document', len(pairs))} that count for {parsed}"
    if (cost := prices.of_judging()) != UnitCost():
        documents = pairs if files.texts is None else with_texts(pairs, files.texts)
        check_texts(prices, documents)
        columns = {str(name): column.to_numpy() for name, column in documents.items()}
        whole = float(cost.document_costs(columns, pd.factorize(columns["qid"])[0]).sum())
        of = f"{amount(whole)} {unit_of(cost)}, the cost of {of}"
    if budget is None:
        return [*found, Finding("budget", f"none yet, of {of}")]
    said = f"{amount(budget)} of {of} ({min(budget / whole, 1):.0%})"
    enough = budget >= whole
    return [*found, Finding("budget", f"{said}: everything can be judged" if enough else said, enough)]


def _of_shared_queries(files: Files) -> list[Finding]:
    """Which queries the runs share."""
    every, queries = files.queries, {name: set(run["qid"]) for name, run in files.runs.items()}
    if len(queries) > 1 and not set.intersection(*queries.values()):
        named = "; ".join(f"{name} has {some(run['qid'].unique())}" for name, run in files.runs.items())
        raise ValueError(f"the runs have no query in common: {named}")
    remedy = "if that is intended, write allow-missing-queries = true into the project file; it then scores 0"
    absent = {name: [qid for qid in every if qid not in own] for name, own in queries.items()}
    found = [Finding(name, f"nothing for {_counted(of)}: {remedy}", True) for name, of in absent.items() if of]
    return found or [Finding("queries", f"the same {how_many('query', len(every))} in every run")]


def _counted(queries: list[str]) -> str:
    return f"{how_many('query', len(queries))} ({some(queries)})"


def _of_topics(files: Files) -> list[Finding]:
    """Which queries of the runs are among the topics."""
    if (topics := files.topics) is None:
        return []
    every, known = files.queries, set(topics["qid"])
    absent = [qid for qid in every if qid not in known]
    if len(absent) == len(every):
        raise ValueError(
            f"{files.source.topics}: none of the queries of the runs is among the topics: the runs have {some(every)}, "
            f"the topics {some(topics['qid'])}"
        )
    zeros = lost_zeros(sorted(known.difference(every)), absent)
    found = [Finding("topics", zeros, True)] if zeros else []
    if said := unused_weights(topics.columns):
        found.append(Finding("topics", said, True))
    counted = topics[topics["qid"].isin(every)]
    if told := traffic_told(counted, query_weights(counted)):
        found.append(Finding("topics", f"queries count{told}"))
    if absent:
        said = f"no topic for {_counted(absent)} of the runs, which the plan leaves out"
        return [*found, Finding("topics", said, True)]
    idle = len(known) - len(every)
    return [*found, Finding("topics", f"every query has one{f'; {idle} more without a run' if idle else ''}")]


def _of_texts(files: Files, docnos: pd.Series) -> list[Finding]:
    """How many of some documents have a text."""
    if files.texts is None:
        return []
    absent = docnos[~docnos.isin(files.texts["docno"])]
    if len(absent) == len(docnos):
        raise ValueError(
            f"{files.source.texts}: the file has no text for any document of the runs: it has "
            f"{some(files.texts['docno'])}, the runs {some(docnos)}"
        )
    if len(absent):
        share = f"{len(absent)} of {len(docnos)} documents that may be judged ({len(absent) / len(docnos):.0%})"
        return [Finding("texts", f"none for {share}: {some(absent)}", True)]
    return [Finding("texts", f"every one of {how_many('document', len(docnos))} that may be judged has one")]


def _of_past(files: Files, measure: irm.Measure, pairs: pd.DataFrame) -> Iterator[Finding]:
    qrels, past = files.qrels, files.past
    if qrels is None:
        for name, labels in files.judges.items():
            seen = len(pairs.merge(judge_table(labels), on=["qid", "docno"]))
            said = f"{name} has graded {seen} of {how_many('document', len(pairs))} that may be judged"
            yield Finding("judge", f"{said}; no human label has checked it", seen < len(pairs))
        if not files.judges:
            yield Finding("past", "no judgments, so the plan guesses grades from ranks and needs more labels")
        return
    counts = qrels["label"].value_counts().sort_index()
    said = ", ".join(f"{number} of grade {grade}" for grade, number in counts.items())
    yield Finding("past", f"{how_many('label', len(qrels))}: {said}", len(counts) < 2)
    if past is not None:
        if past.merge(qrels, on=["qid", "docno"]).empty:
            named = ", ".join(map(str, files.source.train_run or []))
            raise ValueError(
                f"{files.source.train_qrels}: no document of {named} has a label: the labels are of queries "
                f"{some(qrels['qid'].unique())}, the runs of {some(past['qid'].unique())}; pass --train-run, the run "
                "that was judged"
            )
        depth = measure.params.get("cutoff") or USUAL_DEPTH
        top = past[past["rank"] < depth][["qid", "docno"]].drop_duplicates()
        judged = top.merge(qrels, on=["qid", "docno"], how="left")["label"].notna().mean()
        said = f"{judged:.0%} of the top {depth} of the past runs has a label"
        yield Finding("past", said, bool(judged < MIN_JUDGED_SHARE))
    if known := len(set(qrels["qid"]) & set(files.queries)):
        said = f"{known} of the queries to compare on {agreeing('has', known)} labels already"
        yield Finding("past", f"{said}; the grade model learns from them too")


def _of_measure(files: Files, measure: irm.Measure) -> Iterator[Finding]:
    cutoff = measure.params.get("cutoff")
    if gains := gains_of(measure):
        yield Finding("measure", gains)
    for name, run in files.runs.items():
        if cutoff is not None and (short := int((run.groupby("qid").size() < cutoff).sum())):
            said = f"{name} has fewer than {cutoff} documents for {how_many('query', short)}"
            yield Finding("measure", f"{said}; the ranks below count as empty")
    if said := whole_pools(measure, len(files.documents), len(files.queries)):
        yield Finding("measure", said)


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


def whole_pools(measure: irm.Measure, documents: int, queries: int) -> str:
    """What a measure costs that depends on the whole pool of a query; empty for others."""
    if has_rank_form(measure) or not queries:
        return ""
    return (
        f"{measure} depends on all documents in a query's pool, {documents / queries:.3g} on average: a plan of whole "
        "queries judges all of them, the default plan only some"
    )
