"""PyTerrier transformers that turn runs into a pool, a pool into a sampling design, and a design into a sample."""

from __future__ import annotations

from functools import reduce
from operator import rshift
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import (
    MAX_DRAWS,
    MAX_SEED,
    how_many,
    positive,
    shown,
    some,
    transformer,
    truth_value,
    whole_number,
)
from pt_active.frames.clocks import Seed
from pt_active.frames.columns import (
    grade_columns,
    query_columns,
    ranker_names,
    with_query_columns,
    with_string_ids,
)
from pt_active.frames.progress import working
from pt_active.frames.runs import RunOrder, ranking_of, united
from pt_active.frames.steps import Step
from pt_active.plans.answers.forecast import Forecast, level_chosen, level_told
from pt_active.plans.making.documents import SIZE_COLUMNS, draw_frame, size_frame
from pt_active.plans.making.pool import SINGLE, Pool, design_table
from pt_active.plans.making.queries import DESIGN, draw, sample_columns
from pt_active.plans.making.rankers import Pairs, pair_weights
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import Cost, UnitCost, check_per_query
from pt_active.relevance.measures import parse_measure
from pt_active.sampling import designs


class Runs(Step):
    """Merge the rankings of several rankers: topics in, one row per document out.

    The output has the topics' columns, ``docno``, ``rank_<name>`` (from 0; -1 = not retrieved) and ``score_<name>``
    (NaN = not retrieved) for each ranker, and the document columns (``text``, …) of the first ranker that has them.
    Rows come query by query, by the ranks of the first ranker, then by those of the next one.

    Args:
        depth: Documents to keep of each ranking, as in ``Runs(…) % 20``; None keeps all.
        allow_missing_queries: Whether a ranker may return nothing for queries that others answer; it then scores 0 on
            them. By default this is an error, since it usually means a wrong file.
        **rankers: Name → a transformer, or a run frame (``qid, docno, score``).
    """

    def __init__(
        self,
        depth: int | None = None,
        *,
        allow_missing_queries: bool = False,
        **rankers: pt.Transformer | pd.DataFrame,
    ) -> None:
        self.depth = None if depth is None else whole_number("depth", depth, 1)
        self.allow_missing_queries = allow_missing_queries
        self.rankers = {name: transformer(f"ranker {shown(name)}", each) for name, each in rankers.items()}

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Run the rankers on the topics and unite their rankings.

        Raises:
            ValueError: If there is no ranker, a run is empty or malformed, or rankers answer different queries.
        """
        pt.validate.query_frame(inp, context=self)
        if not self.rankers:
            raise ValueError("Runs needs at least one ranker: Runs(name=ranker, …)")
        if inp.empty:
            return self._empty(inp)
        topics = with_string_ids(inp)
        asked, rankings = topics["qid"].drop_duplicates(), {}
        for name, ranker in self.rankers.items():
            ours = isinstance(ranker, pd.DataFrame)
            run = ranker if ours else ranker.transform(topics)
            rankings[name] = ranking_of(run, name, self.depth, asked if ours else None)
        if not self.allow_missing_queries:
            check_same_queries({name: set(each.qids.to_numpy(dtype=object)) for name, each in rankings.items()})
        with working("merging the runs"):
            united = with_query_columns(_union(rankings), topics)
        return united

    def _empty(self, inp: pd.DataFrame) -> pd.DataFrame:
        frames = [each if isinstance(each, pd.DataFrame) else each.transform(inp) for each in self.rankers.values()]
        known = {"docno", "rank", "score"}
        others = [c for each in frames for c in each.columns if c not in {*known, *query_columns(each.columns)}]
        ranked = [f"{kind}_{name}" for name in self.rankers for kind in ("rank", "score")]
        return _with_columns(inp[["qid"]].iloc[:0], ["docno", *others, *ranked, *query_columns(inp.columns)])

    def fuse_rank_cutoff(self, k: int) -> Runs:
        """The rankings down to rank k, as with ``depth=k``: this is what ``Runs(…) % k`` means."""
        cutoff = whole_number("the cutoff of Runs", k, 1)
        depth = cutoff if self.depth is None else min(cutoff, self.depth)
        return Runs(depth, allow_missing_queries=self.allow_missing_queries, **self.rankers)

    __mod__ = fuse_rank_cutoff  # PyTerrier's own cutoff needs one column rank, and fails without compile()

    def subtransformers(self) -> dict[str, pt.Transformer]:
        """The rankers that are transformers, for PyTerrier's inspection and schematics."""
        return {name: ranker for name, ranker in self.rankers.items() if isinstance(ranker, pt.Transformer)}


class SamplingDistribution(Step):
    """The sampling distribution of a graded pool [theory 4, 5, 9].

    For queries the output has one row per query with ``q_prob``. For documents it has one row per document with
    ``doc_cost`` and ``doc_size``; the inclusion probability is proportional to ``doc_size`` until it reaches 1. With
    one ranker in the frame the design is for its own performance, with two for their difference, and with more for a
    mixture of all pairwise differences. A plain R frame counts as one ranker named ``run``.

    Args:
        measure: ``DCG@10``, ``"ERR(max_rel=4)@20"``, …
        cost: Labelling cost; each document costs 1 by default.
        design: For queries a name in `designs.DESIGNS` (default ``hedged``). For documents one of
            `drawings.DOCUMENT_DRAWINGS`: ``successive``, the default for additive measures, ``depth``, that for
            others, and ``surprises`` for nDCG and AP.
        defensive: For queries the share of plain random sampling in the design, which bounds the importance weights by
            its inverse (default 0.1). For documents the multiple of the model's average variance that is added to each
            document (default 1).
        level: What is sampled, ``"query"`` or ``"document"``. If left out, it is that of the ``design``, or else
            documents, unless opening queries costs something and the grade model expects whole queries to be more
            precise at a tenth of the pool's cost.
        pairs: Weights of the pairwise differences of more than two rankers: (ranker, ranker) → weight, 0 for pairs left
            out; or the name of one ranker, to compare it with all others [T 5.16]. Equal by default.
    """

    def __init__(
        self,
        measure: str | irm.Measure,
        cost: Cost = UnitCost(),  # noqa: B008
        design: str | None = None,
        defensive: float | None = None,
        level: str | None = None,
        pairs: Pairs | None = None,
    ) -> None:
        self.measure = measure
        self.cost = cost
        self.design = design
        self.defensive = defensive
        self.level = level
        self.pairs = pairs

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Compute the distribution.

        Returns:
            For queries the query columns, ``q_prob`` (q), ``q_cost`` (λ), ``q_weight`` (p), ``q_mean_<name>`` and
            ``q_var_<name>`` under the grade model, and for two rankers ``q_cov``. For documents the query columns,
            ``docno``, ``doc_size`` and ``doc_cost``. ``q_believed`` is a digest of the pool, so that another pool is
            another draw of the same seed.

        Raises:
            ValueError: If an argument is out of range or the frame is malformed.
        """
        with pt.validate.any(inp, context=self) as v:
            scored = [] if ranker_names(inp.columns) else ["score"]
            v.result_frame(["grade_0", "grade_1", *scored], mode="graded")
        level = level_told(self.level, self.design, only_queries=False)
        if inp.empty:
            return self._empty(inp, level or "document")
        measure = parse_measure(self.measure, max_grade=len(grade_columns(inp.columns)) - 1)
        pool = Pool.from_frame(inp, measure, self.cost)
        pairs = pair_weights(self.pairs, pool.names)
        per_query = check_per_query(self.cost)
        level = level or level_chosen(Forecast(pool, measure, per_query), None, self.defensive, pairs).level
        if level == "query":
            defensive = designs.DEFENSIVE_SHARE if self.defensive is None else self.defensive
            table = design_table(pool, measure, self.design or DESIGN, defensive, pairs=pairs)
            return table.assign(q_believed=pool.believed("query"))
        return size_frame(pool, measure, self.design, per_query, self.defensive, pairs)

    def _empty(self, inp: pd.DataFrame, level: str) -> pd.DataFrame:
        if level == "document":
            return _with_columns(inp[["qid"]].iloc[:0], [*query_columns(inp.columns), "docno", *SIZE_COLUMNS])
        names = ranker_names(inp.columns) or [SINGLE]
        moments = [f"q_{kind}_{name}" for kind in ("mean", "var") for name in names]
        added = ["q_prob", "q_cost", "q_weight", *moments, *(["q_cov"] if len(names) == 2 else []), "q_believed"]
        return _with_columns(inp[["qid"]].iloc[:0], [*query_columns(inp.columns), *added])


class Draw(Step):
    """Draw queries or documents from a design [theory 4, 9].

    Drawn queries get the columns ``q_draws``, ``q_importance`` and ``q_inclusion``. With replacement, as in the
    sources, a query drawn again costs nothing, since its labels are known. Without replacement, the default, the same
    budget gives more precise estimates. Documents are judged at most once; they get the column ``inclusion``, the
    probability of being judged. `plan_of` makes a plan of the same sample, which is judged and estimated.

    Args:
        budget: The most that may be spent, in the unit of the costs.
        draws: Number of draws of queries, instead of a budget.
        replace: Whether a query can be drawn more than once.
        seed: Random seed. The same seed gives the same sample, whatever the order of the rows.
    """

    def __init__(
        self, budget: float | None = None, draws: int | None = None, replace: bool = False, seed: int = 0
    ) -> None:
        self.budget = budget
        self.draws = draws
        self.replace = replace
        self.seed = seed

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Draw the sample.

        Raises:
            ValueError: If not exactly one of ``budget`` and ``draws`` is given, or it does not fit the costs.
        """
        with pt.validate.any(inp, context=self) as v:
            v.query_frame(["q_prob", "q_cost", "q_weight"], mode="queries")
            v.result_frame(SIZE_COLUMNS, mode="documents")
        budget = None if self.budget is None else positive("budget", self.budget)
        draws = None if self.draws is None else whole_number("draws", self.draws, 1, MAX_DRAWS)
        number = whole_number("seed", self.seed, 0, MAX_SEED)
        known = "q_believed" in inp.columns and len(inp)
        seed: Seed = (number, int(inp["q_believed"].iloc[0])) if known else number
        if "doc_size" in inp.columns:
            return _with_columns(inp, ["inclusion"]) if inp.empty else draw_frame(inp, budget, seed)
        if inp.empty:
            return _with_columns(inp, ["q_draws", "q_importance", "q_inclusion"])
        queries = with_string_ids(inp)
        sample = draw(queries, budget, draws, seed, truth_value("replace", self.replace))
        queries = queries.assign(**sample_columns(sample, queries["q_weight"].to_numpy(np.float64)))
        return queries[queries["q_draws"] > 0].reset_index(drop=True)


def plan_of(road: pt.Transformer, topics: pd.DataFrame) -> Plan:
    """The plan of a pipeline that ends in ``SamplingDistribution(…) >> Draw(…)``.

    It has the same sample that the pipeline returns for these topics, and what else people and estimates need: the
    documents to judge (`Plan.assessments`), and the pool.

    Args:
        road: The pipeline, such as ``Runs(…) >> grades >> SamplingDistribution("DCG@10", level="query") >> Draw(300)``.
        topics: ``qid, query`` (+ ``traffic``); or a graded pool, if the pipeline has nothing before the distribution.

    Returns:
        The plan, in memory; see `Plan.save`.

    Raises:
        ValueError: If the pipeline ends otherwise, or an argument of its transformers is out of range.
    """
    parts: list[Any] = list(road) if isinstance(road, pt.Compose) else [road]
    if [type(part) for part in parts[-2:]] != [SamplingDistribution, Draw]:
        raise ValueError(f"a plan is made of a pipeline that ends in SamplingDistribution(…) >> Draw(…), got {road!r}")
    *before, design, drawn = parts
    pool = reduce(rshift, before)(topics) if before else topics
    level = "document" if "doc_size" in design(pool).columns else "query"
    defensive = designs.DEFENSIVE_SHARE if level == "query" and design.defensive is None else design.defensive
    return Plan.create(
        pool,
        topics if before else None,
        design.measure,
        design.cost,
        drawn.budget,
        design.design,
        level,
        drawn.seed,
        draws=drawn.draws,
        replace=drawn.replace and level == "query",
        defensive=defensive,
        pairs=design.pairs,
    )


def check_same_queries(answered: dict[str, set[str]]) -> None:
    """Raise if a run leaves queries unanswered that another answers."""
    everyone = set().union(*answered.values())
    for name, qids in answered.items():
        if qids != everyone:
            raise ValueError(
                f"run {shown(name)} has no documents for {how_many('query', len(everyone - qids))} that other runs "
                f"answer: {some(sorted(everyone - qids))}; with allow_missing_queries=True it scores 0 there"
            )


def _union(rankings: dict[str, RunOrder]) -> pd.DataFrame:
    """One row per (qid, docno) pair, in the order of `united`."""
    union, each = united(rankings), list(rankings.values())
    columns: dict[str, Any] = {"qid": union.qids.take(union.query).array, "docno": union.docno}
    columns |= _document_columns(each, union.places, len(union.query))
    for (name, one), at, rank in zip(rankings.items(), union.places, union.ranks, strict=True):
        score = np.full(len(union.query), np.nan)
        score[at] = one.run["score"].to_numpy()[one.rows]
        columns |= {f"rank_{name}": rank - np.int64(1), f"score_{name}": score}
    return pd.DataFrame(columns)


def _document_columns(rankings: list[RunOrder], places: list[np.ndarray], size: int) -> dict[str, Any]:
    """The document columns (``text``, …), each from the first run that has a value."""
    others = [{"docno", "rank", "score", *query_columns(each.run.columns)} for each in rankings]
    rest = [each.run[[c for c in each.run.columns if c not in n]] for each, n in zip(rankings, others, strict=True)]
    if not any(len(each.columns) for each in rest):
        return {}
    table = pd.concat([each.take(its.rows) for each, its in zip(rest, rankings, strict=True)], ignore_index=True)
    first = table.groupby(np.concatenate(places)).first()
    return {str(name): values.reindex(np.arange(size)).array for name, values in first.items()}


def _with_columns(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """A frame without rows, with some columns beside its own."""
    return with_string_ids(frame.reindex(columns=list(dict.fromkeys([*frame.columns, *columns]))))
