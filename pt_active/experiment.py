"""`Experiment`: the frame of ``pt.Experiment`` for a judged sample, with an interval beside each mean."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import how_many, shown, some
from pt_active.frames.columns import query_columns, with_string_ids
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ranked_run
from pt_active.frames.steps import ADDRESS
from pt_active.inference import ties
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import NEW
from pt_active.inference.significance import check_correction, corrected_pvalues
from pt_active.plans.answers.labelled import Labelled, Settings
from pt_active.plans.answers.labelled_plan import labelled_plan, read_qrels
from pt_active.plans.answers.labelled_queries import LabelledQueries
from pt_active.plans.making.pool import Pool
from pt_active.plans.plan import Plan
from pt_active.relevance.measure_values import measure_values
from pt_active.relevance.measures import has_rank_form, parse_measure

System = pt.Transformer | pd.DataFrame


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
    *,
    confidence: float = 0.95,
    missing: str = "error",
    queries: str = NEW,
    clusters: str | None = None,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluate systems on the judged sample of a plan, as ``pt.Experiment`` does on full qrels.

    Do not give sampled qrels to ``pt.Experiment`` itself: it drops queries without qrels from its means and ignores the
    sampling weights, and so does a ``test`` of two vectors of values.

    A system that ranks exactly as one of the plan's rankers does is estimated by ``regression``, with the grade model
    as control variate. On a plan of whole queries any other system is estimated by ``snis``, since the model has not
    graded all of its documents; on a plan of documents it is added by `Plan.with_rankers`, with a warning of what
    nobody judges. The column ``estimator`` says which. A comparison with the baseline uses ``regression`` if both
    systems allow it.

    Args:
        retr_systems: Transformers or run frames, as a list or as name → system.
        plan: The plan whose assessments were judged.
        qrels: ``qid, docno, label``.
        eval_metrics: Measures or their names, `ir_measures`' or trec_eval's.
        names: Names for a list of systems; by default a transformer's own ``str()``, or ``run_0``, … where it has none.
        perquery: Whether to return the values of each sampled query with its weight, instead of the means. ``"both"``
            returns the means and these values, as a tuple. Only for plans of whole queries.
        baseline: Index or name of the system that the others are compared with, or a list of them.
        correction: A method of statsmodels' ``multipletests``, such as ``"holm"``, applied to all tests of a measure.
            The test of one baseline against another counts once.
        correction_alpha: Significance level after correction.
        confidence: Confidence level of the intervals.
        missing: How to treat a document above a measure's cutoff that has no label: ``"error"`` or ``"nonrelevant"``.
        queries: The queries that intervals and tests hold for: ``"new"``, those that the pool is a sample of, as in
            ``pt.Experiment``, whose t-test this is if everything is judged; or ``"these"`` of the pool [theory 16].
        clusters: A column of the topics whose equal values mark queries that belong together, as in `Plan.compare`.

    Returns:
        One row per system: ``name``, ``estimator``, then for each measure its mean, ``low`` and ``high``. A baseline
        adds the numbers of sampled queries that improved (``+``) and degraded (``-``) and the ``p-value``; a
        correction adds ``reject`` and ``p-value corrected``. With a list of baselines each of these columns ends in
        `` vs <baseline>``. With ``perquery``: ``name, qid, measure, value, weight``. A plan of documents knows the
        value of no single query, so it has no columns ``+`` and ``-``.

    Raises:
        ValueError: If an argument is unknown, the labels do not fit the plan, labels are missing, or values of each
            query are asked of a plan of documents.
    """
    tables = plan.tables
    measures = list(dict.fromkeys(parse_measure(m, tables.pool.max_grade) for m in eval_metrics))
    settings = Settings(confidence=confidence, queries=queries, clusters=clusters)
    if correction is not None:
        if baseline is None:
            raise ValueError("a correction needs a baseline")
        check_correction(correction)
    systems = _named(retr_systems, names)
    baselines = _baselines(list(systems), baseline)
    pool = tables.pool if tables.documents else tables.pool.select(np.flatnonzero(tables.queries["q_draws"] > 0))
    runs = _ranked_runs(systems, pool)
    controls = _matching_rankers(runs, pool, plan.rankers, measures)
    place, estimators = list(range(len(runs))), [ESTIMATOR] * len(runs)
    judged: dict[irm.Measure, Any]
    if tables.documents:
        if perquery:
            raise ValueError(
                f"perquery={perquery!r} needs the values of whole queries, and this plan judges single documents; "
                'plan whole queries, with level="query"'
            )
        if later := {name: runs[name] for name, ranker in controls.items() if ranker is None}:
            plan = plan.with_rankers(**later)
        place = [plan.rankers.index(ranker or name) for name, ranker in controls.items()]
        given = read_qrels(plan.tables, qrels)
        judged = {m: labelled_plan(plan.tables, given, m, missing) for m in measures}
    else:
        given = read_qrels(tables, qrels)
        labelled_plan(tables, given, missing=missing)  # Raises if a document of the plan has no label.
        known = pd.concat([pool.keys, *runs.values()])[["qid", "docno"]].drop_duplicates()
        labels = checked_qrels(qrels).merge(known, on=["qid", "docno"])
        values = _values(runs, plan, labels, measures)
        unlabelled = {m: _unlabelled(pool, runs, labels, m, missing) for m in measures}
        if perquery and perquery != "both":
            return values
        estimators = ["snis" if ranker is None else ESTIMATOR for ranker in controls.values()]
        own = {m: labelled_plan(tables, given, m, "nonrelevant") for m in measures}
        judged = {m: _of_systems(own[m], values, controls, unlabelled[m], missing) for m in measures}
    corrected = None if correction is None else (correction, correction_alpha)
    columns = _summary(judged, place, estimators, baselines, settings, corrected)
    means = pd.DataFrame({"name": list(runs), "estimator": estimators} | columns)
    return (means, values) if perquery else means


def _named(systems: Sequence[System] | Mapping[str, System], names: Sequence[str] | None) -> dict[str, System]:
    if isinstance(systems, Mapping):
        return dict(systems)
    if names is None:
        texts = ["" if isinstance(each, pd.DataFrame) else str(each) for each in systems]
        names = [f"run_{i}" if not text or ADDRESS.search(text) else text for i, text in enumerate(texts)]
    if len(names) != len(systems) or len(set(names)) != len(names):
        wanted = how_many("system", len(systems))
        raise ValueError(f"names must be different, one for each of {wanted}, got {some(names)}")
    return dict(zip(names, systems, strict=True))


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


def _ranked_runs(systems: dict[str, System], pool: Pool) -> dict[str, pd.DataFrame]:
    """Name → ``qid, docno, score, rank`` of each system on the pool's queries; every system runs once."""
    topics = pool.queries[query_columns(pool.queries.columns)]
    runs = {}
    for name, system in systems.items():
        run = with_string_ids(system if isinstance(system, pd.DataFrame) else system.transform(topics))
        runs[name] = ranked_run(run[run["qid"].isin(topics["qid"])], name)
    return runs


def _matching_rankers(
    runs: dict[str, pd.DataFrame], pool: Pool, rankers: Sequence[str], measures: list[irm.Measure]
) -> dict[str, str | None]:
    """System → the plan's ranker with identical rankings down to the deepest cutoff, or None."""
    cutoffs = [measure.params.get("cutoff") for measure in measures]
    depth = np.inf if None in cutoffs else max(cutoffs)
    frame = pool.document_frame()
    planned = {name: _top(frame, f"rank_{name}", depth) for name in rankers}
    matching: dict[str, str | None] = {}
    for name, run in runs.items():
        top = _top(run, "rank", depth)
        matching[name] = next((ranker for ranker, other in planned.items() if other == top), None)
    return matching


def _top(frame: pd.DataFrame, rank: str, depth: float) -> set[tuple[str, str, int]]:
    seen = frame[(frame[rank] >= 0) & (frame[rank] < depth)]
    return set(zip(seen["qid"], seen["docno"], seen[rank], strict=True))


def _values(
    runs: dict[str, pd.DataFrame], plan: Plan, labels: pd.DataFrame, measures: list[irm.Measure]
) -> pd.DataFrame:
    """``name, qid, measure, value, weight`` of every sampled query."""
    sample = plan.sample
    weight = (sample["q_importance"] * sample["q_draws"]).to_numpy()
    parts = []
    for name, run in runs.items():
        for measure in measures:
            value = measure_values(run, labels, measure).set_index("qid")["value"]
            columns = {"name": name, "qid": sample["qid"], "measure": str(measure)}
            columns |= {"value": value.reindex(sample["qid"], fill_value=0.0).to_numpy()}
            parts.append(pd.DataFrame(columns | {"weight": weight / weight.sum()}))
    return pd.concat(parts, ignore_index=True)


def _unlabelled(
    sampled: Pool, runs: dict[str, pd.DataFrame], labels: pd.DataFrame, measure: irm.Measure, missing: str
) -> tuple[tuple[str, str], ...]:
    """``(qid, docno)`` of the documents above the measure's cutoff in some system that have no label."""
    cutoff = measure.params.get("cutoff")
    absent: dict[tuple[str, str], None] = {}
    for name, run in runs.items():
        seen = run[["qid", "docno"]] if cutoff is None else run.loc[run["rank"] < cutoff, ["qid", "docno"]]
        pairs = _without_label(seen, labels)
        if pairs and missing == "error":
            lost = f"{how_many('sampled document', len(pairs), 'has')} no label: {some(pairs)}"
            advice = 'judge them, use a lower cutoff, or pass missing="nonrelevant"'
            raise ValueError(f"{measure} of {shown(name)}: {lost}; {advice}")
        absent |= dict.fromkeys(pairs)
    without = len(_without_label(sampled.keys, labels))
    if without and not has_rank_form(measure):
        warnings.warn(
            f"{measure} also depends on documents below the cutoff, and {without} of the pool's {len(sampled.docno)} "
            "in the sampled queries have no label; they count as not relevant, so its values are off by an unknown "
            f"amount. Make the plan for {measure} to have them judged",
            stacklevel=3,
        )
    return tuple(absent)


def _without_label(documents: pd.DataFrame, labels: pd.DataFrame) -> list[tuple[str, str]]:
    merged = documents.merge(labels, how="left", on=["qid", "docno"])
    return list(merged.loc[merged["label"].isna(), ["qid", "docno"]].itertuples(index=False, name=None))


def _of_systems(
    own: Any,
    values: pd.DataFrame,
    controls: dict[str, str | None],
    unlabelled: tuple[tuple[str, str], ...],
    missing: str,
) -> LabelledQueries:
    """One measure of all systems on the sampled queries; the model's values are NaN for systems it has not graded."""
    place = [own.names.index(ranker) for ranker in controls.values() if ranker is not None]
    model = np.full((len(own.pool_weight), len(controls)), np.nan)
    model[:, [ranker is not None for ranker in controls.values()]] = own.pool_model[:, place]
    of_measure = values[values["measure"] == str(own.measure)]
    measured = of_measure["value"].to_numpy().reshape(len(controls), -1).T
    replays = None
    if own.replays is not None and len(place) == len(controls):
        ranks = np.ascontiguousarray(own.replays.pool.ranks[place])
        replays = replace(own.replays, pool=replace(own.replays.pool, names=tuple(controls), ranks=ranks))
    basis = replace(own.basis, measure=str(own.measure), missing=unlabelled, missing_policy=missing)
    found: LabelledQueries = replace(
        own, names=tuple(controls), basis=basis, values=measured, pool_model=model, replays=replays
    )
    return found


def _summary(
    judged: dict[irm.Measure, Any],
    place: list[int],
    estimators: list[str],
    baselines: dict[int, str],
    settings: Settings,
    correction: tuple[str, float] | None,
) -> dict[str, Any]:
    """The columns of the means; ``place`` has the index of each system in the judged sample."""
    columns: dict[str, Any] = {}
    for measure, sample in judged.items():
        each_by = [replace(settings, estimator=name) for name in estimators]
        estimates = [sample.estimate(s, by) for s, by in zip(place, each_by, strict=True)]
        ends = zip(*(estimate.confidence_interval() for estimate in estimates), strict=True)
        columns[str(measure)] = [estimate.value for estimate in estimates]
        columns |= {f"{measure} {end}": list(values) for end, values in zip(("low", "high"), ends, strict=True)}
    upper = np.triu_indices(len(place), 1)
    for measure, sample in judged.items():
        shown = {"p-value": _pvalues(settings, sample, place, estimators, baselines)}
        if correction is not None:
            method, alpha = correction
            reject, corrected = corrected_pvalues(shown["p-value"][upper], alpha, method)
            for what, found, nothing in (("reject", reject, False), ("p-value corrected", corrected, np.nan)):
                shown[what] = np.full((len(place), len(place)), nothing)
                shown[what][upper] = shown[what].T[upper] = found
        for s, suffix in baselines.items():
            if isinstance(sample, LabelledQueries):
                gain = ties.difference(sample.values, sample.values[:, [s]])
                for sign, count in (("+", (gain > 0).sum(axis=0)), ("-", (gain < 0).sum(axis=0))):
                    columns[f"{measure} {sign}{suffix}"] = [np.nan if t == s else n for t, n in enumerate(count)]
            columns |= {f"{measure} {what}{suffix}": found[s] for what, found in shown.items()}
    return columns


def _pvalues(
    settings: Settings, sample: Labelled, place: list[int], estimators: list[str], baselines: Iterable[int]
) -> np.ndarray:
    """float64[k, k], symmetric: the p-value of each system against each baseline; NaN where neither is a baseline."""
    found = np.full((len(place), len(place)), np.nan)
    for s in baselines:
        for t in range(len(place)):
            both = ESTIMATOR if estimators[s] == estimators[t] == ESTIMATOR else "snis"
            if s != t and np.isnan(found[s, t]):
                same = place[s] == place[t]
                by = replace(settings, estimator=both)
                found[s, t] = found[t, s] = 1.0 if same else sample.compare(place[t], place[s], by).pvalue
    return found
