from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from made_answers import made, true_scores
from scipy import stats

from pt_active import Answers
from pt_active.judging.files import read_labels
from pt_active.plans.answers.report.report import Report
from pt_active.plans.making.queries import in_drawing_order
from pt_active.relevance.digits import GRADE_BITS


def asked_for(plan, labels: pd.DataFrame) -> pd.DataFrame:
    return labels.merge(plan.assessments[["qid", "docno"]])


@pytest.mark.parametrize(("scale", "unit"), [("1-5", "answer"), ("0-1:0.25", "item"), ("-2-2", "item")])
def test_a_census_gives_the_mean_scores_on_any_scale(scale, unit):
    table = made(30).drop(columns="score")
    answers = Answers(table, scale)
    own = answers.scale.scores[answers.scale.first :]
    table = table.assign(score=np.random.default_rng(1).choice(own, len(table)))
    labels, plan = answers.labels(table), answers.plan(len(table), unit=unit)
    mean = table.groupby("system")["score"].mean()
    assert {name: found.value for name, found in plan.estimate(labels).items()} == pytest.approx(dict(mean))
    assert plan.compare(labels).difference == pytest.approx(mean["new"] - mean["old"])


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize(("unit", "clusters"), [("item", None), ("cluster", "qcluster")])
def test_a_census_for_new_items_is_the_paired_t_test(runs, unit, clusters):
    table = made(120, runs=runs)
    answers = Answers(table)
    means = table.groupby([unit, "system"])["truth"].mean().unstack()
    plan, labels = answers.plan(len(table)), answers.labels(true_scores(table))
    result, test = plan.compare(labels, queries="new", clusters=clusters), stats.ttest_rel(means["new"], means["old"])
    assert result.difference == pytest.approx((means["new"] - means["old"]).mean())
    assert result.standard_error == pytest.approx((means["new"] - means["old"]).sem())
    assert result.pvalue == pytest.approx(test.pvalue, rel=1e-6)


def test_items_are_drawn_unless_answers_repeat_or_stand_alone():
    table = made()
    alone = table[table["system"] == "new"]
    assert Answers(table.drop(columns="score")).drawn() == {"level": "query"}
    assert Answers(table).drawn() == {"level": "query", "design": "optimal", "defensive": 0.2}
    assert Answers(made(10, runs=2)).drawn() == Answers(table).drawn("answer") == {"level": "document"}
    assert Answers(alone).drawn() == {"level": "document", "design": "successive"}
    assert len(Answers(table.assign(cost=5)).plan(60).assessments) == 12  # The budget is in the unit of the costs.
    plan, scored = Answers(alone).plan(60, seed=1), Answers(alone).labels(true_scores(alone))
    status = plan.status(asked_for(plan, scored), margin=0.2)
    assert status.low < alone["truth"].mean() < status.high


def test_the_difference_of_answers_that_a_judge_scores_alike_is_surer_than_their_scores():
    table = pd.DataFrame({"item": [1, 1, 2, 2, 3, 3], "system": ["a", "b"] * 3, "answer": list("uvwxyz")})
    scored = Answers(table.assign(score=[1, 1, 1, 0, None, 0.5])).pool.set_index("text")["grade_1"]
    expected = [1 / 1.02, 1 / 1.02, 1 / 1.2, 0.2 / 1.2, scored.drop("y").mean(), 0.5]
    assert scored[[*"uvwxyz"]].tolist() == pytest.approx(expected, rel=2.0**-GRADE_BITS)
    chance = Answers(table.iloc[:4].assign(score=[1, 1, 1, 0])).plan(2, defensive=0.1).queries["q_prob"]
    assert chance.iloc[1] > 1.5 * chance.iloc[0]


def test_several_judges_are_united_and_one_that_is_silent_is_left_out():
    table = made()
    judged = table.drop(columns="score").assign(score_good=table["truth"], score_half=np.nan)
    judged.loc[judged.index[::2], "score_half"] = 0.5
    both, alone = (Answers(each).pool["grade_1"] - 0.5 for each in (judged, judged.drop(columns="score_half")))
    assert both.between(-0.3, 0.3).all()
    assert (np.sign(both) == np.sign(alone)).all()
    assert (both.abs() < alone.abs()).all()


def test_a_shared_answer_is_judged_once():
    table = made(30).assign(answer=lambda t: t["answer"].where(t["item"] != "i3", "same"))
    table.loc[table["item"] == "i3", "truth"] = 1
    answers = Answers(table)
    plan, labels = answers.plan(59, unit="answer"), answers.labels(true_scores(table))
    assert len(answers.pool) == len(labels) == 59
    difference = plan.compare(asked_for(plan, labels)).difference
    truth = table.groupby("system")["truth"].mean()
    assert difference == pytest.approx(truth["new"] - truth["old"])


@pytest.mark.parametrize("runs", [1, 2])
def test_neither_the_order_of_rows_nor_the_names_of_systems_change_what_is_drawn_and_found(runs):
    table = made(30, runs=runs).assign(cost=lambda t: 1 + t.index % 3)
    table.loc[table["item"] == "i3", ["answer", "truth"]] = "same", 1
    turned = table.sample(frac=1, random_state=1).replace({"system": {"new": "older", "old": "newer"}})
    found = []
    for each, sign in ((table, 1), (turned, -1)):
        answers = Answers(each)
        plan = answers.plan(80)
        labels = asked_for(plan, answers.labels(true_scores(each)))
        compared, status = plan.compare(labels), plan.status(labels)
        ends = sorted([sign * status.low, sign * status.high])
        found.append((plan.assessments, [sign * compared.difference, compared.pvalue, *ends]))
    (drawn, numbers), (again, same) = found
    pd.testing.assert_frame_equal(drawn, again)
    assert numbers == pytest.approx(same)


def test_labels_take_ids_as_the_table_does():
    answers = Answers(made(5).assign(item=lambda t: t["item"].str[1:].astype(int)))
    scores = pd.DataFrame({"item": [1.0, 2.0], "system": "new", "score": [1, None]})
    assert answers.labels(scores)["qid"].tolist() == ["1"]


WRONG = made(5).assign(score_gpt=lambda table: table["score"].where(table.index != 7, 3.0))


def labelled(**rows: object) -> pd.DataFrame:
    return Answers(made(2).assign(answer="same")).labels(pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: labelled(item=["i0"], system="best", score=1), "there is no answer of item 'i0', system 'best'"),
        (lambda: labelled(item=["i0"], system="new", score=3), "expected a score from 0 to 1; got 3"),
        (lambda: labelled(item="i0", system=["new", "old"], score=[0, 1]), "'i0': the same answer has different"),
        (lambda: Answers(WRONG), "item 'i3', system 'old': score_gpt is 3, outside 0 to 1; .* scale="),
        (lambda: Answers(made(5)).drawn("query"), "a unit is an answer or an item, got 'query'"),
    ],
)
def test_what_does_not_fit_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
    assert Answers(WRONG, "0-3").judges == ["score", "score_gpt"]


def test_one_score_for_all_answers_is_no_warning():
    answers = Answers(made(30).drop(columns="score"))
    plan, labels = answers.plan(40), answers.labels(made(30).assign(score=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = Report.of(plan, asked_for(plan, labels))
    assert "one label" not in str(report.check)


@pytest.mark.parametrize("label", [-1, " -1.0 ", -2])
def test_a_score_of_minus_one_is_refused_as_a_label_and_not_taken_as_unjudged(label, tmp_path):
    plan = Answers(made(20).drop(columns="score"), "-1-1").plan(10)
    given = plan.assessments[["qid", "docno"]].assign(label=[str(label)] + ["1"] * (len(plan.assessments) - 1))
    given.to_csv(tmp_path / "judged.csv", index=False)
    given.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    given.to_excel(tmp_path / "judged.xlsx", index=False)
    given.astype({"label": float}).to_parquet(tmp_path / "judged.parquet")
    reads = [partial(read_labels, [path], plan) for path in tmp_path.iterdir()]
    for ask in (*(partial(each, given) for each in (plan.status, plan.compare, plan.estimate)), *reads):
        with pytest.raises(ValueError, match="-[12] is no label here, .* 0 for -1, 1 for 0, 2 for 1"):
            ask()


def test_a_blank_in_row_4_of_50_is_named_and_all_other_items_count():
    table = made(60)
    answers = Answers(table.drop(columns="score"), "1-5")
    plan, labels = answers.plan(50), answers.labels(true_scores(table).assign(score=1 + 4 * table["truth"]))
    labels = in_drawing_order(plan.tables)[["qid", "docno"]].merge(labels)
    blank, some = labels.loc[3], labels.drop(index=3)
    state, whole = plan.status(some), plan.status(labels)
    assert (state.n_judged, state.left_out, state.open) == (48, 1, 1)
    assert np.isnan(state.value)
    assert state.low <= whole.low < whole.high <= state.high
    assert f"estimate    none before query {blank.qid} has its labels" in state.details
    named = f"document '{blank.docno}' of query '{blank.qid}'"
    assert named in str(state)
    assert "nonrelevant" not in str(state)
    with pytest.raises(ValueError, match=f"2 of 49 labels are judged .*: {named} "):
        plan.so_far(some)
    with pytest.raises(ValueError, match=f'{blank.docno}.*judge them, or pass missing="nonrelevant"; or look'):
        plan.compare(some)
