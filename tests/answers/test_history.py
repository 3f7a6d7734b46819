"""What past systems' answers say of new ones, and that a wrong history costs labels, but no validity."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_answers import true_scores
from scipy.special import logit
from typer.testing import CliRunner

from pt_active import Answers
from pt_active.cli.app import app
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.answers.sequence import sequence_of
from pt_active.relevance.grades.fitting import fit_ordered_logit

PAST = 6


def made(items: int = 60, better: float = 0.3, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``item, system, score, truth`` of two new systems, and the history of others; a judge errs on some items."""
    rng = np.random.default_rng(seed)
    easy, misjudged = rng.normal(0.5, 1.5, size=items), rng.random(items) < 0.2
    rows = []
    for system in ("new", "old", *(f"past {k}" for k in range(PAST))):
        truth = (rng.normal(easy + better * (system == "new")) > 0).astype(int)
        score = truth ^ (misjudged | (rng.random(items) < 0.05))
        rows.append(pd.DataFrame({"item": [f"i{x}" for x in range(items)], "system": system, "score": score}))
        rows[-1]["truth"] = truth
    table = pd.concat(rows, ignore_index=True)
    new = table["system"].isin(["new", "old"])
    return table[new].reset_index(drop=True), table[~new].rename(columns={"truth": "label"})


TABLE, HISTORY = made()
ITEM_LABELS = HISTORY.pivot(index="item", columns="system", values="label").add_prefix("label_").reset_index()
WIDE = ITEM_LABELS.merge(
    HISTORY.pivot(index="item", columns="system", values="score").add_prefix("score_").reset_index()
)
HOSTILE = {
    "wrong-signed": HISTORY.assign(label=1 - HISTORY["label"]),
    "constant": HISTORY.assign(label=1, score=0),
    "silent judge": HISTORY.assign(score=np.nan),
    "gaps": HISTORY.sample(frac=0.3, random_state=1).assign(score=lambda t: t["score"].where(t.index % 2 == 0)),
    "other items": HISTORY.assign(item="other " + HISTORY["item"]),
    "one system": HISTORY[HISTORY["system"] == "past 1"],
    "one label": HISTORY.head(1),
    "repeats": pd.concat([HISTORY.assign(run=run) for run in range(3)]),
}


def answered(history: pd.DataFrame | None, table: pd.DataFrame = TABLE) -> tuple[Answers, pd.DataFrame]:
    """The new answers, and the labels of all of them."""
    answers = Answers(table.drop(columns="truth"), history=history)
    return answers, answers.labels(true_scores(table))


def grades_of(history: pd.DataFrame | None, table: pd.DataFrame = TABLE) -> pd.Series:
    """The probability that each answer is right, by its docno."""
    return answered(history, table)[0].pool.set_index("docno")["grade_1"].sort_index()


def in_loops(history: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """The same for answers in the order of a table, written out with loops."""

    def feature(row: pd.Series, like: bool) -> float:
        usual, found = history, history[(history["item"] == row["item"]) & (history["system"] != row["system"])]
        if like:
            usual, found = (each[each["score"] == row["score"]] for each in (usual, found))
        expected = (usual["label"].sum() + 0.5) / (len(usual) + 1)
        return float(logit((found["label"].sum() + 2 * expected) / (len(found) + 2)))

    def features(rows: pd.DataFrame) -> np.ndarray:
        return np.array([[feature(row, False), row["score"], feature(row, True)] for _, row in rows.iterrows()])

    model = fit_ordered_logit(features(history), history["label"].to_numpy(), 1, 1.0)
    return model.probabilities(features(table))[:, 1]


def test_features_leave_out_an_answers_own_system_and_follow_who_was_judged_the_same():
    answers, _ = answered(HISTORY)
    pool = answers.pool.merge(answers.table[["item", "system", "docno"]]).set_index(["item", "system"])["grade_1"]
    expected = in_loops(HISTORY, TABLE)
    found = pool.loc[list(zip(TABLE["item"], TABLE["system"], strict=True))].to_numpy()
    assert found == pytest.approx(expected, abs=1e-4)  # grades are rounded
    # Without a history the judge is taken for nearly always right, also on the items that it misjudges.
    truth = TABLE["truth"].to_numpy()
    plain = answered(None)[0].pool.merge(answers.table[["item", "system", "docno"]]).set_index(["item", "system"])
    before = plain["grade_1"].loc[list(zip(TABLE["item"], TABLE["system"], strict=True))].to_numpy()
    assert np.mean((found - truth) ** 2) < 0.6 * np.mean((before - truth) ** 2)


@pytest.mark.parametrize(
    ("same", "other"),
    [
        (HISTORY, WIDE),
        (HISTORY.drop(columns="score"), ITEM_LABELS),
        (HISTORY, HISTORY.sample(frac=1, random_state=2).astype({"label": str}).rename(columns={"system": "Model"})),
        (HISTORY[HISTORY["item"] != "i3"], WIDE[WIDE["item"] != "i3"]),
        (HISTORY, pd.concat([HISTORY, HISTORY.head(3).assign(system="empty", label=None)])),
    ],
    ids=["wide", "labels alone", "order and names", "gaps", "without a label"],
)
def test_a_history_is_the_same_in_each_of_its_forms(same, other, tmp_path):
    other.to_csv(tmp_path / "past.csv", index=False)
    pd.testing.assert_series_equal(grades_of(same), grades_of(other))
    pd.testing.assert_series_equal(grades_of(same), grades_of(tmp_path / "past.csv"))


def test_a_history_without_what_the_judge_said_leaves_the_judge_as_it_is_on_top():
    alone = grades_of(HISTORY.drop(columns="score"), TABLE.assign(score=np.nan))
    judge, both = grades_of(None), grades_of(HISTORY.drop(columns="score"))
    odds = logit(alone[alone.index.isin(both.index)]) + logit(judge)
    assert logit(both).to_numpy() == pytest.approx(odds.to_numpy(), abs=1e-2)


def test_labels_of_a_compared_system_are_left_out_with_a_warning():
    own = TABLE[TABLE["system"] == "new"].rename(columns={"truth": "label"})
    with pytest.warns(UserWarning, match="left out of the history, since they are compared now: 'new'"):
        found = grades_of(pd.concat([HISTORY, own]))
    pd.testing.assert_series_equal(found, grades_of(HISTORY))


def test_systems_that_are_named_by_numbers_keep_their_names_in_a_row_for_each_item():
    named = TABLE.assign(system=TABLE["system"].map({"new": "007", "old": "8"}))
    past = ITEM_LABELS[["item", "label_past 1"]].assign(label_007=1).rename(columns={"label_past 1": "label_7"})
    with pytest.warns(UserWarning, match="left out of the history, since they are compared now: '007'"):
        answers, _ = answered(past, named)
    assert len(answers.history.past.score) == len(past)


@pytest.mark.parametrize("unit", ["answer", "item"])
@pytest.mark.parametrize("history", HOSTILE.values(), ids=HOSTILE)
def test_a_draw_is_right_on_average_and_a_census_exact_whatever_the_history_says(history, unit):
    answers, labels = answered(history)
    truth = TABLE.groupby("system")["truth"].mean()
    plan = answers.plan(2, unit)
    sequence = sequence_of(
        plan.tables, plan.judged(labels.merge(plan.assessments), missing="nonrelevant").label, plan.measure
    )
    units = sequence.proof(Contrast(0, 1), 0.05).units
    whole = answers.plan(len(labels), unit)
    full = sequence_of(whole.tables, whole.judged(labels).label, whole.measure)
    proof = full.proof(Contrast(0, 1), 0.05)
    same, contribution = proof.units, proof.units.mean + np.diff(proof.draws.base)
    # Σ q/Q (Σ m + (c − m) Q/q) over all first draws
    chance = same.rate / same.rate.sum()
    first = same.mean.sum() + (contribution - same.mean) / chance
    assert (units.rate > 0).all()
    assert chance @ first == pytest.approx(truth["new"] - truth["old"])
    assert whole.compare(labels).difference == pytest.approx(truth["new"] - truth["old"])


def test_cross_validation_chooses_what_is_drawn_and_how_far_the_model_is_trusted():
    table, history = made()
    rng = np.random.default_rng(3)
    # The judge is right or wrong with all answers to an item, or with most of them, or past labels say nothing at all.
    wrong = rng.random(200) < 0.3
    random = [each.assign(score=rng.integers(2, size=len(each))) for each in made(200)]
    sharp = [each["score"] ^ wrong[each["item"].str[1:].astype(int)] for each in random]
    sharp = [truth ^ (rng.random(len(truth)) < 0.03) for truth in sharp]
    one, other = random[0].assign(truth=sharp[0]), random[1].assign(label=sharp[1])
    assert answered(other, one)[0].drawn() == {"level": "document"}
    assert answered(history, table)[0].drawn("item") == {"level": "query", "design": "residual", "defensive": 0.1}
    nothing = answered(history.assign(label=rng.integers(2, size=len(history))), table)[0].drawn()
    assert nothing["level"] == "query"
    few = history[history["system"].isin(["past 0", "past 1", "past 2"])]
    assert answered(few, table)[0].drawn() == {"level": "query", "design": "optimal", "defensive": 0.2}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["good", "wrong-signed", "gaps"])
def test_intervals_cover_whatever_the_history_says(name):
    history, truth = HOSTILE.get(name, HISTORY), TABLE.groupby("system")["truth"].mean()
    answers, labels = answered(history)
    difference, missed = truth["new"] - truth["old"], {"once": 0, "always": 0}
    for seed in range(60):
        plan = answers.plan(60, seed=seed)
        known = labels.merge(plan.assessments[["qid", "docno"]])
        low, high = plan.compare(known).confidence_interval()
        state = plan.status(known)
        missed["once"] += not low - 1e-9 <= difference <= high + 1e-9
        missed["always"] += not state.low - 1e-9 <= difference <= state.high + 1e-9
    most = 60 * (0.05 + 3 * np.sqrt(0.05 * 0.95 / 60))
    assert missed["once"] <= most
    assert missed["always"] <= most


REFUSED = {
    "twice": (pd.concat([HISTORY, HISTORY.head(1)]), "more than one row of item 'i0', system 'past 0', run '1'"),
    "twice in a row": (pd.concat([WIDE, WIDE.head(1)]), "more than one row of item 'i0'"),
    "off the scale": (HISTORY.assign(label=3), "expected a score from 0 to 1; got 3"),
    "judge off the scale": (HISTORY.assign(score=7), "expected a score from 0 to 1; got 7"),
    "no number": (HISTORY.assign(label="yes"), "item 'i0', system 'past 0': expected a number as label; got 'yes'"),
    "no item": (WIDE.assign(item=WIDE["item"].where(WIDE["item"] != "i0")), "row 0: expected an item; it is empty"),
    "no system": (
        HISTORY.assign(system=HISTORY["system"].where(HISTORY.index > 200)),
        "expected a system; it is empty",
    ),
    "no label": (HISTORY.drop(columns="label"), "expected columns item, system and label"),
    "nothing in common": (
        HISTORY.assign(item="x" + HISTORY["item"]).drop(columns="score"),
        "no item is among those of the answers; they begin with 'xi0' and 'i0'",
    ),
    "nobody else": (HISTORY.head(0), "there is no label of another system"),
}


def test_a_score_off_the_scale_is_named_where_frames_were_joined():
    with pytest.raises(ValueError, match=r"^the history: row 0: expected a score from 0 to 1; got 3\.0$"):
        Answers(TABLE.drop(columns="truth"), history=HISTORY.assign(label=3).set_axis([0] * len(HISTORY)))


@pytest.mark.parametrize(("history", "said"), REFUSED.values(), ids=REFUSED)
def test_the_command_refuses_in_a_line_what_is_no_history(history, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.drop(columns="truth").to_csv("answers.csv", index=False)
    history.to_csv("past.csv", index=False)
    result = CliRunner().invoke(app, ["init", "--answers", "answers.csv", "--history", "past.csv", "--budget", "40"])
    assert result.exit_code == 2, result.output
    assert re.search(r"past\.csv: ", result.stderr)
    assert said in result.stderr.replace("\n", " ")
    assert not Path("pt-active.toml").exists()


def test_the_command_takes_a_history(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.drop(columns="truth").to_csv("answers.csv", index=False)
    HISTORY.to_csv("past.csv", index=False)
    words = ["init", "--answers", "answers.csv", "--history", "past.csv", "--budget", "40"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    pool = pd.read_parquet("my-plan-answers.parquet").set_index("docno")["grade_1"].sort_index()
    assert pool.to_numpy() == pytest.approx(grades_of(HISTORY).to_numpy())


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (HISTORY.assign(item=HISTORY["item"].str[1:]), "none of its items is among those of the answers"),
        (HISTORY.rename(columns={"score": "score_gpt"}), "it has no scores of the judge of the answers"),
    ],
)
def test_what_a_history_does_not_share_with_the_answers_is_said(history, said):
    with pytest.warns(UserWarning, match=said):
        Answers(TABLE.drop(columns="truth"), history=history)
