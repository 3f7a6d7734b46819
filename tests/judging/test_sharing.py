"""Who gets which document? All is judged as often as it should be, in the drawn order, whoever comes and goes."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active import DCG, ERR, Plan
from pt_active.frames.records import JUDGED, MAX_PASSES, SKIPPED, UNJUDGEABLE
from pt_active.judging.server.order import Document, JudgingOrder
from pt_active.judging.server.sharing import PATIENCE, Sharing
from pt_active.plans.making.queries import in_drawing_order

PLANS = {
    "queries": {"measure": DCG @ 10, "budget": 400, "level": "query"},
    "queries again": {"measure": DCG @ 10, "draws": 20, "replace": True},
    "documents": {"measure": DCG @ 10, "budget": 300, "level": "document"},
    "depths": {"measure": ERR @ 10, "budget": 200, "level": "document"},
}


@pytest.fixture(scope="module", params=PLANS)
def plan(request, graded) -> Plan:
    return Plan.create(graded, None, seed=5, **PLANS[request.param])


def listed(sizes: list[list[int]], double: tuple[int, ...] = ()) -> JudgingOrder:
    """Documents of queries of these sizes in each block."""
    documents: list[Document] = []
    blocks: list[list[list[int]]] = [[] for _ in sizes]
    for number, block in enumerate(sizes):
        for query, size in enumerate(block):
            places = range(len(documents), len(documents) + size)
            blocks[number].append(list(places))
            documents += [Document(f"q{number}-{query}", f"d{x}", {}, "", 1 + (x in double)) for x in places]
    return JudgingOrder(documents, blocks)


@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_all_that_the_plan_asks_for_comes_once_in_blocks_of_the_drawn_order(plan: Plan, demo, block: int) -> None:
    work = JudgingOrder.of(plan, block=block)
    pairs = [(each.qid, each.docno) for each in work.documents]
    assert sorted(pairs) == sorted(plan.assessments[["qid", "docno"]].itertuples(index=False, name=None))
    assert [place for queries in work.blocks for query in queries for place in query] == list(range(len(pairs)))
    for queries in work.blocks:
        qids = [work.documents[query[0]].qid for query in queries]
        assert [{work.documents[place].qid for place in query} for query in queries] == [{qid} for qid in qids]
        assert len(set(qids)) == len(qids)
    sizes = [sum(map(len, queries)) for queries in work.blocks]
    assert all(size >= min(block, len(pairs)) for size in sizes[:-1])
    if plan.manifest["arguments"]["replace"] or plan.manifest["arguments"]["design"] == "depth":
        return
    done = pairs[: sum(sizes[:2])]
    status = plan.status(demo.judge(plan.assessments).set_index(["qid", "docno"]).loc[done].reset_index())
    assert (status.n_judged, status.left_out) == (len(done), 0)
    drawn = in_drawing_order(plan.tables)[["qid", "docno"]].itertuples(index=False, name=None)
    place = {pair: number for number, pair in enumerate(drawn)}
    ends = np.cumsum(sizes)[:-1]
    found = np.array([place[pair] for pair in pairs])
    for part in np.split(np.arange(len(pairs)), ends):
        assert sorted(found[part]) == part.tolist()


def test_the_order_within_a_query_tells_nothing_of_the_ranks(graded) -> None:
    plan = Plan.create(graded, None, DCG @ 10, draws=60, seed=1)
    shown = pd.DataFrame([(each.qid, each.docno) for each in JudgingOrder.of(plan).documents], columns=["qid", "docno"])
    ranks = shown.merge(graded)[["qid", "rank_production"]]
    found = ranks.groupby("qid")["rank_production"].agg(lambda rank: np.corrcoef(rank, range(len(rank)))[0, 1]).dropna()
    assert len(found) > 20
    assert abs(found.mean()) < 3 * found.sem(ddof=0)


def test_extensions_come_after_what_was_there(graded) -> None:
    for level, budget in (("query", 400), ("document", 300)):
        plan = Plan.create(graded, None, DCG @ 10, budget=budget, level=level, seed=5)
        before, after = JudgingOrder.of(plan), JudgingOrder.of(plan.extend(150))
        first = {(each.qid, each.docno) for each in before.documents}
        places = [after.place[pair] for pair in first]
        assert len(after.documents) > len(first)
        whole = sum(sum(map(len, block)) for block in before.blocks[:-1])
        assert [d.docno for d in after.documents[:whole]] == [d.docno for d in before.documents[:whole]]
        assert max(places) < len(first) + 60
        doubled = [each.judges for each in before.documents]
        assert [after.documents[after.place[d.qid, d.docno]].judges for d in before.documents] == doubled


def test_doubled_documents_have_the_probability_that_is_said(graded) -> None:
    plan = Plan.create(graded, None, DCG @ 15, budget=10_000, seed=5, level="query")
    size = len(plan.assessments)
    for share in (0.0, 0.1, 1.0):
        doubled = sum(each.judges == 2 for each in JudgingOrder.of(plan, double=share).documents)
        assert abs(doubled - share * size) <= 3 * np.sqrt(share * (1 - share) * size)


def test_the_next_documents_are_whole_queries_of_the_first_block() -> None:
    sharing = Sharing(listed([[4, 3], [5]]))
    queries = {"ann": [0, 1, 2, 3], "ben": [4, 5, 6], "carl": [7, 8, 9, 10, 11], "dora": []}
    for judge, places in queries.items():
        assert sharing.next_for(judge, 0, ahead=2) == (places, places)
    assert sharing.next_for("ann", 0, ahead=2) == ([0, 1, 2, 3], [])


def test_documents_of_who_is_gone_or_skips_go_to_others() -> None:
    sharing = Sharing(listed([[2]]))
    sharing.next_for("ann", 0)
    assert sharing.next_for("ben", PATIENCE - 1)[0] == []
    sharing.sign("ann", PATIENCE - 1)
    assert sharing.next_for("ben", PATIENCE + 1)[0] == []
    assert sharing.next_for("ben", 2 * PATIENCE)[0] == [0, 1]
    # Who comes back gets nothing twice, but what was on its way still counts.
    assert sharing.next_for("ann", 2 * PATIENCE)[0] == []
    sharing.answer(0, "ben", JUDGED, 2 * PATIENCE)
    assert sharing.settled == 1
    # Nobody is left to ask when two have passed.
    sharing = Sharing(listed([[1]]))
    for judge, status in (("ann", SKIPPED), ("ben", UNJUDGEABLE)):
        assert sharing.next_for(judge, 0)[0] == [0]
        sharing.answer(0, judge, status, 0)
        assert sharing.next_for(judge, 0)[0] == []
    assert (MAX_PASSES, sharing.next_for("carl", 0)[0], sharing.settled) == (2, [], 1)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=1, max_size=4),
    judges=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    skips=st.floats(0, 0.3),
)
def test_everything_is_done_whoever_comes_and_goes(sizes, judges, seed, skips) -> None:
    """Random judges ask, answer, skip and leave; nobody answers twice, and in the end nothing is left to do."""
    rng = random.Random(seed)
    size = sum(map(sum, sizes))
    double = tuple(place for place in range(size) if rng.random() < 0.3)
    sharing = Sharing(listed(sizes, double=double))
    now, answered, names = 0.0, Counter(), [f"judge {number}" for number in range(judges)]
    for _ in range(40 * size * judges):
        now += rng.uniform(0, 60)
        name = rng.choice(names)
        places, new = sharing.next_for(name, now, ahead=rng.randint(1, 4))
        assert set(new) <= set(places)
        assert places == sorted(places)
        for place in places[: rng.randint(0, 3)]:
            status = rng.choice((SKIPPED, UNJUDGEABLE)) if rng.random() < skips else JUDGED
            sharing.answer(place, name, status, now)
            answered[place, name] += 1
    now += 2 * PATIENCE
    for name in names:
        for place in sharing.next_for(name, now, ahead=10**6)[0]:
            sharing.answer(place, name, JUDGED, now)
            answered[place, name] += 1
    assert max(answered.values()) == 1
    wanted = [sharing.wanted(place) for place in range(size)]
    assert (sharing.settled, sharing.left) == (wanted.count(0), sum(wanted))
    for place in range(size):
        statuses = list(sharing.outcome[place].values())
        given, asked = statuses.count(JUDGED), 2 if place in double else 1
        assert given <= asked
        if len(statuses) < judges:
            assert sharing.wanted(place) == 0
            # Who passes over a document leaves it to others, and a second label is not waited for.
            assert given == asked or len(statuses) - given >= (1 if given else MAX_PASSES)
