"""How tracks estimate measures from incomplete judgments: infAP, xinfAP, infNDCG, statAP, and two ways to pool.

Written from the papers, as baselines for `tracks.py`. All functions take one topic:

- ``ranks``, int64[k, n]: the rank of each pooled document in each run, from 1; 0 where a run does not retrieve it.
- ``label``, int64[n]: grades; read only where a document is sampled or judged.
- ``sampled``, bool[n]: the documents that are judged.

Sources: Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments" (CIKM 2006); Yilmaz,
Kanoulas and Aslam, "A simple and efficient sampling method for estimating AP and NDCG" (SIGIR 2008); Aslam and Pavlu,
"A practical sampling strategy for efficient retrieval evaluation" (2007); Cormack, Palmer and Clarke, "Efficient
construction of large test collections" (SIGIR 1998).
"""

from __future__ import annotations

import numpy as np

SMOOTHING = 1e-5
"""ε of inferred average precision, as in trec_eval."""


def rank_discount(rank: np.ndarray, cutoff: int) -> np.ndarray:
    """``1/log2(rank + 1)`` down to a cutoff; 0 below it and for rank 0."""
    inside = (rank > 0) & (rank <= cutoff)
    return np.where(inside, 1 / np.log2(np.maximum(rank, 1) + 1), 0.0)


def scaled_up(stratum: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """``N_s/n_s`` of each sampled document, the size of its stratum over the number sampled there; 0 elsewhere."""
    size, drawn = np.bincount(stratum), np.bincount(stratum[sampled], minlength=stratum.max() + 1)
    return np.where(sampled, (size / np.maximum(drawn, 1))[stratum], 0.0)


def inferred_ap(
    ranks: np.ndarray, stratum: np.ndarray, label: np.ndarray, sampled: np.ndarray, relevant: int = 1
) -> np.ndarray:
    """Extended inferred AP of every run, float64[k]; infAP if there is one stratum.

    The precision at a sampled relevant document of rank r is taken as
    ``1/r + Σ_s (a_s/r) (rel_s + ε)/(rel_s + non_s + 2ε)``: ``a_s`` documents of stratum s stand above it, of which
    ``rel_s`` were judged relevant and ``non_s`` not. Strata count by their estimated relevant documents.

    Args:
        ranks: The runs.
        stratum: int64[n], from 0.
        label: The grades.
        sampled: The judged documents.
        relevant: The lowest relevant grade.
    """
    is_relevant, weight = sampled & (label >= relevant), scaled_up(stratum, sampled)
    total = weight[is_relevant].sum()
    if not total > 0:
        return np.zeros(len(ranks))
    return np.array([weight @ _precisions(rank, stratum, is_relevant, sampled) for rank in ranks]) / total


def _precisions(rank: np.ndarray, stratum: np.ndarray, is_relevant: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """The inferred precision at each sampled relevant document that a run retrieves; 0 elsewhere."""
    precision = np.zeros(len(rank))
    order = np.argsort(rank, kind="stable")
    order = order[rank[order] > 0]
    own = np.eye(stratum.max() + 1)[stratum[order]]
    above = own.cumsum(axis=0) - own
    hits = (own * is_relevant[order, None]).cumsum(axis=0) - own * is_relevant[order, None]
    seen = (own * sampled[order, None]).cumsum(axis=0) - own * sampled[order, None]
    expected = (above * (hits + SMOOTHING) / (seen + 2 * SMOOTHING)).sum(axis=1)
    precision[order] = np.where(is_relevant[order], (1 + expected) / rank[order], 0.0)
    return precision


def inferred_ndcg(
    ranks: np.ndarray, stratum: np.ndarray, gain: np.ndarray, label: np.ndarray, sampled: np.ndarray, cutoff: int
) -> np.ndarray:
    """The infNDCG of every run, float64[k]: an estimated DCG over the ideal DCG of estimated numbers of each grade.

    Args:
        ranks: The runs.
        stratum: int64[n], from 0.
        gain: float64[G+1], the gain of each grade.
        label: The grades.
        sampled: The judged documents.
        cutoff: The last rank that counts.
    """
    weight, known = scaled_up(stratum, sampled), np.where(sampled, label, 0)
    ideal = ideal_dcg(np.bincount(known, weights=weight, minlength=len(gain)), gain, cutoff)
    return rank_discount(ranks, cutoff) @ (weight * gain[known]) / ideal if ideal > 0 else np.zeros(len(ranks))


def ideal_dcg(number: np.ndarray, gain: np.ndarray, cutoff: int) -> float:
    """The DCG of the best ranking of so many documents of each grade, which need not be whole numbers.

    Args:
        number: float64[G+1].
        gain: float64[G+1].
        cutoff: The last rank that counts.
    """
    best = np.argsort(-gain, kind="stable")
    ends = np.minimum(number[best].cumsum(), cutoff)
    discounts = np.concatenate([[0.0], rank_discount(np.arange(1, cutoff + 1), cutoff).cumsum()])
    reached = np.interp(ends, np.arange(cutoff + 1), discounts)
    return float(gain[best] @ np.diff(reached, prepend=0.0))


def stat_ap(
    ranks: np.ndarray, inclusion: np.ndarray, label: np.ndarray, sampled: np.ndarray, relevant: int = 1
) -> np.ndarray:
    """The statAP of every run, float64[k], from documents that were drawn independently.

    The sum of precisions is ``Σ_d (1/r_d) (1/π_d) (1 + Σ_{d' above d} 1/π_{d'})`` over the sampled relevant documents,
    and the number of relevant documents is ``Σ 1/π``.

    Args:
        ranks: The runs.
        inclusion: float64[n], π, positive where a document is sampled.
        label: The grades.
        sampled: The judged documents.
        relevant: The lowest relevant grade.
    """
    is_relevant = sampled & (label >= relevant)
    weight = np.where(is_relevant, 1 / np.where(is_relevant, inclusion, 1.0), 0.0)
    if not weight.any():
        return np.zeros(len(ranks))
    sums = np.empty(len(ranks))
    for run, rank in enumerate(ranks):
        order = np.argsort(rank, kind="stable")
        order = order[rank[order] > 0]
        w = weight[order]
        sums[run] = (w / rank[order] * (1 + w.cumsum() - w)).sum()
    return sums / weight.sum()


def stat_ap_prior(ranks: np.ndarray, depth: int) -> np.ndarray:
    """The weight of each document in AP, averaged over the runs, float64[n]: ``(1 + Σ_{i=r}^{d} 1/i)/(2d)``.

    Args:
        ranks: The runs.
        depth: d, the length of the runs.
    """
    tail = np.append(np.cumsum(1 / np.arange(depth, 0, -1))[::-1], 0.0)
    inside = (ranks > 0) & (ranks <= depth)
    return np.where(inside, (1 + tail[np.where(inside, ranks - 1, depth)]) / (2 * depth), 0.0).mean(axis=0)


def inclusion_of(size: np.ndarray, number: float) -> np.ndarray:
    """``min(1, c·size)`` with the c that makes it sum to a number, float64[n].

    Args:
        size: float64[n], not negative.
        number: At most the number of positive sizes.
    """
    chance, certain = np.zeros(len(size)), np.zeros(len(size), dtype=bool)
    while True:
        left = np.where(certain, 0.0, size)
        chance = np.where(certain, 1.0, (number - certain.sum()) * left / max(left.sum(), np.finfo(float).tiny))
        over = ~certain & (chance >= 1)
        if not over.any():
            return chance
        certain |= over


def top_strata(ranks: np.ndarray, depth: int) -> np.ndarray:
    """int64[n]: 0 for documents that a run ranks at a depth or above, 1 for the rest of the pool."""
    return np.where(((ranks > 0) & (ranks <= depth)).any(axis=0), 0, 1)


def depth_pool(ranks: np.ndarray, number: int) -> np.ndarray:
    """bool[n], the documents of the smallest best rank; ties go to those that more runs retrieve, then to the first.

    Args:
        ranks: The runs.
        number: Documents to judge.
    """
    best = np.where(ranks > 0, ranks, np.iinfo(np.int64).max).min(axis=0)
    chosen = np.zeros(ranks.shape[1], dtype=bool)
    chosen[np.lexsort([-(ranks > 0).sum(axis=0), best])[:number]] = True
    return chosen


def move_to_front(ranks: np.ndarray, label: np.ndarray, number: int, relevant: int = 1) -> np.ndarray:
    """bool[n], the documents that move-to-front pooling judges within a topic.

    All runs begin with the same priority. The next document of the run with the highest priority is judged, again and
    again, until one is not relevant; then its priority falls by one, and another run comes to the front.

    Args:
        ranks: The runs.
        label: The grades, read as documents are judged.
        number: Documents to judge.
        relevant: The lowest relevant grade.
    """
    lists = [np.argsort(rank, kind="stable")[(rank == 0).sum() :] for rank in ranks]
    place, priority = np.zeros(len(ranks), dtype=np.int64), np.zeros(len(ranks))
    judged, left = np.zeros(ranks.shape[1], dtype=bool), number
    waiting = np.array([len(each) > 0 for each in lists])
    while left > 0 and waiting.any():
        run = int(np.argmax(np.where(waiting, priority, -np.inf)))
        document = lists[run][place[run]]
        place[run] += 1
        waiting[run] = place[run] < len(lists[run])
        if judged[document]:
            continue
        judged[document], left = True, left - 1
        if label[document] < relevant:
            priority[run] -= 1
    return judged
