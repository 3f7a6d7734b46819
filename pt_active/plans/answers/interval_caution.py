"""What does the grade model say about a plan's intervals before anything is judged, and which will there be none of?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.estimators import ESTIMATOR, Controls, degrees_left, estimator_named
from pt_active.inference.reference import FEW, MAX_DRAWS, REPLAYS
from pt_active.inference.replayed_documents import DocumentReplays, Redraws, can_be_replayed
from pt_active.plans.answers.basis import SAMPLED
from pt_active.plans.answers.judged import SUFFICIENT_DEGREES, Contrast
from pt_active.plans.answers.judged_documents import MAX_UNREACHED_SHARE
from pt_active.plans.answers.judged_queries import REPLAY_SEED, QueryReplays
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import sample_of
from pt_active.relevance.digits import rounded
from pt_active.sampling.drawings import can_serve_singles
from pt_active.sampling.pools import Variables

MAX_CONTRASTS = 5  # At most so many rankers are compared with the first one


def interval_caution(tables: PlanTables) -> str:
    """The caution that an interval of the plan is to expect; empty if there is none, or the sample is large."""
    manifest, names = tables.manifest, tables.pool.names
    if manifest.census or len(tables.rounds) > 1 or manifest.counts.draws >= MAX_DRAWS:
        return ""
    contrasts = [Contrast(0)] if len(names) == 1 else [Contrast(0, s) for s in range(1, len(names))][:MAX_CONTRASTS]
    own, shown = (_of_documents if tables.rounds else _of_queries)(tables, contrasts)
    if not own > 0:
        return "these are too few draws for an interval; a larger budget buys more"
    least = int(np.argmin(rounded(np.array(shown))))
    unit, what = SAMPLED["document" if tables.rounds else "query"], contrasts[least].named(names)
    if shown[least] < min(FEW * own, SUFFICIENT_DEGREES):
        most = (
            "there will probably be no interval" if shown[least] < 1 else "its interval may be wide, or miss the truth"
        )
        return (
            f"few {unit} carry the error of {what}: replays under the grade model show {shown[least]:.1f} degrees of "
            f"freedom, so {most}; a larger budget helps"
        )
    if own < SUFFICIENT_DEGREES:
        few = f"the error will be estimated from few {unit}, with {own:.1f} degrees of freedom"
        return f"{few}: a larger budget makes its interval more reliable"
    return ""


def _of_queries(tables: PlanTables, contrasts: list[Contrast]) -> tuple[float, list[float]]:
    """The degrees of freedom by the drawn weights, and those of each contrast by replays under the grade model."""
    pool, measure, sample = tables.pool, tables.measure, sample_of(tables)
    replays = QueryReplays(pool, sample, measure, np.full(len(pool.docno), -1))
    kind, means = estimator_named(ESTIMATOR), model_means(tables, measure)
    own = float(degrees_left(sample, sample.importance(pool.query_weight), kind.fitted))
    if not replays.possible:
        return own, [np.inf]
    controls = [Controls(pool.query_weight, each.of(means)) for each in contrasts]
    pairs = zip(contrasts, controls, strict=True)
    return own, [replays.of(REPLAYS, each, kind.weigh, known).degrees for each, known in pairs]


def _of_documents(tables: PlanTables, contrasts: list[Contrast]) -> tuple[float, list[float]]:
    """The number of documents, and the degrees of freedom of each contrast by replays under the grade model."""
    pool, first = tables.pool, tables.rounds[0]
    seen, design, shown = seen_by(tables.measure, pool), first.sample.design, []
    if not can_be_replayed(seen, design):
        return float(first.sample.drawn.sum()) - 1, [np.inf]
    redraws = Redraws(seen.query, design, first.grades, pool.by_name)
    for each in contrasts:
        weights, mean = each.weights(len(pool.names)), first.grades @ seen.form.values
        replays = DocumentReplays(seen, weights, redraws, mean)
        shown.append(replays.replayed(REPLAYS, REPLAY_SEED).degrees)
    return float(first.sample.drawn.sum()) - 1, shown


def single_rankers_caution(tables: PlanTables) -> str:
    """The caution that single rankers have no interval, if documents that matter to them alone are never judged."""
    arguments, pool = tables.manifest.arguments, tables.pool
    if not tables.rounds or len(pool.names) == 1 or tables.manifest.later_rankers:
        return ""
    seen = seen_by(tables.measure, pool)
    if can_serve_singles(seen.form, arguments.design):
        return ""
    share = _unreached(tables)
    if not share > MAX_UNREACHED_SHARE:
        return ""
    return (
        f"the plan is for differences: single rankers will have no intervals, because {share:.0%} of the variance that "
        'the model expects of one lies in documents that are never judged; design="successive" judges some of them'
    )


def _unreached(tables: PlanTables) -> float:
    """The largest share of a ranker's variance in documents that are never judged, as the model expects it."""
    pool, tiny = tables.pool, np.finfo(float).tiny
    seen = seen_by(tables.measure, pool)
    variables = Variables.of(seen.form, pool.grades)
    variance = (seen.weight[seen.query] * seen.gradients(variables.mean)) ** 2 * variables.variance
    never = np.all([each.sample.design.inclusion == 0 for each in tables.rounds], axis=0)
    return float((variance[:, never].sum(axis=1) / np.maximum(variance.sum(axis=1), tiny)).max())
