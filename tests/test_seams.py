"""A new entry of a registry works everywhere: each test adds one in a few lines and takes the whole road with it."""

import io
import json
import re
from dataclasses import dataclass
from typing import ClassVar

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import measures as irm
from samples import wanted
from typer.testing import CliRunner

from pt_active import ActiveTest, Audit, Outlook, Plan
from pt_active.cli.app import app
from pt_active.cli.project import project_text
from pt_active.demo.collection import DemoCollection
from pt_active.frames import worklists
from pt_active.frames.sources import Source
from pt_active.inference import estimators, weightings
from pt_active.inference.replay import Method
from pt_active.judging.delivery import Delivery, Given
from pt_active.judging.files import read_labels
from pt_active.judging.tools.registry import TOOLS, Tool
from pt_active.judging.worklist import Worklist
from pt_active.relevance import costs, losses, measures
from pt_active.relevance.grades import learned
from pt_active.relevance.grades.models import GradeModel
from pt_active.sampling import designs

QUERIES = 40


@pytest.fixture(scope="module")
def pool(graded: pd.DataFrame) -> pd.DataFrame:
    """The pool with the most probable grade of each document, and with grade 1 for all."""
    few = graded[graded["qid"].isin(graded["qid"].unique()[:QUERIES])].reset_index(drop=True)
    best = few[[f"grade_{g}" for g in range(4)]].to_numpy().argmax(axis=1)
    return few.assign(best=best.astype(float), one=1.0)


@pytest.fixture(scope="module")
def labels(demo: DemoCollection, pool: pd.DataFrame) -> pd.DataFrame:
    return demo.judge(pool)


def keyed(folder, **keys):
    """A project file with these keys."""
    (folder / "keys.toml").write_text(project_text(keys))
    return folder / "keys.toml"


def said(*words, code=0):
    """What a command prints, or what it complains of if it fails."""
    result = CliRunner().invoke(app, [str(each) for each in words])
    assert result.exit_code == code, result.stderr
    return result.stderr if code else result.stdout


def of_queries(pool, measure="DCG@10", budget=200, level="query", **how):
    return Plan.create(pool.drop(columns=["best", "one"]), None, measure, budget=budget, seed=1, level=level, **how)


def road(plan, labels, folder):
    """Saves a plan, asks all that can be asked of its labels, and returns the report."""
    plan, judged = Plan.load(plan.save(folder / "plan").path), wanted(plan, labels)
    assert all(each.standard_error > 0 for each in (plan.compare(judged), *plan.estimate(judged).values()))
    drawn = plan.tables.queries.query("q_draws > 0").sort_values("q_priority")["qid"]
    assert plan.status(judged[judged["qid"].isin(drawn[: len(drawn) // 2])]).judged > 0
    report = plan.report(folder / "report.html", judged)
    assert np.isfinite(report.budget["half_width"].iloc[-1])
    return report.to_dict()


class _HalvingGain(irm.Measure):
    """``Σ_i y_i / 2^i``."""

    __name__ = "HalvingGain"
    NAME = __name__
    SUPPORTED_PARAMS: ClassVar = {"cutoff": irm.ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold")}


def _halving(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> measures.RankForm:
    return measures.RankForm("additive", grade.astype(float), 0.5**rank)


def test_a_measure(pool, labels, tmp_path, monkeypatch):
    monkeypatch.setattr(irm, "registry", dict(irm.registry))
    monkeypatch.setattr(ir_measures.measures, "registry", irm.registry)
    monkeypatch.setitem(measures.RANK_FORMS, "HalvingGain", measures.RankMeasure(_HalvingGain(), _halving))
    plan = of_queries(pool, measure="HalvingGain@5")
    assert road(plan, labels, tmp_path)["manifest"]["arguments"]["measure"] == "HalvingGain@5"
    everything = of_queries(pool, measure="HalvingGain@5", budget=1e6).estimate(labels)
    for name, estimate in everything.items():
        seen = pool[pool[f"rank_{name}"].between(0, 4)].merge(labels)
        assert estimate.value == pytest.approx((seen["label"] * 0.5 ** (seen[f"rank_{name}"] + 1)).sum() / QUERIES)


def _mean_score(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return variance + mean**2


def test_a_query_design(pool, labels, tmp_path, monkeypatch):
    monkeypatch.setitem(designs.DESIGNS, "second_moment", (designs.Part(_mean_score),))
    plan = of_queries(pool, design="second_moment")
    assert road(plan, labels, tmp_path)["manifest"]["arguments"]["design"] == "second_moment"
    audit = Audit.create(pool, {"best": "best"}, losses.ZeroOne(), budget=60, design="second_moment")
    assert audit.estimate(wanted(audit, labels))["best"].standard_error > 0


def test_an_estimator(pool, labels, tmp_path, monkeypatch):
    """`snis` by another name."""
    kind = estimators.EstimatorKind(estimators.snis, fitted=1, expected=lambda mean, variance, p: mean**2 + variance)
    monkeypatch.setitem(estimators.ESTIMATORS, "plain_mean", kind)
    plan = of_queries(pool)
    judged = wanted(plan, labels)
    found, same = (plan.compare(judged, estimator=name) for name in ("plain_mean", "snis"))
    assert (found.difference, found.standard_error) == (same.difference, same.standard_error)
    outlook = Outlook.of_plan(plan, methods=[Method("hedged", "plain_mean", with_replacement=False)])
    assert np.isfinite(outlook.table([plan.manifest["pool_cost"] / 2])["half_width"]).all()
    plan.report(tmp_path / "report.html", judged, estimator="plain_mean")
    assert "plain_mean" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_round_estimator(pool, labels, monkeypatch):
    test = ActiveTest.create(pool, None, "DCG@10", seed=1).next_round(20)
    judged = wanted(test, labels)
    monkeypatch.setitem(weightings.WEIGHTINGS, "levelled", weightings.lur)
    found, same = (test.estimate(judged, estimator=name) for name in ("levelled", "lur"))
    assert (found.value, found.standard_error) == (same.value, same.standard_error)
    with pytest.raises(ValueError, match="unknown estimator 'x'; .* levelled, lur_difference"):
        test.estimate(judged, estimator="x")


def _write_bars(worklist: pd.DataFrame) -> str:
    table = worklist.reindex(columns=["empty", "qid", "docno", "label"]).astype({"label": "Int64"})
    return table.to_csv(sep="|", header=False, index=False)


def _read_bars(source: Source) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(source.content), sep="|", header=None, dtype=str, na_filter=False)
    return table.loc[table[3] != "", [1, 2, 3]].set_axis(["qid", "docno", "label"], axis=1)


def test_a_judging_format(pool, labels, tmp_path, monkeypatch):
    monkeypatch.setitem(worklists.FORMATS, "bars", worklists.Format(_write_bars, _read_bars, re.compile(r"\|")))
    plan = of_queries(pool).save(tmp_path / "plan")
    judged = wanted(plan, labels)
    plan.export(tmp_path / "judge-me", "bars", qrels=judged)
    back = read_labels([tmp_path / "judge-me"])
    back = back[["qid", "docno", "label"]].sort_values(["qid", "docno"], ignore_index=True)
    pd.testing.assert_frame_equal(back, judged, check_dtype=False)
    assert ", bars, " in said("export", plan.path, "--out", tmp_path / "x", "--format", "odt", code=2)
    shown = said("status", plan.path, tmp_path / "judge-me", "--json")
    assert json.loads(shown)["result"]["difference"] == plan.compare(judged).difference


def _write_ticks(worklist: Worklist) -> dict[str, str | bytes]:
    return {"": "".join(f"#{item.qid}#{item.docno}#\n" for item in worklist)}


def _read_ticks(delivery: Delivery) -> list[Given]:
    cells = [(place, line.rstrip("\n").split("#")) for place, line in delivery.source.lines()]
    return [Given(place, qid, docno, label, "ann") for place, (_, qid, docno, label) in cells]


def test_a_judging_tool(pool, labels, tmp_path, monkeypatch):
    monkeypatch.setitem(TOOLS, "ticks", Tool("Ticks", _read_ticks, _write_ticks))
    plan = of_queries(pool).save(tmp_path / "plan")
    judged, kept = wanted(plan, labels), tmp_path / "r.jsonl"
    assert ", ticks" in said("import", "x", "x", "--plan", plan.path, "--out", kept, code=2)
    said("export", plan.path, "--out", tmp_path / "work", "--format", "ticks")
    known = judged.set_index(["qid", "docno"])["label"]
    lines = (tmp_path / "work").read_text(encoding="utf-8").splitlines()
    filled = [f"{line}{known[tuple(line.split('#')[1:3])]}\n" for line in lines]
    (tmp_path / "filled").write_text("".join(filled), encoding="utf-8")
    said("import", "ticks", tmp_path / "filled", "--plan", plan.path, "--out", kept)
    shown = said("status", plan.path, kept, "--json")
    assert json.loads(shown)["result"]["difference"] == plan.compare(judged).difference


@dataclass(frozen=True)
class Absolute(losses.Loss):
    """``|f − y|``."""

    proportion: ClassVar[bool] = False

    def terms(self, prediction: np.ndarray, label: np.ndarray) -> losses.Terms:
        return np.abs(prediction - label).astype(float), np.ones(np.broadcast(prediction, label).shape)

    def decision(self, grades: np.ndarray) -> np.ndarray:
        return (grades.cumsum(axis=1) < 0.5).sum(axis=1).astype(float)


def test_a_loss(pool, labels, tmp_path, monkeypatch):
    monkeypatch.setitem(losses.LOSSES, "Absolute", Absolute)
    audit = Audit.create(pool, {"best": "best", "one": "one"}, Absolute(), budget=150, seed=1)
    loaded = Audit.load(audit.save(tmp_path / "audit").path)
    found = loaded.compare(wanted(loaded, labels))
    assert (found.basis.measure, found.standard_error > 0) == ("Absolute", True)
    census = Audit.create(pool, {"best": "best"}, Absolute(), budget=1e6)
    truth = pool.merge(labels, on=["qid", "docno"])
    assert census.estimate(labels)["best"].value == pytest.approx(np.abs(truth["best"] - truth["label"]).mean())


@dataclass(frozen=True)
class PriceCost:
    """Three cents a document."""

    per_query: float = 0.0
    unit: ClassVar[str] = "cents"

    def document_costs(self, columns: object, query: np.ndarray) -> np.ndarray:
        return np.full(len(query), 3.0)


def test_a_labelling_cost(pool, labels, tmp_path, monkeypatch):
    monkeypatch.setitem(costs.COSTS, "price", PriceCost)
    plan = of_queries(pool, budget=600, cost=PriceCost(per_query=1.0))
    assert " cents for the whole pool" in str(plan)
    road(plan, labels, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"This plan cost {plan.manifest['spent']:.0f} cents." in page
    asked = ["plan", "--run", "a=x", "--measure", "DCG@10", "--budget", 9, "--out", tmp_path / "new"]
    assert "log-length, column, price" in said(*asked, "--project", keyed(tmp_path, cost="much"), code=2)


class _Falling(GradeModel):
    """``P(y) ∝ 2^{−y}``, known without any label."""

    def __init__(self, max_grade: int) -> None:
        self.max_grade = max_grade

    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        chance = 0.5 ** np.arange(self.max_grade + 1)
        return np.tile(chance / chance.sum(), (len(frame), 1))


def test_a_grade_model(demo, labels, tmp_path, monkeypatch):
    monkeypatch.setitem(learned.GRADES, "falling", _Falling)
    for name, run in demo.runs.items():
        run = run[run["qid"].isin(labels["qid"])].assign(q0="Q0", tag="tag")
        columns = ["qid", "q0", "docno", "rank", "score", "tag"]
        run[columns].to_csv(tmp_path / name, sep=" ", header=False, index=False)
    first, second = (tmp_path / name for name in demo.runs)
    asked = ["plan", "--run", f"a={first}", "--run", f"b={second}", "--measure", "DCG@10", "--budget", "200"]
    asked += ["--project", keyed(tmp_path, grades="falling"), "--out", tmp_path / "plan"]
    assert "grades falling need --max-grade" in said(*asked, code=2)
    said(*asked, "--max-grade", "3")
    made = Plan.load(tmp_path / "plan").tables.pool.grades
    np.testing.assert_allclose(made, np.tile(np.array([8, 4, 2, 1]) / 15, (len(made), 1)))
