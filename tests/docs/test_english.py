"""Pages, messages and docstrings have one word for one thing, and words that people use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "pt_active/pt_docs").glob("*.md")), ROOT / "pt_active/pt_docs/index.rst"]
MODULES = sorted((ROOT / "pt_active").rglob("*.py"))

INSTEAD = {
    r"cut-offs?": "cutoff",
    r"[Qq]uery ids?": "qid",
    r"[pe] values?|[EP]-values? [^a-z]": "p-value, e-value",
    r"standard deviation of the estimate": "standard error",
    r"[Hh]e|[Hh]im|[Hh]is": "they, them, their",
    r"[Jj]udge on|judging on": "keep judging",
    r"[Ss]ay `?--[a-z-]+": "pass --option",
    r"[Ss]ay `?[a-z_]+=": "pass argument=",
    r"by cascades": "for cascades",
    r"from so many": "from this number of … on",
    r"the (drawn|judged)(?=[.,;:)])": "what was drawn, what is judged",
    r"whyever": "for whatever reason",
    r"goes? on with": "continue with",
    r"if nothing is said|if nothing else is said|unless said": "by default",
    r"all the while": "at any time",
    r"in order to": "to",
    r"utili[sz]e[sd]?|leverages?": "use",
    r"thereof|therein|whereby|hereby": "a plainer word",
}
"""What is not to come back, and what to write instead."""


def texts(path: Path) -> Iterator[str]:
    """The prose of a page, without its code; the string literals of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield re.sub(r"^```(python|sh)\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("phrase", INSTEAD)
def test_what_people_would_not_say_does_not_come_back(phrase: str) -> None:
    found = re.compile(rf"(?<![\w-])(?:{phrase})(?![\w-])")
    said = [
        f"{path.relative_to(ROOT)}: {' '.join(text[max(0, hit.start() - 30) : hit.end() + 30].split())}"
        for path in (*PAGES, *MODULES)
        for text in texts(path)
        for hit in found.finditer(text)
    ]
    assert said == [], f"write {INSTEAD[phrase]}"
