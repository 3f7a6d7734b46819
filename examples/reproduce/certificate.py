"""Does the certificate of an LLM judge hold: does the order of runs that its labels give agree with people's?

    python examples/reproduce/certificate.py FOLDER [--repetitions 40] [--evidence FOLDER]

FOLDER is that of `tracks.py`. A plan of documents for nDCG@10, a twentieth or a tenth of all, is drawn anew for each
sample; the order by all of people's labels is the truth. Runs are every third one, or in a tenth of the samples all.
Judges are four LLMs, and people themselves, whose order is right. ``τ`` is the true one, ``plain`` that with people's
estimates as they are, ``certified`` what the certificate expects, and ``±`` half of its interval. *Covers* are the
shares of samples in which the intervals of τ, τ_ap and the overlap of the best hold, and of runs for whose values the
interval of the judge's error holds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from leagues import add_keep, kept
from tqdm import tqdm
from tracks import Track, read_track, redrawn, true_scores

from pt_active import Plan
from pt_active.inference.certificate import agreement
from pt_active.plans.answers.certificate import Certificate, certificate_of
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.answers.labelled_documents import labelled_documents
from pt_active.plans.answers.ranking import rank_judged

MEASURE, BUDGETS = "nDCG@10", (541, 1083)
JUDGES = {
    "UMBRELA": "umbrela-gpt-4.qrels",
    "GPT-4o": "votes-gpt-4o.tsv.gz",
    "Mistral": "votes-mistral.tsv.gz",
    "Llama 3.2": "votes-llama3.2.tsv.gz",
}
TABLES = ("certificate",)


def every_third(track: Track) -> Track:
    """The track with every third run."""
    ranks = [column for column in track.pool.columns if column.startswith("rank_")]
    return Track(track.pool.drop(columns=[each for each in ranks if each not in ranks[::3]]), track.qrels)


def of_sample(found: Certificate, truth: dict[str, float]) -> dict[str, float]:
    """What one certificate says, and which of its intervals hold."""
    runs, (value, *_), (low, high) = found.runs, found.figures["value"], found.figures[["low", "high"]].to_numpy().T
    people = runs["name"].map(truth).to_numpy()
    true = agreement(runs["judge"].to_numpy(), people[None], found.top)[:, 0]
    holds, off = (low <= true + 1e-9) & (true <= high + 1e-9), runs["judge"] - people
    said = {"τ": true[0], "plain": found.figures["estimated"][0], "certified": value, "±": (high[0] - low[0]) / 2}
    said |= dict(zip(("covers τ", "covers τ_ap", "covers overlap"), holds.astype(float), strict=True))
    return said | {"covers errors": ((runs["low"] <= off) & (off <= runs["high"])).mean()}


def rows(name: str, track: Track, judges: dict[str, object], budget: int, repetitions: int) -> Iterator[dict]:
    """The means over the samples for each judge."""
    plan = Plan.create(track.pool, None, MEASURE, level="document", budget=budget, seed=1)
    tables, found, pool = plan.tables, [], None
    truth = dict(zip(plan.rankers, true_scores(track, MEASURE), strict=True))
    label = tables.pool.keys[["qid", "docno"]].merge(track.qrels, how="left")["label"].to_numpy()
    for seed in tqdm(range(repetitions), desc=f"{name}, {budget}"):
        drawn = redrawn(plan, tables.documents, seed)
        judged = labelled_documents(tables, drawn, np.where(drawn.sample.drawn, label, -1), plan.measure)
        pool = pool or judged.pool  # all samples share what it keeps
        people = rank_judged(replace(judged, pool=pool), Settings())
        for each, labels in judges.items():
            found.append({"judge": each} | of_sample(certificate_of(judged, people, labels, {}, 1.0), truth))
    for each, some in pd.DataFrame(found).groupby("judge", sort=False):
        means = some.drop(columns="judge").mean()
        about = {"runs": len(plan.rankers), "judgments": budget, "judge": each, "samples": repetitions}
        yield about | {column: f"{value:.{2 if 'covers' in column else 3}f}" for column, value in means.items()}


def main() -> None:
    """Read the track, replay and print."""
    parser = parser_with(__doc__, repetitions=40)
    parser.add_argument("folder", type=Path)
    add_keep(parser)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    track, found = read_track(asked.folder), []
    judges = {name: asked.folder / "judges" / file for name, file in JUDGES.items()} | {"people": track.qrels}
    for name, some, samples in (("third", every_third(track), 1.0), ("all", track, 0.1)):
        for budget in BUDGETS:
            number = max(round(samples * asked.repetitions), 2)
            found += kept(asked.keep, f"{name}, {budget}, {number}", rows(name, some, judges, budget, number))
    publish(text := markdown(pd.DataFrame(found)), asked, *TABLES)
    print(text)


if __name__ == "__main__":
    main()
