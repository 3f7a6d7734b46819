"""What the store acknowledged is there after any kill, is there once, and stays as it is."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest
from samples import forked

from pt_active.frames.records import RECORD_COLUMNS
from pt_active.judging.server.store import Entry, Store, stored_records


def entry(number: int, **changes) -> Entry:
    said = {"label": 1, "annotator": "ann", "status": "judged", "time": "2026-01-01T00:00:00Z", "note": ""}
    return Entry(**{"key": f"key-{number}", "qid": "q", "docno": f"d{number}", "plan": "p"} | said | changes)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.sqlite", "p")


def test_records_stay_as_they_are_and_a_key_stands_for_one_document(store: Store) -> None:
    store.append([entry(2), entry(1, label=None, status="skipped", note="<b>\u202eé\n")])
    store.append([entry(1, label=3), entry(3, docno="d2", label=0)])
    records = store.records()
    assert list(records.columns) == RECORD_COLUMNS
    kept = records.assign(label=records["label"].fillna(-1))[["docno", "label", "note"]].values.tolist()
    assert kept == [["d2", 1, ""], ["d1", -1, "<b>\u202eé\n"], ["d2", 0, ""]]
    with sqlite3.connect(store.path) as other:
        for statement in ("UPDATE records SET label = 0", "DELETE FROM records"):
            with pytest.raises(sqlite3.IntegrityError, match="records stay"):
                other.execute(statement)
    assert [store.kept(f"key-{number}") for number in (2, 4)] == [entry(2), None]
    for wrong in ([entry(4), entry(4, docno="d2")], [entry(5), entry(1, qid="r")]):
        with pytest.raises(sqlite3.IntegrityError, match=r"the key 'key-[14]' is that of another document"):
            store.append(wrong)
    with pytest.raises(sqlite3.Error):
        store.append([entry(4), entry(5, time=[])])
    assert len(store.records()) == len(stored_records(store.path)) == 3


def test_a_full_disk_loses_nothing_that_was_kept(store: Store) -> None:
    store.append([entry(1)])
    # The file may not grow, which is what a full disk says.
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.append([entry(number, note="x" * 2000) for number in range(2, 50)])
    store._connection.execute(f"PRAGMA max_page_count = {pages + 100}")
    store.append([entry(2)])
    assert stored_records(store.path)["docno"].tolist() == ["d1", "d2"]


def test_links_stay_and_only_the_owner_may_read_them(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch(0o666)
    store = Store(path, "p")
    links = {name: store.token(name) for name in ("ann", "ben")}
    assert [len(token) >= 24 for token in set(links.values())] == [True, True]
    store.close()
    assert Store(path, "p").people() == links
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs a user who may not write somewhere")
def test_an_archived_store_is_read_where_nothing_can_be_written() -> None:
    def read() -> None:
        os.setuid(65534)
        assert len(stored_records(path)) == 1

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder, "s.sqlite")
        store = Store(path, "p")
        store.append([entry(1)])
        store.close()
        path.chmod(0o555)
        Path(folder).chmod(0o555)
        child = forked(read)
        child.join()
        assert child.exitcode == 0


LACKING = [
    ("DELETE FROM about WHERE name = 'plan'", "it does not say of which plan they are"),
    ("ALTER TABLE about DROP COLUMN sum", "no such column: sum"),
    ("ALTER TABLE records DROP COLUMN note", "no such column"),
    # A view may have no end.
    ("DROP TABLE about; CREATE VIEW about AS SELECT 'x' AS name", "it has no table 'about'"),
    ("DROP TABLE records; CREATE VIEW records AS SELECT 'x' AS key", "it has no table 'records'"),
]
NO_SCHEMA = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE a (`a,\n' || hex(zeroblob(999))"
NONE_AT_ALL = [(NO_SCHEMA, ".{1,300}$"), (None, ".{1,300}$")]


@pytest.mark.parametrize(("change", "said"), [*LACKING, *NONE_AT_ALL])
def test_a_store_that_lacks_something_and_another_file_are_refused(store: Store, change: str | None, said: str) -> None:
    store.append([entry(1)])
    store.close()
    if change is None:
        store.path.write_bytes(b"no database at all" * 100)
    else:
        with closing(sqlite3.connect(store.path)) as connection:
            connection.executescript(f"DROP TRIGGER no_change; {change}")
    content = store.path.read_bytes()
    for read in (stored_records, lambda path: Store(path, "p"))[: 2 if (change, said) in NONE_AT_ALL else 1]:
        with pytest.raises(ValueError, match=f"{store.path}: expected the judgments of a judging server; {said}"):
            read(store.path)
    assert store.path.read_bytes() == content


def test_two_servers_do_not_keep_one_store(store: Store, tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(store.path)
    for path in (store.path, tmp_path / "link.sqlite"):
        said = f"{path}: the process {os.getpid()} on .*, since .* UTC, keeps judgments in it; end that server first"
        with pytest.raises(ValueError, match=said):
            Store(path, "p")
    store.append([entry(1)])
    store.close()
    with pytest.raises(ValueError, match="expected judgments of the plan other; got 'p'"):
        Store(store.path, "other")
    assert len(Store(store.path, "p").entries()) == 1


def test_another_process_that_writes_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.close()
    monkeypatch.setattr("pt_active.judging.server.store._WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for read in (lambda: Store(store.path, "p"), lambda: stored_records(store.path)):
            with pytest.raises(ValueError, match=f"{store.path}: another process is writing to the file; end that"):
                read()
    Store(store.path, "p").close()


def test_records_from_several_threads_are_all_kept(store: Store) -> None:
    """Also while another process has the file for a moment."""
    with closing(sqlite3.connect(store.path)) as other, ThreadPoolExecutor(8) as threads:
        other.execute("BEGIN IMMEDIATE")
        waiting = [threads.submit(store.append, [entry(number)]) for number in range(40)]
        other.rollback()
        assert [each.result() for each in waiting] == [None] * 40
    assert set(stored_records(store.path)["docno"]) == {f"d{number}" for number in range(40)}


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    with pytest.raises(OSError, match="No locks available; the file system has no .*; use a local disk: '.*s.sqlite'"):
        Store(tmp_path / "s.sqlite", "p")
