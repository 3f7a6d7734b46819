"""How is a guideline in Markdown shown so that nothing in it runs?"""

from __future__ import annotations

from pathlib import Path

from pt_active.frames.sources import naming, read_source
from pt_active.frames.visible import visible


def guideline_html(path: str | Path) -> str:
    """The HTML of a Markdown file: HTML in it is shown as text, and pictures are left out."""
    from markdown_it import MarkdownIt

    source = read_source(path)
    with naming(path):
        text = source.text
    # With these settings links to scripts stay text, and so does all HTML.
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(visible(text)))
