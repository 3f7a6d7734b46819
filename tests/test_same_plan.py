"""The same files and seed give the same plan on every processor [theory 17].

    python -P tests/test_same_plan.py FOLDER

makes and answers plans of every kind, and writes what must agree into FOLDER. The tests start it under several settings
of the libraries that choose their code by the processor. Plans that were saved under the first setting are loaded and
answered under the others.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

NEWEST = "X86_V4,AVX512_ICL,AVX512_SPR,AVX512F,AVX512CD,AVX512_SKX,AVX512_CLX,AVX512_CNL"
"""What numpy uses on processors with AVX-512, by all names that it had; those that a version lacks are ignored."""

OWN = {"OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NPY_DISABLE_CPU_FEATURES"}
"""What settings set, and what is therefore not taken from the environment."""

OLDER = {"NPY_DISABLE_CPU_FEATURES": f"X86_V3,AVX2,FMA3,{NEWEST}"}
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
SETTINGS: dict[str, dict[str, str]] = {
    "old": {"OPENBLAS_CORETYPE": "Prescott"} | GENERIC | OLDER,
    "no AVX-512": {"OPENBLAS_CORETYPE": "SkylakeX", "NPY_DISABLE_CPU_FEATURES": NEWEST},
    "numpy without AVX2": OLDER,
    "generic": GENERIC,
}
"""The first is the one that ``.ci/run`` takes; with ``full`` all are tried."""

DOCUMENTS = [
    *((measure, "depth", cost) for measure in ("DCG@10", "ERR@10", "nDCG@10") for cost in (0, 3)),
    *(("DCG@10", "successive", cost) for cost in (0, 3)),
    *(("AP", "depth", 0), ("nDCG@10", "surprises", 0), ("AP", "surprises", 3)),
]
"""Measures, drawings, and the cost of opening a query."""

Made = Iterator[tuple[str, Any, pd.DataFrame]]  # The name of a sample, the sample, and its labels


def digest(*values: Any) -> str:
    return sha256("\n".join(map(str, values)).encode()).hexdigest()[:12]


def keys_of(sample: Any) -> str:
    """A digest of what was drawn, in the order in which it is judged, with the parts in which it comes."""
    from pt_active import Plan
    from pt_active.plans.making.documents import in_parts, part_of
    from pt_active.plans.making.queries import in_drawing_order

    if not isinstance(sample, Plan):
        return digest(*sample.assessments["qid"], *sample.assessments["docno"])
    part = part_of(sample.tables).tolist() if in_parts(sample.tables) else []
    return digest(*in_drawing_order(sample.tables)[["qid", "docno"]].to_numpy().ravel(), *part)


def answers(sample: Any, qrels: pd.DataFrame) -> list[float]:
    """Estimates with their standard errors."""
    found = sample.estimate(qrels)
    several = list(found.values()) if isinstance(found, dict) else [found]
    return [float(number) for each in several for number in (each.value, each.standard_error)]


def pools(demo: Any) -> dict[int, pd.DataFrame]:
    """Of one, two and five rankers."""
    from pt_active import OrderedLogitGrades, PriorGrades, Runs

    runs, found = dict(demo.runs), {}
    for number, name in enumerate(("production", "candidate", "production")):
        lower = (runs[name]["docno"].str[-1].astype(int) + number) % 4
        runs[f"other{number}"] = runs[name].assign(score=runs[name]["score"] - lower)
    for rankers, model in ((1, OrderedLogitGrades(3)), (2, OrderedLogitGrades(3)), (5, PriorGrades(3))):
        model.fit(demo.past_run, demo.past_qrels)
        found[rankers] = (Runs(**dict(list(runs.items())[:rankers]), depth=20) >> model)(demo.topics)
    return found


def plans(demo: Any, pools: dict[int, pd.DataFrame]) -> Made:
    from pt_active import Plan, UnitCost

    def made(name: str, rankers: int, measure: str, per_query: float = 0, **how: Any) -> tuple[str, Any, pd.DataFrame]:
        plan = Plan.create(pools[rankers], None, measure, UnitCost(per_query), **({"budget": 300, "seed": 3} | how))
        return f"{name} {rankers} {measure} +{per_query}", plan, demo.judge(plan.assessments)

    for rankers, some in ((1, DOCUMENTS[::2]), (2, DOCUMENTS), (5, DOCUMENTS[1::2])):
        for measure, design, per_query in some:
            yield made(design, rankers, measure, per_query, design=design)
    for rankers, measure in ((1, "DCG@10"), (2, "ERR@10"), (2, "nDCG@10"), (5, "AP")):
        yield made("queries", rankers, measure, level="query")
        yield made("usual", rankers, measure, 3)
    yield made("twice", 2, "DCG@10", replace=True)
    yield made("optimal", 2, "ERR@10", level="query", design="optimal", defensive=0.01)
    yield made("census", 2, "nDCG@10", level="document", budget=0.98 * len(pools[2]))
    for measure, design in (("AP", "surprises"), ("ERR@10", "depth"), ("DCG@10", "successive"), ("DCG@10", "hedged")):
        first = Plan.create(pools[2], None, measure, budget=200, design=design)
        longer = first.extend(150)
        yield f"longer {design} {measure}", longer, demo.judge(pd.concat([first.assessments, longer.assessments]))


def some_answers() -> tuple[Any, pd.DataFrame]:
    """Answers of two systems with the scores of a judge, and people's labels."""
    from pt_active import Answers

    rng, rows = np.random.default_rng(5), []
    for item, system, run in np.ndindex(80, 2, 2):
        truth = int(rng.integers(0, 5))
        rows.append((f"i{item}", "ab"[system], run, f"{item} {system} {run}", truth, rng.choice([truth, 4])))
    table = pd.DataFrame(rows, columns=["item", "system", "run", "answer", "people", "score"])
    answers = Answers(table.drop(columns="people"), "0-4")
    return answers, answers.labels(table.drop(columns="score").rename(columns={"people": "score"}))


def other_samples(demo: Any, pairs: pd.DataFrame) -> Made:
    """Plans of answers, audits and active tests."""
    from pt_active import ActiveTest
    from pt_active.risk import Audit
    from pt_active.rounds import Squared, ZeroOne

    answers, labels = some_answers()
    for unit in ("answer", "item"):
        plan = answers.plan(90, unit, seed=1)
        yield f"answers by {unit}", plan, labels.merge(plan.assessments[["qid", "docno"]])
    pairs = pairs[["qid", "docno", *(f"grade_{g}" for g in range(4))]]
    likely = pairs.filter(like="grade_").to_numpy().argmax(axis=1)
    two = pairs.assign(a=likely, b=(pairs["grade_0"] < 0.7).astype(int))
    for design, names in (("optimal", "ab"), ("stratified", "a"), ("disagreement", "ab")):
        predictors = {name: name for name in names}
        audit = Audit.create(two, predictors, ZeroOne(), design=design, draws=60, seed=2, defensive=0.1)
        yield f"audit {design}", audit, demo.judge(audit.assessments)
    for strategy in ("fixed", "poisson", "single"):
        test = ActiveTest.create(two, None, Squared(), seed=1).next_round(30, drawing=strategy)
        first = demo.judge(test.assessments)
        test = test.next_round(30, first, drawing=strategy)
        yield f"rounds {strategy}", test, pd.concat([first, demo.judge(test.assessments)])


def grade_models(run: pd.DataFrame, qrels: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """What each grade model says."""
    from pt_active import ColdGrades, ForestGrades, JudgeGrades, MixtureGrades, OrderedLogitGrades, PriorGrades

    vote = pd.util.hash_array(qrels["docno"].to_numpy(dtype=object)) % 3 == 0
    judge = qrels.assign(label=np.where(vote, (qrels["label"] + 1) % 4, qrels["label"]))
    judges = MixtureGrades(JudgeGrades(judge, 3), JudgeGrades(judge.iloc[::2], 3))
    yield "answers", some_answers()[0].pool
    for model in (ColdGrades(3), PriorGrades(3), OrderedLogitGrades(3), ForestGrades(3, trees=10), judges):
        yield type(model).__name__, (model.fit(run, qrels) if hasattr(model, "fit") else model)(run)


def everything(folder: Path, saved: Path | None) -> dict[str, list[Any]]:
    """What must agree: ids, digests of the keys drawn, digests of grades, and estimates."""
    from pt_active import Plan
    from pt_active.demo.collection import demo_collection

    warnings.simplefilter("ignore")
    demo = demo_collection(seed=7, queries=60)
    made, found = pools(demo), {}
    for name, table in grade_models(demo.past_run, demo.past_qrels):
        found[f"grades {name}"] = [digest(*table.filter(like="grade_").to_numpy().ravel())]
    for name, sample, qrels in (*plans(demo, made), *other_samples(demo, made[2])):
        said = answers(sample, qrels)
        found[name] = [keys_of(sample), *said]
        if isinstance(sample, Plan):
            found[name].append(sample.id)
            if name.startswith("usual") and len(sample.rankers) > 1:
                found[f"ranked {name}"] = [digest(*sample.rank(qrels).groups)]
            path = (saved or folder) / "plans" / digest(name)
            if not saved:
                sample.save(path)
            found[f"saved {name}"] = answers(Plan.load(path), qrels) if saved else said
    return found


def made_under(setting: dict[str, str], folder: Path, saved: Path | None = None) -> dict[str, list[Any]]:
    environment = {name: value for name, value in os.environ.items() if name not in OWN} | setting
    command = [sys.executable, "-P", __file__, str(folder), *([str(saved)] if saved else [])]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, list[Any]] = json.loads((folder / "found.json").read_text())
    return found


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Any]]]:
    folder = tmp_path_factory.mktemp("native")
    return folder, made_under({}, folder)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_processors_agree(setting, native, tmp_path):
    """Ids, samples and grades are equal, and estimates to 1e-9, also those of plans that another processor saved."""
    saved, expected = native
    found = made_under(SETTINGS[setting], tmp_path, saved)
    assert list(found) == list(expected)
    for name, said in found.items():
        for one, other in zip(said, expected[name], strict=True):
            equal = other if isinstance(other, str) else pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
            assert one == equal, name


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "plans").mkdir(parents=True, exist_ok=True)
    result = everything(target, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    (target / "found.json").write_text(json.dumps(result))
