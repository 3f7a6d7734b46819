"""What judges see of answers: the question with its reference, one answer without its system, and the scale."""

import re

import pytest
from made_answers import made
from serving import link, site_of
from starlette.testclient import TestClient

from pt_active import Answers


def site_for(table, scale, folder):
    answers = Answers(table.drop(columns="score"), scale)
    return site_of(answers.plan(10), folder, ("ann",), double=0.0, grade_names=answers.scale.names() or None)


def page_of(table, scale, folder):
    """The page of a judge, and what it is filled with."""
    site = site_for(table, scale, folder)
    client = TestClient(site.application())
    page, work = (client.get(f"{link(site, 'ann')}{name}").text for name in ("", "work"))
    site.campaign.store.close()
    return page, work


@pytest.mark.parametrize("scale", ["1-5", "0-1"])
def test_judges_give_the_scores_of_the_scale_and_no_other(scale, tmp_path):
    page, _ = page_of(made(10), scale, tmp_path)
    first, last = map(int, scale.split("-"))
    assert re.findall(r'data-grade="(\d)"', page) == [str(score) for score in range(first, last + 1)]
    assert f'data-grades="{last + 1}"' in page


def test_judges_see_texts_as_they_are_and_not_the_system_and_pages_speak_of_answers(tmp_path):
    table = made(10).assign(reference="the truth", question="Which query finds the document?")
    page, work = page_of(table.assign(system="secret-" + table["system"]), "0-1", tmp_path)
    assert "Reference answer: the truth" in work
    assert "Which query finds the document?" in work
    assert "secret-" not in page + work
    words = re.sub(r'(?:id|href|class|aria-labelledby|data-grades?)="[^"]*"', "", page.partition("<body")[2])
    assert not re.search(r"\b([Dd]ocuments?|quer(y|ies)|[Gg]rades?)\b", words)
