"""Nuggets of simulated answers: the weighted share is a sum, and single decisions estimate it without bias."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import Answers, Plan
from pt_active.answers.nuggets import SUPPORT, nugget_table

WEIGHTS = {"vital": 1.0, "okay": 0.5}


def written(folder: Path, seed: int = 0, items: int = 3) -> list[Path]:
    """Assignments of two systems to items with two to four nuggets."""
    rng = np.random.default_rng(seed)
    nuggets = [
        [{"text": f"fact {x}.{n}", "importance": str(rng.choice(["vital", "okay"]))} for n in range(2 + x % 3)]
        for x in range(items)
    ]
    paths = []
    for name in ("a", "b"):
        entries = [
            {
                "qid": f"t{x}",
                "query": f"question {x}",
                "run_id": name,
                "answer_text": f"answer of {name} to {x}",
                "nuggets": [each | {"assignment": str(rng.choice(list(SUPPORT)))} for each in nuggets[x]],
            }
            for x in range(items)
        ]
        paths.append(folder / f"{name}.jsonl")
        paths[-1].write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return paths


def shares(paths: list[Path]) -> dict[str, float]:
    """The mean weighted share of nuggets that the assignments support, by the definition."""
    means = {}
    for path in paths:
        scores = []
        for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            weight = [WEIGHTS[each["importance"]] for each in entry["nuggets"]]
            support = [SUPPORT[each["assignment"]] for each in entry["nuggets"]]
            scores.append(np.dot(weight, support) / sum(weight))
        means[path.stem] = float(np.mean(scores))
    return means


@pytest.mark.parametrize("seed", range(2))
def test_the_mean_score_of_nuggets_is_that_of_answers(seed: int, tmp_path: Path) -> None:
    paths = written(tmp_path, seed)
    table = nugget_table(*paths)
    answers = Answers(table, "0-1:0.5")
    found = answers.plan(len(table)).estimate(answers.labels(table))
    assert {name: each.value for name, each in found.items()} == pytest.approx(shares(paths))


def test_drawn_decisions_are_unbiased_by_enumeration(tmp_path: Path) -> None:
    """One nugget drawn: every one of them, weighted by its probability, gives the difference of the shares."""
    paths = written(tmp_path, seed=1)
    table = nugget_table(*paths)
    said = table.assign(score=1 - table["score"])  # people contradict the judge
    answers = Answers(table, "0-1:0.5")
    labels, found = answers.labels(said), {}
    for seed in range(400):
        plan = Plan.create(answers.pool, None, answers.measure, draws=1, replace=True, level="query", seed=seed)
        drawn = plan.queries.query("q_draws > 0").iloc[0]
        if drawn["qid"] not in found:
            asked = labels.merge(plan.assessments[["qid", "docno"]])
            estimate = plan.compare(asked, estimator="ht").difference
            found[drawn["qid"]] = drawn["q_prob"], estimate
        if len(found) == len(plan.queries):
            break
    assert len(found) == table["item"].nunique()
    probability, estimate = np.array(list(found.values())).T
    assert probability.sum() == pytest.approx(1)
    truth = shares(paths)
    # 1 − score turns the difference of the shares round.
    assert probability @ estimate == pytest.approx(truth["b"] - truth["a"])


def test_an_assignment_that_failed_says_nothing(tmp_path: Path) -> None:
    paths = written(tmp_path)
    for path in paths:
        path.write_text(re.sub(r'"assignment": "\w+"', '"assignment": "failed"', path.read_text()))
    assert nugget_table(*paths)["score"].isna().all()


def test_new_items_are_clusters_of_nuggets(tmp_path: Path) -> None:
    paths = written(tmp_path, items=12)
    answers = Answers(nugget_table(*paths), "0-1:0.5")
    labels = answers.labels(nugget_table(*paths))
    result = answers.plan(len(labels)).compare(labels, queries="new", clusters="qcluster")
    by_item = nugget_table(*paths).assign(part=lambda t: t["score"] * t["weight"])
    scores = by_item.groupby(["cluster", "system"])["part"].sum().unstack()
    assert result.standard_error == pytest.approx((scores["a"] - scores["b"]).sem(), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry.pop("answer_text"), "needs answer_text"),
        (lambda entry: entry["nuggets"][0].update(importance="great"), "vital or okay, got 'great'"),
        (lambda entry: entry["nuggets"][0].update(assignment="maybe"), "one of not_support"),
        (lambda entry: entry["nuggets"][0].pop("text"), "expected nuggets with text and importance"),
        (lambda entry: entry.update(nuggets=None), "expected nuggets with text and importance; got None"),
    ],
)
def test_what_does_not_fit_is_said(change, said: str, tmp_path: Path) -> None:
    paths = written(tmp_path)
    entries = [json.loads(line) for line in paths[1].read_text().splitlines()]
    change(entries[0])
    paths[1].write_text("".join(json.dumps(each) + "\n" for each in entries))
    with pytest.raises(ValueError, match=f"line 1.*{said}"):
        nugget_table(paths[1])


def test_systems_have_the_same_nuggets(tmp_path: Path) -> None:
    one, other = written(tmp_path)
    entries = [json.loads(line) for line in other.read_text().splitlines()]
    entries[0]["nuggets"].pop()
    other.write_text("".join(json.dumps(each) + "\n" for each in entries))
    with pytest.raises(ValueError, match="line 1: the nuggets of item 't0' differ"):
        nugget_table(one, other)


def test_a_table_of_nuggets_needs_no_judge(tmp_path: Path) -> None:
    table = nugget_table(*written(tmp_path)).drop(columns="score")
    assert isinstance(Answers(pd.DataFrame(table), "0-1:0.5").plan(4), Plan)
