"""`Experiment`: the frame of ``pt.Experiment`` for a judged sample, with an interval beside each mean."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import how_many, shown, some, whole_number
from pt_active.frames.columns import query_columns, with_string_ids
from pt_active.frames.qrels import check_policy, checked_qrels, whole_labels
from pt_active.frames.runs import ranked_run
from pt_active.inference import ties
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import NEW
from pt_active.inference.significance import TUKEY, check_correction, corrected_pvalues
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.judged_queries import JudgedQueries, QueryReplays
from pt_active.plans.making.labelled import match_labels
from pt_active.plans.making.pool import Pool
from pt_active.plans.making.queries import sample_of
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import has_rank_form, parse_measure

System = pt.Transformer | pd.DataFrame

_GREEN = "background-color: lightgreen"

HIGHLIGHTS = {"bold": "font-weight: bold", "color": _GREEN, "colour": _GREEN}
"""Value of ``highlight`` → the CSS that marks the best mean of each measure."""

MAX_PLACES = 15  # Decimal places that a number may be rounded to, at most; more have no meaning


def Experiment(
    retr_systems: Sequence[System] | Mapping[str, System],
    plan: Plan,
    qrels: pd.DataFrame,
    eval_metrics: Sequence[str | irm.Measure],
    names: Sequence[str] | None = None,
    perquery: bool | Literal["both"] = False,
    baseline: int | str | Sequence[int | str] | None = None,
    correction: str | None = None,
    correction_alpha: float = 0.05,
    highlight: str | None = None,
    round: int | Mapping[str, int] | None = None,
    confidence: float = 0.95,
    missing: str = "error",
    queries: str = NEW,
    clusters: str | None = None,
    **kwargs: Any,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluate systems on the judged sample of a plan, as ``pt.Experiment`` does on full qrels.

    Do not give sampled qrels to ``pt.Experiment`` itself: it drops queries without qrels from its means and ignores the
    sampling weights. This function uses it for the values of each sampled query, and weights them.

    A system that ranks exactly as one of the plan's rankers does is estimated by ``regression``, with the grade model
    as control variate. Any other system is estimated by ``snis``, since the model has not graded all of its documents.
    The column ``estimator`` says which. A comparison with the baseline uses ``regression`` if both systems allow it.

    Args:
        retr_systems: Transformers or run frames, as a list or as name → system.
        plan: The plan whose assessments were judged.
        qrels: ``qid, docno, label``.
        eval_metrics: Measures or their names, `ir_measures`' or trec_eval's.
        names: Names for a list of systems; by default the ``str()`` of a transformer, and ``run_0``, … for frames.
        perquery: Whether to return the values of each sampled query with its weight, instead of the means. ``"both"``
            returns the means and these values, as a tuple.
        baseline: Index or name of the system that the others are compared with, or a list of them.
        correction: A method of statsmodels' ``multipletests``, such as ``"holm"``, applied to all tests of a measure.
            The test of one baseline against another counts once.
        correction_alpha: Significance level after correction.
        highlight: ``"bold"`` or ``"color"`` marks the best mean of each measure.
        round: Decimal places; or measure → decimal places of its mean, interval and values.
        confidence: Confidence level of the intervals.
        missing: How to treat a document above a measure's cutoff that has no label: ``"error"`` or ``"nonrelevant"``.
        queries: The queries that intervals and tests hold for: ``"new"``, those that the pool is a sample of, as in
            ``pt.Experiment``, whose t-test this is if everything is judged; or ``"these"`` of the pool [theory 16].
        clusters: A column of the topics whose equal values mark queries that belong together, as in `Plan.compare`.
        **kwargs: Passed on to ``pt.Experiment`` (``batch_size``, ``verbose``, ``save_dir``, …).

    Returns:
        One row per system: ``name``, ``estimator``, then for each measure its mean, ``low`` and ``high``. A baseline
        adds the numbers of sampled queries that improved (``+``) and degraded (``-``) and the ``p-value``; a
        correction adds ``reject`` and ``p-value corrected``. With a list of baselines each of these columns ends in
        `` vs <baseline>``. With ``perquery``: ``name, qid, measure, value, weight``.

    Raises:
        ValueError: If an argument is unknown, the labels do not fit the plan, or labels are missing.
        TypeError: If ``test`` is given: such a test sees two vectors of values and would ignore the weights. Or if
            ``dataframe`` is False.
    """
    if plan.tables.rounds:
        raise ValueError(
            "Experiment weights values of whole queries, and this plan judges single documents: use plan.estimate and "
            "plan.compare, and plan.with_rankers(name=run) for systems that came after the plan; or plan whole "
            'queries, with level="query"'
        )
    if not kwargs.pop("dataframe", True):
        raise TypeError("dataframe=False is not supported: the answer is a frame, and its to_dict makes a dictionary")
    if "test" in kwargs:
        raise TypeError("test cannot be chosen: a test on two vectors of values would ignore the sampling weights")
    check_policy(missing)
    if correction is not None:
        if baseline is None:
            raise ValueError("a correction needs a baseline")
        if correction == TUKEY:
            raise ValueError(f"correction={TUKEY!r} is for all pairs, not for baselines; use Plan.rank")
        check_correction(correction)
    if highlight not in (None, *HIGHLIGHTS):
        raise ValueError(f"unknown highlight {shown(highlight)}; it is one of {', '.join(HIGHLIGHTS)}")
    systems = _named(retr_systems, names)
    measures = list(dict.fromkeys(parse_measure(m, plan.tables.pool.max_grade) for m in eval_metrics))
    asked = {m: How(m, confidence=confidence, queries=queries, clusters=clusters) for m in measures}
    baselines = _baselines(list(systems), baseline)
    runs = _ranked_runs(systems, plan)
    sampled = plan.tables.pool.select(np.flatnonzero(plan.tables.queries["q_draws"] > 0))
    labels = _labels(plan, sampled, runs, qrels, missing)
    unlabelled = {m: _unlabelled(sampled, runs, labels, m, missing) for m in measures}
    values = _values(runs, plan, labels, measures, kwargs)
    places = _places_of(round, list(map(str, measures)), plan.tables.pool.max_grade)
    if perquery not in (False, "both"):
        return _rounded_values(values, places)
    controls = _matching_rankers(runs, plan, measures)
    judged = {m: _judged(plan, list(runs), values, m, controls, unlabelled[m], missing) for m in measures}
    if all(controls.values()):
        judged = {m: replace(each, replays=_replays(plan, controls, m, labels)) for m, each in judged.items()}
    means = _summary(judged, controls, baselines, asked, correction, correction_alpha)
    frame: Any = _rounded_means(means, places)
    if highlight is not None:
        frame = frame.style.apply(_marks, css=HIGHLIGHTS[highlight], subset=list(map(str, measures)))
    return (frame, _rounded_values(values, places)) if perquery == "both" else frame


def _named(systems: Sequence[System] | Mapping[str, System], names: Sequence[str] | None) -> dict[str, System]:
    if isinstance(systems, Mapping):
        return dict(systems)
    numbered = enumerate(systems) if names is None else ()
    labels = [f"run_{i}" if isinstance(each, pd.DataFrame) else str(each) for i, each in numbered] or list(names or ())
    if len(labels) != len(systems) or len(set(labels)) != len(labels):
        raise ValueError(
            f"names must be different, one for each of {how_many('system', len(systems))}, got {some(labels)}"
        )
    return dict(zip(labels, systems, strict=True))


def _baselines(names: list[str], baseline: int | str | Sequence[int | str] | None) -> dict[int, str]:
    """Index of each baseline → the suffix of its columns."""
    if baseline is None:
        return {}
    if isinstance(baseline, str) or not isinstance(baseline, Sequence):
        return {_index(names, baseline): ""}
    chosen = [_index(names, each) for each in baseline]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"baseline must name at least one system and none twice, got {list(baseline)}")
    return {s: f" vs {names[s]}" for s in chosen}


def _index(names: list[str], baseline: int | str) -> int:
    if baseline in names:
        return names.index(str(baseline))
    if isinstance(baseline, int) and 0 <= baseline < len(names):
        return baseline
    raise ValueError(f"unknown baseline {shown(baseline)}; the systems are {some(names, 20)}")


def _ranked_runs(systems: dict[str, System], plan: Plan) -> dict[str, pd.DataFrame]:
    """Name → ``qid, docno, score, rank`` of each system on the sampled queries; every system runs once."""
    topics = plan.sample[query_columns(plan.sample.columns)]
    runs = {}
    for name, system in systems.items():
        run = with_string_ids(system if isinstance(system, pd.DataFrame) else system.transform(topics))
        runs[name] = ranked_run(run[run["qid"].isin(topics["qid"])], name)
    return runs


def _labels(
    plan: Plan, sampled: Pool, runs: dict[str, pd.DataFrame], qrels: pd.DataFrame, missing: str
) -> pd.DataFrame:
    """``qid, docno, label`` of all documents that the plan or a system retrieves for the sampled queries."""
    match_labels(sampled, qrels, plan.measure, missing)
    labels = checked_qrels(qrels)
    known = pd.concat([sampled.document_frame(), *runs.values()])[["qid", "docno"]].drop_duplicates()
    return labels.merge(known, on=["qid", "docno"])


def _unlabelled(
    sampled: Pool, runs: dict[str, pd.DataFrame], labels: pd.DataFrame, measure: irm.Measure, missing: str
) -> tuple[tuple[str, str], ...]:
    """``(qid, docno)`` of the documents above the measure's cutoff in some system that have no label."""
    cutoff = measure.params.get("cutoff")
    absent: dict[tuple[str, str], None] = {}
    for name, run in runs.items():
        seen = run[["qid", "docno"]] if cutoff is None else run.loc[run["rank"] < cutoff, ["qid", "docno"]]
        merged = seen.merge(labels, how="left", on=["qid", "docno"])
        pairs = list(merged.loc[merged["label"].isna(), ["qid", "docno"]].itertuples(index=False, name=None))
        if pairs and missing == "error":
            lost = f"{how_many('sampled document', len(pairs), 'has')} no label: {some(pairs)}"
            advice = 'judge them, use a lower cutoff, or pass missing="nonrelevant"'
            raise ValueError(f"{measure} of {shown(name)}: {lost}; {advice}")
        absent |= dict.fromkeys(pairs)
    pool = sampled.document_frame()[["qid", "docno"]].merge(labels, how="left", on=["qid", "docno"])
    if not has_rank_form(measure) and (without := int(pool["label"].isna().sum())):
        warnings.warn(
            f"{measure} also depends on documents below the cutoff, and {without} of the pool's {len(pool)} in the "
            "sampled queries have no label; they count as not relevant, so its values are off by an unknown "
            f"amount. Make the plan for {measure} to have them judged",
            stacklevel=3,
        )
    return tuple(absent)


def _values(
    runs: dict[str, pd.DataFrame],
    plan: Plan,
    labels: pd.DataFrame,
    measures: list[irm.Measure],
    kwargs: dict[str, Any],
) -> pd.DataFrame:
    """``name, qid, measure, value, weight`` of every sampled query, from ``pt.Experiment``."""
    sample = plan.sample
    topics = sample[query_columns(sample.columns)]
    values = pt.Experiment(list(runs.values()), topics, labels, measures, names=list(runs), perquery=True, **kwargs)
    values["measure"] = values["measure"].map(str)
    values = values.set_index(["name", "measure", "qid"])["value"]
    every = pd.MultiIndex.from_product(
        [list(runs), [str(m) for m in measures], sample["qid"]], names=["name", "measure", "qid"]
    )
    weight = sample["q_importance"] * sample["q_draws"]
    frame = values.reindex(every, fill_value=0.0).reset_index()
    frame["weight"] = frame["qid"].map(dict(zip(sample["qid"], weight / weight.sum(), strict=True)))
    return frame[["name", "qid", "measure", "value", "weight"]]


def _matching_rankers(runs: dict[str, pd.DataFrame], plan: Plan, measures: list[irm.Measure]) -> dict[str, str | None]:
    """System → the plan's ranker with identical rankings down to the deepest cutoff, or None."""
    cutoffs = [measure.params.get("cutoff") for measure in measures]
    depth = np.inf if None in cutoffs else max(cutoffs)
    pool = plan.tables.pool.select(np.flatnonzero(plan.tables.queries["q_draws"] > 0)).document_frame()
    planned = {name: _top(pool, f"rank_{name}", depth) for name in plan.rankers}
    tops = {name: _top(run, "rank", depth) for name, run in runs.items()}
    return {
        name: next((ranker for ranker, other in planned.items() if other.equals(top)), None)
        for name, top in tops.items()
    }


def _top(frame: pd.DataFrame, rank: str, depth: float) -> pd.DataFrame:
    top = frame.loc[(frame[rank] >= 0) & (frame[rank] < depth), ["qid", "docno", rank]]
    top = top.set_axis(["qid", "docno", "rank"], axis=1).astype({"qid": object, "docno": object, "rank": np.int64})
    return top.sort_values(["qid", "rank"]).reset_index(drop=True)


def _judged(
    plan: Plan,
    names: list[str],
    values: pd.DataFrame,
    measure: irm.Measure,
    controls: dict[str, str | None],
    unlabelled: tuple[tuple[str, str], ...],
    missing: str,
) -> JudgedQueries:
    """One measure of all systems on the sampled queries; the model's values are NaN for systems it has not graded."""
    tables, sample = plan.tables, plan.sample
    own = values[values["measure"] == str(measure)].pivot(index="qid", columns="name", values="value")
    model = np.full((len(tables.queries), len(names)), np.nan)
    if any(controls.values()):
        means = plan.model_means(measure)
        for s, name in enumerate(names):
            if (ranker := controls[name]) is not None:
                model[:, s] = means[:, plan.rankers.index(ranker)]
    queries = sample_of(tables)
    basis = Basis.of(
        queries,
        tables.pool.query_weight,
        measure=str(measure),
        n_queries=len(sample),
        n_judged=int(tables.pool.select(queries.rows).seen(tables.measure).sum()),
        missing=unlabelled,
        missing_policy=missing,
    )
    measured = own.loc[sample["qid"], names].to_numpy()
    topics = tables.pool.queries
    return JudgedQueries(tuple(names), basis, queries, measured, tables.pool.query_weight, model, topics=topics)


def _replays(
    plan: Plan, controls: dict[str, str | None], measure: irm.Measure, labels: pd.DataFrame
) -> QueryReplays | None:
    """Samples like the plan's, of systems that are all among its rankers; None if they cannot be drawn."""
    pool = plan.tables.pool
    order = [plan.rankers.index(str(ranker)) for ranker in controls.values()]
    pool = replace(pool, names=tuple(controls), ranks=np.ascontiguousarray(pool.ranks[order]))
    sample = sample_of(plan.tables)
    replays = QueryReplays(pool, sample, measure, whole_labels(pool.keys, labels))
    return replays if replays.possible else None


def _places_of(round: int | Mapping[str, int] | None, known: list[str], max_grade: int) -> int | dict[str, int] | None:
    """Decimal places of all numbers, or by the full name of the measure; None for all digits."""
    if not isinstance(round, Mapping):
        return None if round is None else whole_number("round", round, 0, MAX_PLACES)
    places = {str(parse_measure(k, max_grade)): whole_number("round", n, 0, MAX_PLACES) for k, n in round.items()}
    if unknown := [name for name in places if name not in known]:
        raise ValueError(f"round has {unknown[0]}, which is not evaluated; the measures are {', '.join(known)}")
    return places


def _rounded_means(frame: pd.DataFrame, places: int | dict[str, int] | None) -> pd.DataFrame:
    """The table of means, rounded; with places of single measures their means and intervals alone."""
    if not isinstance(places, dict):
        return frame if places is None else frame.round(places)
    return frame.round({f"{name}{end}": n for name, n in places.items() for end in ("", " low", " high")})


def _rounded_values(frame: pd.DataFrame, places: int | dict[str, int] | None) -> pd.DataFrame:
    """``name, qid, measure, value, weight`` with rounded values; weights keep their digits."""
    rounded = frame["value"].copy()
    for name, number in (places if isinstance(places, dict) else dict.fromkeys(frame["measure"], places)).items():
        if number is not None:
            rounded = rounded.mask(frame["measure"] == name, rounded.round(number))
    return frame.assign(value=rounded)


def _marks(means: pd.Series[Any], css: str) -> list[str]:
    """The CSS of each mean: that of the best ones is marked."""
    return [css if place == 0 else "" for place in ties.places(-means.to_numpy(dtype=np.float64))]


def _summary(
    judged: dict[irm.Measure, JudgedQueries],
    controls: dict[str, str | None],
    baselines: dict[int, str],
    asked: dict[irm.Measure, How[irm.Measure]],
    correction: str | None,
    correction_alpha: float,
) -> pd.DataFrame:
    """One row per system, as `experiment.Experiment` returns it, before it is rounded."""
    estimators = ["snis" if ranker is None else ESTIMATOR for ranker in controls.values()]
    columns: dict[str, Any] = {"name": list(controls), "estimator": estimators}
    for measure, sample in judged.items():
        each_by = [replace(asked[measure], estimator=name) for name in estimators]
        estimates = [sample.estimate(s, how) for s, how in enumerate(each_by)]
        ends = zip(*(estimate.confidence_interval() for estimate in estimates), strict=True)
        columns[str(measure)] = [estimate.value for estimate in estimates]
        columns |= {f"{measure} {end}": list(values) for end, values in zip(("low", "high"), ends, strict=True)}
    for measure, sample in judged.items():
        pvalues = {s: _pvalues(asked[measure], sample, estimators, s) for s in baselines}
        corrections = {} if correction is None else _corrected(pvalues, correction, correction_alpha)
        for s, suffix in baselines.items():
            gain = ties.difference(sample.values, sample.values[:, [s]])
            for sign, count in (("+", (gain > 0).sum(axis=0)), ("-", (gain < 0).sum(axis=0))):
                columns[f"{measure} {sign}{suffix}"] = [None if t == s else int(n) for t, n in enumerate(count)]
            columns[f"{measure} p-value{suffix}"] = pvalues[s]
            if correction is not None:
                columns[f"{measure} reject{suffix}"], columns[f"{measure} p-value corrected{suffix}"] = corrections[s]
    return pd.DataFrame(columns)


def _pvalues(how: How[irm.Measure], sample: JudgedQueries, estimators: list[str], baseline: int) -> np.ndarray:
    """float64[k], the p-value of each system against a baseline; NaN for the baseline itself."""
    pvalue = np.full(len(estimators), np.nan)
    for s in range(len(estimators)):
        if s != baseline:
            both = ESTIMATOR if {estimators[s], estimators[baseline]} == {ESTIMATOR} else "snis"
            pvalue[s] = sample.compare(s, baseline, replace(how, estimator=both)).pvalue
    return pvalue


def _corrected(
    pvalues: dict[int, np.ndarray], correction: str, alpha: float
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Baseline → rejections bool[k] and corrected p-values float64[k]; two baselines share one test of each other."""
    tests = {frozenset((s, t)): p for s, row in pvalues.items() for t, p in enumerate(row) if s != t}
    reject, corrected = corrected_pvalues(np.array(list(tests.values())), alpha, correction)
    place = {pair: i for i, pair in enumerate(tests)}
    by_baseline = {}
    for s, row in pvalues.items():
        at = np.array([place.get(frozenset((s, t)), -1) for t in range(len(row))])
        by_baseline[s] = (at >= 0) & reject[at], np.where(at >= 0, corrected[at], np.nan)
    return by_baseline
