from __future__ import annotations

import pytest

from pt_active.showing.rounding import amount, with_interval
from pt_active.showing.wording import listed


@pytest.mark.parametrize(
    ("value", "said"), [(15384.2, "15,384"), (9999.6, "10,000"), (9999.4, "9999"), (853.01, "853"), (0.25, "0.25")]
)
def test_an_amount_is_never_a_power_of_ten(value: float, said: str) -> None:
    assert amount(value) == said


@pytest.mark.parametrize(
    ("count", "said"), [(1, "r1"), (2, "r1 or r2"), (5, "r1, r2, r3, r4 or r5"), (63, "r1, r2, r3 or 60 others")]
)
def test_a_sentence_names_a_few_of_many(count: int, said: str) -> None:
    assert listed([f"r{i}" for i in range(1, count + 1)], " or ") == said


def test_an_interval_as_wide_as_rounding_has_four_decimals() -> None:
    assert with_interval(0.632561503897, 0.63256150389699, 0.63256150389701, sign=True) == "+0.6326"
