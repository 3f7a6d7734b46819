"""Texts and queries of ir_datasets in the place of a file; no test needs a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import ir_datasets
import pytest
from ir_datasets.formats import BaseDocs, BaseQueries

from pt_active.frames.topics import read_texts, read_topics

NAME = "made-up-for-a-test"


class Page(NamedTuple):
    doc_id: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


class Topic(NamedTuple):
    query_id: str
    title: str
    description: str

    def default_text(self) -> str:
        return self.title


PAGES = [Page("d1", "Lamps", "of oak"), Page("d2", "Chairs", "of oak"), Page("d3", "Tables", "of pine")]


class Known:
    def get_many(self, wanted: list[str]) -> dict[str, Page]:
        return {each.doc_id: each for each in PAGES if each.doc_id in wanted}


class Pages(BaseDocs):
    docs_iter = staticmethod(lambda: iter(PAGES))
    docs_store = Known


class Topics(BaseQueries):
    queries_iter = staticmethod(lambda: iter([Topic("7", " oak lamp", "Of oak."), Topic("8", "chair", "Chairs.")]))


class Offline(BaseDocs, BaseQueries):
    def docs_iter(self) -> Iterator[Page]:
        raise ConnectionError("Max retries exceeded\nwith url: /secret")

    queries_iter = docs_iter


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = dict(ir_datasets.registry._registered)
    registry[NAME] = ir_datasets.Dataset(Pages(), Topics())
    registry["no-docs"] = ir_datasets.Dataset(Topics())
    registry["no-queries"] = ir_datasets.Dataset(Pages())
    registry["offline"] = ir_datasets.Dataset(Offline())
    monkeypatch.setattr(ir_datasets.registry, "_registered", registry)


def test_texts_of_all_documents_or_of_those_that_are_wanted_and_what_judges_are_shown_of_queries() -> None:
    every = read_texts(f"ir_datasets:{NAME}")
    assert every.to_numpy().tolist() == [["d1", "Lamps of oak"], ["d2", "Chairs of oak"], ["d3", "Tables of pine"]]
    assert read_texts(f"ir_datasets:{NAME}", docnos=["d3", "d9", "d1", "d3"])["docno"].tolist() == ["d3", "d1"]
    topics = read_topics(f"ir_datasets:{NAME}")
    assert topics.columns.tolist() == ["qid", "query", "description"]
    assert topics.to_numpy().tolist() == [["7", "oak lamp", "Of oak."], ["8", "chair", "Chairs."]]


def test_what_cannot_be_had_is_one_line_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="has no data set 'no-such'; ir-datasets.com lists them"):
        read_texts("ir_datasets:no-such")
    with pytest.raises(ValueError, match="'no-docs' has no docs of its own"):
        read_texts("ir_datasets:no-docs")
    with pytest.raises(ValueError, match="'no-queries' has no queries of its own"):
        read_topics("ir_datasets:no-queries")
    for kind, read in (("docs", read_texts), ("queries", read_topics)):
        with pytest.raises(ValueError, match="not on this machine and cannot be fetched") as told:
            read("ir_datasets:offline")
        assert f"`ir_datasets export offline {kind}` fetches them once, or give a file" in str(told.value)
        assert "\n" not in str(told.value)
        assert "secret" not in str(told.value)
