"""Samples of single documents: their bias."""

from dataclasses import replace

import numpy as np
import pytest

from pt_active.inference.replay import Method, Repetitions, replay


@pytest.mark.parametrize(("measure", "drawing"), [("DCG@5", "depth"), ("ERR@5", "depth"), ("DCG@5", "successive")])
def test_replays_are_unbiased_and_swap_systems(labelled_documents, measure, drawing):
    pool, _ = labelled_documents(measure)
    methods = [Method(drawing, name) for name in ("difference", "regression")]
    budgets, how = [60.0], Repetitions(80, 1)
    found = replay(pool, methods, budgets, how)
    for each in found.values():
        errors = each.error[0]
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(80)
    plain = found["difference"]
    assert (plain.spent <= 60).all()
    np.testing.assert_array_equal(plain.spent, plain.n_judged)
    null = replay(pool, methods[:1], budgets, replace(how, null=True))["difference"]
    assert len(np.unique(null.truth)) > 75
    for errors in (null.truth, null.error[0]):
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(80)
