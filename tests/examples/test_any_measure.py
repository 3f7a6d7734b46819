"""The example and the script on nDCG and AP from single documents."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def test_the_example_compares_documents_with_queries(example, capsys, monkeypatch):
    module = example("ndcg_from_documents")
    made = module.demo_collection
    monkeypatch.setattr(module, "demo_collection", lambda seed, queries: made(seed, queries // 4))
    monkeypatch.setattr(module, "BUDGET", 150)
    module.main()
    printed = capsys.readouterr().out
    assert printed.count("Plan for nDCG@10") == printed.count("runs): candidate − production") == 2
    rows = [line.split() for line in printed.splitlines() if line.split()[:1] in (["document"], ["query"])]
    errors = {row[1]: float(row[6]) for row in rows}
    assert errors["surprises"] < errors["passive"]


@pytest.fixture
def track(tmp_path: Path) -> Path:
    """20 topics of 30 judged documents, three runs, and a judge who errs by one grade in half of the documents."""
    rng = np.random.default_rng(3)
    folder = tmp_path / "track"
    (folder / "runs").mkdir(parents=True)
    (folder / "judges").mkdir()
    frame = pd.DataFrame({"qid": np.repeat([f"q{x}" for x in range(20)], 30), "docno": np.tile(range(30), 20)})
    quality = rng.normal(size=len(frame))
    label = np.digitize(quality, [0.3, 1.0, 1.6])
    said = np.clip(label + rng.integers(-1, 2, len(frame)) * (rng.random(len(frame)) < 0.5), 0, 3)
    for path, grades in (("qrels.txt", label), ("judges/umbrela-gpt-4.qrels", said)):
        lines = [f"{q} 0 d{d} {g}" for q, d, g in zip(frame["qid"], frame["docno"], grades, strict=True)]
        (folder / path).write_text("\n".join(lines) + "\n")
    for number, noise in enumerate((0.5, 1.0, 2.0)):
        scored = frame.assign(score=quality + noise * rng.normal(size=len(frame)))
        ranked = scored.sort_values(["qid", "score"], ascending=[True, False]).groupby("qid").head(20)
        lines = [f"{r.qid} Q0 d{r.docno} 0 {r.score} tag" for r in ranked.itertuples()]
        pd.Series(lines).to_csv(folder / "runs" / f"run{number}.gz", index=False, header=False, quoting=3, sep="\t")
    return folder


def test_the_saving_is_kept(script, track, published):
    words = "--track", track, "--pairs", "2", "--share", "0.2"
    text, printed = published(script("revealed_saving"), *words)
    table = pd.read_csv(io.StringIO(text), comment="#")
    assert list(table["task"]) == ["one ranker", "difference"] * 2
    assert table["as planned"][1] > 2
    assert f"**{table['as planned'][1]} " in printed
