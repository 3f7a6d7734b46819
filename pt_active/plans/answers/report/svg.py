"""How does a figure become SVG inside an HTML page, with the page's colours and ids of its own?"""

from __future__ import annotations

import html
import io
import re
import warnings
from typing import TYPE_CHECKING

from pt_active.frames.visible import visible
from pt_active.plans.answers.report.plots import FIRST, INK, SECOND

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {INK: "var(--ink)", FIRST: "var(--first)", SECOND: "var(--second)"}
"""Colour of the figure → variable of the page, which has a light and a dark value."""

_REM_PER_INCH = 6.9
"""Maximum width of figures, so that their text is about as large as the page's."""


def inline_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """A figure as an ``<svg>`` element.

    Args:
        figure: A figure in the colours of `plots`.
        name: Prefix of all ids, so that the ids of several figures on one page differ.
        title: Title of the figure.
        description: What the figure shows, for readers who cannot see it.
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
    words = f'<title id="{name}-title">{html.escape(visible(title))}</title>\n'
    words += f'<desc id="{name}-desc">{html.escape(visible(description))}</desc>\n'
    opening, rest = text.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    opening += f' style="max-width: {_REM_PER_INCH * figure.get_size_inches()[0]:.4g}rem"'
    return f'{opening} role="img" aria-labelledby="{name}-title {name}-desc">\n{words}{rest}'
