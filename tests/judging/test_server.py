"""The pages: who may see what, what an answer makes a browser do, and what becomes of what judges send."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from html import unescape
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import httpx
import pandas as pd
import pytest
from serving import PAYLOAD, hostile_plan, in_thread, link, record, site_of
from starlette.testclient import TestClient

from pt_active import DCG, Plan
from pt_active.judging.files import read_file
from pt_active.judging.records import checked_records, qrels_of
from pt_active.judging.server import security, serve
from pt_active.judging.server.app import Site
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.serve import listening, risk, root_of
from pt_active.judging.server.templates import FILES

ROOT = "http://judging.test"
KEY = "key-00000001"


class Desk:
    """A site, and the requests of those who open its pages."""

    def __init__(self, site: Site) -> None:
        self.site, self.campaign, self.store = site, site.campaign, site.campaign.store
        self.client = TestClient(site.application(), base_url=ROOT, raise_server_exceptions=False)

    def get(self, name: str, page: str = "") -> httpx.Response:
        return self.client.get(f"{link(self.site, name)}{page}")

    def work(self, judge: str) -> list[dict]:
        return self.get(judge, "work").json()["documents"]

    def send(self, judge: str, *records: dict) -> httpx.Response:
        headers = {"content-type": "application/json"}
        return self.client.post(f"{link(self.site, judge)}records", content=json.dumps(records), headers=headers)

    def sent(self, judge: str, *records: dict) -> tuple[list[str], dict[str, str]]:
        """The keys of the records that are kept, and why the others are not."""
        answer = self.send(judge, *records).json()
        return answer["kept"], answer["refused"]

    def page(self, page: str = "") -> str:
        """A page of the organiser, with single blanks."""
        return re.sub(r"\s+", " ", self.get(ORGANISER, page).text)

    def form(self, page: str, **fields: str) -> httpx.Response:
        return self.client.post(f"{link(self.site, ORGANISER)}{page}", data=fields, follow_redirects=False)

    def qrels(self) -> pd.Series:
        """The labels that count, by qid and docno."""
        return self.site.organiser.qrels().set_index(["qid", "docno"])["label"]

    def downloaded(self) -> pd.DataFrame:
        """The copy that the organiser saves."""
        saved = self.store.path.with_name("copy.sqlite")
        saved.write_bytes(self.get(ORGANISER, "judgments.sqlite").content)
        return read_file(saved, self.campaign.plan)

    def label_all(self, judge: str, labels: pd.Series, number: int = 10**6) -> list[tuple[str, str]]:
        """Have a judge label the documents that are given out, at most a number of them; returns which these are."""
        done: list[tuple[str, str]] = []
        while len(done) < number and (documents := self.work(judge)[: number - len(done)]):
            pairs = [pair_of(each) for each in documents]
            self.send(judge, *[record(one, int(labels[pair])) for one, pair in zip(documents, pairs, strict=True)])
            done += pairs
        return done


def pair_of(document: dict) -> tuple[str, str]:
    return document["qid"], document["docno"]


@pytest.fixture(scope="module")
def plan(graded) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=120, level="document", seed=5)


@pytest.fixture(scope="module")
def labels(plan: Plan, demo) -> pd.Series:
    return demo.judge(plan.assessments).set_index(["qid", "docno"])["label"]


@pytest.fixture
def desk(plan: Plan, demo, tmp_path: Path) -> Desk:
    """Two people judge each document."""
    return Desk(site_of(plan, tmp_path, texts=demo.documents, double=1.0))


@pytest.fixture
def single(plan: Plan, demo, tmp_path: Path) -> Desk:
    """One judge is enough."""
    return Desk(site_of(plan, tmp_path, ("ann", "ben", "cy"), texts=demo.documents, double=0.0))


def test_the_page_does_not_wait_for_a_long_estimate(desk: Desk, monkeypatch) -> None:
    may_end, status = threading.Event(), Plan.status

    def slow(*asked: object, **named: object) -> object:
        assert may_end.wait(60)
        return status(*asked, **named)

    monkeypatch.setattr(Plan, "status", slow)
    desk.site.organiser.patience = 0.01
    assert "first estimate is being computed" in desk.page().lower()
    may_end.set()
    desk.site.organiser.patience = 600
    assert "first estimate is being computed" not in desk.page().lower()


def test_only_the_right_token_opens_a_page_and_only_the_files_of_pages_are_served(desk: Desk) -> None:
    tokens = {name: link(desk.site, name).split("/")[2] for name in ("ann", ORGANISER)}
    assert desk.get("ann").status_code == desk.get(ORGANISER).status_code == 200
    own = tokens["ann"]
    wrong = ["x", own[:-1], f"{own}x", own.swapcase(), "%00", "\u202e", "ann"]
    gets = {"judge": ("", "work"), "organise": ("", "adjudicate", "judgments.qrels", "judgments.sqlite")}
    posts = {"judge": "records", "organise": "adjudicate"}
    for folder, other in (("judge", tokens[ORGANISER]), ("organise", own)):
        for token in (*wrong, other):
            answers = [desk.client.get(f"/{folder}/{token}/{page}") for page in gets[folder]]
            answers.append(desk.client.post(f"/{folder}/{token}/{posts[folder]}", data={"label": "1"}))
            assert {answer.status_code for answer in answers} == {403}
    wrong = ("judge.html.jinja", "..%2fapp.py", "%2fetc%2fpasswd", "../app.py", "")
    assert {desk.client.get(f"/files/{name}").status_code for name in FILES} == {200}
    assert {desk.client.get(f"/files/{name}").status_code for name in wrong} == {404}


def test_every_answer_forbids_what_is_not_needed(desk: Desk) -> None:
    ann, organiser = link(desk.site, "ann"), link(desk.site, ORGANISER)
    answers = (f"{ann}work", organiser, f"{organiser}judgments.sqlite", "/files/judge.js", "/", "/judge/x/", "/files/x")
    for page in (ann, *answers):
        headers = desk.client.get(page).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        said = headers["x-content-type-options"], headers["referrer-policy"], headers["cache-control"]
        assert said == ("nosniff", "same-origin", "no-store")
        assert not {"server", "set-cookie"} & set(headers)


def test_another_process_that_writes_is_not_called_a_full_disk(desk: Desk) -> None:
    desk.store._connection.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(desk.store.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = desk.get("ann", "work")
    said = "another process is writing to the file, so nothing was kept; the organiser can end that process"
    assert (answer.status_code, answer.json()) == (503, {"error": said})
    documents = {(each["qid"], each["docno"]) for each in desk.work("ann")}
    # What was given while nothing could be written is noted by the next request.
    assert {each[:2] for each in desk.store.given()} >= documents


def test_answers_name_no_path_of_the_machine(desk: Desk, tmp_path, monkeypatch) -> None:
    document, broken = desk.work("ann")[0], Mock(side_effect=sqlite3.OperationalError(f"disk I/O error in {tmp_path}"))
    monkeypatch.setattr(desk.store, "append", broken)
    answer = desk.send("ann", record(document, 1))
    said = {"error": "the server could not write to its disk, so nothing was kept"}
    assert (answer.status_code, answer.json()) == (507, said)
    monkeypatch.setattr(desk.campaign, "apart", [1, "x"])
    assert desk.page("adjudicate") == "Internal Server Error"
    assert not [
        text for text in (desk.page(), desk.get("ann").text) if str(tmp_path) in text or "/site-packages" in text
    ]
    assert desk.client.get("/health").text == "ok\n"


def test_a_judge_sees_no_ranker_rank_or_model_and_not_what_others_say(plan: Plan, demo, tmp_path: Path) -> None:
    seen = []
    for label in (0, 3):
        (tmp_path / str(label)).mkdir()
        desk = Desk(site_of(plan, tmp_path / str(label), texts=demo.documents, double=0.5))
        desk.send("ben", *[record(document, label) for document in desk.work("ben")])
        seen.append(desk.get("ann", "work").json())
    told, page = seen[0], desk.get("ann").text
    assert told == seen[1]
    for name in (*plan.rankers, "rank", "score", "grade_0", "inclusion", "ben"):
        assert name not in page.replace("grades", "")
        assert f'"{name}' not in json.dumps(told)
    assert set(told) == {"documents", "recent", "progress"}
    assert set(told["progress"]) == {"mine", "seconds", "settled", "all"}
    assert {key for each in told["documents"] for key in each} == {"qid", "docno", "text", "name", "topic", "query"}


def test_hostile_texts_ids_names_and_notes_are_only_shown(graded, demo, tmp_path: Path) -> None:
    plan, texts = hostile_plan(graded, demo.documents)
    names = ",".join(f"<b>grade</b>{number}" for number in "abcd")
    guide, ann = tmp_path / "guide.md", "<i>ann</i>"
    guide.write_text("# Guide\n\n<u>x</u>\n\n|a|\n|-|\n|1|\n\n[x](javascript:alert(1)) ![y](http://evil.test/z)\n")
    desk = Desk(site_of(plan, tmp_path, (ann, "ben"), texts=texts, grade_names=names, guideline=guide, double=1.0))
    document = desk.work(ann)[0]
    assert document["docno"].endswith(PAYLOAD)
    assert all(document[name].endswith("\\u202e\\x1b") for name in ("name", "topic", "query", "text"))
    desk.send(ann, record(document, 0, note=PAYLOAD))
    desk.work("ben")
    desk.send("ben", record(document, 3), record(document, None, "skipped"), record(document, 3))
    pages = [desk.get(ann).text, desk.page(), desk.page("adjudicate")]
    for page in pages:
        assert not [part for part in ("window.ran=1</script>", "<img", "<i>ann", "<b>grade", "\u202e") if part in page]
    assert "&lt;script&gt;window.ran=1" in pages[2]
    assert all(part in pages[0] for part in ("<h1>Guide</h1>", "<td>1</td>", "&lt;u&gt;"))
    assert 'href="javascript' not in pages[0]
    # The ids that the form sends back are the true ones.
    ids = {name: unescape(value) for name, value in re.findall(r'name="(qid|docno)" value="([^"]*)"', pages[2])}
    assert desk.form("adjudicate", **ids, label="1").status_code == 303


def test_what_is_acknowledged_is_a_record_also_for_a_server_that_starts_again(plan: Plan, demo, tmp_path: Path) -> None:
    desk = Desk(site_of(plan, tmp_path, texts=demo.documents))
    said = [(2, "judged", "née\ud800"), (None, "skipped", ""), (None, "unjudgeable", "empty")]
    sent = [record(document, *one) for document, one in zip(desk.work("ann"), said, strict=False)]
    answer = desk.send("ann", *sent).json()
    assert (answer["kept"], answer["refused"]) == ([each["key"] for each in sent], {})
    assert answer["progress"]["mine"] == 3
    records = checked_records(desk.store.records(), plan)
    assert records["status"].tolist() == ["judged", "skipped", "unjudgeable"]
    assert records["label"].fillna(-1).tolist() == [2, -1, -1]
    assert records["note"].tolist() == ["née?", "", "empty"]
    assert records["time"].is_monotonic_increasing
    assert records["time"].is_unique
    assert (set(records["annotator"]), set(records["plan"])) == ({"ann"}, {plan.id})
    told = desk.get("ann", "work").json()
    desk.store.close()
    again = Desk(site_of(plan, tmp_path, texts=demo.documents))
    assert again.get("ann", "work").json() == told
    assert again.sent("ann", sent[0]) == ([sent[0]["key"]], {})
    assert again.campaign.kept == 3


def test_what_is_sent_again_is_acknowledged_and_kept_once(desk: Desk) -> None:
    first, second = desk.work("ann")[:2]
    sent, said = record(first, 2, key=KEY), "this key is that of another record"
    assert [desk.sent("ann", sent) for _ in range(3)] == [([KEY], {})] * 3
    assert desk.sent("ann", sent, sent) == ([KEY] * 2, {})
    # One key is one record, also in one request.
    for wrong in (record(first, 1, key=KEY), record(second, 2, key=KEY)):
        assert desk.sent("ann", sent, wrong) == ([KEY], {KEY: said})
    new = [record(document, 1, key="key-00000002") for document in (first, second)]
    assert desk.sent("ann", *new)[1] == {"key-00000002": said}
    assert len(desk.store.records()) == desk.campaign.kept == 2
    # Somebody else's key is somebody else's.
    desk.work("ben")
    assert desk.sent("ben", sent) == ([KEY], {})
    assert len(desk.store.records()) == 3


SAID = "expected a label from 0 to 3 if judged, and none if skipped or unjudgeable"
ASKED, NOTE = "the plan does not ask for this document", "expected a note of at most 2000 characters"
REFUSED = [
    *(({"label": wrong}, SAID) for wrong in (4, -1, 1.0, True, None, "1")),
    *(({"status": wrong}, SAID) for wrong in ("skipped", "done", ["judged"])),
    *(({"note": wrong}, NOTE) for wrong in ("x" * 2001, None)),
    *((wrong, ASKED) for wrong in ({"docno": "none"}, {"qid": 7}, {"docno": ["d"]})),
]


def test_what_does_not_fit_is_refused_by_itself_and_what_is_no_list_as_a_whole(desk: Desk) -> None:
    first, second = desk.work("ann")[:2]
    right = record(second, 1)
    for change, why in REFUSED:
        assert desk.sent("ann", record(first, 1, key=KEY) | change, right) == ([right["key"]], {KEY: why})
    assert desk.sent("ben", right)[1] == {right["key"]: "this document was not given to you"}
    assert len(desk.store.records()) == 1
    values = [[], {}, "x", None, [1], [{"key": "short"}], [{"key": "a b c d e f"}], [{}] * 101]
    twice = b'[{"key": "key-0001", "key": "key-0001"}]'
    wrong = [b"", b"{", b"\xff", b"[" * 100_000, b"NaN", twice, *(json.dumps(each).encode() for each in values)]
    headers = {"content-type": "application/json"}
    for content in (*wrong, b"[" + b" " * 1_100_000 + b"]"):
        answer = desk.client.post(f"{link(desk.site, 'ann')}records", content=content, headers=headers)
        assert answer.status_code == (400 if content in wrong else 415)
        assert "expected" in answer.json()["error"].lower()
    assert desk.client.post(f"{link(desk.site, 'ann')}records", data={"a": "b"}).status_code == 415


def test_documents_of_a_judge_who_is_away_go_to_others_and_a_label_that_comes_late_counts(single: Desk) -> None:
    """Also after a start of the server, which reads again when the judge was there, and if its clock was ahead."""
    campaign, ahead = single.campaign, 400 * 86_400
    campaign.clock.now += ahead
    one, other = single.work("ann")[:2]
    single.send("ann", record(one, 1))
    campaign.clock.now -= ahead
    campaign.__post_init__()
    assert other in single.work("cy")
    assert other not in single.work("ann")
    assert single.sent("ann", record(other, 1, key=KEY)) == ([KEY], {})
    assert other not in single.work("cy")


def test_of_two_devices_of_a_judge_the_later_answer_stays(single: Desk) -> None:
    """One had no connection when its answer was given; a request may take half a minute."""
    campaign, ages = single.campaign, {300: 2, 10: 1, 0: 1, None: 1, "old": 1, -5: 1, 1e300: 1}
    documents = single.work("ann")[: len(ages)]
    campaign.clock.now += 600
    single.send("ann", *[record(document, 2) | {"age": 0.1} for document in documents])
    campaign.clock.now += 60
    laptop = [record(document, 1) for document in documents]
    sent = [one | ({} if age is None else {"age": age}) for one, age in zip(laptop, ages, strict=True)]
    assert len(single.sent("ann", *sent)[0]) == len(ages)
    places = [campaign.work.place[pair_of(each)] for each in documents]
    for _ in range(2):
        labels = single.qrels()[[pair_of(each) for each in documents]].tolist()
        assert labels == [campaign.said[place]["ann"].label for place in places] == list(ages.values())
        campaign.__post_init__()


def test_a_correction_is_a_new_record_and_an_undo_takes_a_label_back(desk: Desk) -> None:
    document = desk.work("ann")[0]
    # Ben leaves it to Ann.
    desk.work("ben")
    desk.send("ben", record(document, None, "skipped"))
    for label, status in [(0, "judged"), (2, "judged"), (None, "skipped"), (1, "judged")]:
        desk.send("ann", record(document, label, status))
        assert desk.qrels().tolist() == ([] if label is None else [label])
    assert len(desk.store.records()) == 5
    told = desk.get("ann", "work").json()
    assert [each["said"] for each in told["recent"]] == [{"status": "judged", "label": 1, "note": ""}]
    assert told["progress"]["mine"] == 1


def test_disagreements_by_two_grades_are_adjudicated(desk: Desk) -> None:
    document, near = desk.work("ann")[:2]
    desk.work("ben")
    for judge, grades in {"ann": (2, 1), "ben": (0, 2)}.items():
        desk.send(judge, record(document, grades[0]), record(near, grades[1]))
    page = desk.page()
    assert "Adjudicate (1)" in page
    assert "<dt>pair</dt><dd>ann, ben: 2 documents" in re.sub(r"quadratic kappa [^,]+, ", "", page)
    assert desk.page("adjudicate").count('class="dispute"') == 1
    fields = {name: json.dumps(document[name]) for name in ("qid", "docno")}
    assert desk.form("adjudicate", **fields, label="1").status_code == 303
    assert "Adjudicate (0)" in desk.page()
    # A judge's later correction does not overrule it.
    for _ in range(2):
        assert (len(desk.qrels()), desk.qrels()[pair_of(document)]) == (2, 1)
        desk.send("ann", record(document, 3))
    for wrong in ({"label": "4"}, {"label": "x"}, {"docno": '"none"'}, {"docno": "none"}, {}):
        assert desk.form("adjudicate", **fields | wrong).status_code == 400


def test_the_page_says_how_far_who_and_how_fast(desk: Desk) -> None:
    documents = desk.work("ann")
    for document in documents[:5]:
        desk.campaign.clock.now += 12
        desk.send("ann", record(document, 1))
    desk.send("ann", record(documents[5], None, "skipped"))
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", desk.page()))
    assert "ann 5 1 0 12 now" in page
    assert "ben 0 0 0 – never" in page
    rest = round((2 * 120 - 5) * 12 / 60)
    assert f"0 of 120 documents are done; at the present pace, the rest takes {rest} minutes" in page
    assert "ann (skipped) waits for another judge" in page
    state = desk.get(ORGANISER, "state").json()
    assert (state["settled"], state["all"], state["records"]) == (0, 120, 6)
    assert [(each["name"], each["done"]) for each in state["judges"]] == [("ann", 5), ("ben", 0)]
    assert (state["estimate"]["records"], state["estimate"]["stop"]) == (6, False)


def test_the_page_says_what_status_says_and_when_to_stop(single: Desk, plan: Plan, labels: pd.Series) -> None:
    number = len(single.label_all("ann", labels))
    assert single.campaign.sharing.settled == number == 120
    status, page = plan.status(labels.reset_index()), single.page()
    assert "<h1>Which is better by DCG@10: production or candidate?</h1>" in page
    assert "What is known so far of production − candidate</h2>" in page
    assert f"{status.answer[1:]}." in page
    assert ("You can stop" in page) == status.resolved
    lines = single.get(ORGANISER, "judgments.qrels").text.splitlines()
    assert sorted(lines) == sorted(f"{qid} 0 {docno} {label}" for (qid, docno), label in labels.items())
    qrels = qrels_of(single.downloaded()).sort_values(["qid", "docno"])
    assert qrels["label"].tolist() == labels.sort_index().tolist()


def test_no_winner_is_named_while_second_judgments_are_due(desk: Desk, plan: Plan, graded, labels) -> None:
    """Ann favours the first ranker. Her labels would settle it, but each document is due to Ben too, who does not."""
    ranks = graded.set_index(["qid", "docno"])[["rank_production", "rank_candidate"]].replace(-1, 99)
    partial = labels.mask((ranks["rank_production"] < ranks["rank_candidate"]).reindex(labels.index), 3)
    assert plan.status(partial.reset_index()).winner == "production"
    desk.label_all("ann", partial)
    page = desk.page()
    assert "You can stop" not in page
    assert "<dt>waiting</dt><dd>120 documents have a label that does not count yet: another judge is asked" in page
    assert desk.page("judgments.qrels") == ""
    half = desk.label_all("ben", labels, 60)
    state = plan.status(desk.store.records())
    assert (state.judged, state.due, state.changed, state.winner) == (60, 60, 0, None)
    # A copy of the store says it too, and a judge who looks again changes what has counted.
    assert plan.status(desk.downloaded()) == state
    (qid, docno), label = next((pair, labels[pair]) for pair in half if labels[pair] < partial[pair] == 3)
    desk.send("ben", record({"qid": qid, "docno": docno}, int(label) + 1))
    assert "1 label changed after it had counted; earlier looks do not count" in desk.page()


@pytest.mark.parametrize(("rankers", "margin"), [(8, None), (1, 0.5)])
def test_plans_of_one_and_of_many_rankers_have_their_page(graded, tmp_path, rankers, margin) -> None:
    names = [f"rank_noisy{i}" for i in range(rankers - 2)]
    noise = graded.groupby("qid")["docno"].rank().astype(int) - 1
    frame = graded.assign(**dict.fromkeys(names, noise))
    if rankers == 1:
        frame = graded.drop(columns=[name for name in graded.columns if name.endswith("_candidate")])
    plan = Plan.create(frame, None, DCG @ 10, budget=60, level="document", seed=5)
    desk = Desk(site_of(plan, tmp_path, margin=margin))
    while documents := desk.work("ann"):
        desk.send("ann", *[record(document, len(document["docno"]) % 3) for document in documents])
    page = desk.page()
    state = plan.status(desk.store.records(), margin=margin)
    assert (state.answer if rankers == 1 else state.headline)[1:] in page
    assert page.count("<dt>next</dt>") == 1
    question = "How good is production by DCG@10, within ±0.5?"
    if rankers > 1:
        question = "Which is better by DCG@10: production, candidate, noisy0 or 5 others?"
    assert f"<h1>{question}</h1>" in page
    board = re.findall(r"<tr><td>(\w+)</td><td>[^<]+</td><td>([^<]+)</td><td>(maybe|yes|)</td>", page)
    frame = state.boards[0].frame() if rankers > 1 else pd.DataFrame(columns=["name", "rank_low", "rank_high", "best"])
    assert [(name, bool(best)) for name, _, best in board] == list(zip(frame["name"], frame["best"], strict=True))
    assert [ranks.split("–")[-1] for _, ranks, _ in board] == [str(rank) for rank in frame["rank_high"]]


def test_what_nothing_can_be_proved_of_is_said(graded, tmp_path: Path) -> None:
    desk = Desk(site_of(Plan.create(graded, None, DCG @ 10, draws=10, replace=True), tmp_path))
    assert "he plan draws with replacement, so its sample has no order" in desk.page()


def test_only_this_machine_is_let_in_unless_it_is_said() -> None:
    assert {risk(host) for host in ("127.0.0.1", "localhost", "::1")} == {""}
    assert all("without TLS" in risk(host) for host in ("0.0.0.0", "::", "192.0.2.7", "judging.test"))
    with listening("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        for host, address, root in (
            ("127.0.0.1", None, f"http://127.0.0.1:{port}"),
            ("::1", None, f"http://[::1]:{port}"),
            ("::1", "judging.test", f"http://judging.test:{port}"),
            ("::1", "https://judging.test/", "https://judging.test"),
        ):
            assert root_of(opened, host, address) == root


@pytest.fixture
def site(plan: Plan, tmp_path: Path) -> Site:
    return site_of(plan, tmp_path)


@pytest.fixture
def page(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page of a judge, of a site that is served by a thread of this process, which waits for no next request."""
    monkeypatch.setattr(serve.uvicorn, "Config", partial(serve.uvicorn.Config, timeout_keep_alive=0.1))
    with in_thread(site) as links:
        yield links["ann"]


@contextmanager
def connections(page: str, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent something, and wait."""
    address = "127.0.0.1", urlsplit(page).port
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(address, timeout=20)) for _ in range(number)]
        for each in opened:
            each.sendall(sent)
        yield opened


def half_a_body(site: Site, judge: str) -> bytes:
    head = f"POST {link(site, judge)}records HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: 900000\r\n\r\n[".encode()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nhost: a\r\n", b"GET /x HTTP/1.1\r\nhost: a\r\n\r\nGET"])
def test_a_connection_ends_whose_headers_do_not_come(page: str, monkeypatch, sent: bytes) -> None:
    monkeypatch.setattr(serve, "HEADER_SECONDS", 0.1)
    with connections(page, 1, sent) as (one,):
        while one.recv(1 << 16):
            pass


def test_half_requests_give_way_to_judges(page: str, monkeypatch) -> None:
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 8)
    with connections(page, 40, b"GET / HTTP/1.1\r\nhost: a\r\n") as waiting:
        assert httpx.get(f"{page}work", timeout=20).status_code == 200
        for each in waiting[:30]:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""


def test_a_body_must_come_to_its_end_and_one_link_has_few_under_way(page: str, site: Site, monkeypatch) -> None:
    with connections(page, security.MOST_SENT, half_a_body(site, "ann")):
        with connections(page, 1, half_a_body(site, "ann")) as (one,):
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 429 ")
        assert httpx.get(f"{page}work", timeout=20).status_code == 200
        with connections(page, 1, half_a_body(site, "ben")) as (other,):
            other.sendall(b"x" * 899_999)
            assert other.recv(1 << 16).startswith(b"HTTP/1.1 400 ")
    monkeypatch.setattr(security, "BODY_SECONDS", 0.1)
    with connections(page, 1, half_a_body(site, "ben")) as (one,):
        assert one.recv(1 << 16).startswith(b"HTTP/1.1 408 ")
