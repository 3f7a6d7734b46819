"""Audits with a label model that is too sure of itself, rare events, and samples that are drawn again."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from samples import by_t, wanted

from pt_active.plans.answers.labelled import Contrast, Settings
from pt_active.risk import Accuracy, Audit, CostMatrix, GaussianSquared, Recall, Squared, ZeroOne

POOL = 1500
GROSS = CostMatrix([[0, 0, 1, 20], [0, 0, 0, 1], [1, 0, 0, 0], [20, 1, 0, 0]])
"""Confusing the lowest and the highest of four grades costs twenty times as much as another error."""


@cache
def clear_pool(power: float) -> pd.DataFrame:
    """Pairs that are mostly clear, a judge that sees them well, and all labels; the model knows P to a power."""
    rng, cuts = np.random.default_rng(0), np.array([0.0, 0.6, 1.2])
    value = rng.normal(-0.5, 1, POOL)
    above = 1 / (1 + np.exp(-np.clip(12 * (value[:, None] - cuts), -50, 50)))
    grades = -np.diff(np.column_stack([np.ones(POOL), above, np.zeros(POOL)]), axis=1)
    label = (rng.random(POOL)[:, None] < above).sum(axis=1)
    seen = np.searchsorted(cuts, value + 0.05 * rng.normal(size=POOL))
    judge = np.where(rng.random(POOL) < 0.02, rng.integers(0, 4, POOL), seen)
    model = grades**power / (grades**power).sum(axis=1, keepdims=True)
    frame = pd.DataFrame({"qid": [f"q{z // 30}" for z in range(POOL)], "docno": [f"d{z:04d}" for z in range(POOL)]})
    frame = frame.assign(a=judge, b=np.minimum(seen + 1, 3), label=label, a_variance=1.0)
    return frame.join(pd.DataFrame(model).add_prefix("grade_"))


def audited(frame, loss, draws, names="a", **options) -> tuple[Audit, pd.DataFrame]:
    """An audit, and the labels that it asks for."""
    audit = Audit.create(frame, {name: name for name in names}, loss, draws=draws, **options)
    return audit, wanted(audit, frame)


@pytest.mark.slow
def test_intervals_hold_where_a_model_is_far_too_sure_and_say_why():
    frame, inside, without, noted = clear_pool(4), [], [], []
    truth = (frame["a"] != frame["label"]).mean()
    for seed in range(40):
        audit, qrels = audited(frame, ZeroOne(), 60, seed=seed)
        result, plain = audit.estimate(qrels)["a"], by_t(audit.estimate, qrels)["a"]
        low, high = result.confidence_interval()
        inside.append(np.isnan(low) or low <= truth <= high)
        without.append(plain.confidence_interval()[0] <= truth <= plain.confidence_interval()[1])
        noted.append("the grade model is too sure of itself" in result.note)
    assert np.mean(inside) >= 0.95
    assert np.mean(without) < 0.9
    assert np.mean(noted) > 0.9


def test_a_fair_model_has_no_caution_and_hardly_wider_intervals():
    ratio, noted = [], []
    for seed in range(6, 10):
        audit, qrels = audited(clear_pool(1), ZeroOne(), 100, seed=seed)
        auto, plain = (ask(qrels, "snis")["a"] for ask in (audit.estimate, partial(by_t, audit.estimate)))
        noted.append(auto.basis.model_caution != "")
        ratio.append(np.diff(auto.confidence_interval()) / np.diff(plain.confidence_interval()))
    assert min(ratio) >= 1 - 1e-12
    assert np.mean(noted) < 0.2
    assert np.median(ratio) < 1.1


def test_gross_costs_that_no_sample_shows_have_no_interval():
    audit, qrels = audited(clear_pool(4), GROSS, 60, seed=1)
    found, again = audit.estimate(qrels)["a"], by_t(audit.estimate, qrels)["a"]
    assert (found.degenerate, found.reference) == (True, "simulated")
    assert "no interval, no test" in found.note
    assert 'estimator="snis" relies on the model less' in found.note
    assert (again.value, again.standard_error) == (found.value, found.standard_error)
    assert np.isfinite(again.confidence_interval()).all()


@pytest.mark.parametrize(
    ("loss", "options"),
    [(ZeroOne(), {}), (ZeroOne(), {"design": "stratified"}), (Recall(rel=2), {}), (Squared(), {"replace": True})],
    ids=str,
)
def test_every_design_is_drawn_again(loss, options):
    audit, qrels = audited(clear_pool(1), loss, 80, seed=2, **options)
    how = Settings("stratified" if "design" in options else "snis")
    replays, again = (audit.judged(qrels).measured(Contrast(0), how).replayed(400) for _ in range(2))
    assert len(replays.errors) > 380
    assert (np.diff(replays.errors) >= 0).all()
    assert replays.degrees > 0
    if isinstance(loss, ZeroOne):  # A studentised error is about standard normal where nothing is rare.
        assert abs(np.median(replays.errors)) < 0.4
        assert 0.7 < np.diff(np.quantile(replays.errors, [0.16, 0.84]))[0] / 2 < 1.4
    np.testing.assert_array_equal(again.errors, replays.errors)


def test_the_truth_of_a_replay_is_that_of_all_its_labels():
    """Mean and variance over replays of the risk of all pairs, and that a pair keeps its label if it is drawn again."""
    audit, qrels = audited(clear_pool(1).head(60), Squared(), 40, "ab", seed=1, replace=True)
    replays, number = audit.judged(qrels).replays, 4000
    drawn = replays.drawn(number)
    grades, same = replays._grades, np.diff(drawn.sample.rows) == 0
    assert (np.diff(drawn.label)[same] == 0).all()
    truth = replays._truth(drawn, (0, 1), replays._terms((0, 1), drawn), replays._variance((0, 1)))
    table = replays.pairs.tables[0][0] - replays.pairs.tables[1][0]
    mean = (grades * table).sum(axis=1)
    variance = ((grades * table**2).sum(axis=1) - mean**2).sum() / 60**2
    assert abs(truth.mean() - mean.mean()) < 3 * np.sqrt(variance / number)
    assert truth.var() == pytest.approx(variance, rel=3 * 1.6 / np.sqrt(number))


@pytest.mark.parametrize(("loss", "draws"), [(Accuracy(), 60), (GaussianSquared(), 20)], ids=str)
def test_real_labels_and_whole_pools_are_not_drawn_again(loss, draws):
    audit, qrels = audited(clear_pool(1).head(50), loss, draws)
    assert audit.judged(qrels).measured(Contrast(0), Settings()).replayed is None
    assert audit.estimate(qrels)["a"].basis.model_caution == ""
