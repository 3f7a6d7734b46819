"""Equal ids are told apart as a dictionary does, whatever the frame."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from pt_active.frames.ids import among, first_rows, id_codes, numbered

NAMES = st.sampled_from(["", "a", "b", "ab", "ba", "é", "日本", "a" * 40, "a" * 39 + "b", "\ud800"])


@given(st.lists(st.tuples(st.integers(0, 3), NAMES), min_size=1))
def test_equal_ids_are_those_of_a_dictionary(pairs):
    query, docno = np.array([q for q, _ in pairs]), pd.Series([d for _, d in pairs], dtype=object)
    number, first = numbered(query, docno)
    distinct = list(dict.fromkeys(pairs))
    assert number.tolist() == [distinct.index(pair) for pair in pairs]
    assert first.tolist() == [pairs.index(pair) for pair in distinct]
    assert first_rows(query, docno).tolist() == [pairs.index(pair) for pair in pairs]


@given(st.lists(NAMES, max_size=30))
def test_codes_are_those_of_pandas(names):
    column = pd.Series(names, dtype=object)
    for ours, theirs in zip(id_codes(column), pd.factorize(column), strict=True):
        assert list(ours) == list(theirs)
    assert among(column, np.array(["a", "ba"], dtype=object)).tolist() == [name in ("a", "ba") for name in names]
