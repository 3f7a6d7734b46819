"""Equal ids are told apart as a dictionary does, whatever the frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from pt_active.frames.ids import among, first_rows, id_codes, numbered

NAMES = st.sampled_from(["", "a", "b", "ab", "ba", "é", "日本", "a" * 40, "a" * 39 + "b", "\ud800"])


def first_by_hand(pairs: list[tuple[int, str]], rows: list[int]) -> list[int]:
    first: dict[tuple[int, str], int] = {}
    for z in rows:
        first.setdefault(pairs[z], z)
    return [first[pairs[z]] for z in rows]


@given(st.lists(st.tuples(st.integers(0, 3), NAMES), min_size=1), st.randoms())
def test_equal_ids_are_those_of_a_dictionary(pairs, random):
    """Also where two rankers have rows of a group, the second before the first."""
    query, docno = np.array([q for q, _ in pairs]), pd.Series([d for _, d in pairs], dtype=object)
    rows = sorted(random.sample(range(len(pairs)), random.randint(1, len(pairs))), key=query.__getitem__)
    cut = random.randint(0, len(rows))
    blocks = [sorted(part, key=query.__getitem__) for part in (rows[cut:], rows[:cut])]
    sizes = np.array([np.bincount(query[part].astype(int), minlength=4) for part in blocks])
    begin = np.cumsum(np.append(0, sizes.ravel())[:-1]).reshape(2, 4)[::-1]
    grouped = [z for q in range(4) for part in blocks[::-1] for z in part if query[z] == q]
    places = [*blocks[0], *blocks[1]]
    assert first_rows(query, docno).tolist() == first_by_hand(pairs, list(range(len(pairs))))
    new, place, indptr = numbered(begin, begin + sizes[::-1], np.array(places), docno)
    assert new.tolist() == list(dict.fromkeys(first_by_hand(pairs, grouped)))
    first = dict(zip(grouped, first_by_hand(pairs, grouped), strict=True))
    assert new[place].tolist() == [first[z] for z in places]
    assert np.diff(indptr).tolist() == [sum(query[z] == q for z in new) for q in range(4)]


@given(st.lists(NAMES, max_size=30))
def test_codes_are_those_of_pandas(names):
    column = pd.Series(names, dtype=object)
    code, distinct = id_codes(column)
    expected = pd.factorize(column)
    assert code.tolist() == expected[0].tolist()
    assert list(distinct) == list(expected[1])
    assert among(column, np.array(["a", "ba"], dtype=object)).tolist() == [name in ("a", "ba") for name in names]
