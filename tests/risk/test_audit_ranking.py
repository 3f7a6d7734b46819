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

from pt_active.relevance.losses import Loss
from pt_active.risk import F1, Accuracy, Audit, CostMatrix, Precision, Squared, ZeroOne

FOUR = {"poor": "d", "best": "a", "good": "c", "fair": "b"}


def audited(frame: pd.DataFrame, loss: Loss, **options: object) -> tuple[Audit, pd.DataFrame]:
    """An audit of the four judges, and its labels."""
    audit = Audit.create(frame, **({"predictions": FOUR, "loss": loss, "budget": 150, "seed": 1} | options))
    return audit, wanted(audit, frame)


@pytest.mark.parametrize(("loss", "estimator"), [(ZeroOne(), None), (F1(), "snis")], ids=str)
def test_it_holds_the_estimates_and_comparisons_of_the_audit(frame, loss: Loss, estimator: str | None) -> None:
    audit, qrels = audited(frame, loss)
    ranking = audit.rank(qrels, estimator, 0.9)
    assert {found.name: found for found in ranking.estimates} == audit.estimate(qrels, estimator, 0.9)
    assert len(ranking.comparisons) == 6
    for (a, b), found in zip(combinations(ranking.names, 2), ranking.comparisons, strict=True):
        assert found == audit.compare(qrels, estimator, 0.9, first=a, second=b)


@pytest.mark.parametrize("loss", [ZeroOne(), Squared(), Accuracy(), Precision(rel=2)], ids=str)
def test_the_best_stands_first_whichever_way_the_loss_runs(frame, loss: Loss) -> None:
    ranking = Audit.create(frame, FOUR, loss, budget=1e6).rank(frame[["qid", "docno", "label"]])
    values = [found.value for found in ranking.estimates]
    assert values == sorted(values, reverse=not loss.lower_is_better)
    assert ranking.names[-1] == "poor"
    assert ranking.winners == tuple(a for a, _ in combinations(ranking.names, 2))
    assert [len(group) for group in ranking.groups] == [1] * 4
    assert "sample      census of 400 pairs of 40 queries" in str(ranking)
    assert ranking.note == "every pair that counts was judged, so there is no sampling error"


@pytest.mark.parametrize("loss", [ZeroOne(), Accuracy()], ids=str)
def test_the_order_and_names_of_predictors_change_nothing(frame, loss: Loss) -> None:
    expected, old = audited(frame, loss), {"a judge": "fair", "x": "best", "Ω": "poor", "0": "good"}
    audit, qrels = audited(frame, loss, predictions={new: FOUR[name] for new, name in old.items()})
    expected = expected[0].rank(expected[1], correction="tukey")
    found = audit.rank(qrels.sample(frac=1, random_state=1), correction="tukey")
    assert tuple(old[name] for name in found.names) == expected.names
    assert [tuple(old[name] for name in group) for group in found.groups] == list(expected.groups)
    np.testing.assert_allclose(found.corrected, expected.corrected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the model sees no variance")
def test_predictors_that_agree_have_no_test(frame) -> None:
    audit, qrels = audited(frame, ZeroOne(), predictions=FOUR | {"twin": "b"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking = audit.rank(qrels)
    assert ranking.letters["twin"] == ranking.letters["fair"]
    pair = ranking.pairs().query("first == 'fair' and second == 'twin'").iloc[0]
    assert (pair["difference"], pair["winner"]) == (0, None)
    assert np.isnan(pair["pvalue_corrected"])
    assert "fair − twin: 'fair' and 'twin' agree on every pair that counts" in ranking.note
    too_narrow = "; the pairs were drawn for differences; the interval of one risk alone may be too narrow"
    assert ranking.note.endswith(too_narrow)
    tested = [number for number, found in enumerate(ranking.comparisons) if found.difference != 0]
    corrected = np.array(ranking.corrected)[tested]
    assert np.isfinite(corrected).all()
    alone = min(ranking.comparisons[number].pvalue for number in tested)
    assert min(corrected) == pytest.approx(9 * alone, abs=1e-15)  # nine tests: none is spent on the twins


def test_a_comparison_without_error_does_not_make_the_ranking_a_census(frame) -> None:
    """Two judges that differ on two pairs, both sure to be drawn; the others differ on many."""
    nearly = frame["a"].where(frame.index > 1, (frame["a"] + 1) % 3)
    predictions = {"best": "a", "nearly": "nearly", "poor": "d"}
    audit, known = audited(frame.assign(nearly=nearly), ZeroOne(), predictions=predictions)
    ranking = audit.rank(known)
    assert sorted(found.basis.census for found in ranking.comparisons) == [False, False, True]
    assert not ranking.basis.census
    assert "census" not in str(ranking)
    assert "1 of 3 pairs has a note, see pairs() or --json; best − nearly: every pair that counts was " in ranking.note


def test_undefined_risks_stand_last(frame) -> None:
    """Nothing that the second judge calls relevant was drawn, so its precision is 0/0."""
    frame = frame.assign(a=(frame.index % 2) * 2, b=np.where(frame.index == 399, 2, 0))
    predictions = {"second": "b", "first": "a", "third": "c"}
    made = (Audit.create(frame, predictions, Precision(), draws=30, design="passive", seed=seed) for seed in range(20))
    audit = next(each for each in made if each.assessments.query("qid == 'q39' and docno == 'd9'").empty)
    ranking = audit.rank(wanted(audit, frame))
    assert ranking.names[-1] == "second"
    assert np.isnan(ranking.estimates[-1].value)
    undefined = ranking.pairs().query("second == 'second'")
    assert undefined["winner"].isna().tolist() == [True, True]
    assert undefined["note"].str.contains("0/0").tolist() == [True, True]
    assert "2 of 3 pairs have a note" in ranking.note


@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1e-3, 1.0, 1e12]))
@settings(max_examples=4)
def test_the_unit_of_a_cost_neither_breaks_a_tie_nor_makes_one(seed: int, unit: float) -> None:
    """Judges a and b err in other pairs, at the same costs; c errs as b does, but for one error that costs more."""
    rng, pairs = np.random.default_rng(seed), 40
    label, order = rng.integers(0, 2, pairs), rng.permutation(pairs)
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:02d}" for i in range(pairs)], "label": label})
    frame = frame.assign(**{f"grade_{g}": each for g, each in enumerate(rng.dirichlet([2.0, 1, 1], pairs).T)})
    for name, rows in (("a", order[:9]), ("b", order[9:18]), ("c", order[9:18])):
        frame[name] = frame["label"].where(~frame.index.isin(rows), 2)
    frame.loc[order[9], "c"] = 1 - label[order[9]]
    cost = np.array([[0.0, 1 + 1e-6, 1.0], [1 + 1e-6, 0.0, 1.0], [1.0, 1.0, 0.0]]) * unit
    audit = Audit.create(frame, {name: name for name in "abc"}, CostMatrix(cost.tolist()), budget=pairs, seed=seed)
    qrels = frame[["qid", "docno", "label"]]
    ranking = audit.rank(qrels)
    assert ranking.names == ("a", "b", "c")
    assert ranking.groups == (("a", "b"), ("c",))
    tie = audit.compare(qrels, first="a", second="b")
    assert (tie.difference, tie.pvalue, tie.winner) == (0, 1, None)
    assert audit.compare(qrels, first="c", second="b").winner == "b"
