"""Phrases that must not come back to pages, messages, help texts and docstrings, and what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(path for ending in ("py", "md", "rst", "jinja", "js") for path in (ROOT / "pt_active").rglob(f"*.{ending}")),
    *(ROOT / "examples").glob("*.py"),
]

BANNED = {
    r"judg(e|ed|ing) on(,| from| until)": "keep judging",
    r"[Ss]ay `{0,2}--": "pass --OPTION",
    r"\bsay `{0,2}[a-z_]+=": "pass NAME=",
    r"\bsay either\b": "pass either",
    r"by cascades": "for cascades, such as ERR",
    r"[Ff]rom (so many|\d+) [a-z ]+ on\b": "with N … or more",
    r"\bthe drawn\b(?= (and|are|is|of|in|to|have|were)\b|[,.;:])": "the drawn queries, documents or pairs",
    r"\bthe judged\b(?= (and|are|is|of|in|to|have|were)\b|[,.;:])": "the judged queries, documents or pairs",
    r"until then (it|they) counts?": "it counts … until you do",
    r"\bhow one goes about\b": "how to",
    r"worth (its|their|the) while": "pays, helps, is useful",
    r"\bin which manner\b": "how",
    r"\bas is usual\b": "usually",
}


@pytest.mark.parametrize("phrase", BANNED)
def test_no_text_has_a_banned_phrase(phrase: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r}"
        for path in TEXTS
        for match in re.finditer(phrase, path.read_text(encoding="utf-8"))
    ]
    assert not found, f"write {BANNED[phrase]!r}: {found}"


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("judge on, from query q1", "judge one document"),
        ("say --budget", "say what"),
        ("from 50 degrees of freedom on", "from one on"),
        ("the drawn are few", "the drawn queries are few"),
    ],
)
def test_the_list_finds_what_it_should(bad: str, good: str) -> None:
    assert any(re.search(phrase, bad) for phrase in BANNED)
    assert not any(re.search(phrase, good) for phrase in BANNED)
