"""Do the files of a project fit together?"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import ir_measures.measures as irm
import pandas as pd

from pt_active.cli.collection import PoolFiles
from pt_active.cli.doubts import doubts_about, gains_of
from pt_active.cli.pools import read_judges, read_pool, read_runs, top_grade
from pt_active.frames.checks import agreeing, how_many, some
from pt_active.frames.columns import ranker_names
from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.relevance.grades.guards import MIN_JUDGED_SHARE, USUAL_DEPTH
from pt_active.relevance.grades.judge_tables import judge_table
from pt_active.relevance.measures import has_rank_form, parse_measure


@dataclass(frozen=True)
class Finding:
    """What was found when files were compared.

    Attributes:
        about: What it is about: the name of a ranker, or of an option.
        said: What was found.
        wrong: Whether something is probably wrong.
    """

    about: str
    said: str
    wrong: bool = False


@dataclass(frozen=True)
class Files:
    """The files of a project, read.

    Attributes:
        runs: Ranker → ``qid, docno, rank, …``.
        topics: ``qid, query``; None if there are none.
        texts: ``docno, text`` of the documents of the runs; None if there are none.
        past: The runs that have been judged, one after the other; None if there are none.
        qrels: ``qid, docno, label`` of the past; None if there are none.
        judges: Other judges by name, as `read_judges` returns them.
    """

    runs: dict[str, pd.DataFrame]
    topics: pd.DataFrame | None
    texts: pd.DataFrame | None
    past: pd.DataFrame | None
    qrels: pd.DataFrame | None
    judges: dict[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def read(cls, source: PoolFiles) -> Files:
        """Read the files."""
        runs = _runs_of_pool(source.pool) if source.pool is not None else read_runs(source.run or [], source.lenient)
        docnos = pd.unique(pd.concat([run["docno"] for run in runs.values()]))
        lenient = "skip" if source.lenient else "raise"
        past = [read_run(path, lenient) for path in source.train_run or []]
        return cls(
            runs if source.depth is None else {name: _cut(run, source.depth) for name, run in runs.items()},
            None if source.topics is None else read_topics(source.topics),
            None if source.texts is None else read_texts(source.texts, docnos=docnos),
            pd.concat(past, ignore_index=True) if past else None,
            None if source.train_qrels is None else read_qrels(source.train_qrels),
            read_judges(source.judge or []),
        )

    @property
    def queries(self) -> list[str]:
        """The queries of all runs, in the order in which they come."""
        return list(dict.fromkeys(qid for run in self.runs.values() for qid in run["qid"]))

    @property
    def documents(self) -> pd.DataFrame:
        """``qid, docno`` of all runs, each pair once."""
        return pd.concat([run[["qid", "docno"]] for run in self.runs.values()]).drop_duplicates()


def _runs_of_pool(path: Path) -> dict[str, pd.DataFrame]:
    frame = read_pool(path)
    names = ranker_names(frame.columns)
    ranks = {name: frame[f"rank_{name}"] for name in names} or {"run": frame["rank"]}
    return {name: frame.assign(rank=rank)[rank >= 0] for name, rank in ranks.items()}


def _cut(run: pd.DataFrame, depth: int) -> pd.DataFrame:
    return run[run["rank"] < depth]


def findings(files: Files, source: PoolFiles, measure: str, budget: float | None = None) -> list[Finding]:
    """What a user should know of the files before a plan is made of them."""
    parsed = parse_measure(measure, highest_grade(files, source))
    found = [*_of_runs(files), *of_shared_queries(files, source.allow_missing_queries)]
    found += [Finding(*each, wrong=True) for each in doubts_about(files.runs, parsed, source.depth)]
    found += [] if files.topics is None else [of_topics(files, source.topics)]
    docnos = judgeable(files, parsed)["docno"].drop_duplicates()
    found += [] if files.texts is None else [of_texts(files, docnos, source.texts)]
    found += _of_past(files, parsed, source)
    return [*found, *_of_measure(files, parsed), *([] if budget is None else [_of_budget(files, parsed, budget)])]


def highest_grade(files: Files, source: PoolFiles) -> int | None:
    """The highest grade: what is said, that of the past judgments, or that which other judges give."""
    if source.max_grade is not None or (files.qrels is None and not files.judges):
        return source.max_grade
    return top_grade(files.judges)[0] if files.qrels is None else int(files.qrels["label"].max())


def judgeable(files: Files, measure: irm.Measure) -> pd.DataFrame:
    """``qid, docno`` that count for a measure, of queries that have a topic if there are topics."""
    cutoff = measure.params.get("cutoff") if has_rank_form(measure) else None
    runs = [run if cutoff is None else _cut(run, cutoff) for run in files.runs.values()]
    pairs = pd.concat([run[["qid", "docno"]] for run in runs]).drop_duplicates()
    return pairs if files.topics is None else pairs[pairs["qid"].isin(files.topics["qid"])]


def _of_runs(files: Files) -> list[Finding]:
    found = []
    for name, run in files.runs.items():
        sizes = run.groupby("qid").size()
        deep = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes.max()}"
        found.append(Finding(name, f"{how_many('query', len(sizes))}, {deep} documents each"))
    return found


def of_shared_queries(files: Files, allowed: bool) -> list[Finding]:
    """Which queries the runs share."""
    every, queries = files.queries, {name: set(run["qid"]) for name, run in files.runs.items()}
    if len(queries) > 1 and not set.intersection(*queries.values()):
        named = "; ".join(f"{name} has {some(run['qid'].unique())}" for name, run in files.runs.items())
        raise ValueError(f"the runs have no query in common: {named}")
    found = []
    for name, own in queries.items():
        if absent := [qid for qid in every if qid not in own]:
            remedy = "it scores 0 on them" if allowed else "say --allow-missing-queries if that is so; it then scores 0"
            found.append(Finding(name, f"nothing for {_counted(absent)}: {remedy}", not allowed))
    return found or [Finding("queries", f"the same {how_many('query', len(every))} in every run")]


def _counted(queries: list[str]) -> str:
    return f"{how_many('query', len(queries))} ({some(queries)})"


def of_topics(files: Files, path: object) -> Finding:
    """Which queries of the runs are among the topics."""
    assert files.topics is not None
    known, every = set(files.topics["qid"]), files.queries
    absent = [qid for qid in every if qid not in known]
    if len(absent) == len(every):
        raise ValueError(
            f"{path}: none of the queries of the runs is among the topics: the runs have {some(every)}, the topics "
            f"{some(files.topics['qid'])}"
        )
    if absent:
        return Finding("topics", f"no topic for {_counted(absent)} of the runs, which the plan leaves out", True)
    idle = len(known) - len(every)
    return Finding("topics", f"every query has one{f'; {idle} more without a run' if idle else ''}")


def of_texts(files: Files, docnos: pd.Series, path: object) -> Finding:
    """How many of some documents have a text."""
    assert files.texts is not None
    absent = docnos[~docnos.isin(files.texts["docno"])]
    if len(absent) == len(docnos):
        raise ValueError(
            f"{path}: no document of the runs has a text there; the file is of {some(files.texts['docno'])}, the runs "
            f"of {some(docnos)}"
        )
    if len(absent):
        share = len(absent) / len(docnos)
        return Finding(
            "texts",
            f"none for {len(absent)} of {len(docnos)} documents that may be judged ({share:.0%}): {some(absent)}",
            True,
        )
    return Finding("texts", f"every one of {how_many('document', len(docnos))} that may be judged has one")


def _of_past(files: Files, measure: irm.Measure, source: PoolFiles) -> list[Finding]:
    if files.qrels is None and files.judges:
        return [_of_judge(files, measure, name) for name in files.judges]
    if files.qrels is None:
        return [Finding("past", "no judgments, so the plan guesses grades from ranks and needs more labels")]
    counts = files.qrels["label"].value_counts().sort_index()
    said = ", ".join(f"{number} of grade {grade}" for grade, number in counts.items())
    found = [Finding("past", f"{how_many('label', len(files.qrels))}: {said}", len(counts) < 2)]
    if files.past is not None:
        depth = measure.params.get("cutoff") or USUAL_DEPTH
        top = _cut(files.past, depth)[["qid", "docno"]].drop_duplicates()
        judged = top.merge(files.qrels, on=["qid", "docno"], how="left")["label"].notna()
        check_past(files, source)
        said = f"{judged.mean():.0%} of the top {depth} of the past runs has a label"
        found.append(Finding("past", said, bool(judged.mean() < MIN_JUDGED_SHARE)))
    if known := len(set(files.qrels["qid"]) & set(files.queries)):
        said = f"{known} of the queries to compare on {agreeing('has', known)} labels already"
        found.append(Finding("past", f"{said}; the grade model learns from them too"))
    return found


def check_past(files: Files, source: PoolFiles) -> None:
    """Raise if the past judgments are of no document of the past runs, or of no query of the runs if there are none."""
    assert files.qrels is not None
    if files.past is None:
        if not set(files.qrels["qid"]) & set(files.queries):
            raise ValueError(
                f"{source.train_qrels} judges no query of the runs: say --train-run, the run that it judges"
            )
    elif files.past.merge(files.qrels, on=["qid", "docno"]).empty:
        named = ", ".join(map(str, source.train_run or []))
        raise ValueError(
            f"{source.train_qrels}: no document of {named} has a label: the labels are of "
            f"queries {some(files.qrels['qid'].unique())}, the runs of {some(files.past['qid'].unique())}"
        )


def _of_judge(files: Files, measure: irm.Measure, name: str) -> Finding:
    pairs = judgeable(files, measure)
    seen = len(pairs.merge(judge_table(files.judges[name]), on=["qid", "docno"]))
    said = f"{name} has graded {seen} of {how_many('document', len(pairs))} that may be judged"
    return Finding("judge", f"{said}; no label of people has checked it", seen < len(pairs))


def _of_measure(files: Files, measure: irm.Measure) -> list[Finding]:
    cutoff, gains = measure.params.get("cutoff"), gains_of(measure)
    found = [Finding("measure", gains)] if gains else []
    for name, run in files.runs.items():
        if cutoff is not None and (short := int((run.groupby("qid").size() < cutoff).sum())):
            said = f"{name} has fewer than {cutoff} documents for {how_many('query', short)}"
            found.append(Finding("measure", f"{said}; the ranks below count as empty"))
    if said := whole_pools(measure, len(files.documents), len(files.queries)):
        found.append(Finding("measure", said))
    return found


def whole_pools(measure: irm.Measure, documents: int, queries: int) -> str:
    """What a measure costs that depends on the whole pool of a query; empty for others."""
    if has_rank_form(measure) or not queries:
        return ""
    return (
        f"{measure} depends on a query's whole pool, {documents / queries:.3g} documents on average: a plan of whole "
        "queries judges them all; the default judges some of them"
    )


def _of_budget(files: Files, measure: irm.Measure, budget: float) -> Finding:
    pool = len(judgeable(files, measure))
    said = f"{budget:g} of {how_many('document', pool)} that count for {measure} ({min(budget / pool, 1):.0%})"
    return Finding("budget", said if budget < pool else f"{said}: everything can be judged", budget >= pool)
