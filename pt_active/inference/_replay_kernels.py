"""A compiled loop over the documents that replays draw."""

from __future__ import annotations

import numpy as np

from pt_active.inference.ties import ROUNDING
from pt_active.relevance._kernels import _compiled


@_compiled
def replay_errors(drawn, units, nested, found):  # type: ignore[no-untyped-def]
    """Errors of R replays, the variances that they show and are expected to show, and their largest terms [theory 9].

    ``drawn`` and ``units`` are a `Drawn` and the `_Units` of `replayed_documents`; ``found``, float64[4, R], is written
    into.
    """
    number, counts = len(drawn.normal), np.flatnonzero(units.influence)
    step, within, excess = np.zeros((3, number))  # of one query, whose documents come together
    known, reached, usual = np.zeros((3, number))
    found[:] = 0.0
    for i, z in enumerate(counts):
        x, chance = units.query[z], units.chance[z]
        opening = units.opening[x]
        both = chance * opening
        expected = units.variance[z] * (1 - both) / both**2
        first = units.number[z]
        for place in range(drawn.start[first], drawn.start[first + 1]):
            r, effect = drawn.row[place], units.effects[drawn.label[place], z]
            term = effect / chance
            left = term * (1 - chance)
            within[r] += term * left
            if nested:
                within[r] += 2 * term * excess[r]
                excess[r] += left
            step[r] += term
            known[r] += effect - units.shift[z]
            reached[r] += units.variance[z]
            usual[r] += expected
        if i + 1 < len(counts) and units.query[counts[i + 1]] == x:
            continue
        for r in range(number):
            part = step[r] / opening
            found[0, r] += part
            found[1, r] += max(part**2 * (1 - opening) + within[r] / opening, 0.0)
            found[3, r] = max(found[3, r], abs(part))
        step[:], within[:], excess[:] = 0.0, 0.0, 0.0
    sign = 0.0 if len(counts) == 0 else np.sign(units.influence[counts[units.place[counts].argmin()]])
    every = units.variance.sum()
    missed = np.sqrt(np.where(every - reached > ROUNDING * every, every - reached, 0.0))  # the rest is rounding
    found[0] -= known + units.shift.sum() + sign * missed * drawn.normal
    found[2] = usual
