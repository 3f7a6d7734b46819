"""Texts and queries of ir_datasets in the place of a file; no test needs a network."""

from typing import NamedTuple

import ir_datasets
import pytest
from ir_datasets.formats import BaseDocs, BaseQueries

from pt_active.frames.topics import read_texts, read_topics


class Page(NamedTuple):
    doc_id: str
    title: str

    def default_text(self):
        return f"{self.title} of oak"


class Topic(NamedTuple):
    query_id: str
    title: str
    description: str

    def default_text(self):
        return self.title


PAGES = [Page("d1", "Lamps"), Page("d2", "Chairs"), Page("d3", "Tables")]


class Pages(BaseDocs):
    def docs_iter(self):
        return iter(PAGES)

    def docs_store(self):
        return self

    def get_many(self, wanted):
        return {each.doc_id: each for each in PAGES if each.doc_id in wanted}


class Topics(BaseQueries):
    def queries_iter(self):
        return iter([Topic("7", " oak lamp", "Of oak."), Topic("8", "chair", "Chairs.")])


class Offline(BaseQueries):
    def queries_iter(self):
        raise ConnectionError("Max retries exceeded\nwith url: /secret")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    sets = {"made-up": (Pages(), Topics()), "no-docs": (Topics(),), "no-queries": (Pages(),), "offline": (Offline(),)}
    known = {name: ir_datasets.Dataset(*parts) for name, parts in sets.items()}
    monkeypatch.setattr(ir_datasets.registry, "_registered", ir_datasets.registry._registered | known)


def test_texts_of_all_documents_or_of_those_that_are_wanted_and_what_judges_are_shown_of_queries():
    every = read_texts("ir_datasets:made-up")
    assert every.to_numpy().tolist() == [["d1", "Lamps of oak"], ["d2", "Chairs of oak"], ["d3", "Tables of oak"]]
    assert read_texts("ir_datasets:made-up", docnos=["d3", "d9", "d1", "d3"])["docno"].tolist() == ["d3", "d1"]
    topics = read_topics("ir_datasets:made-up")
    assert topics.columns.tolist() == ["qid", "query", "description"]
    assert topics.to_numpy().tolist() == [["7", "oak lamp", "Of oak."], ["8", "chair", "Chairs."]]


@pytest.mark.parametrize(
    ("read", "name", "message"),
    [
        (read_texts, "no-such", "has no data set 'no-such'; ir-datasets.com lists them"),
        (read_texts, "no-docs", "'no-docs' has no docs of its own"),
        (read_topics, "no-queries", "'no-queries' has no queries of its own"),
        (read_topics, "offline", "and cannot be fetched.*`ir_datasets export offline queries` fetches them once, or"),
    ],
)
def test_what_cannot_be_had_is_one_line_with_what_to_do(read, name, message):
    with pytest.raises(ValueError, match=rf"^(?!.*(\n|secret)).*{message}"):
        read(f"ir_datasets:{name}")
