"""Collections that are odd but right give the values of trec_eval where everything is judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import Plan, Runs, UniformGrades, measure_values
from pt_active.frames.trec import read_qrels, read_run


def ranked(*rows: tuple[str, str]) -> pd.DataFrame:
    """A run whose rows stand in their order."""
    return pd.DataFrame(rows, columns=["qid", "docno"]).assign(score=-np.arange(len(rows), dtype=float))


FIRST = ranked(*((qid, docno) for qid in ("01", "1", "2", "3") for docno in "abcd"))
RUNS = {
    "nothing for a topic": (FIRST, ranked(*((qid, docno) for qid in ("01", "1", "2") for docno in "dcba"))),
    "one query": (FIRST[FIRST["qid"] == "1"], ranked(*(("1", docno) for docno in "dcba"))),
}
# Query 2 has no relevant document; -2 is spam, which counts as grade 0, and "01" is not "1".
LABELS = {"01": (2, 0, 1, 0), "1": (0, 1, -2, 2), "2": (0, -2, 0, 0), "3": (1, 0, 0, 2)}
QRELS = pd.DataFrame(
    [(qid, docno, label) for qid, labels in LABELS.items() for docno, label in zip("abcd", labels, strict=True)],
    columns=["qid", "docno", "label"],
)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "DCG@3", "RR@10"])
@pytest.mark.parametrize("level", ["query", "document"])
def test_a_census_has_the_values_of_trec_eval(runs: str, measure: str, level: str) -> None:
    first, second = RUNS[runs]
    topics = pd.DataFrame({"qid": first["qid"].unique()})
    pool = (Runs(first=first, second=second, allow_missing_queries=True) >> UniformGrades(2))(topics)
    plan = Plan.create(pool, topics, measure, budget=len(pool), level=level)
    qrels = QRELS[QRELS["qid"].isin(topics["qid"])]
    found = plan.compare(qrels).difference
    values = [measure_values(run, qrels, measure)["value"].mean() for run in (first, second)]
    assert found == pytest.approx(values[0] - values[1], abs=1e-9)


def test_a_pooled_document_without_a_judgment_has_no_label(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("01 0 a -1\n01 0 b -2\n1 0 a 1\n")
    assert read_qrels(tmp_path / "q").to_numpy().tolist() == [["01", "b", 0], ["1", "a", 1]]


@pytest.mark.parametrize("line", ["1 Q0 a 1 2.0 my tag", "1 a 2.0"])
def test_lines_of_seven_or_three_columns_are_no_run(line: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(f"1 Q0 b 1 3.0 tag\n{line}\n")
    with pytest.raises(ValueError, match=f"run: line 2: expected 6 columns.*got {len(line.split())}"):
        read_run(tmp_path / "run")
