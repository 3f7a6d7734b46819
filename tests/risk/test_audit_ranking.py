"""Rankings of the predictors of an audit: the comparisons of the audit, corrected, and the best one first."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import wanted

from pt_active.plans.answers.ranking import Ranking
from pt_active.relevance.losses import Loss
from pt_active.risk import F1, Accuracy, Audit, CostMatrix, Precision, Squared, ZeroOne

FOUR = {"poor": "d", "best": "a", "good": "b", "fair": "c"}
RIGHT = {"a": 0.85, "b": 0.8, "c": 0.6, "d": 0.3}

LOSSES = pytest.mark.parametrize("loss", [ZeroOne(), Squared(), Accuracy(), F1(), Precision(rel=2)], ids=str)


def pool_of(rng: np.random.Generator, pairs: int, right: dict[str, float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs with three grades, judges that are right as often as said, else guess, and every label."""
    grades = rng.dirichlet([2.0, 1, 1], pairs)
    label = np.array([rng.choice(3, p=row) for row in grades])
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:03d}" for i in range(pairs)]})
    frame = frame.assign(**{f"grade_{g}": grades[:, g] for g in range(3)})
    judges = {k: np.where(rng.random(pairs) < p, label, rng.integers(0, 3, pairs)) for k, p in right.items()}
    return frame.assign(**judges), frame[["qid", "docno"]].assign(label=label)


@pytest.fixture(scope="module")
def world() -> tuple[pd.DataFrame, pd.DataFrame]:
    return pool_of(np.random.default_rng(0), 300, RIGHT)


def audited(world: tuple[pd.DataFrame, pd.DataFrame], loss: Loss, **options: object) -> tuple[Audit, pd.DataFrame]:
    """An audit of the four judges, and its labels."""
    frame, qrels = world
    audit = Audit.create(frame, **({"predictions": FOUR, "loss": loss, "budget": 150, "seed": 1} | options))
    return audit, wanted(audit, qrels)


@pytest.mark.parametrize(("loss", "estimator"), [(ZeroOne(), None), (F1(), "snis")], ids=str)
def test_it_holds_the_estimates_and_comparisons_of_the_audit(world, loss: Loss, estimator: str | None) -> None:
    audit, qrels = audited(world, loss)
    ranking = audit.rank(qrels, estimator, 0.9)
    assert isinstance(ranking, Ranking)
    assert {found.name: found for found in ranking.estimates} == audit.estimate(qrels, estimator, 0.9)
    assert len(ranking.comparisons) == 6
    for (a, b), found in zip(combinations(ranking.names, 2), ranking.comparisons, strict=True):
        assert found == audit.compare(qrels, estimator, 0.9, first=a, second=b)


@LOSSES
def test_the_best_stands_first_whichever_way_the_loss_runs(world, loss: Loss) -> None:
    audit, qrels = audited(world, loss, budget=1e6)
    ranking = audit.rank(qrels)
    values = [found.value for found in ranking.estimates]
    assert values == sorted(values, reverse=not loss.lower_is_better)
    assert ranking.names[-1] == "poor"
    assert ranking.winners == tuple(a for a, _ in combinations(ranking.names, 2))
    assert [len(group) for group in ranking.groups] == [1] * 4
    assert "sample      census of 300 pairs of 1 query" in str(ranking)
    assert ranking.note == "every pair that counts was judged, so there is no sampling error"


@pytest.fixture(scope="module")
def ranked(world) -> dict[bool, Ranking]:
    """The rankings by a loss of which lower is better, and by one of which higher is."""
    audits = {lower: audited(world, ZeroOne() if lower else Accuracy()) for lower in (True, False)}
    return {lower: audit.rank(qrels, correction="tukey") for lower, (audit, qrels) in audits.items()}


@settings(max_examples=3)
@given(order=st.permutations(range(4)), prefix=st.sampled_from(["x", "a judge ", "Ω"]), lower=st.booleans())
def test_the_order_and_names_of_predictors_change_nothing(world, ranked, order, prefix, lower) -> None:
    loss, expected = ZeroOne() if lower else Accuracy(), ranked[lower]
    old = {f"{prefix}{i}": list(FOUR)[s] for i, s in enumerate(order)}
    audit, qrels = audited(world, loss, predictions={new: FOUR[name] for new, name in old.items()})
    found = audit.rank(qrels.sample(frac=1, random_state=1), correction="tukey")
    assert tuple(old[name] for name in found.names) == expected.names
    assert [tuple(old[name] for name in group) for group in found.groups] == list(expected.groups)
    np.testing.assert_allclose(found.corrected, expected.corrected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the model sees no variance")
def test_predictors_that_agree_have_no_test(world) -> None:
    audit, qrels = audited(world, ZeroOne(), predictions=FOUR | {"twin": "c"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking = audit.rank(qrels)
    assert ranking.letters["twin"] == ranking.letters["fair"]
    pair = ranking.pairs().query("first == 'fair' and second == 'twin'").iloc[0]
    assert pair["difference"] == 0
    assert np.isnan(pair["pvalue_corrected"])
    assert pair["winner"] is None
    assert "fair − twin: 'fair' and 'twin' agree on every pair that counts" in ranking.note
    assert ranking.note.endswith(
        "; the pairs were drawn for differences; the interval of one risk alone may be too narrow"
    )
    assert all(found.lower_is_better for found in ranking.comparisons)
    others = [p for p, found in zip(ranking.corrected, ranking.comparisons, strict=True) if found.difference != 0]
    assert np.isfinite(others).all()
    alone = min(found.pvalue for found in ranking.comparisons if found.difference != 0)
    assert min(others) == pytest.approx(9 * alone, abs=1e-15)  # nine tests: none is spent on the twins


def test_a_comparison_without_error_does_not_make_the_ranking_a_census(world) -> None:
    """Two judges that differ on two pairs, both sure to be drawn; the others differ on many."""
    frame, qrels = world
    nearly = frame["a"].where(frame.index > 1, (frame["a"] + 1) % 3)
    audit, known = audited(
        (frame.assign(nearly=nearly), qrels), ZeroOne(), predictions={"best": "a", "nearly": "nearly", "poor": "d"}
    )
    ranking = audit.rank(known)
    assert sorted(found.basis.census for found in ranking.comparisons) == [False, False, True]
    assert not ranking.basis.census
    assert "census" not in str(ranking)
    assert "1 of 3 pairs has a note, see pairs() or --json; best − nearly: every pair that counts was " in ranking.note


def test_undefined_risks_stand_last(world) -> None:
    """Nothing that the second judge calls relevant was drawn, so its precision is 0/0."""
    frame, qrels = world
    frame = frame.assign(a=(frame.index % 2) * 2, b=np.where(frame.index == 299, 2, 0))
    for seed in range(20):
        audit = Audit.create(
            frame, {"second": "b", "first": "a", "third": "c"}, Precision(), draws=30, design="passive", seed=seed
        )
        if not (audit.assessments["docno"] == "d299").any():
            break
    ranking = audit.rank(wanted(audit, qrels))
    assert ranking.names[-1] == "second"
    assert np.isnan(ranking.estimates[-1].value)
    assert ranking.pairs().query("second == 'second'")["winner"].isna().tolist() == [True, True]
    assert ranking.pairs().query("second == 'second'")["note"].str.contains("0/0").tolist() == [True, True]
    assert "2 of 3 pairs have a note" in ranking.note


@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1e-3, 1.0, 1e12]))
@settings(max_examples=4)
def test_the_unit_of_a_cost_neither_breaks_a_tie_nor_makes_one(seed: int, unit: float) -> None:
    """Judges a and b err in other pairs, at the same costs; c errs as b does, but for one error that costs more."""
    rng, pairs = np.random.default_rng(seed), 40
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:02d}" for i in range(pairs)]})
    frame = frame.assign(**{f"grade_{g}": each for g, each in enumerate(rng.dirichlet([2.0, 1, 1], pairs).T)})
    label, order = rng.integers(0, 2, pairs), rng.permutation(pairs)
    wrong = {"a": order[:9], "b": order[9:18], "c": order[9:18]}
    frame = frame.assign(**{name: np.where(np.isin(np.arange(pairs), rows), 2, label) for name, rows in wrong.items()})
    worst = order[9]
    qrels = frame[["qid", "docno"]].assign(label=label)
    frame.loc[worst, "c"] = 1 - label[worst]
    cost = np.array([[0.0, 1 + 1e-6, 1.0], [1 + 1e-6, 0.0, 1.0], [1.0, 1.0, 0.0]]) * unit
    loss = CostMatrix(cost.tolist())
    audit = Audit.create(frame, {name: name for name in "abc"}, loss, budget=pairs, seed=seed)
    ranking = audit.rank(qrels)
    assert ranking.names == ("a", "b", "c")
    assert ranking.groups == (("a", "b"), ("c",))
    tie = audit.compare(qrels, first="a", second="b")
    assert (tie.difference, tie.pvalue, tie.winner) == (0, 1, None)
    assert audit.compare(qrels, first="c", second="b").winner == "b"
