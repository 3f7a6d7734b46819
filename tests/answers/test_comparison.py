from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_answers import made, true_scores
from scipy import stats

from pt_active import Answers
from pt_active.judging.files import read_labels
from pt_active.relevance.digits import GRADE_BITS
from pt_active.showing.plots import contributions

GPQA = Path(__file__).parents[3] / "shared/data/answers/gpqa_diamond_scores.csv"

ROUNDED = 2.0**-GRADE_BITS
"""How far the digits that a grade keeps may lie from it, relative to it."""


def asked_for(plan, labels: pd.DataFrame) -> pd.DataFrame:
    return labels.merge(plan.assessments[["qid", "docno"]])


@pytest.mark.parametrize(("scale", "unit"), [("1-5", "answer"), ("0-1:0.25", "item"), ("-2-2", "item")])
def test_a_census_gives_the_mean_scores_on_any_scale(scale: str, unit: str) -> None:
    table = made(30).drop(columns="score")
    answers = Answers(table, scale)
    own = answers.scale.scores[answers.scale.first :]
    table = table.assign(score=np.random.default_rng(1).choice(own, len(table)))
    labels, plan = answers.labels(table), answers.plan(len(table), unit=unit)
    mean = table.groupby("system")["score"].mean()
    assert {name: found.value for name, found in plan.estimate(labels).items()} == pytest.approx(dict(mean))
    assert plan.compare(labels).difference == pytest.approx(mean["new"] - mean["old"])


@pytest.mark.parametrize("runs", [1, 3])
def test_a_census_for_new_items_is_the_paired_t_test(runs: int) -> None:
    table = made(120, runs=runs)
    answers = Answers(table)
    plan, labels = answers.plan(len(table)), answers.labels(true_scores(table))
    result = plan.compare(labels, queries="new")
    by_item = table.groupby(["item", "system"])["truth"].mean().unstack()
    assert result.difference == pytest.approx((by_item["new"] - by_item["old"]).mean())
    assert result.standard_error == pytest.approx((by_item["new"] - by_item["old"]).sem())
    assert result.pvalue == pytest.approx(stats.ttest_rel(by_item["new"], by_item["old"]).pvalue, rel=1e-6)
    by_cluster = table.groupby(["cluster", "system"])["truth"].mean().unstack()
    paired = stats.ttest_rel(by_cluster["new"], by_cluster["old"])
    assert plan.compare(labels, queries="new", clusters="qcluster").pvalue == pytest.approx(paired.pvalue, rel=1e-6)


@pytest.mark.skipif(not GPQA.exists(), reason="the data set is not there")
def test_gpqa_as_published() -> None:
    """198 questions, five runs of two models: a difference of .0586 with a standard error of .0278, p = .036."""
    given = pd.read_csv(GPQA).rename(columns={"model_id": "system", "epoch": "run", "item_id": "item"})
    answers = Answers(given.drop(columns="score"))
    assert answers.runs == 5
    labels = answers.labels(given)
    plan = answers.plan(len(given))
    result = plan.compare(labels, queries="new")
    by_item = given.groupby(["item", "system"])["score"].mean().unstack()[list(answers.systems)]
    assert abs(result.difference) == pytest.approx(0.0586, abs=5e-5)
    assert result.standard_error == pytest.approx(0.0278, abs=5e-5)
    assert result.pvalue == pytest.approx(stats.ttest_rel(*by_item.to_numpy().T).pvalue, rel=1e-6)
    assert result.pvalue == pytest.approx(0.036, abs=5e-4)


def test_items_are_drawn_unless_answers_repeat_or_stand_alone(table: pd.DataFrame) -> None:
    alone = table[table["system"] == "new"]
    assert Answers(table.drop(columns="score")).drawn() == {"level": "query"}
    assert Answers(table).drawn() == {"level": "query", "design": "optimal", "defensive": 0.5}
    assert Answers(made(runs=2)).drawn() == Answers(table).drawn("answer") == {"level": "document"}
    assert Answers(alone).drawn() == {"level": "document", "design": "successive"}
    assert len(Answers(table.assign(cost=5)).plan(60).assessments) == 12  # The budget is in the unit of the costs.
    plan, scored = Answers(alone).plan(60, seed=1), Answers(alone).labels(true_scores(alone))
    status = plan.status(asked_for(plan, scored), margin=0.2)
    assert status.low < alone["truth"].mean() < status.high
    assert Answers(table, "preference").drawn() == {"level": "document"}
    with pytest.raises(ValueError, match="a unit is an answer or an item, got 'query'"):
        Answers(table).drawn("query")


def test_the_difference_of_answers_that_a_judge_scores_alike_is_surer_than_their_scores() -> None:
    table = pd.DataFrame({"item": [1, 1, 2, 2, 3, 3], "system": ["a", "b"] * 3, "answer": list("uvwxyz")})
    scored = Answers(table.assign(score=[1, 1, 1, 0, None, 0.5])).pool.set_index("text")
    assert scored.loc[["u", "v"], "grade_1"].to_numpy() == pytest.approx(1 / 1.05, rel=ROUNDED)
    assert scored.loc[["w", "x"], "grade_1"].to_numpy() == pytest.approx([1 / 1.4, 0.4 / 1.4], rel=ROUNDED)
    assert scored.loc["y", "grade_1"] == pytest.approx(scored["grade_1"].drop("y").mean(), rel=ROUNDED)
    assert scored.loc["z", "grade_1"] == pytest.approx(0.5, rel=ROUNDED)
    chance = Answers(table.iloc[:4].assign(score=[1, 1, 1, 0])).plan(2, defensive=0.1).queries["q_prob"]
    assert chance.iloc[1] > 1.5 * chance.iloc[0]


def test_several_judges_are_united_and_one_that_is_silent_is_left_out(table: pd.DataFrame) -> None:
    judged = table.drop(columns="score").assign(score_good=table["truth"], score_half=np.nan)
    judged.loc[judged.index[::2], "score_half"] = 0.5
    pool = Answers(judged).pool
    alone = Answers(judged.drop(columns="score_half")).pool
    assert pool["grade_1"].between(0.2, 0.8).all()
    assert (np.sign(pool["grade_1"] - 0.5) == np.sign(alone["grade_1"] - 0.5)).all()
    assert (abs(pool["grade_1"] - 0.5) < abs(alone["grade_1"] - 0.5)).all()


def test_a_shared_answer_is_judged_once() -> None:
    table = made(30).assign(answer=lambda t: t["answer"].where(t["item"] != "i3", "same"))
    table.loc[table["item"] == "i3", "truth"] = 1
    answers = Answers(table)
    assert len(answers.pool) == 59
    plan = answers.plan(59, unit="answer")
    labels = answers.labels(true_scores(table))
    assert len(labels) == 59
    by_item = table.pivot(index="item", columns="system", values="truth")
    assert plan.compare(asked_for(plan, labels)).difference == pytest.approx((by_item["new"] - by_item["old"]).mean())


@pytest.mark.parametrize(("scale", "runs"), [("0-1", 1), ("0-1", 2), ("preference", 1)])
def test_neither_the_order_of_rows_nor_the_names_of_systems_change_what_is_drawn_and_found(
    scale: str, runs: int
) -> None:
    table = made(30, runs=runs).assign(cost=lambda t: 1 + t.index % 3)
    if scale != "preference":  # where it is open which of two equal answers is the first
        table.loc[table["item"] == "i3", ["answer", "truth"]] = "same", 1
    turned = table.sample(frac=1, random_state=1).replace({"system": {"new": "older", "old": "newer"}})
    found = []
    for each in (table, turned):
        answers = Answers(each, scale)
        plan = answers.plan(80)
        scores = true_scores(each)
        if answers.scale.prefers:
            scores = each.pivot(index="item", columns="system", values="truth")
            scores = (scores[answers.systems[0]] - scores[answers.systems[1]]).rename("score").reset_index()
        labels = asked_for(plan, answers.labels(scores))
        found.append((plan.assessments, plan.compare(labels), plan.status(labels)))
    (asked, one, first), (again, other, second) = found
    pd.testing.assert_frame_equal(asked, again)
    assert one.difference == pytest.approx(-other.difference)
    assert one.pvalue == pytest.approx(other.pvalue)
    assert (first.low, first.high) == pytest.approx((-second.high, -second.low))


def test_labels_take_ids_as_the_table_does() -> None:
    answers = Answers(made(5).assign(item=lambda t: t["item"].str[1:].astype(int)))
    scores = pd.DataFrame({"item": [1.0, 2.0], "system": "new", "score": [1, None]})
    assert answers.labels(scores)["qid"].tolist() == ["1"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"item": ["i0"], "system": ["best"], "score": [1]}, "there is no answer of item 'i0', system 'best'"),
        ({"item": ["i0"], "system": ["new"], "score": [3]}, "expected a score from 0 to 1; got 3"),
        ({"item": "i0", "system": ["new", "old"], "score": [0, 1]}, "item 'i0': the same answer has different scores"),
    ],
)
def test_labels_name_what_is_wrong(rows: dict, message: str, table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=message):
        Answers(table.assign(answer="same")).labels(pd.DataFrame(rows))


def preferred(table: pd.DataFrame) -> pd.DataFrame:
    """``item, score``: 1 where the answer of the system new is better."""
    by_item = table.pivot(index="item", columns="system", values="truth")
    return (by_item["new"] - by_item["old"]).rename("score").reset_index()


def test_the_difference_of_a_preference_is_its_mean_whichever_answer_is_shown_first(table: pd.DataFrame) -> None:
    answers = Answers(table, "preference")
    scores = preferred(table)
    plan = answers.plan(len(scores))
    labels = answers.labels(scores)
    assert plan.compare(labels).difference == pytest.approx(scores["score"].mean())
    first_is_new = plan.assessments["text"].str.match(r"First answer\nanswer \d+ 0")
    assert 0.3 < first_is_new.mean() < 0.7
    better_first = plan.assessments.assign(new=first_is_new).merge(labels).merge(scores, left_on="qid", right_on="item")
    agreed = np.where(better_first["new"], better_first["score"], -better_first["score"])
    assert (better_first["label"] == 1 + agreed).all()


def test_reports_of_answers(tmp_path: Path, table: pd.DataFrame) -> None:
    """A preference has no percentage, one score for all answers is no warning, and a chart names items by questions."""
    preferences = Answers(made(60, better=-1.5), "preference")
    plan, labels = preferences.plan(60), preferences.labels(preferred(made(60, better=-1.5)))
    [found] = plan.report(tmp_path / "preferences.html", labels).differences
    assert found.relative is None
    answers = Answers(table.drop(columns="score").assign(reference="the truth"))
    plan, labels = answers.plan(40), answers.labels(table.assign(score=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = plan.report(tmp_path / "report.html", asked_for(plan, labels))
    assert "one label" not in str(report.check)
    shown = contributions(report.contributions.queries)
    assert all(row.label.startswith("question") and "truth" not in row.label for row in shown.rows)


def test_a_judges_score_off_the_scale_names_the_answer_and_the_option(table: pd.DataFrame) -> None:
    wrong = table.assign(score_gpt=table["score"].where(table.index != 7, 3.0))
    said = "item 'i3', system 'old': score_gpt is 3, outside 0 to 1; judges and people score on one scale, .* scale="
    with pytest.raises(ValueError, match=said):
        Answers(wrong)
    assert Answers(wrong, "0-3").judges == ["score", "score_gpt"]
    assert Answers(wrong, "preference").judges == ["score", "score_gpt"]


def test_a_preference_needs_two_systems(table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="between two systems"):
        Answers(table.query("system == 'new'"), "preference")
    with pytest.raises(ValueError, match="not 2 with 2 runs each"):
        Answers(made(10, runs=2), "preference")


@pytest.mark.parametrize("label", [-1, -1.0, " -1.0 ", -2])
def test_a_preference_of_minus_one_is_refused_and_not_taken_as_unjudged(label: object, tmp_path: Path) -> None:
    plan = Answers(made(20).drop(columns="score"), "preference").plan(10)
    given = plan.assessments[["qid", "docno"]].assign(label=[str(label)] + ["1"] * (len(plan.assessments) - 1))
    numbers = given.assign(label=given["label"].astype(float))
    given.to_csv(tmp_path / "judged.csv", index=False)
    given.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    numbers.to_json(tmp_path / "numbers.jsonl", orient="records", lines=True)
    numbers.to_parquet(tmp_path / "judged.parquet")
    given.to_excel(tmp_path / "judged.xlsx", index=False)
    lines = "".join(map("{qid} 0 {docno} {label:g}\n".format_map, numbers.to_dict("records")))
    (tmp_path / "trec").write_text(lines, encoding="utf-8")
    reads = [partial(read_labels, [path], plan) for path in tmp_path.iterdir()]
    for ask in (*(partial(each, given) for each in (plan.status, plan.compare, plan.estimate)), *reads):
        with pytest.raises(ValueError, match="-[12] is no label here, .* 0 for -1, 1 for 0, 2 for 1"):
            ask()
