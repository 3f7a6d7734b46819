"""What of a text from a file may reach a screen, a page, or a spreadsheet?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pt_active.frames.checks import shown

if TYPE_CHECKING:
    import pandas as pd

_BEYOND_LINES = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
)

_UNSEEN = f"{_BEYOND_LINES}\ud800-\udfff\U000e0000-\U000e007f"
"""Control characters, characters that turn the direction of the text, invisible ones and lone surrogates."""

_IN_LINES = re.compile(f"[{_UNSEEN}]|\r(?!\n)")
_IN_FIELDS = re.compile(f"[\t\n\r{_UNSEEN}]")
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""The beginning of a cell that a spreadsheet takes for a formula, or of one that `guarded` may have written."""


def visible(text: str) -> str:
    r"""A text in which control characters and the like are shown, such as ``\x1b``; line ends and tabs stay."""
    return _IN_LINES.sub(_escaped, text)


def visible_field(text: str) -> str:
    r"""A text in which all control characters and the like are shown; a line end becomes ``\n``."""
    return _IN_FIELDS.sub(_escaped, text)


def check_visible(what: str, names: Iterable[str]) -> None:
    """Raise if a name holds characters that do not print, such as line ends or marks of direction."""
    for name in names:
        if visible_field(name) != name:
            raise ValueError(f"{what} {shown(name)}: a name must not hold characters that do not print")


def _escaped(character: re.Match[str]) -> str:
    return character.group().encode("unicode_escape", "surrogatepass").decode("ascii")


def json_text(value: Any, indent: int | None = None) -> str:
    r"""JSON that can be printed: characters that `visible` would show are written as ``\u001b``, so nothing is lost."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return _IN_LINES.sub(lambda character: json.dumps(character.group())[1:-1], text)


def guarded(cells: pd.Series) -> pd.Series:
    """Cells that no spreadsheet takes for formulas: those that start like one get an apostrophe in front."""
    return cells.map(lambda cell: f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell)


def unguarded(cells: pd.Series) -> pd.Series:
    """The cells as they were before `guarded`."""
    return cells.map(lambda cell: cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell)
