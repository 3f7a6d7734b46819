"""Words of messages."""

from __future__ import annotations

import pytest

from pt_active.frames.checks import agreeing, how_many


@pytest.mark.parametrize(
    ("noun", "number", "words"),
    [
        ("label", 1, "1 label"),
        ("label", 0, "0 labels"),
        ("query", 1, "1 query"),
        ("query", 3, "3 queries"),
        ("duplicate row", 2, "2 duplicate rows"),
    ],
)
def test_a_noun_agrees_with_its_number(noun: str, number: int, words: str) -> None:
    assert how_many(noun, number) == words


def test_a_verb_agrees_with_its_number() -> None:
    assert how_many("query", 1, "has") == "1 query has"
    assert how_many("query", 2, "has") == "2 queries have"
    assert (agreeing("is", 1), agreeing("is", 5), agreeing("was", 0)) == ("is", "are", "were")
