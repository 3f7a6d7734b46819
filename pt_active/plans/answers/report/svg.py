"""Figures as SVG that stands inside an HTML page: its colours, its ids, and text in its place."""

from __future__ import annotations

import html
import io
import re
import warnings
from typing import TYPE_CHECKING

from pt_active.plans.answers.report.plots import FIRST, INK, SECOND

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {INK: "var(--ink)", FIRST: "var(--first)", SECOND: "var(--second)"}
"""Of the figure → of the page, which knows light and dark."""

_REM_AN_INCH = 6.9
"""How wide figures are at most, so that their text is about as large as the page's."""


def inline_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """A figure as an ``<svg>`` element.

    Args:
        figure: With the colours of `plots`.
        name: Put before all ids, so that several figures fit on one page.
        title: What the figure is.
        description: What it shows, for those who do not see it.
    """
    import matplotlib as mpl

    written = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    text = written.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", text)
    for colour, variable in _COLOURS.items():
        text = re.sub(re.escape(colour), variable, text, flags=re.IGNORECASE)
    words = f'<title id="{name}-title">{html.escape(title)}</title>\n'
    words += f'<desc id="{name}-desc">{html.escape(description)}</desc>\n'
    opening, rest = text.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    opening += f' style="max-width: {_REM_AN_INCH * figure.get_size_inches()[0]:.4g}rem"'
    return f'{opening} role="img" aria-labelledby="{name}-title {name}-desc">\n{words}{rest}'
