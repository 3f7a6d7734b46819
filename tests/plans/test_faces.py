"""What plans, audits and active tests have in common: how they are kept, and how they take labels."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from samples import small_pool, wanted

from pt_active import ActiveTest, Estimate, Plan
from pt_active.risk import Audit, ZeroOne
from pt_active.rounds import CrossEntropy

Artifact = Plan | Audit | ActiveTest


def plan(measure: str, level: str = "document") -> Callable[[pd.DataFrame, int], Plan]:
    return lambda frame, seed: Plan.create(frame, None, measure, budget=60, level=level, seed=seed)


def active_test(measure: Any, size: int) -> Callable[[pd.DataFrame, int], ActiveTest]:
    return lambda frame, seed: ActiveTest.create(frame, None, measure, seed=seed).next_round(size)


MAKERS: dict[str, Callable[[pd.DataFrame, int], Artifact]] = {
    "queries": plan("DCG@4", "query"),
    "documents": plan("DCG@4"),
    "depths": plan("nDCG@4"),
    "surprises": plan("AP@4"),
    "audit": lambda frame, seed: Audit.create(frame, {"a": "one", "b": "other"}, ZeroOne(), budget=90, seed=seed),
    "rounds of queries": active_test("DCG@4", 12),
    "rounds of pairs": active_test(CrossEntropy(), 60),
}
KINDS = pytest.mark.parametrize("kind", MAKERS)


@pytest.fixture(scope="module")
def pool():
    """A small pool with the predictions of two judges."""
    rng, pool = np.random.default_rng(0), small_pool().drop(columns="judge")
    for name in ("one", "other"):
        pool[name] = pool["label"].where(rng.random(len(pool)) < 0.6, rng.integers(0, 3, len(pool)))
    return pool


@pytest.fixture(scope="module")
def made(pool):
    return {kind: make(pool.drop(columns="label"), np.int64(5)) for kind, make in MAKERS.items()}


def estimate(artifact: Artifact, qrels: pd.DataFrame, **how: Any) -> Estimate:
    found = artifact.estimate(qrels, **how)
    return found if isinstance(found, Estimate) else next(iter(found.values()))


def further(artifact: Artifact, qrels: pd.DataFrame) -> list[Artifact]:
    """What may be judged next."""
    if isinstance(artifact, Plan):
        return [artifact.extend(20)]
    return [artifact.next_round(5, qrels, "rec")] if isinstance(artifact, ActiveTest) else []


def numbers(found: Estimate) -> tuple[float, ...]:
    return found.value, found.standard_error, *found.confidence_interval()


@KINDS
def test_what_was_saved_says_the_same(kind, made, pool, tmp_path):
    artifact = made[kind]
    saved, known = artifact.save(tmp_path / "kept"), wanted(artifact, pool)
    again = type(artifact).load(saved.path)
    for each in (saved, again, type(artifact)(saved.path), pt.Artifact.load(str(saved.path))):
        assert type(each) is type(artifact)
        pd.testing.assert_frame_equal(each.assessments, artifact.assessments)
        assert each.manifest == json.loads(json.dumps(artifact.manifest))
        assert str(each) == str(artifact)
    assert estimate(again, known) == estimate(artifact, known)
    for one, other in zip(further(again, known), further(artifact, known), strict=True):
        pd.testing.assert_frame_equal(one.assessments, other.assessments)
    assert len(pd.read_csv(again.export(tmp_path / "judge-me.csv", "csv"))) == len(again.assessments)


def test_what_cannot_be_saved_or_read_is_named(made, tmp_path):
    folder = Path(made["audit"].save(tmp_path / "kept").path)
    manifest = folder / "manifest.json"
    content = json.loads(manifest.read_text())
    with pytest.raises(FileExistsError, match="kept exists; choose another folder"):
        made["audit"].save(folder)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        made["audit"].save(tmp_path / "no" / "such")
    with pytest.raises(ValueError, match="of the kind 'audit'; 'active test' is needed"):
        ActiveTest.load(folder)
    for text, message in (
        ("{", "is damaged: manifest.json cannot be read"),
        ("[]", "is damaged: manifest.json lacks format_version"),
        ("{}", "is damaged: manifest.json lacks format_version"),
        (json.dumps(content | {"format_version": 99}), "in format 99, .*; this version reads format .: make the"),
    ):
        manifest.write_text(text)
        with pytest.raises(ValueError, match=message):
            Audit.load(folder)
    manifest.unlink()
    for load, kind in ((Plan.load, "plan"), (Audit.load, "audit"), (ActiveTest.load, "active test")):
        with pytest.raises(FileNotFoundError, match=f"there is no {kind} at"):
            load(folder)


@KINDS
def test_the_seed_alone_draws_whatever_the_order_of_rows(kind, made, pool):
    artifact, frame = made[kind], pool.drop(columns="label")
    shuffled = MAKERS[kind](frame.sample(frac=1, random_state=2), 5)
    pd.testing.assert_frame_equal(shuffled.assessments, artifact.assessments)
    assert shuffled.manifest["inputs"] == artifact.manifest["inputs"]
    theirs = wanted(artifact, pool).sample(frac=1, random_state=1)
    assert numbers(estimate(shuffled, theirs)) == pytest.approx(numbers(estimate(artifact, wanted(artifact, pool))))
    assert not MAKERS[kind](frame, 6).assessments.equals(artifact.assessments)


@KINDS
def test_another_belief_is_another_draw_of_the_same_seed(kind, pool):
    """Grades that differ by 2 % share as many documents as two seeds do; the names of rankers change nothing."""
    frame = pool.drop(columns="label")
    other = frame.assign(grade_0=0.98 * frame["grade_0"], grade_1=frame["grade_1"] + 0.02 * frame["grade_0"])

    def drawn(of: pd.DataFrame, seed: int) -> set[tuple[str, str]]:
        return set(MAKERS[kind](of, seed).assessments[["qid", "docno"]].itertuples(index=False, name=None))

    samples = [drawn(frame, seed) for seed in range(5)]
    own = np.array([len(each & drawn(other, seed)) for seed, each in enumerate(samples)])
    its = np.array([len(each & drawn(frame, seed + 99)) for seed, each in enumerate(samples)])
    assert abs((own - its).mean()) <= 3 * (own - its).std(ddof=1) / np.sqrt(5)
    assert drawn(frame.rename(columns={"rank_a": "rank_2", "rank_b": "rank_1"}), 3) == samples[3]


@KINDS
def test_missing_labels_are_named_and_never_zeros_by_stealth(kind, made, pool):
    artifact, known = made[kind], wanted(made[kind], pool)
    gone = known.index[[3, 20]]
    zero = estimate(artifact, known.assign(label=known["label"].mask(known.index.isin(gone), 0)))
    for lacking in (known.drop(index=gone), known.assign(label=known["label"].mask(known.index.isin(gone), -1))):
        with pytest.raises(ValueError, match="2 sampled (documents|pairs) have no label"):
            estimate(artifact, lacking)
        found = estimate(artifact, lacking, missing="nonrelevant")
        assert set(found.basis.missing) == set(known.loc[gone, ["qid", "docno"]].itertuples(index=False, name=None))
        assert (found.basis.missing_policy, found.basis.n_judged) == ("nonrelevant", len(known) - 2)
        assert "2 labels, taken as nonrelevant, which misleads if people pass over what favours" in str(found)
        assert found.value == zero.value
    for how in ({"missing": "zero"}, {"estimator": "mle"}):
        with pytest.raises(ValueError, match=f"unknown {next(iter(how))} '"):
            estimate(artifact, known, **how)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        estimate(artifact, known, confidence=95)


UNFIT = [
    (lambda q: q.assign(label=9), "not above the highest grade, 2"),
    (lambda q: q.assign(label=0.5), "expected a label that is a whole number"),
    (lambda q: q.assign(qid="other-" + q.qid), "no label belongs to a (sampled document|drawn document|drawn pair)"),
    (lambda q: q.drop(columns="label"), "it lacks 'label'"),
    (lambda q: q.iloc[:0], "the qrels hold no judgment: they are empty, or all labels are negative"),
    (lambda q: q.assign(label=-1), "the qrels hold no judgment: they are empty, or all labels are negative"),
    (lambda q: pd.concat([q, q.assign(label=(q.label + 1) % 3)]), "more than one label|different labels"),
]


@KINDS
@pytest.mark.filterwarnings("ignore:.* ignored")
def test_labels_that_do_not_fit(kind, made, pool):
    for change, message in UNFIT:
        with pytest.raises(ValueError, match=message):
            estimate(made[kind], change(wanted(made[kind], pool)))


@KINDS
@pytest.mark.filterwarnings("ignore:.* ignored")
def test_labels_that_stand_twice_count_once_and_those_of_others_not_at_all(kind, made, pool):
    artifact, known = made[kind], wanted(made[kind], pool)
    plain = estimate(artifact, known)
    assert estimate(artifact, pd.concat([known, known])) == plain
    assert (plain.basis.ignored, plain.basis.unknown.number) == (0, 0)
    assert plain.basis.n_judged == len(known)
    with pytest.warns(UserWarning, match="not (drawn|sampled) (is|are) ignored"):
        everything = estimate(artifact, pool[["qid", "docno", "label"]])
    assert everything.basis.ignored > 0
    assert everything.basis.n_judged == len(known)
    assert numbers(everything) == numbers(plain)
    typed = known.assign(docno=known["docno"].where(known.index > 0, known["docno"] + " "))
    mistyped = f"'{known['docno'][0]} '"
    with pytest.raises(ValueError, match=f"1 label of documents that are .*, such as document {mistyped}"):
        estimate(artifact, typed)
    found = estimate(artifact, typed, missing="nonrelevant")
    assert found.basis.unknown.number == found.to_dict()["unknown"] == 1
    assert mistyped in found.basis.unknown.example


@pytest.mark.parametrize("kind", ["queries", "documents", "depths", "surprises", "audit"])
def test_who_can_be_compared(kind, made, pool):
    artifact, known = made[kind], wanted(made[kind], pool)
    one, other = artifact.compare(known), artifact.compare(known, first="b")
    assert (one.first, one.second) == (other.second, other.first) == ("a", "b")
    assert artifact.compare(known, second="a") == other
    numbers = one.difference, one.pvalue, *one.confidence_interval()
    low, high = other.confidence_interval()
    assert numbers == pytest.approx((-other.difference, other.pvalue, -high, -low), abs=1e-14)
    if kind == "audit":
        judges = {"a": "one", "b": "other", "c": "constant"}
        alone = Audit.create(pool, {"a": "one"}, ZeroOne(), budget=60)
        three = Audit.create(pool.assign(constant=1), judges, ZeroOne(), budget=60)
    else:
        frame = pool.drop(columns="label")
        alone = MAKERS[kind](frame.drop(columns="rank_b"), 5)
        three = MAKERS[kind](frame.assign(rank_c=5 - pool["rank_a"]), 5)
    for asked, names, message in (
        (artifact, {"first": "none", "second": "a"}, "no (ranker|predictor) 'none' in this (plan|audit)"),
        (artifact, {"first": "a", "second": "a"}, "with itself"),
        (alone, {}, "needs two (rankers|predictors); this (plan|audit) has only 'a'"),
        (three, {}, "name the (rankers|predictors) to compare"),
    ):
        with pytest.raises(ValueError, match=message):
            asked.compare(wanted(asked, pool), **names)
    assert three.compare(wanted(three, pool), first="c", second="a").first == "c"
