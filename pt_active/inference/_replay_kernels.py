"""A compiled loop over the documents that replays draw."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._kernels import _compiled


@_compiled
def replay_errors(drawn, labels, nested, found):  # type: ignore[no-untyped-def]
    """Sums over the draws of each of R replays of a `Drawn`, for the `_Labels` of a contrast, into float64[5, R].

    These are ``Σ (x/ψ − x + shift)``, the variances shown and expected, absolute terms, and the variance reached.
    """
    within, above = np.zeros((2, len(drawn.normal)))  # of one query, whose documents come together from the top
    last = len(labels.place) - 1
    for i in range(last + 1):
        chance, place = labels.chance[i], labels.place[i]
        for draw in range(drawn.start[place], drawn.start[place + 1]):
            r, effect = drawn.row[draw], labels.effects[drawn.label[draw], i]
            term = effect / chance
            left = term * (1 - chance)
            within[r] += term * (left + 2 * above[r])
            if nested:
                above[r] += left
            found[0, r] += left + labels.shift[i]
            found[2, r] += labels.variance[i] * (1 - chance) / chance**2
            found[3, r] += abs(term)
            found[4, r] += labels.variance[i]
        if i == last or labels.query[i + 1] != labels.query[i]:
            found[1] += np.maximum(within, 0.0)
            within[:], above[:] = 0.0, 0.0
