"""To how many digits is a number shown?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pt_active.inference.ties import difference

MINUS = "−"  # The minus sign of numbers for people; hyphens are for words

_MAX_DECIMALS = 12

_HYPHEN = re.compile(r"(?<![\w.\-])-(?=\d)")


def minus(text: str) -> str:
    """A text whose negative numbers have a minus sign; ids with hyphens stay as they are."""
    return _HYPHEN.sub(MINUS, text)


def number(value: Any) -> str:
    """A number in a table: four significant digits, whole numbers in full, and – if there is none."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value}".replace("-", MINUS)
    if value is None or not np.isfinite(value):
        return "–"
    text = f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return text.replace("-", MINUS)


def amount(value: float) -> str:
    """A number of documents, labels or hours: four significant digits, and whole thousands in full with commas."""
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"


def decimals(low: float, high: float) -> int:
    """How many decimals an interval supports: those that show its half-width with two digits."""
    half = difference(high, low) / 2
    if not np.isfinite(half) or half <= 0:
        return 4
    return int(np.clip(1 - np.floor(np.log10(half * (1 + 1e-9))), 0, _MAX_DECIMALS))


def fixed(value: float, places: int, sign: bool = False) -> str:
    """A number with a given number of decimals, and with a plus sign if asked for; 0 has no sign."""
    rounded = round(float(value), places) + 0.0
    text = f"{rounded:+.{places}f}" if sign and rounded else f"{rounded:.{places}f}"
    return text.replace("-", MINUS)


def with_interval(value: float, low: float, high: float, sign: bool = False) -> str:
    """A number with its interval, rounded to what the interval supports."""
    if not np.isfinite([low, high]).all():
        return f"about {float(f'{value:.2g}'):+g}".replace("-", MINUS) if sign else f"about {value:.2g}"
    if difference(high, low) == 0:
        return fixed(value, 4, sign)
    places, near = decimals(low, high), min(abs(low), abs(high))
    if low * high > 0 and near < 0.5 * 10.0**-places:
        # Without 0, an interval must not seem to touch it.
        places = min(int(np.ceil(-np.log10(2 * near))), _MAX_DECIMALS)
    arms = {fixed(value - low, places), fixed(high - value, places)}
    if len(arms) == 1:
        return f"{fixed(value, places, sign)} ± {arms.pop()}"
    return f"{fixed(value, places, sign)} ({from_to(low, high, places, sign)})"


def from_to(low: float, high: float, places: int | None = None, sign: bool = False) -> str:
    """An interval in words, such as ``−0.14 to +0.71``, rounded to what it supports."""
    if not np.isfinite([low, high]).all():
        return "no interval"
    places = decimals(low, high) if places is None else places
    sign = sign or low < 0 < high
    return f"{fixed(low, places, sign)} to {fixed(high, places, sign)}"


def share(part: float, whole: float) -> str:
    """A share as a percentage, with two digits below 10%: ``9.6%``, ``13%``."""
    if not whole > 0:
        return "–"
    percent = 100 * part / whole
    if percent in (0, 100):
        return f"{percent:.0f}%"
    return f"{percent:.1f}%" if percent < 10 or percent > 99 else f"{percent:.0f}%"
