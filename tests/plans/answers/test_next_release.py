"""Gates of rankers that came after a plan: what its labels reach is decided, and nothing else."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pt_active import DCG, ERR, Plan, measure_values
from pt_active.cli.app import app
from pt_active.demo.collection import DemoCollection


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    """Nearly everything that counts for the difference is drawn."""
    return Plan.create(graded, None, DCG @ 10, budget=700, level="document", seed=2)


@pytest.fixture(scope="module")
def labels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


@pytest.fixture(scope="module")
def candidate(demo: DemoCollection, plan: Plan) -> pd.DataFrame:
    run = demo.runs["candidate"]
    return run[run["qid"].isin(plan.tables.pool.qids)][["qid", "docno", "score"]]


def with_strangers(run: pd.DataFrame, number: int) -> pd.DataFrame:
    """A run with documents that nobody has seen at its first ranks, in as many queries."""
    top = run.groupby("qid").head(1).head(number)
    return pd.concat([run, top.assign(docno="stranger", score=run["score"].max() + 1)], ignore_index=True)


def test_a_ranker_of_the_plan_is_decided_as_before(plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame) -> None:
    known = plan.gate(labels, 0.2, looks=None, first="candidate", second="production", queries="these")
    later = plan.gate_later(labels, candidate, "production", 0.2, name="again", queries="these")
    assert later.outcome == known.outcome
    assert (later.status.value, later.status.low, later.status.high) == pytest.approx(
        (known.status.value, known.status.low, known.status.high)
    )
    assert later.reach is not None
    assert later.reach.is_whole
    assert "reach" not in str(later)


def test_strangers_leave_a_pass_and_take_a_fail(plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame) -> None:
    run = with_strangers(candidate, 3)
    passed = plan.gate_later(labels, run, "production", 5.0, queries="these")
    assert passed.outcome == "pass"
    assert "3 of the " in str(passed)
    assert "not in the plan's pool, and counted as not relevant" in str(passed)
    failed = plan.gate_later(labels, candidate, "production", 5.0, "better", queries="these")
    assert failed.outcome == "fail"
    unsure = plan.gate_later(labels, run, "production", 5.0, "better", queries="these")
    assert (unsure.outcome, unsure.decided_at) == ("unresolved", None)
    assert unsure.answer == "unresolved: the labels of this plan do not cover enough of next"
    assert unsure.advice == "make a new plan with next and production, and judge what is new"
    assert unsure.to_dict()["reach"]["outside"] == 3


@pytest.mark.parametrize("level", ["document", "query"])
@pytest.mark.parametrize("looks", ["always", None])
def test_where_nobody_judged_most_of_a_ranker_there_is_no_interval_and_no_verdict(
    level: str, looks: str | None, graded: pd.DataFrame, demo: DemoCollection, tmp_path: Path
) -> None:
    """Whoever asks. Each of its first ten documents in four of five queries is a stranger."""
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level=level, seed=2)
    labels, run = demo.judge(plan.assessments), demo.runs["candidate"][["qid", "docno", "score"]]
    strange = run["qid"].isin(run["qid"].unique()[::5])
    run = run.assign(docno=run["docno"].where(strange, "new " + run["docno"]))
    with pytest.warns(UserWarning, match="not in the plan's pool"):
        later = plan.with_rankers(next=run)
    pair = {"first": "next", "second": "production"}
    compared = later.compare(labels, **pair)
    assert np.isnan(compared.confidence_interval()).all()
    assert np.isnan(compared.pvalue)
    assert "80% of the documents of next that the measure sees are not in the plan's pool" in compared.note
    assert np.isnan(later.estimate(labels)["next"].confidence_interval()).all()
    assert np.isfinite(later.estimate(labels)["candidate"].confidence_interval()).all()
    with pytest.warns(UserWarning, match="not in the plan's pool"):
        ranking = later.rank(labels)
    decided = [winner for each, winner, _ in ranking.tests if "next" in (each.first, each.second)]
    assert decided == [None, None]
    state = later.status(labels, looks, **pair)
    gate = later.gate(labels, 0.2, looks=looks, queries="these", **pair)
    assert gate.outcome == "unresolved"
    for answer in (state, gate):
        said = answer.to_dict()
        assert not any(said.get(name) for name in said if name.endswith(("low", "high", "resolution", "winner")))
        assert "not in the plan's pool" in str(answer)
        assert answer.advice == "make a new plan with all rankers that are compared"
    if looks == "always":
        (first, *_) = [each for each in later.status(labels, looks).pairs if "next" in (each.first, each.second)]
        assert (first.resolution, first.low, first.high) == (None, -np.inf, np.inf)
    assert (
        "not show whether next or production is better"
        in later.report(tmp_path / "page.html", labels, **pair).headline.answer
    )


def test_strangers_decide_nothing_of_a_normalised_measure(graded: pd.DataFrame, demo: DemoCollection) -> None:
    few = graded[graded["qid"].isin(graded["qid"].unique()[:40])]
    plan = Plan.create(few, None, "nDCG@10", budget=200, seed=1)
    labels, run = demo.judge(plan.assessments), demo.runs["candidate"][["qid", "docno", "score"]]
    run = run[run["qid"].isin(few["qid"])]
    assert plan.gate_later(labels, run, "production", 0.5, name="same", queries="these").outcome == "pass"
    assert plan.gate_later(labels, with_strangers(run, 1), "production", 0.5, queries="these").outcome == "unresolved"


def test_what_the_plan_never_asks_for_decides_nothing(plan: Plan, labels: pd.DataFrame, graded: pd.DataFrame) -> None:
    """The ranker puts first what both rankers of the plan had below the cutoff."""
    low = ~graded[["rank_candidate", "rank_production"]].isin(range(10)).any(axis=1)
    assert low.any()
    run = graded[["qid", "docno"]].assign(score=low + np.linspace(0, 0.5, len(graded)))
    gate = plan.gate_later(labels, run, "production", 0.4, queries="these")
    assert gate.outcome == "unresolved"
    assert gate.reach is not None
    assert not gate.reach.told
    assert gate.reach.unreached > 0.05
    assert "of the variance expected of it lies in documents that this plan never asks for" in str(gate)


def test_what_an_earlier_round_asked_for_is_within_reach(
    graded: pd.DataFrame, demo: DemoCollection, candidate: pd.DataFrame
) -> None:
    """What is known is not drawn again, so a later round has no chance for it."""
    first = Plan.create(graded, None, DCG @ 10, budget=300, level="document", design="spread", seed=2)
    labels = demo.judge(first.assessments)
    second = first.extend(200, labels)
    labels = pd.concat([labels, demo.judge(second.assessments)])
    reach = second.gate_later(labels, candidate, "production", 0.2, queries="these").reach
    assert reach is not None
    assert reach.is_whole


@pytest.mark.parametrize("measure", [DCG @ 3, ERR(max_rel=2) @ 3, "P@3", "RR@3", "RBP(p=0.5)@3"], ids=str)
def test_measures_rise_with_every_label(measure: object) -> None:
    """By enumeration of all labels of three documents: what counts as not relevant never makes a ranker look better."""
    run = pd.DataFrame({"qid": "q", "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})

    def value(grades: tuple[int, ...]) -> float:
        # A fourth document keeps the query in the qrels.
        qrels = pd.DataFrame({"qid": "q", "docno": ["a", "b", "c", "d"], "label": [*grades, 1]})
        return float(measure_values(run, qrels, measure)["value"].iloc[0])  # type: ignore[arg-type]

    values = {grades: value(grades) for grades in itertools.product(range(3), repeat=3)}
    for grades, place in itertools.product(values, range(3)):
        if grades[place]:
            lower = (*grades[:place], 0, *grades[place + 1 :])
            assert values[lower] <= values[grades] + 1e-12


def test_the_command_says_what_the_library_says(
    plan: Plan, labels: pd.DataFrame, candidate: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan.save("plan")
    labels.to_csv("labels.csv", index=False)
    run = with_strangers(candidate, 3)
    lines = run.assign(q0="Q0", rank=0, tag="x")[["qid", "q0", "docno", "rank", "score", "tag"]]
    lines.to_csv("next.run", sep=" ", header=False, index=False)
    asked = ["gate", "plan", "labels.csv", "--run", "next=next.run", "--queries", "these"]

    def gate(*words: str) -> tuple[int, str, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = CliRunner().invoke(app, [*asked, *words])
        return found.exit_code, found.stdout, found.stderr

    code, said, _ = gate("--second", "production", "--margin", "5")
    assert (code, said.strip()) == (0, str(plan.gate_later(labels, run, "production", 5.0, queries="these")))
    assert gate("--second", "production", "--margin", "5", "--better")[0] == 3
    assert (
        "pass --second, the ranker that --run would replace: one of 'production', 'candidate'"
        in gate("--margin", "5")[2]
    )
    assert "--run is the first ranker" in gate("--margin", "5", "--first", "candidate")[2]
    assert "--run is the first ranker" in gate("--margin", "5", "--looks", "always")[2]
    assert gate("--second", "production", "--run", "candidate=next.run", "--margin", "5")[0] == 2
    assert np.isfinite(plan.gate_later(labels, run, "production", 5.0, queries="these").status.low)


@pytest.fixture(scope="module")
def of_queries(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, DCG @ 3, budget=150, level="query", seed=2)


def reordered(graded: pd.DataFrame, first: int) -> pd.DataFrame:
    """A run that begins with the baseline's document at a rank from 0."""
    graded = graded[graded["rank_production"] >= 0]
    run = graded[["qid", "docno"]].assign(score=-graded["rank_production"].astype(float))
    return run.assign(score=np.where(graded["rank_production"] == first, 1.0, run["score"]))


def test_what_a_plan_of_queries_does_not_ask_for_counts_as_not_relevant(
    of_queries: Plan, graded: pd.DataFrame, demo: DemoCollection
) -> None:
    labels, run = demo.judge(of_queries.assessments), reordered(graded, 9)
    passed = of_queries.gate_later(labels, run, "production", 5.0, queries="these")
    assert (passed.outcome, passed.status.judged) == ("pass", passed.status.drawn)
    assert (passed.status.n_judged, passed.status.left_out) == (len(labels), 0)
    assert passed.reach is not None
    assert passed.reach.unasked > 0
    assert "of next in drawn queries, not asked for by this plan, are counted as not relevant" in str(passed)
    unsure = of_queries.gate_later(labels, run, "production", 5.0, "better", queries="these")
    assert unsure.answer == "unresolved: the labels of this plan do not cover enough of next"
    assert unsure.advice == "make a new plan with next and production, and judge what is new"
    part = of_queries.gate_later(labels.head(len(labels) - 1), run, "production", 5.0, queries="these")
    assert (part.outcome, part.advice) == ("unresolved", "judge the rest of the plan, then ask again")
    assert part.status.n_judged + part.status.left_out == len(labels) - 1


def test_labels_beyond_a_plan_of_queries_count_if_none_is_lacking(
    of_queries: Plan, graded: pd.DataFrame, demo: DemoCollection
) -> None:
    run = reordered(graded, 9)
    pool = graded.merge(of_queries.assessments["qid"].drop_duplicates(), on="qid")
    asked, everything = demo.judge(of_queries.assessments), demo.judge(pool[["qid", "docno"]])
    taken = of_queries.gate_later(asked, run, "production", 0.4, queries="these")
    whole = of_queries.gate_later(everything, run, "production", 0.4, queries="these")
    assert whole.reach is not None
    assert whole.reach.is_whole
    assert taken.status.value < whole.status.value
    beyond = everything.merge(asked[["qid", "docno"]], how="left", on=["qid", "docno"], indicator="where")
    some = everything[(beyond["where"] == "both").to_numpy() | (np.arange(len(beyond)) % 2 == 0)]
    assert of_queries.gate_later(some, run, "production", 0.4, queries="these").status.value == taken.status.value


def test_a_ranker_equal_to_the_baseline_is_no_worse(
    of_queries: Plan, graded: pd.DataFrame, demo: DemoCollection
) -> None:
    labels, run = demo.judge(of_queries.assessments), reordered(graded, 0)
    gate = of_queries.gate_later(labels, run, "production", 0.0, queries="these")
    assert (gate.outcome, gate.status.low, gate.status.high) == ("pass", 0.0, 0.0)
    assert "reach" not in str(gate)
    assert of_queries.gate_later(labels, run, "production", None, "better", queries="these").outcome == "fail"


def test_a_sample_without_variation_is_not_out_of_reach(
    of_queries: Plan, graded: pd.DataFrame, demo: DemoCollection
) -> None:
    """The ranker differs from the baseline in the queries alone that were not drawn."""
    labels, drawn = demo.judge(of_queries.assessments), of_queries.assessments["qid"]
    run = reordered(graded, 0)
    swapped = reordered(graded, 2)
    run = run.assign(score=run["score"].where(run["qid"].isin(drawn), swapped["score"]))
    gate = of_queries.gate_later(labels.assign(label=0), run, "production", 0.1, queries="these")
    assert gate.outcome == "unresolved"
    assert gate.reach is not None
    assert gate.reach.told
    assert gate.answer == "unresolved: the labels show no variation to compute an interval from"
    assert gate.advice == "make a new plan with next and production"
