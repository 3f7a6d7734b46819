"""The fast reader gives what the careful one gives, and leaves to it all that needs care."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.frames import trec
from pt_active.frames.clean_text import read_clean
from pt_active.frames.layouts import QRELS, RUN, Layout
from pt_active.frames.sources import source_of
from pt_active.frames.trec import read_columns

FIELDS = ["q1", "q2", "Q0", "d1", "é", "1", "0", "-2", "+1", ".5", "1.", "1e3", "1e400", "1e-400", "inf", "nan", "NA"]
FIELDS += ["true", "0x10", "1_0", "", '"a', '"', "'", "#", "NULL", "\x0b1", "1\x0c", "\x7f", "\u2003", "\x1f", "d\\1"]
GAPS = [" ", " ", " ", "\t", "  ", " \t", "\u00a0"]
ENDS = ["\n", "\n", "\n", "\r\n", "\n\n", " \n", "\n ", "\r"]


@st.composite
def texts(draw: st.DrawFn, layout: Layout) -> bytes:
    """Lines that mostly fit a layout."""
    gap, end = draw(st.sampled_from(GAPS)), draw(st.sampled_from(ENDS))
    good = ["1" if name in layout.rules else name for name in layout.columns]
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        fields = [draw(st.sampled_from([each, each, each, *FIELDS])) for each in good]
        lines.append(gap.join(fields[: draw(st.sampled_from([None, None, None, -1]))]))
    text = draw(st.sampled_from(["", "", " ", "\n"])) + end.join(lines) + draw(st.sampled_from(["", end, "\n"]))
    content = text.encode()
    return content + draw(st.sampled_from([b"", b"", b"", b"\xff", b"\n\x80 Q0 d 1 1 t\n"]))


def outcome(content: bytes, layout: Layout) -> object:
    try:
        frame = read_columns(source_of("a", content), layout)
    except ValueError as error:
        return str(error)
    return frame.index.tolist(), [str(dtype) for dtype in frame.dtypes], frame.to_numpy(dtype=object).tolist()


@pytest.mark.parametrize("layout", [RUN, QRELS], ids=["run", "qrels"])
@settings(max_examples=300)
@given(st.data())
def test_both_readers_agree(layout, data):
    content = data.draw(texts(layout))
    fast = outcome(content, layout)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec, "read_clean", lambda *_: None)
        assert fast == outcome(content, layout)


def read(content: bytes) -> pd.DataFrame | None:
    return read_clean(content, ["qid", "docno", "score"], ["qid", "score"], ["score"])


@pytest.mark.parametrize("content", [b"q d 1\np e 2.5\n", b"q\td\t1\np\te\t2.5"])
def test_clean_texts_are_read_fast(content):
    frame = read(content)
    assert frame.reset_index().values.tolist() == [[1, "q", 1.0], [2, "p", 2.5]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"q d 1\n\n",
        b"\nq d 1\n",
        b" q d 1\n",
        b"q d 1 ",
        b"q d 1 \n",
        b"q  d 1\n",
        b"q  1\n",
        b"q\td 1\n",
        b"q d 1\np e\t2\n",
        b"q d 1\np e\n",
        b"q d 1\np e f 2\n",
        b"q d nothing\n",
        b"q d NA\n",
        b"q d\x0b 1\n",
        b"q d 1\r\n",
        b"q \xff 1\n",
        b"\xff d 1\n",
    ],
)
def test_all_else_is_left_to_the_careful_reader(content):
    assert read(content) is None


def test_what_lies_on_both_sides_of_a_block_is_seen(monkeypatch):
    monkeypatch.setattr("pt_active.frames.clean_text._CHECKED", 4)
    clean = b"q d 1\np e 2\nr f 3\n"
    assert len(read(clean)) == 3
    for at in range(1, len(clean)):
        assert read(clean[:at] + b"\t" + clean[at:]) is None
        if clean[at : at + 1] == b" ":
            assert read(clean[:at] + b" " + clean[at:]) is None
