"""The reproductions of audits on judged pairs, on a small generated pool with two judges, and the coverage command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active.risk import Audit, Precision, Recall, ZeroOne

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def pool_file(tmp_path_factory: pytest.TempPathFactory, small_pool) -> Path:
    """A pool, and beside it the judges ``good`` and ``poor``."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("pool")
    frame = small_pool(rng, 120, 10, (0.5, 2.0), 0.4)
    frame.drop(columns=["score_r0", "score_r1"]).to_parquet(folder / "small.parquet")
    seen = np.clip(frame["label"] + rng.choice([-1, 0, 1], len(frame), p=[0.05, 0.9, 0.05]), 0, 2)
    qrels = frame[["qid", "docno"]].assign(zero="0", label=seen)[["qid", "zero", "docno", "label"]]
    qrels.to_csv(folder / "good.qrels", sep=" ", header=False, index=False)
    votes = rng.multinomial(9, np.full(3, 1 / 3), len(frame)) + 3 * np.eye(3, dtype=int)[frame["label"]]
    votes = frame[["qid", "docno"]].assign(**{f"votes_{grade}": column for grade, column in enumerate(votes.T)})
    votes.to_csv(folder / "votes-poor.tsv.gz", sep="\t", index=False)
    return folder / "small.parquet"


def test_risks_on_pools(script, pool_file, tmp_path, monkeypatch, capsys) -> None:
    risks = script("risk_on_pools")
    monkeypatch.setattr(risks, "LABELS", [50, 100])
    monkeypatch.setattr(risks, "SHOWN", [50, 100])
    monkeypatch.setattr(risks, "SIZES", [2, 20])
    argv = ["risk_on_pools", str(pool_file), "--judges", str(pool_file.parent), "--out", str(tmp_path), "--quick"]
    monkeypatch.setattr("sys.argv", [*argv, "--repetitions", "60"])
    risks.main()
    table = pd.read_csv(tmp_path / "risk_on_pools.csv")
    assert set(table["predictor"]) == {"ordered logit", "naive Bayes", "good", "poor"}
    assert set(table["risk_name"]) == set(risks.RISKS)
    wide = table.pivot_table(index=["predictor", "risk_name", "method"], columns="labels", values=["rmse", "width"])
    assert (wide["width"][100] < wide["width"][50]).all()
    assert (wide["rmse"][100] < wide["rmse"][50]).mean() > 0.8
    precision = wide["rmse"][100].xs("precision", level="risk_name").unstack()
    assert (precision["active"] < precision["passive"]).all(), "precision draws only pairs that are predicted relevant"
    assert table["coverage"].between(0.75, 1).mean() > 0.9
    truth, quality = table.groupby("predictor")["risk"].first(), pd.read_csv(tmp_path / "risk_on_pools_quality.csv")
    assert truth["good"] < truth["poor"]
    assert (quality.loc[quality["method"] == "passive", "ratio"] == 1).all()
    assert set(quality["size"]) == {2, 20}
    assert (tmp_path / "risk_on_pools.png").stat().st_size > 10_000
    shown = capsys.readouterr().out
    assert "| small | good | 0." in shown
    assert "| small | recall | " in shown


def test_judges_say_what_they_said(script, pool_file) -> None:
    predictors = script("grade_predictors")
    pool = script("judged_pools").read_judged_pool(pool_file)
    judges = script("judged_pools").read_judges(pool_file.parent)
    assert set(script("judged_pools").judges_of(pool, judges)) == set(judges) == {"good", "poor"}
    judged = predictors.judging(pool, 2, judges)
    known = judged.pairs.merge(judges["good"], on=["qid", "docno"]).merge(pool.frame, on=["qid", "docno"])
    np.testing.assert_array_equal(judged.prediction[:, judged.names.index("good")], known["label_x"])
    np.testing.assert_array_equal(judged.label, known["label_y"])
    assert (known["fold"] != 2).all()
    np.testing.assert_allclose(judged.grades.sum(axis=2), 1)
    both = predictors.joined(judged, predictors.learned(pool, 2, ["ordered logit"]))
    assert both.names == (*judged.names, "ordered logit")
    assert len(both.label) == len(judged.label)
    np.testing.assert_array_equal(both.prediction[:, :2], judged.prediction)
    with pytest.raises(ValueError, match="no pair has been seen by all of good"):
        predictors.judging(pool, 2, {"good": judges["good"].assign(qid="x" + judges["good"]["qid"])})
    with pytest.raises(FileNotFoundError, match=r"neither NAME\.qrels"):
        script("judged_pools").read_judges(pool_file.parent.parent)


def test_few_training_queries_make_a_worse_model(script, pool_file) -> None:
    predictors, replays = script("grade_predictors"), script("audit_replays")
    pool = script("judged_pools").read_judged_pool(pool_file)
    found = []
    for queries in (1, 24):
        learned = predictors.learned(pool, 1, ["ordered logit"], queries)
        found.append(
            replays.graded_problem(ZeroOne(), learned.prediction[:, 0], learned.grades[0], learned.label).likelihood
        )
    assert found[0] < found[1]


def test_problems_are_estimated_without_error_from_everything(script) -> None:
    replays = script("audit_replays")
    rng = np.random.default_rng(0)
    grades = rng.dirichlet(np.ones(3), 80)
    prediction, label = grades.argmax(axis=1).astype(float), rng.integers(0, 3, 80).astype(float)
    called, relevant = prediction >= 1, label >= 1
    truths = {
        ZeroOne(): (prediction != label).mean(),
        Precision(): (called & relevant).sum() / called.sum(),
        Recall(): (called & relevant).sum() / relevant.sum(),
    }
    everything = replays.Sample(np.arange(80)[None], np.ones((1, 80), dtype=int), np.ones((1, 80)))
    for loss, truth in truths.items():
        problem = replays.graded_problem(loss, prediction, grades, label)
        assert problem.risk == pytest.approx(truth, abs=1e-12)
        assert problem.fixed == (loss != Recall())
        for estimator in ("snis", "regression"):
            assert replays.estimates(problem, everything, estimator).value[0] == pytest.approx(truth, abs=1e-12)
        assert replays.stratified_estimates(problem, 80, 1, 0).value[0] == pytest.approx(truth, abs=1e-12)


def test_models_of_a_pool_are_compared(script, pool_file, monkeypatch) -> None:
    comparison = script("model_comparison")
    monkeypatch.setattr(comparison, "LABELS", [20, 200])
    pool = script("judged_pools").read_judged_pool(pool_file)
    contests = list(comparison.pool_contests(pool, 1, {}))
    assert [each.loss for each in contests] == ["zero-one", "squared"]
    assert all(each.prediction.shape[1] == 5 for each in contests)
    judges = script("judged_pools").read_judges(pool_file.parent)
    table = comparison.accuracy([(1, lambda: comparison.pool_contests(pool, 1, judges))], 40)
    assert set(table["models"]) == {2, 3}
    wide = table[table["models"] == 2].pivot(index=["loss", "design"], columns="labels", values="accuracy")
    assert (wide[200] >= wide[20]).all()
    assert wide[200].min() > 0.6
    assert list(comparison.draw(table).axes[0].lines)


def test_what_is_replayed_for_coverage_is_an_audit(script, monkeypatch) -> None:
    coverage = script("audit_coverage")
    monkeypatch.setattr(coverage, "PAIRS", 400)
    frame, label = coverage.pool_of(coverage.COMMON, 3)
    qrels = frame[["qid", "docno"]].assign(label=label.astype(int))
    for case in (
        coverage.CASES["recall"],
        coverage.CASES["difference of errors"],
        coverage.CASES["the same, `disagreement`"],
    ):
        judges = {judge: judge for judge in case.judges}
        audit = Audit.create(frame, judges, case.loss, draws=coverage.LABELS, design=case.design, seed=5)
        labels = audit.assessments[["qid", "docno"]].merge(qrels, on=["qid", "docno"])
        pairs = coverage.Pairs.from_frame(frame, judges, case.loss, coverage.UnitCost())
        sample = coverage.judged_sample(pairs, label, case.design, 5)
        for estimator in coverage.risk_estimators():
            wanted = audit.compare(labels, estimator) if case.compare else audit.estimate(labels, estimator)["a"]
            found = coverage.inferred(case, sample, estimator, "auto")
            assert found.confidence_interval() == wanted.confidence_interval()


@pytest.mark.slow
def test_the_coverage_table(script, monkeypatch, tmp_path, published) -> None:
    coverage = script("audit_coverage")
    monkeypatch.setattr(coverage, "PAIRS", 400)
    monkeypatch.setattr(coverage, "CASES", {name: coverage.CASES[name] for name in ("error", "difference of errors")})
    text, printed = published(coverage, "--repetitions", "20", "--out", tmp_path)
    assert text.count("| common errors: error | ") == 3
    assert "| common errors: error | ." in printed.replace("| 1.", "| .")
    table = pd.read_csv(tmp_path / "audit_coverage.csv")
    fair = table[(table["model"] == "fair") & (table["errors"] == coverage.COMMON)]
    assert fair["coverage"].between(0.85, 1).all()
    assert fair["width"].between(0.02, 1).all()
    assert (fair["no_interval"] < 1).all()
    assert (table["silent"] <= 0.3).all()
    assert (table["silent"] <= 1 - table["no_interval"]).all()
    wider = table[table["no_interval"] == 0]
    assert (wider["width"] >= wider["width_of_t"] - 1e-9).all()
    assert set(table[table["risk"] == "error"]["method"]) == {
        *coverage.risk_estimators(),
        "stratified",
        *coverage.BINOMIAL_REFERENCES,
    }
    monkeypatch.setattr(coverage, "CASES", {"error": coverage.CASES["error"]})
    again = coverage.coverages(20, 0)
    pd.testing.assert_frame_equal(again, table[table["risk"] == "error"].reset_index(drop=True), check_dtype=False)


@pytest.mark.slow
def test_half_as_wide_intervals_would_not_pass(script, monkeypatch) -> None:
    """The command detects intervals that are too narrow."""
    coverage = script("audit_coverage")
    monkeypatch.setattr(coverage, "PAIRS", 400)
    case = coverage.CASES["error"]
    frame, label = coverage.pool_of(coverage.COMMON, 0)
    honest = np.mean([each[1] for each in coverage.replayed(case, frame, label, range(60))])
    inferred = coverage.inferred

    class Narrow:
        note = ""

        def __init__(self, found):
            self.found = found

        def confidence_interval(self):
            low, high = self.found.confidence_interval()
            return (3 * low + high) / 4, (low + 3 * high) / 4

    monkeypatch.setattr(coverage, "inferred", lambda *arguments: Narrow(inferred(*arguments)))
    narrow = np.mean([each[1] for each in coverage.replayed(case, frame, label, range(60))])
    assert narrow < 0.8 < honest
