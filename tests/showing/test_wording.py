from __future__ import annotations

import pytest

from pt_active.showing.rounding import amount, with_interval
from pt_active.showing.wording import is_of_answers, listed, of_answers, page_of_answers


@pytest.mark.parametrize(
    ("said", "worded"),
    [
        ("200 documents of 158 queries", "200 answers of 158 items"),
        ("A document of a query, by a ranker.", "An answer of an item, by a system."),
        ("Queries like them: rankers, qrels", "Items like them: systems, labels"),
        ("pt-active plan --level query --judge documents.csv", "pt-active plan --level query --judge documents.csv"),
        ("Score(low=−1)@1: a − b by Score@12", "mean score: a − b by mean score"),
        ("pt-active plan --measure 'Score(low=-1)@1'", "pt-active plan --measure 'Score(low=-1)@1'"),
        ("9 of 20 query–document pairs; Score@1 of a", "9 of 20 answers; mean score of a"),
        ("The grade model expects the highest grade", "The model of the scores expects the highest label"),
        ("the qids and docnos of the labels", "the columns qid (the item) and docno (the answer) of the labels"),
        ("query-rewrite beats 'query'; level=\"query\"", "query-rewrite beats 'query'; level=\"query\""),
    ],
)
def test_words_change_and_names_do_not(said: str, worded: str) -> None:
    assert of_answers(said) == worded


def test_a_page_keeps_tags_scripts_and_what_it_quotes() -> None:
    page = '<p class="document">a query</p><script>{"query": 1}</script><span class="text">query</span>'
    worded = '<p class="document">an item</p><script>{"query": 1}</script><span class="text">query</span>'
    assert page_of_answers(page) == worded


def test_only_what_names_the_mean_score_is_of_answers() -> None:
    assert is_of_answers("Score(low=-1,step=0.5)@1: a − b")
    assert is_of_answers("Plan for Score@5 of a, b")
    assert not any(map(is_of_answers, ("DCG@10: a − b", "Score of a document", "BestScore@1")))


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
