"""Small files, damaged at random: every reader refuses them with the line, or reads them as an oracle of the format.

The tests try a fixed number of files. By hand, for as long as wanted:

    python tests/fuzz/test_readers.py --minutes 60
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.frames import trec
from pt_active.frames.sources import naming
from pt_active.frames.tables import json_value
from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.judging.delivery import Delivery, records_given
from pt_active.judging.files import read_file
from pt_active.judging.tools.registry import TOOLS
from pt_active.judging.worklist import GradeNames

sys.path.insert(0, str(Path(__file__).parent))

import oracles
from accidents import by_hand, damaged, flipped

pytestmark = pytest.mark.filterwarnings("ignore")
INPUTS = 40  # Damaged files for each reader in the tests
MAX_SECONDS = 5.0  # CPU seconds; no reader may take more with a small file

PLACED = re.compile(
    r"\b(line|row) [0-9]+(: | column | and row )|\(line [0-9]+\)|the file is empty|header|compressed data is damaged"
    "|must have one|different|got JSON"
)
"""What the message of an error about a small file says beside the file's name."""


class Reader(NamedTuple):
    """A reader with a file to damage."""

    content: bytes
    read: Callable[[Path], pd.DataFrame]
    columns: str  # those that are compared, or of which as many as there are
    oracle: Callable[[bytes], oracles.Rows] | None = None  # without one all is right
    ordered: bool = False  # whether the order of rows counts

    def rows(self, path: Path) -> oracles.Rows:
        frame = self.read(path)
        columns = [name for name in self.columns.split() if name in frame]
        found = list(frame[columns].itertuples(index=False, name=None))
        return found if self.ordered else sorted(found)

    def expected(self, content: bytes) -> oracles.Rows | None:
        """The rows that the format has; None for a file to refuse."""
        try:
            return None if self.oracle is None else self.oracle(content)
        except oracles.REFUSED:
            return None


def _parquet(**column: object) -> bytes:
    file = io.BytesIO()
    pd.DataFrame({"qid": list("aabb"), "docno": list("wxyz")} | column).to_parquet(file)
    return file.getvalue()


def _of_quepid(path: Path) -> pd.DataFrame:
    """What judges said in a book of Quepid."""
    with naming(path):
        return records_given(TOOLS["quepid"].read(Delivery.read(path)), GradeNames())


RUN = "".join(f"q{q} Q0 d{7 * q + i} {i + 1} {9.5 - i:.3f} tag\n" for q in range(3) for i in range(4))
QRELS = "".join(f"q{q} 0 d{i} {(q + i) % 4 - 1}\n" for q in range(4) for i in range(4))
TABLE = "qid,docno,query,label\n" + "".join(f'q{i},d{i},"a ""b"", c\nżółć {i}",{i % 4}\n' for i in range(5))
JSON = "".join(f'{{"qid": "q{i}", "docno": "d{i}", "text": "say \\"x\\" {i}", "label": {i % 4}}}\n' for i in range(6))
TOPICS = "qid\tquery\tqkind\n" + "".join(f"{i}\tlamp {i}\tbuy\n" for i in range(6))
SGML = "".join(f"<top>\n<num> Number: 1{i}\n<title> lamp &amp; {i}\n<desc> none\n</top>\n" for i in range(4))
XML = "".join(f'<topic number="{i}"><query>lamp {i}</query><narrative>x</narrative></topic>\n' for i in range(4))
TEXTS = "".join(f"d{i}\tsome text {i}, żółć\n" for i in range(8))
PAIRS = [
    {"doc_id": f"d{i}", "options": {"pt_active": {"qid": f"q{i}", "docno": f"d{i}"}}}
    | {"judgements": [{"rating": i % 4, "judge_name": "ann"}]}
    for i in range(5)
]
BOOK = json.dumps({"name": "a", "query_doc_pairs": PAIRS}, indent=1)

JUDGED, SCORED = "qid docno label", "qid docno score"
READERS = {
    "a.run": Reader(RUN.encode(), read_run, SCORED, oracles.run),
    "c.qrels": Reader(QRELS.encode(), read_qrels, JUDGED, oracles.qrels),
    "e.csv": Reader(TABLE.encode(), read_file, JUDGED, oracles.worklist),
    "f.jsonl": Reader(JSON.encode(), read_file, JUDGED, oracles.json_lines),
    "g.tsv": Reader(TOPICS.encode(), read_topics, "qid query", oracles.topics, ordered=True),
    "h.tsv": Reader(TEXTS.encode(), read_texts, "docno text", oracles.pairs, ordered=True),
    "i.trec": Reader(SGML.encode(), read_topics, "qid query"),
    "j.xml": Reader(f"<topics>\n{XML}</topics>\n".encode(), read_topics, "qid query"),
    "k.parquet": Reader(_parquet(score=[4, 3, 2.5, 1e-3]), read_run, SCORED),
    "l.parquet": Reader(_parquet(label=[0, 1, 2, 3]), read_qrels, JUDGED),
    "o.json": Reader(BOOK.encode(), _of_quepid, JUDGED),
}


def mistake(name: str, content: bytes, folder: Path, rng: np.random.Generator) -> str | None:
    """What a reader does wrong with a file; None if nothing."""
    reader, path, hurt = READERS[name], folder / name, False
    expected = reader.expected(content)
    if rng.random() < 0.15 and path.suffix != ".parquet":
        path, hurt = folder / f"{name}.gz", rng.random() < 0.5
        content = gzip.compress(content, mtime=0)
        if hurt:
            content = flipped(content, rng) if rng.random() < 0.7 else content[: rng.integers(len(content))]
    path.write_bytes(content)
    start = time.process_time()
    said = None
    try:
        found = reader.rows(path)
        # A damaged compressed file may still hold the same bytes: gzip has flags that change nothing.
        if reader.oracle is not None and found != expected:
            said = f"got {found}; expected {expected}"
    except ValueError as error:
        said = _wrong_message(error, path, reader.oracle is not None)
        if said is None and expected is not None and not hurt:
            said = f"refused: {error}; expected {expected}"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    return f"took {seconds:.1f} s" if said is None and seconds > MAX_SECONDS else said


def _wrong_message(error: ValueError, path: Path, placed: bool) -> str | None:
    message = str(error)
    wrongs = {
        "does not begin with the file": type(error).__module__ == "builtins" and not message.startswith(str(path)),
        "is long": "\n" in message or len(message) > 1000 + len(str(path)),
        "names no line": placed and not PLACED.search(message),
    }
    return next((f"the message {wrong}: {message[:300]!r}" for wrong, holds in wrongs.items() if holds), None)


def complaints(seed: int, folder: Path, names: tuple[str, ...] = tuple(READERS)) -> list[str]:
    """What readers do wrong with the damaged files of a seed."""
    found = []
    for name in names:
        rng = np.random.default_rng([seed, *name.encode()])
        content = damaged(READERS[name].content, rng)
        if said := mistake(name, content, folder, rng):
            found.append(f"{name}, seed {seed}: {said}\n  {content!r}")
    return found


@pytest.mark.parametrize("name", READERS)
def test_a_file_is_read_and_a_damaged_one_is_refused_or_read_as_it_is(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    (tmp_path / name).write_bytes(reader.content)
    found = reader.rows(tmp_path / name)
    assert found
    assert reader.oracle is None or found == reader.expected(reader.content)
    assert [said for seed in range(INPUTS) for said in complaints(seed, tmp_path, (name,))] == []


@pytest.mark.parametrize("name", ["a.run", "c.qrels"])
def test_lines_one_by_one_say_what_arrow_reads(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec, "_parsed", lambda *_: None)
    assert [said for seed in range(INPUTS) for said in complaints(seed, tmp_path, (name,))] == []


# --- Small files that stand for something quadratic or endless: little is done with them ---


@pytest.fixture
def counted() -> Iterator[list[int]]:
    """Over how many elements or characters each call of a built-in ``count`` goes: work is counted and not timed."""
    seen: list[int] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ == "count":
            seen.append(len(function.__self__))

    sys.setprofile(note)
    yield seen
    sys.setprofile(None)


def test_a_doubled_key_at_the_end_is_found_at_once(counted: list[int]) -> None:
    text = "{" + ", ".join(f'"k{min(i, 1999)}": 0' for i in range(2001)) + "}"
    with pytest.raises(ValueError, match="the key 'k1999' more than once"):
        json_value(text)
    assert sum(counted) < 10 * len(text)


def test_each_line_of_a_topics_file_is_counted_once(tmp_path: Path, counted: list[int]) -> None:
    topics = "".join(f"<top>\n<num> Number: {i}\n<title> lamp {i}\n</top>\n" for i in range(1, 500))
    (tmp_path / "a.trec").write_text(topics)
    assert len(read_topics(tmp_path / "a.trec")) == 499
    assert sum(counted) < 10 * len(topics)


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    whole, large = tmp_path / "whole.xlsx", tmp_path / "large.xlsx"
    pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": ["1"]}).to_excel(whole, index=False)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(large, "w") as new:
        parts = {name: old.read(name).replace(b'ref="A1:C2"', b'ref="A1:XFD1048576"') for name in old.namelist()}
        for name, content in parts.items():
            new.writestr(name, content)
    assert any(b"XFD1048576" in content for content in parts.values())
    assert len(read_file(large)) == 1


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path, digits: int) -> None:
    project = tmp_path / "job.toml"
    project.write_text(f'measure = "DCG@5"\nbudget = {"9" * digits}\n')
    result = CliRunner().invoke(app, ["plan", "--project", str(project), "--out", str(tmp_path / "new")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        raise SystemExit(by_hand(__doc__, lambda seed: complaints(seed, Path(place))))
