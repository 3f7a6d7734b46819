"""What the store acknowledged is there after any kill, is there once, and stays as it is."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pt_active.frames.records import RECORD_COLUMNS
from pt_active.judging.server.store import Entry, Store, stored_records

WRITER = """
import sys
from pt_active.judging.server.store import Entry, Store
store, start = Store(sys.argv[1], "p"), int(sys.argv[2])
print("ready", flush=True)
for number in range(start, start + 100_000):
    time = f"2026-01-01T00:00:00.{number:06d}Z"
    store.append([Entry(f"key-{number}", "q", f"d{number}", number % 4, "ann", "judged", time, "", "p")])
    print(number, flush=True)
"""


def entry(number: int, **changes) -> Entry:
    said = {"label": 1, "annotator": "ann", "status": "judged", "time": "2026-01-01T00:00:00Z", "note": ""}
    return Entry(**{"key": f"key-{number}", "qid": "q", "docno": f"d{number}", "plan": "p"} | said | changes)


def test_records_come_back_in_their_order(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite", "p")
    store.append([entry(2), entry(1, label=None, status="skipped", note="<b>\u202eé\n")])
    store.append([entry(3, docno="d2", label=0)])
    records = store.records()
    assert list(records.columns) == RECORD_COLUMNS
    assert records["docno"].tolist() == ["d2", "d1", "d2"]
    assert records["label"].isna().tolist() == [False, True, False]
    assert records["note"].tolist() == ["", "<b>\u202eé\n", ""]
    assert store.entries() == [
        entry(2),
        entry(1, label=None, status="skipped", note="<b>\u202eé\n"),
        entry(3, docno="d2", label=0),
    ]


def test_what_is_sent_twice_is_kept_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite", "p")
    store.append([entry(1), entry(2)])
    store.append([entry(2, label=3), entry(3)])
    assert store.records()[["docno", "label"]].values.tolist() == [["d1", 1], ["d2", 1], ["d3", 1]]
    assert store.has("key-3")
    assert not store.has("key-4")


def test_records_cannot_be_changed_or_removed(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite", "p").append([entry(1)])
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        for statement in ("UPDATE records SET label = 0", "DELETE FROM records"):
            with pytest.raises(sqlite3.IntegrityError, match="records stay"):
                other.execute(statement)


def test_half_a_batch_is_never_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite", "p")
    with pytest.raises(sqlite3.Error):
        store.append([entry(1), entry(2, time=[])])
    assert store.records().empty
    store.append([entry(1)])
    assert len(store.records()) == 1


def test_a_full_disk_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite", "p")
    store.append([entry(1)])
    # The file may not grow, which is what a full disk says.
    pages = store._records.execute("PRAGMA page_count").fetchone()[0]
    store._records.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.append([entry(number, note="x" * 2000) for number in range(2, 50)])
    store._records.execute(f"PRAGMA max_page_count = {pages + 100}")
    store.append([entry(2)])
    assert stored_records(tmp_path / "s.sqlite")["docno"].tolist() == ["d1", "d2"]


def test_links_stay_and_only_the_owner_may_read_them(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path, "p")
    token = store.token("ann")
    assert token != store.token("ben")
    assert len(token) >= 24
    store.close()
    again = Store(path, "p")
    assert again.token("ann") == token
    assert list(again.people()) == ["ann", "ben"]
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
def test_another_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "s.sqlite"
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE records (a)")
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="expected the judgments of a judging server"):
        Store(path, "p")
    if content:
        with pytest.raises(ValueError, match="expected the judgments of a judging server"):
            stored_records(path)
        assert path.read_bytes() == content


def test_the_judgments_of_another_plan_are_refused(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite", "p").close()
    with pytest.raises(ValueError, match="expected judgments of the plan other; got 'p'"):
        Store(tmp_path / "s.sqlite", "other")


def test_every_acknowledged_record_survives_kills(tmp_path: Path) -> None:
    path, acknowledged, rng = tmp_path / "s.sqlite", [], random.Random(4)
    for start in range(0, 300_000, 100_000):
        run = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(start)], stdout=subprocess.PIPE, text=True, env=os.environ
        )
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.02, 0.2))
        run.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in run.stdout.read().splitlines()[:-1] if line]
        run.wait()
        run.stdout.close()
        kept = stored_records(path)
        assert {f"d{number}" for number in acknowledged} <= set(kept["docno"])
        assert kept["docno"].is_unique
    assert len(acknowledged) > 10
