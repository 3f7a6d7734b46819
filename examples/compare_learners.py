"""Which learning algorithm makes the better ranker, a random forest or a straight line? Cross-validation over queries.

Without arguments the script uses the simulated demo collection. It also takes learning-to-rank data in SVMlight form
(LETOR, MSLR-WEB, or LightGBM's form with the numbers of documents per query in a separate file):

    python compare_learners.py
    python compare_learners.py rank.train.gz rank.test.gz --query-sizes rank.train.query.gz rank.test.query.gz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pt_active.demo.collection import demo_collection
from pt_active.studies.crossval import compare_learners


def letor(files: list[Path], sizes: list[Path] | None, width: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Results with features, and qrels, from SVMlight files."""
    blocks = []
    for number, path in enumerate(files):
        if sizes:
            features, labels = load_svmlight_file(str(path), n_features=width)
            counts = pd.read_csv(sizes[number], header=None)[0]
            query = np.repeat(np.arange(len(counts)), counts)
        else:
            features, labels, query = load_svmlight_file(str(path), n_features=width, query_id=True)
        qids = [f"{number}-{q}" for q in query] if sizes else query.astype(str)
        blocks.append(pd.DataFrame({"qid": qids, "label": labels.astype(int), "features": list(features.toarray())}))
    frame = pd.concat(blocks, ignore_index=True)
    frame["docno"] = frame["qid"] + "/" + frame.groupby("qid").cumcount().astype(str)
    return frame.assign(query="")[["qid", "query", "docno", "features"]], frame[["qid", "docno", "label"]]


def words(row: pd.Series) -> np.ndarray:
    """Features: the ranker's score, shares of the query's words in title and text, and the text's length."""
    query = set(row["query"].split())
    title, _, text = row["text"].lower().replace(".", " .").partition(".")
    shared = [len(query & set(part.split())) for part in (title, text)]
    return np.array([row["score"], *shared, len(text.split())], dtype=float)


def demo() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Results with features, and qrels, from the simulated collection."""
    collection = demo_collection(seed=7, queries=200)
    results = collection.runs["production"].merge(collection.topics).merge(collection.documents)
    return pt.apply.doc_features(words)(results), collection.qrels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="SVMlight files; all their queries are pooled")
    parser.add_argument("--query-sizes", nargs="*", type=Path, help="documents of each query, one number per line")
    parser.add_argument("--features", type=int, help="number of features, if a file lacks the last one")
    parser.add_argument("--measure", default="nDCG@10")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--trees", type=int, default=30)
    given = parser.parse_args()
    if given.query_sizes and len(given.query_sizes) != len(given.files):
        parser.error(f"{len(given.files)} files need as many --query-sizes, got {len(given.query_sizes)}")
    results, qrels = letor(given.files, given.query_sizes, given.features) if given.files else demo()
    forest = RandomForestRegressor(given.trees, min_samples_leaf=5, max_features=0.3, random_state=0)
    learners = {
        "forest": pt.ltr.apply_learned_model(forest),
        "linear": pt.ltr.apply_learned_model(make_pipeline(StandardScaler(), Ridge(100.0))),
    }
    print(compare_learners(learners, results, qrels, given.measure, given.folds, given.repeats))


if __name__ == "__main__":
    main()
