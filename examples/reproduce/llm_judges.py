"""What is an LLM judge worth, and to which method?

    python llm_judges.py FOLDER --cache llm-judges.jsonl --evidence FOLDER

The script joins the labels of LLM judges with a few of people, in the ways of `judge_ways`, on TREC 2021 Deep Learning.
FOLDER has ``qrels.txt``, ``runs/*.gz``, ``judges/umbrela-gpt-4.qrels`` and ``judges/votes-*.tsv.gz``. The script needs
the extra ``peers``. Each cell of the tables is kept in the cache as it is made, so an interrupted run goes on where it
stopped. The grade model is a random forest of all judges' votes, fitted to the other queries (five folds); every way
that can use expectations gets the same ones.

With ``--evidence`` the tables are kept as CSV files, and the figure beside their folder.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judge_ways import LEVEL, PASSIVE, ROUNDS, WAYS, Case, Way, case_of, documents
from judged_pools import read_judges
from revealed_saving import of_track
from scipy import stats

from pt_active import ForestGrades, Plan
from pt_active.frames.columns import grade_columns, ranker_names
from pt_active.inference.replay import share_error
from pt_active.risk import Accuracy, Audit
from pt_active.risk.replacing import CONFIRMED, OPEN, REFUTED, replacement

MEASURES = {"DCG@10": "DCG@10", "nDCG@10": "nDCG(dcg='exp-log2')@10", "AP": "AP(rel=2)"}

LABELS = (50, 100, 200, 500, 1000)

FOLDS = 5

LEAF = 80
"""The smallest leaf of the forest that stacks the judges; of 10, 30 and 80 the one of the best likelihood in folds."""

TABLES = ("llm-judges", "llm-judges-worth", "llm-judges-agreement", "llm-judges-ranking")

Ends = tuple[float, float, float]
"""An estimate and the ends of its interval."""

PLANTED = "the run in umbrela's order"
"""The name of the run that the judge itself has ranked."""


def stacked(folder: Path) -> pd.DataFrame:
    """All judged documents: ``qid, docno, label, said``, ``rank_<name>`` of each run, and ``grade_0 … grade_G``."""
    frame = of_track(folder).frame
    columns = [frame["said"].to_numpy(float)]
    for judge in read_judges(folder / "judges").values():
        if "label" in judge.columns:
            continue
        votes = judge.filter(regex=r"^votes_\d+$")
        shares = votes.to_numpy(float) / votes.to_numpy(float).sum(axis=1, keepdims=True)
        mean = judge[["qid", "docno"]].assign(mean=shares @ np.arange(shares.shape[1]))
        merged = frame[["qid", "docno"]].merge(mean, how="left", on=["qid", "docno"])["mean"]
        columns.append(merged.fillna(merged.mean()).to_numpy())
    frame["features"] = list(np.column_stack(columns))
    fold = pd.factorize(frame["qid"])[0] % FOLDS
    highest = int(frame["label"].max())
    parts = []
    for number in range(FOLDS):
        past, rest = frame[fold != number], frame[fold == number]
        model = ForestGrades(highest, min_leaf=LEAF).fit(past.drop(columns="label"), past[["qid", "docno", "label"]])
        parts.append(model.transform(rest))
    return pd.concat(parts).sort_index().drop(columns="features")


def with_planted(frame: pd.DataFrame, run: str, depth: int = 100) -> pd.DataFrame:
    """The frame with one more run: the top of a real one, ordered by the judge's labels, ties by its own ranks."""
    rank = frame[f"rank_{run}"]
    top = frame[(rank >= 0) & (rank < depth)]
    order = top.assign(own=rank).sort_values(["qid", "said", "own"], ascending=[True, False, True])
    place = order.groupby("qid").cumcount().reindex(frame.index).fillna(-1).astype(int)
    return frame.assign(**{f"rank_{PLANTED}": place})


def cell(case: Case, way: Way, labels: int, repetitions: int, seed: int = 0) -> dict[str, float] | None:
    """Root mean squared error, median width and coverage, with their Monte Carlo errors."""
    outcome = way(case, float(labels), repetitions, seed)
    if outcome is None:
        return None
    squared, known = outcome.error**2, np.isfinite(outcome.low) & np.isfinite(outcome.high)
    rmse = float(np.sqrt(squared.mean()))
    row = {"rmse": rmse, "rmse_se": float(squared.std() / np.sqrt(len(squared)) / 2 / rmse) if rmse > 0 else 0.0}
    if not known.any():
        return row | {"width": np.nan, "coverage": np.nan, "coverage_se": np.nan, "intervals": 0.0}
    inside = ((outcome.low <= case.truth) & (case.truth <= outcome.high))[known]
    share = float(inside.mean())
    row |= {"width": float(np.median((outcome.high - outcome.low)[known])), "coverage": share}
    return row | {"coverage_se": float(share_error(share, int(known.sum()))), "intervals": float(known.mean())}


class Cache:
    """Cells that are made already, one JSON object a line."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.known = path, {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                stored = json.loads(line)
                self.known[json.dumps(stored["key"])] = stored["row"]

    def made(self, key: list[object], make: Callable[[], dict[str, float] | None]) -> dict[str, float] | None:
        """The row of a key, made if it is not known."""
        name = json.dumps(key)
        if name not in self.known:
            self.known[name] = make()
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"key": key, "row": self.known[name]}) + "\n")
        return self.known[name]


def near_tied(frame: pd.DataFrame) -> list[str]:
    """The best run by people's labels of the first half of the queries, and the next that is not its twin."""
    qids = sorted(frame["qid"].unique())
    past = frame[frame["qid"].isin(qids[::2])]
    names = ranker_names(frame.columns)
    values = dict(zip(names, _values(past, names, "label"), strict=True))
    order = sorted(names, key=lambda name: -values[name].mean())
    best = order[0]
    other = next(name for name in order[1:] if (values[name] != values[best]).mean() > 0.5)
    return [best, other]


def _values(frame: pd.DataFrame, names: list[str], column: str) -> list[np.ndarray]:
    """DCG@10 of each query for each run, float64[m] each, by the labels of a column."""
    gain, query = 2.0 ** frame[column].to_numpy(float) - 1, pd.factorize(frame["qid"])[0]
    found = []
    for name in names:
        rank = frame[f"rank_{name}"].to_numpy()
        counts = (rank >= 0) & (rank < 10)
        found.append(np.bincount(query[counts], gain[counts] / np.log2(rank[counts] + 2.0), query.max() + 1))
    return found


def study(frame: pd.DataFrame, cache: Cache, repetitions: int) -> pd.DataFrame:
    """One row per measure, task, number of labels and way."""
    pair, rows = near_tied(frame), []
    for name, measure in MEASURES.items():
        for task, rankers in (("near-tied pair", pair), ("one run", pair[:1])):
            case = case_of(frame, measure, rankers)
            number = repetitions if name == "DCG@10" else repetitions // 2
            for labels, way in product(LABELS, WAYS):
                if way == ROUNDS and name != "DCG@10":
                    continue
                make = partial(cell, case, WAYS[way], labels, number)
                row = cache.made([name, task, labels, way, number], make)
                if row is not None:
                    head = {"measure": name, "task": task, "labels": labels, "way": way}
                    rows.append(head | {"truth": case.truth, "repetitions": number} | row)
    return pd.DataFrame(rows)


def circular(frame: pd.DataFrame, cache: Cache, repetitions: int, labels: int = 200) -> dict[str, float | str]:
    """A run in the judge's own order against a real one that is better: who wins, by which way?"""
    names = ranker_names(frame.columns)
    alone, truth = (
        {n: v.mean() for n, v in zip(names, _values(frame, names, c), strict=True)} for c in ("said", "label")
    )
    planted = with_planted(frame, "p_bm25")
    mine = {c: float(_values(planted, [PLANTED], c)[0].mean()) for c in ("said", "label")}
    better = [n for n in names if truth[n] > mine["label"] and alone[n] < mine["said"]]
    rival = max(better, key=truth.__getitem__)
    case = case_of(planted, "DCG@10", [PLANTED, rival])

    def make() -> dict[str, float]:
        outcome = documents(1)(case, labels, repetitions, 0)
        assert outcome is not None
        return {
            "wrong": float((outcome.low > 0).mean()),
            "right": float((outcome.high < 0).mean()),
            "covered": float(((outcome.low <= case.truth) & (case.truth <= outcome.high)).mean()),
        }

    row = cache.made(["circular", rival, labels, repetitions], make) or {}
    return {"rival": rival, "truth": case.truth, "alone": float(case.population.weight @ case.alone), **row}


def ranking(frame: pd.DataFrame, cache: Cache) -> list[dict[str, object]]:
    """How far umbrela's ranking of five runs is from the truth, by one sample of people's labels of each size."""
    columns = [name for name in frame.columns if name.startswith("rank_")][3:60:12]
    pool = frame[["qid", "docno", *columns, *grade_columns(frame.columns)]]
    said, known = (frame[["qid", "docno", name]].rename(columns={name: "label"}) for name in ("said", "label"))

    def make(labels: int) -> dict[str, float]:
        plan = Plan.create(pool, None, "DCG@10", budget=labels, level="document", seed=1)
        qrels = plan.assessments[["qid", "docno"]].merge(known, on=["qid", "docno"])
        found = replacement(plan, qrels, said, "umbrela")
        low, high = found.tau_interval
        verdicts = found.pairs["verdict"].value_counts().to_dict()
        return {"tau low": round(low, 3), "tau high": round(high, 3), **{name: int(n) for name, n in verdicts.items()}}

    rows = [
        {"labels": labels, **(cache.made(["ranking", labels], partial(make, labels)) or {})} for labels in LABELS[1:]
    ]
    return [
        {name: row.get(name, 0) for name in ("labels", CONFIRMED, REFUTED, OPEN, "tau low", "tau high")} for row in rows
    ]


def agreement(frame: pd.DataFrame, cache: Cache, repetitions: int) -> pd.DataFrame:
    """The share of umbrela's labels that people share: strata by its label (Merlo et al. 2026), and audits."""
    ways = {"strata by LLM label": _strata, "audit": _audit}
    rows = []
    for labels, way in product(LABELS, ways):
        make = partial(_agreed, frame, ways[way], labels, repetitions)
        rows.append({"labels": labels, "way": way, **(cache.made(["agreement", labels, way, repetitions], make) or {})})
    return pd.DataFrame(rows)


def _agreed(frame: pd.DataFrame, way: Callable[..., Ends], labels: int, repetitions: int) -> dict[str, float]:
    """Error, width and coverage of one way."""
    value, low, high = np.array([way(frame, labels, seed) for seed in range(repetitions)]).T
    truth = (frame["said"] == frame["label"]).mean()
    share = float(((low <= truth) & (truth <= high)).mean())
    return {
        "rmse": float(np.sqrt(((value - truth) ** 2).mean())),
        "width": float(np.median(high - low)),
        "width_se": float(1.25 * (high - low).std() / np.sqrt(repetitions)),
        "coverage": share,
        "coverage_se": float(share_error(share, repetitions)),
    }


def limits(frame: pd.DataFrame, cache: Cache) -> str:
    """What keeps documents and audits from doing better, in words."""
    said = []
    for name, labels in product(("nDCG@10", "DCG@10"), (50, 500)):
        make = partial(_worst, frame, MEASURES[name], labels)
        row = cache.made(["worst", name, labels], make) or {}
        said.append(f"{row['share']:.0%} by {name} at {labels} labels")
    label, judge = frame["label"].to_numpy(int), frame["said"].to_numpy(int)
    same = (label == judge).astype(float)
    expected = frame[grade_columns(frame.columns)].to_numpy()[np.arange(len(frame)), judge]
    within = pd.Series(same).groupby(judge).transform("mean").to_numpy()
    return (
        f"**What limits it**: of the squared error of documents for one run, the 5 worst of 200 samples carry "
        f"{', '.join(said)}. The mean squared distance of agreement from what the forest expects is "
        f"{((same - expected) ** 2).mean():.3f}, and from the share within strata {((same - within) ** 2).mean():.3f}."
    )


def _worst(frame: pd.DataFrame, measure: str, labels: int, number: int = 5) -> dict[str, float]:
    """The share of the squared error of documents that the worst of 200 samples carry."""
    outcome = documents(1)(case_of(frame, measure, near_tied(frame)[:1]), float(labels), 200, 0)
    assert outcome is not None
    squared = np.sort(outcome.error**2)
    return {"share": float(squared[-number:].sum() / squared.sum())}


def _strata(frame: pd.DataFrame, labels: int, seed: int) -> Ends:
    """The stratified mean with proportional allocation and a normal interval."""
    rng, said = np.random.default_rng(seed), frame["said"].to_numpy(int)
    same = said == frame["label"].to_numpy(int)
    value = variance = 0.0
    for grade, size in zip(*np.unique(said, return_counts=True), strict=True):
        number = max(2, round(labels * size / len(said)))
        drawn = same[rng.choice(np.flatnonzero(said == grade), number, replace=False)]
        share = size / len(said)
        value += share * drawn.mean()
        variance += share**2 * (1 - number / size) * drawn.var(ddof=1) / number
    half = stats.norm.ppf(1 - (1 - LEVEL) / 2) * np.sqrt(variance)
    return value, value - half, value + half


def _audit(frame: pd.DataFrame, labels: int, seed: int) -> Ends:
    """An audit of the same estimand."""
    qrels, pool = frame[["qid", "docno", "label"]], frame[["qid", "docno", "said", *grade_columns(frame.columns)]]
    audit = Audit.create(pool, {"umbrela": "said"}, Accuracy(), labels, seed=seed)
    found = audit.estimate(audit.assessments[["qid", "docno"]].merge(qrels), reference="effective")["umbrela"]
    return found.value, *found.confidence_interval()


def page(
    table: pd.DataFrame,
    planted: dict[str, float | str],
    agreed: pd.DataFrame,
    ranked: list[dict[str, object]],
) -> str:
    """All tables, with what is said of them."""
    parts = ["RMSE ± its Monte Carlo error / median width / coverage ± its Monte Carlo error of 95 % intervals."]
    for (measure, task), rows in table.groupby(["measure", "task"], sort=False):
        first = rows.iloc[0]
        head = f"**{measure}, {task}**: the truth is {first['truth']:.3f}; {first['repetitions']} samples a cell."
        parts.append(f"{head}\n\n{_wide(rows)}")
    parts.append(_equivalents(table))
    parts.append(
        f"**The planted run** against {planted['rival']}, DCG@10: the LLM alone says {planted['alone']:+.2f}, people "
        f"say {planted['truth']:+.2f}. With 200 labels of single documents the 95 % interval of pt_active names the "
        f"right winner in {planted['right']:.1%} of the samples and the wrong one in {planted['wrong']:.1%}. It "
        f"covers the truth in {planted['covered']:.1%}."
    )
    cells = [
        f"{row['rmse']:.4f} / {row['width']:.4f} ± {row['width_se']:.4f} / {_share(row)}"
        for row in agreed.to_dict("records")
    ]
    wide = agreed.assign(cell=cells).pivot(index="way", columns="labels", values="cell").reset_index()
    said = "**The share of umbrela's labels that people share**: RMSE / median width / coverage."
    parts.append(f"{said}\n\n{markdown(wide)}")
    parts.append(
        "**The ranking of five runs by umbrela alone**, DCG@10: pairs that people's labels confirm, refute and leave "
        "open, and the 95 % interval of Kendall's τ, from one sample of each size.\n\n"
        f"{markdown(pd.DataFrame(ranked, dtype=object))}"
    )
    return "\n\n".join(parts)


def _equivalents(table: pd.DataFrame) -> str:
    """How many labels of other ways one label of this package's documents is worth."""
    wide = table.pivot(index=["measure", "task", "labels"], columns="way", values="rmse")
    others = [way for way in (PASSIVE, "PPI", "PPI++", "PPI, expected labels", "PPI++, expected labels") if way in wide]
    ratio = (
        (wide[others].div(wide["pt_active, documents"], axis=0) ** 2)
        .dropna(how="all")
        .round(2)
        .astype(object)
        .fillna("–")
    )
    said = "**Label-equivalents of documents**: the mean squared error of a way over that of `pt_active, documents`."
    return f"{said}\n\n{markdown(ratio.reset_index())}"


def _wide(rows: pd.DataFrame) -> str:
    """RMSE, width and coverage by way and labels."""
    cells = [
        f"{row['rmse']:.3f} ± {row['rmse_se']:.3f}"
        + ("" if np.isnan(row["coverage"]) else f" / {row['width']:.2f} / {_share(row)}")
        for row in rows.to_dict("records")
    ]
    wide = rows.assign(cell=cells).pivot(index="way", columns="labels", values="cell")
    return markdown(wide.reindex([way for way in WAYS if way in wide.index]).fillna("–").reset_index())


def _share(row: dict[Any, Any]) -> str:
    return f"{row['coverage']:.3f} ± {row['coverage_se']:.3f}"


def figure(table: pd.DataFrame, path: Path) -> None:
    """Errors over labels for the near-tied pair by DCG@10."""
    rows = table[(table["measure"] == "DCG@10") & (table["task"] == "near-tied pair")]
    plt.rcParams["svg.hashsalt"] = "pt_active"
    chart, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    shown = (
        "LLM alone",
        PASSIVE,
        "PPI",
        "PPI++",
        "PPI++, expected labels",
        "pt_active, queries",
        "pt_active, documents",
    )
    for way, mark in zip(shown, "xosd^v*", strict=True):
        each = rows[rows["way"] == way]
        ours = way.startswith("pt_active")
        alone = way == "LLM alone"
        style = {"ls": "--", "color": "gray", "label": "LLM alone (the wrong winner)"} if alone else {"label": way}
        axes.plot(each["labels"], each["rmse"], marker=mark, lw=2.4 if ours else 1.2, **style)
    axes.set(xscale="log", yscale="log", xlabel="labels of people", ylabel="error of the difference in DCG@10")
    axes.set_xticks(LABELS, [f"{labels:,}" for labels in LABELS])
    axes.set_yticks((0.2, 0.5, 1, 2), ("0.2", "0.5", "1", "2"))
    axes.minorticks_off()
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    chart.savefig(path, dpi=130)
    plt.close(chart)


def main() -> None:
    """Run the study, and print it or put it into a page."""
    parser = parser_with(__doc__, repetitions=400)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, metavar="FILE.jsonl")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    frame, cache = stacked(arguments.folder), Cache(arguments.cache)
    planted = circular(frame, cache, arguments.repetitions)
    print(planted, flush=True)
    table = study(frame, cache, arguments.repetitions)
    agreed = agreement(frame, cache, arguments.repetitions // 2)
    text = f"{page(table, planted, agreed, ranking(frame, cache))}\n\n{limits(frame, cache)}"
    print(text)
    publish(text, arguments, *TABLES)
    if arguments.evidence:
        figure(table, arguments.evidence.parent / "llm-judges.png")


if __name__ == "__main__":
    main()
