"""How often does an LLM judge err, and which of two errs less, from 200 human labels?

The script reads a folder of the TREC 2021 Deep Learning track with ``qrels.txt``, ``judges/umbrela-gpt-4.qrels`` (one
grade per pair) and ``judges/votes-<model>.tsv.gz`` (votes of several prompts per pair). Half of the topics serve as
past data, on which a model learns P(grade) from the votes of all judges. The other half is the pool. An audit draws 200
pairs of the pool; their human grades come from the qrels. Since all human grades are known, the script prints the truth
beside the estimates, and the typical error of random samples of the same size.

    python examples/audit_llm_judge.py FOLDER [--first umbrela-gpt-4 --second gpt-4o --labels 200]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from pt_active import Estimate, JudgeGrades, MixtureGrades
from pt_active.frames.trec import read_qrels
from pt_active.relevance.losses import Loss
from pt_active.risk import Audit, Precision, Recall, ZeroOne

MAX_GRADE = 3
RELEVANT = 2
"""The lowest grade that the track counts as relevant."""


def read_judges(folder: Path) -> dict[str, pd.DataFrame]:
    """Name of a judge → ``qid, docno`` and ``label`` or ``votes_0 … votes_3``."""
    judges = {"umbrela-gpt-4": read_qrels(folder / "judges" / "umbrela-gpt-4.qrels")}
    for path in sorted((folder / "judges").glob("votes-*.tsv.gz")):
        name = path.name.removeprefix("votes-").removesuffix(".tsv.gz")
        judges[name] = pd.read_csv(path, sep="\t", dtype={"qid": str, "docno": str})
    return judges


def with_grade(pairs: pd.DataFrame, name: str, judge: pd.DataFrame) -> pd.DataFrame:
    """The pairs that the judge has seen, with its grade (the most frequent vote) in a column."""
    votes = [f"votes_{grade}" for grade in range(MAX_GRADE + 1)]
    grade = judge["label"] if "label" in judge else judge[votes].to_numpy().argmax(axis=1)
    return pairs.merge(judge[["qid", "docno"]].assign(**{name: grade}), on=["qid", "docno"])


def make_pool(folder: Path, first: str, second: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The pairs of half of the topics, with the grades of both judges and P(grade), and the human labels.

    Args:
        folder: Folder of the track's files.
        first: Name of the first judge.
        second: Name of the second judge.
    """
    qrels, judges = read_qrels(folder / "qrels.txt"), read_judges(folder)
    pairs = qrels[["qid", "docno"]].assign(score=0.0)
    past = pairs["qid"].isin(sorted(qrels["qid"].unique())[::2])
    others = [JudgeGrades(judge, MAX_GRADE) for judge in judges.values()]
    grades = MixtureGrades(*others).fit(pairs[past], qrels)
    pool = grades(pairs[~past])
    for name in (first, second):
        pool = with_grade(pool, name, judges[name])
    return pool, qrels.merge(pool[["qid", "docno"]], on=["qid", "docno"])


def labels_of(audit: Audit, qrels: pd.DataFrame) -> pd.DataFrame:
    """The human labels of the audit's pairs."""
    return audit.assessments[["qid", "docno"]].merge(qrels, on=["qid", "docno"])


def audited(
    pool: pd.DataFrame, qrels: pd.DataFrame, judge: str, losses: dict[str, Loss], labels: int, seed: int
) -> dict[str, tuple[Estimate, float]]:
    """The estimate and the true value of each loss of one judge, with one audit per loss.

    Args:
        pool: The pairs from `make_pool`.
        qrels: Human labels of all pairs.
        judge: Name of the judge.
        losses: The losses to estimate.
        labels: Number of labels per audit.
        seed: Random seed of the draws.
    """
    estimates = {}
    for name, loss in losses.items():
        audit = Audit.create(pool, {judge: judge}, loss, budget=labels, seed=seed)
        known = pool.merge(qrels, on=["qid", "docno"])
        u, w = loss.terms(known[judge].to_numpy(float), known["label"].to_numpy(float))
        estimates[name] = audit.estimate(labels_of(audit, qrels))[judge], u.sum() / w.sum()
    return estimates


def typical_errors(
    pool: pd.DataFrame, qrels: pd.DataFrame, judges: list[str], truth: float, labels: int, samples: int
) -> dict[str, float]:
    """Root mean squared error of the difference of two error rates over random samples, by design."""
    errors: dict[str, list[float]] = {design: [] for design in ("passive", "optimal", "disagreement")}
    for seed in tqdm(range(samples), unit="sample"):
        for design, differences in errors.items():
            predictions = {name: name for name in judges}
            audit = Audit.create(pool, predictions, ZeroOne(), budget=labels, design=design, seed=seed)
            differences.append(audit.compare(labels_of(audit, qrels)).difference - truth)
    return {design: float(np.sqrt(np.mean(np.square(differences)))) for design, differences in errors.items()}


def main() -> None:
    """Audit one judge, compare two, and print the truth beside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", default="umbrela-gpt-4")
    parser.add_argument("--second", default="gpt-4o")
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--samples", type=int, default=40, help="from which typical errors are computed")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    judges, labels = [arguments.first, arguments.second], arguments.labels
    pool, qrels = make_pool(arguments.folder, *judges)
    losses = {"error": ZeroOne(), "precision": Precision(rel=RELEVANT), "recall": Recall(rel=RELEVANT)}
    for estimate, truth in audited(pool, qrels, judges[0], losses, labels, arguments.seed).values():
        print(f"{estimate}\n  truth       {truth:.4f}\n")
    audit = Audit.create(pool, {name: name for name in judges}, ZeroOne(), budget=labels, seed=arguments.seed)
    wrong = [(pool[name] != pool.merge(qrels, on=["qid", "docno"])["label"]).mean() for name in judges]
    truth = wrong[0] - wrong[1]
    print(f"{audit}\n{audit.compare(labels_of(audit, qrels))}\n  truth       {truth:+.4f}\n")
    for design, error in typical_errors(pool, qrels, judges, truth, labels, arguments.samples).items():
        print(f"typical error of the difference with {labels} labels, {design:13} {error:.4f}")


if __name__ == "__main__":
    main()
