"""What judges see of answers: the question with its reference, one answer without its system, and the scale."""

from __future__ import annotations

import re

import pandas as pd
from made_answers import made

from pt_active import Answers
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.templates import offline_page


def page_of(table: pd.DataFrame, scale: str) -> str:
    plan = Answers(table.drop(columns="score"), scale).plan(10)
    return offline_page(plan, JudgingOrder.of(plan, double=0.0), "ann", ["ann"])


def test_judges_give_the_scores_of_the_scale_and_no_other() -> None:
    page = page_of(made(10), "1-5")
    assert re.findall(r'data-grade="(\d)"', page) == ["1", "2", "3", "4", "5"]
    assert 'data-grades="6"' in page
    assert re.findall(r'data-grade="(\d)"', page_of(made(10), "0-1")) == ["0", "1"]


def test_judges_see_question_and_reference_and_not_the_system() -> None:
    table = made(10).assign(reference="the truth", system=lambda t: "secret-" + t["system"])
    page = page_of(table, "0-1")
    assert "Reference answer: the truth" in page
    assert "secret-" not in page
