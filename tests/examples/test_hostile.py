"""The replay of hostile populations: its intervals are those of a plan's status, and it finds what must be found."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from pt_active import Plan
from pt_active.frames.qrels import whole_labels
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.sequence import sequence_of
from pt_active.studies.populations import plain


@pytest.mark.parametrize("looks", [None, "asymptotic", "obrien-fleming", "pocock"])
def test_intervals_are_those_of_the_status(script, looks) -> None:
    """The clock counts queries here and judgments there, which moves the ends at several looks by up to .02."""
    module, queries = script("hostile"), 450
    pool, qrels = plain(3, queries)
    plan = Plan.create(pool, None, "DCG@10", budget=3600, seed=4, level="query")
    (population,) = (
        each for seed, each in enumerate(module.populations_of("plain", queries, 4, "a", "b")) if seed == 3
    )
    number, columns = plan.manifest["counts"]["sampled_queries"], plan.queries.sort_values("qid")
    q, priority = (columns[name].to_numpy() for name in ("q_prob", "q_priority"))
    np.testing.assert_allclose(population.distribution(module.DESIGN, module.DEFENSIVE_SHARE), q)
    low, high = module.looked_at(population, q, priority[None], number, looks=looks)
    judged = qrels.merge(plan.assessments[["qid", "docno"]])
    if looks is None:
        interval = plan.compare(judged, first="a", second="b", reference="effective").confidence_interval()
        assert (low[-1, 0], high[-1, 0]) == pytest.approx((interval.low, interval.high), rel=1e-9)
    else:
        status = plan.status(judged, looks=looks, first="a", second="b")
        assert (low[-1, 0], high[-1, 0]) == pytest.approx((status.low, status.high), abs=0.02)
    assert np.isfinite(low[-1, 0])
    assert np.isinf(low[0, 0]) == (looks is not None)


def test_bets_are_those_of_the_status(script) -> None:
    """An interval that ever lacks the truth is one at some number of labels, and the status has it."""
    module = script("sequences")
    pool, qrels = plain(5, 24)
    plan = Plan.create(pool, None, "DCG@10", budget=1000, level="document", design="successive", seed=4)
    tables = plan.tables
    label = whole_labels(tables.pool.keys, qrels.merge(plan.assessments[["qid", "docno"]]))
    proof = sequence_of(tables, label, tables.measure).proof(Contrast(0, 1), 0.05)
    status = plan.status(qrels.merge(plan.assessments[["qid", "docno"]]), confidence=0.95)
    for value in (status.low - 0.01, status.high + 0.01):
        assert module.ever_excluded(proof.draws, proof, value, 0.05)
    orders = list(module.sequences(plan, qrels, 3, 1))
    assert len({each.proof.draws.value[0] for each in orders}) > 1
    for each in orders:
        assert each.proof.draws.base[-1] == pytest.approx(proof.draws.base[-1], abs=1e-9)
        assert each.labels(-1) == each.labels(len(each.proof.draws.value)) == len(each.query)


def test_shares_are_of_samples_in_which_an_interval_lacks_the_truth(script) -> None:
    module = script("hostile")
    (population,) = module.populations_of("skewed", 64, 1, "a", "b")

    def ends(population, q, priority, number, every):
        low = np.full((3, len(priority)), -1.0)
        low[1, ::4] = 0.5
        return low, low + 2

    missed = module.excluded(population, ends, 20, 1, 8, 0)
    assert missed.tolist() == [True, False, False, False] * 2
    assert module.with_errors({"false": missed})["false"] == 0.25


def test_a_skewed_null_misleads_and_a_plain_one_does_not(script, monkeypatch, tmp_path, published) -> None:
    module, csv = script("hostile"), tmp_path / "table.csv"
    numbers = {"POOLS": 1, "QUERIES": 96, "JUDGED": 25, "LARGE": 260, "MOST": 250, "EVERY": 25, "SIZES": (10, 30)}
    for name, number in numbers.items():
        monkeypatch.setattr(module, name, number)
    words = ["--populations", "plain", "skewed", "--repetitions", "60", "--csv", str(csv)]
    text, printed = published(module, *words)
    table = pd.read_csv(csv).set_index(["population", "queries", "looks"])["false"].dropna()

    def share(*key: object) -> float:
        (found,) = table[[each == key for each in table.index]]
        return float(found)

    assert share("skewed", 96, module.NAIVE) > 0.3 > share("plain", 96, module.NAIVE)
    assert share("skewed", 96, "asymptotic") < share("skewed", 260, "asymptotic") < share("skewed", 260, module.NAIVE)
    for way in ("queries", "documents", "documents, recalibrated", "documents, spoilt"):
        assert max(share(name, 96, way) for name in ("plain", "skewed")) < 0.15
    assert printed.strip() in text


def test_labels_that_come_late_mislead_nobody_and_first_labels_do(script, monkeypatch, capsys) -> None:
    """Looks at first labels name the ranker of a partial judge; open documents and looks after a change do not."""
    module, late = script("hostile"), script("late_labels")
    for name, number in {"POOLS": 1, "QUERIES": 64, "LOOK": 100}.items():
        monkeypatch.setattr(module, name, number)
    monkeypatch.setattr("sys.argv", ["hostile", "--late", "--populations", "plain", "--repetitions", "6"])
    module.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    share = {(case, counts): float(cell.split(" ± ")[0]) for case, counts, cell in rows}
    assert {case for case, _ in share} == set(late.CASES)
    assert share["all twice, the first judge is partial", "at its first label"] > 0.5
    assert share["a partial judge is found out", "before the change"] > 0.5
    promised = [
        each for (case, counts), each in share.items() if counts == "open" or "found out, after" in f"{case}, {counts}"
    ]
    assert len(promised) == 7
    assert max(promised) < 0.35


def test_looks_while_second_labels_are_due_show_what_is_there(script) -> None:
    late = script("late_labels")
    pool, qrels = plain(5, 16)
    plan = Plan.create(pool, None, "DCG@10", budget=200, level="document", design="successive", seed=4)
    (campaign,) = late.campaigns(plan, qrels, 1, 0)
    first, comes = campaign.partial(), campaign.place < campaign.size
    looks = list(late.second_labels(campaign, 30, first, 1.0))
    for number, (kind, label) in enumerate(looks):
        time = min(30 * (number // 2 + 1), campaign.size + late.LATE)
        came, settled = campaign.place < time, campaign.place + late.LATE < time
        assert (label[settled & comes] == campaign.label[settled & comes]).all()
        waiting = comes & came & ~settled
        assert (label[waiting] == (first[waiting] if kind == "at its first label" else -1)).all()
        assert (label[~came] == -1).all()
    for _, label in looks[-2:]:
        assert (label[comes] == campaign.label[comes]).all()
    assert (first[~campaign.favours] == campaign.label[~campaign.favours]).all()


def test_equal_rankers_are_never_told_apart_by_all_labels(script, monkeypatch, capsys) -> None:
    module = script("hostile")
    few = {"MEASURES": ("DCG@10",), "AS_A_WHOLE": ("AP@10",), "SAMPLES": (None, "depth"), "QUERIES": 6}
    for name, value in few.items():
        monkeypatch.setattr(module.equal_rankers, name, value)
    monkeypatch.setattr("sys.argv", ["hostile", "--ties", "--repetitions", "20"])
    module.main()
    everything, third, judges, audits = capsys.readouterr().out.split("Share ")[1:]
    assert everything.startswith("that finds a difference of equal rankers, with all labels:")
    for table, rows in ((everything, 4), (third, 4), (judges, 2), (audits, 3)):
        assert table.count("\n| ") == rows + 2
    for table in (everything, judges, audits):
        assert set(re.findall(r"(\d\.\d{3}) ±", table)) == {"0.000"}
