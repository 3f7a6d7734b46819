"""Pages, messages, help texts and docstrings have one word for one thing, and words that people use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(path for ending in ("py", "md", "rst", "jinja", "js") for path in (ROOT / "pt_active").rglob(f"*.{ending}")),
    *(ROOT / "examples").glob("*.py"),
]
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}

INSTEAD = {
    r"cut-offs?": "cutoff",
    r"[Qq]uery ids?": "qid",
    r"[pe] values?|[EP]-values? [^a-z]": "p-value, e-value",
    r"standard deviation of the estimate": "standard error",
    r"[Hh]e|[Hh]im|(?<!her )[Hh]is": "they, them, their",
    r"[Jj]udg(e|ing) on|judged on(?=,| from| until)": "keep judging",
    r"[Ss]ay `{0,2}--[a-z-]+": "pass --option",
    r"[Ss]ay `{0,2}[a-z_]+=\S*": "pass argument=",
    r"say either": "pass either",
    r"by cascades": "for cascades, such as ERR",
    r"[Ff]rom (so many|\d+ [a-z ]+ on)": "with N … or more",
    r"the (drawn|judged)(?= (and|are|is|of|in|to|have|were)\b|[.,;:)])": "the drawn queries, what is judged",
    r"whyever": "for whatever reason",
    r"goes? on with": "continue with",
    r"if nothing is said|if nothing else is said|unless said": "by default",
    r"all the while": "at any time",
    r"in order to": "to",
    r"utili[sz]e[sd]?|leverages?": "use",
    r"thereof|therein|whereby|hereby": "a plainer word",
    r"until then (it|they) counts?": "it counts … until you do",
    r"at (its|their) worst": "the worst case is assumed",
    r"how one goes about": "how to",
    r"worth (its|their|the) while": "pays, helps, is useful",
    r"in which manner": "how",
    r"as is usual": "usually",
}
"""What is not to come back, and what to write instead."""


def said(phrase: str, text: str) -> list[str]:
    """Where a text has a phrase, with the words around it."""
    found = re.finditer(rf"(?<![\w-])(?:{phrase})(?![\w-])", text)
    return [" ".join(text[max(0, hit.start() - 30) : hit.end() + 30].split()) for hit in found]


@pytest.mark.parametrize("phrase", INSTEAD)
def test_what_people_would_not_say_does_not_come_back(phrase: str) -> None:
    found = {file: hits for file, text in TEXTS.items() if (hits := said(phrase, text))}
    assert found == {}, f"write {INSTEAD[phrase]}"


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("judge on, from query q1", "judge one document"),
        ("say --budget", "say what"),
        ("say budget=3", "pass budget=3"),
        ("from 50 degrees of freedom on", "from one on"),
        ("the drawn are few", "the drawn queries are few"),
    ],
)
def test_the_list_finds_what_it_should(bad: str, good: str) -> None:
    assert any(said(phrase, bad) for phrase in INSTEAD)
    assert not any(said(phrase, good) for phrase in INSTEAD)
