"""What opening a query costs counts where a budget is spent, whatever the drawing."""

import numpy as np
import pytest

from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS
from pt_active.sampling.sample import Costs, DocumentSizes
from pt_active.sampling.two_phase import draw_documents

PRICES = Costs(np.array([0, 2, 4]), np.array([1.0, 1.5, 1.0, 0.5]), 1.0)
SIZE = np.array([0.5, 0.3, 0.6, 0.2])
SIZES = DocumentSizes(np.arange(4), SIZE, SIZE)
BUDGET, DRAWS = 4.0, 20_000


@pytest.mark.parametrize("drawing", DOCUMENT_DRAWINGS)
def test_a_budget_pays_for_openings_and_chances_stay_exact(drawing):
    """No sample overspends, and ``E Σ I/π`` is 1 for each document, within 4 standard errors."""
    design, rng = document_design(SIZES, drawing, PRICES, BUDGET), np.random.default_rng(1)
    weights = np.empty((DRAWS, 4))
    for weight in weights:
        sample = draw_documents(design, PRICES, BUDGET, rng)
        opened = [sample.drawn[:2].any(), sample.drawn[2:].any()]
        assert sample.spent == pytest.approx(PRICES.cost @ sample.drawn + sum(opened))
        assert sample.spent <= BUDGET * (1 + 1e-9)
        weight[:] = np.where(sample.drawn, 1 / np.where(sample.drawn, sample.chance(PRICES.every), 1.0), 0.0)
    assert (np.abs(weights.mean(axis=0) - 1) < 4 * weights.std(axis=0) / np.sqrt(DRAWS)).all()
