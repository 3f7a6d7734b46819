"""Saves plans, audits and active tests, and compares their answers after loading."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from of_pairs import LOSSES, audit_answers, audit_of, in_rounds
from told import Cases, answer
from tqdm import tqdm
from world import MEASURES, PAIR, answers, extended, judged, noisy, plan_of, world

import pt_active as pta
from pt_active import risk

KINDS = {"plan": pta.Plan, "audit": pta.Audit, "test": pta.ActiveTest}
"""Beginning of a folder's name → class."""


def artifacts() -> dict[str, tuple[Any, ...]]:
    """Name of the folder → the earlier rounds, then the artifact to save."""
    made = {f"plan-query-{measure}": (plan_of("query", 3, measure),) for measure in MEASURES}
    made |= {f"plan-document-{measure}": (plan_of("document", 2, measure),) for measure in MEASURES}
    made |= {"plan-replaced": (plan_of("query", 2, "ERR@10", "hedged, replaced"),)}
    made |= {"plan-montecarlo": (plan_of("query", 2, "nDCG@10"),), "plan-rounds": extended(2, "DCG@10", True)}
    made |= {"audit-one": (audit_of(1, risk.F1(rel=2), {}),), "audit-three": (audit_of(3, LOSSES[-1], {}),)}
    made |= {f"test-{measure}": in_rounds(measure, "rec", "fixed") for measure in ("DCG@10", "CrossEntropy")}
    return made


def loaded_answers(loaded: Any, qrels: pd.DataFrame) -> dict[str, Any]:
    """All answers of a loaded artifact."""
    if isinstance(loaded, pta.Audit):
        return {"audit": loaded} | audit_answers(loaded, qrels)
    if isinstance(loaded, pta.ActiveTest):
        return {"test": loaded, "estimate": loaded.estimate(qrels), "next": loaded.next_round(10, qrels, "rec")}
    late = noisy(world().runs["production"], 0.05)
    asked = {
        "status": partial(loaded.status, qrels, **PAIR),
        "outlook": partial(pta.Outlook.of_plan, loaded, qrels),
        "report": partial(pta.Report.of, loaded, qrels, slices=["qwords"]),
        "other": partial(answers, loaded, qrels, measure="P(rel=2)@5", estimator="difference"),
        "later": lambda: answers(loaded.with_rankers(late=late), qrels, missing="nonrelevant"),
        "extended": partial(loaded.extend, 60, qrels),
    }
    return {"plan": loaded} | answers(loaded, qrels) | {name: answer(ask) for name, ask in asked.items()}


def saved() -> Cases:
    """Artifacts saved and loaded by the present code."""

    def ask(name: str) -> dict[str, Any]:
        made = artifacts()[name]
        with tempfile.TemporaryDirectory() as folder:
            made[-1].save(Path(folder) / name)
            return loaded_answers(type(made[-1]).load(Path(folder) / name), judged(*made))

    return {name: partial(ask, name) for name in artifacts()}


def save_artifacts(folder: Path) -> dict[str, Any]:
    """Save the artifacts and their labels into a new folder, and return their answers."""
    folder.mkdir(parents=True)
    answers_by_name = {}
    for name, made in tqdm(artifacts().items(), unit="artifact"):
        made[-1].save(folder / name)
        judged(*made).to_csv(folder / f"{name}.csv", index=False)
        answers_by_name[name] = answer(partial(loaded_answers, made[-1], judged(*made)))
    return answers_by_name


def load_artifacts(folder: Path) -> dict[str, Any]:
    """Load the artifacts with the present code, and return their answers."""

    def ask(name: str) -> dict[str, Any]:
        qrels = pd.read_csv(folder / f"{name}.csv", dtype={"qid": str, "docno": str})
        return loaded_answers(KINDS[name.split("-")[0]].load(folder / name), qrels)

    names = sorted(path.stem for path in folder.glob("*.csv"))
    return {name: answer(partial(ask, name)) for name in tqdm(names, unit="artifact")}
