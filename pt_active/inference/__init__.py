"""From labels to estimates with their errors, at one look or at many. This folder works on arrays, not on frames.

Unless a docstring says otherwise: ``p`` and ``weight`` float64[m] of m units; ``rows``, ``count``, ``values`` and
``importance`` [..., n] of n draws, with samples on the axes before; ``label`` int64[N] (-1 without a label),
``grades`` float64[N, G+1], ``query`` int64[N], and ``mean``, ``observed``, ``score``, ``gain``, ``slope`` and ``error``
float64[N] of N documents or pairs; ``contrast`` float64[k] of k systems.
"""
