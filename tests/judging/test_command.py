"""The command `judge`: what it prints, how it ends and goes on, and one line for what does not fit."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from serving import record, served
from typer.testing import CliRunner

from pt_active import DCG, Plan
from pt_active.cli.app import app
from pt_active.cli.judging import Setting
from pt_active.cli.options import Meant
from pt_active.cli.project import FILE
from pt_active.judging.server.serve import listening
from pt_active.judging.server.store import Entry, Lock, Store, stored_records


@pytest.fixture(scope="module")
def plan(graded, tmp_path_factory) -> Path:
    made = Plan.create(graded, None, DCG @ 10, budget=40, level="document", seed=3)
    return Path(made.save(tmp_path_factory.mktemp("judged") / "plan").path)


def test_judging_ends_with_what_to_type_and_goes_on_with_the_same_links(plan: Path) -> None:
    with served(plan, "--judges", "ann,ben", "--port", "0", "--json") as (run, links):
        assert list(links) == ["organiser", "ann", "ben"]
        assert all(url.startswith("http://127.0.0.1:") for url in links.values())
        documents = httpx.get(f"{links['ann']}work", timeout=60).json()["documents"]
        sent = [record(each, 1) for each in documents]
        assert len(httpx.post(f"{links['ann']}records", json=sent).json()["kept"]) == len(sent) >= 10
        # Other commands read the file while the server runs.
        state = CliRunner().invoke(app, ["status", str(plan), f"{plan}.sqlite", "--json"])
        assert sum(json.loads(state.stdout)[name] for name in ("n_judged", "left_out", "due")) == len(sent)
        run.send_signal(signal.SIGINT)
        told = json.loads(run.stdout.read())
        assert run.wait() == 0
        assert told == {"store": f"{plan}.sqlite", "records": len(sent), "settled": told["settled"], "documents": 40}
        assert 0 < told["settled"] <= len(sent)
    again = Setting(store=Path(f"{plan}.sqlite"), project=plan / FILE).site(Plan.load(plan), plan, None, Meant())
    tokens = [url.split("/")[4] for url in links.values()]
    assert list(again.campaign.store.people().values()) == tokens
    assert again.campaign.progress("ann")["mine"] == len(sent)
    again.campaign.store.close()


def said(*words: object) -> str:
    return CliRunner().invoke(app, [str(word) for word in words]).output


def test_a_second_server_of_a_plan_is_told_of_the_first(plan: Path, tmp_path: Path) -> None:
    with listening("127.0.0.1", 0) as taken:
        second = ["judge", plan, "--store", tmp_path / "other.sqlite", "--port", taken.getsockname()[1]]
        first = Lock(plan)
        told = said(*second)
        assert f"warning: {plan}: the process {os.getpid()} on " in told
        assert "lets people judge it too, into another file: both give out the same documents" in told
        first.release()
        assert "into another file" not in said(*second)
    assert not plan.with_name(f"{plan.name}-lock").exists()


def test_the_share_that_two_judge_stays_that_of_the_first_start(plan: Path, tmp_path: Path, capsys) -> None:
    loaded = Plan.load(plan)

    def started(store: str, judges: str | None, double: float | None, *entries: Entry) -> float:
        setting = Setting(judges=judges, double=double, store=tmp_path / store, project=tmp_path / FILE)
        campaign = setting.site(loaded, plan, None, Meant()).campaign
        campaign.store.append(entries)
        campaign.store.close()
        return campaign.work.double

    assert started("alone.sqlite", "ann", None) == started("alone.sqlite", "ann,ben", None) == 0
    assert started("two.sqlite", "ann,ben", None) == 0.1
    pairs = loaded.assessments[["qid", "docno"]].itertuples(index=False, name=None)
    rest = "ann", "judged", "2026-01-01T00:00:00Z", "", loaded.id
    entries = [Entry(f"key-{number}", *pair, 1, *rest) for number, pair in enumerate(pairs)]
    assert started("two.sqlite", None, 1.0, *entries) == started("two.sqlite", None, None) == 1
    records = stored_records(tmp_path / "two.sqlite")
    assert (loaded.status(records).due, set(records["judges"])) == (40, {2})
    assert capsys.readouterr().err == ""
    assert started("two.sqlite", None, 0.0) == 0
    assert "judging began with --double 1; with --double 0 other labels count" in capsys.readouterr().err
    assert loaded.status(stored_records(tmp_path / "two.sqlite")).due == 0


def test_whoever_judges_in_a_browser_is_told_to_go_on_there(plan: Path, tmp_path: Path) -> None:
    made = Plan.load(plan).save(tmp_path / "plan")
    kept = tmp_path / "elsewhere.sqlite"
    store, (qid, docno) = Store(kept, made.id), made.assessments[["qid", "docno"]].iloc[0]
    store.append([Entry("key", qid, docno, 1, "ann", "judged", "2026-01-01T00:00:00Z", "", made.id)])
    store.close()
    told = said("status", tmp_path / "plan", kept)
    assert told.endswith(f"and ask again:\n  pt-active judge {made.path} --store {kept}\n")


def test_what_does_not_fit_is_one_line(plan: Path, graded, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE a (b)")
    one = graded.drop(columns=[name for name in graded.columns if name.endswith("_candidate")])
    Plan.create(one, None, DCG @ 10, budget=40, level="document", seed=4).save(tmp_path / "one")
    with listening("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        foreign = "other.sqlite: expected the judgments of a judging server; it is"
        for words, message in (
            ([tmp_path / "one"], "the plan has one ranker: pass --margin"),
            ([plan, "--store", tmp_path / "s.sqlite", "--port", port], f"127.0.0.1, port {port}: Address already"),
            ([plan, "--store", tmp_path / "other.sqlite"], foreign),
        ):
            result = CliRunner().invoke(app, ["judge", *map(str, words)])
            (line,) = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
            assert (result.exit_code, message in line) == (2, True), line


def test_the_command_without_the_extra_says_what_to_install() -> None:
    code = "import sys; sys.modules.update(starlette=None, uvicorn=None); from pt_active.cli.app import app; app()"
    run = subprocess.run([sys.executable, "-c", code, "judge", "x"], capture_output=True, text=True)
    error = "error: judge needs starlette, uvicorn: pip install starlette uvicorn\n"
    assert (run.returncode, run.stderr) == (2, error)
