"""The pages: who may see what, what an answer makes a browser do, and what becomes of what judges send."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pandas as pd
import pytest
from serving import PAYLOAD, Tell, child, hostile_plan, in_thread, link, record, site_of
from starlette.testclient import TestClient
from typer.testing import CliRunner

from pt_active import DCG, Plan
from pt_active.judging.files import read_file
from pt_active.judging.records import checked_records, qrels_of
from pt_active.judging.server.app import Site
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.serve import listening, risk, root_of
from pt_active.judging.server.store import stored_records
from pt_active.judging.server.templates import FILES

SHOWN = "\\u202e\\x1b"


@pytest.fixture(scope="module")
def plan(graded) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=120, level="document", seed=5)


@pytest.fixture
def site(plan: Plan, demo, tmp_path: Path) -> Site:
    return site_of(plan, tmp_path, texts=demo.documents, double=1.0)


@pytest.fixture
def single(plan: Plan, demo, tmp_path: Path) -> Site:
    """A site on which one judge is enough."""
    return site_of(plan, tmp_path, ("ann", "ben", "cy"), texts=demo.documents, double=0.0)


@pytest.fixture
def client(site: Site) -> TestClient:
    return client_of(site)


def client_of(site: Site) -> TestClient:
    root = "http://judging.test"
    return TestClient(site.application(), base_url=root, raise_server_exceptions=False)


def send(client: TestClient, site: Site, judge: str, *records: dict, **headers: str):
    headers = {"content-type": "application/json"} | headers
    return client.post(f"{link(site, judge)}records", content=json.dumps(records), headers=headers)


def work(client: TestClient, site: Site, judge: str) -> list[dict]:
    return client.get(f"{link(site, judge)}work").json()["documents"]


def opened(client: TestClient, site: Site, page: str = "") -> str:
    return client.get(f"{link(site, ORGANISER)}{page}").text


def form(client: TestClient, site: Site, page: str, **fields: str):
    headers = {"origin": "http://judging.test"}
    return client.post(f"{link(site, ORGANISER)}{page}", data=fields, headers=headers, follow_redirects=False)


def test_the_page_does_not_wait_for_a_long_estimate(client: TestClient, site: Site, monkeypatch) -> None:
    may_end, status = threading.Event(), Plan.status

    def slow(*asked: object, **named: object) -> object:
        assert may_end.wait(60)
        return status(*asked, **named)

    monkeypatch.setattr(Plan, "status", slow)
    site.organiser.patience = 0.01
    assert "first estimate is being computed" in opened(client, site).lower()
    may_end.set()
    site.organiser.patience = 600
    assert "first estimate is being computed" not in opened(client, site).lower()


def test_the_page_tells_for_which_queries(client: TestClient, site: Site) -> None:
    assert opened(client, site).index("for these") < opened(client, site).index("for queries like them")
    site.organiser.asked = {"queries": "new"}
    site.organiser._looked = (0.0, -1, {})
    assert opened(client, site).index("for queries like them") < opened(client, site).index("for these")


def test_health_is_that_of_the_store(client: TestClient, site: Site) -> None:
    assert client.get("/health").text == "ok\n"
    site.campaign.store.close()
    assert client.get("/health").status_code >= 500


def test_only_the_right_token_opens_a_page(client: TestClient, site: Site) -> None:
    ann, organiser = link(site, "ann"), link(site, ORGANISER)
    tokens = [ann.split("/")[2], organiser.split("/")[2]]
    assert client.get(ann).status_code == client.get(organiser).status_code == 200
    wrong = ["x", tokens[0][:-1], tokens[0] + "x", tokens[0].swapcase(), "%00", "\u202e", "ann"]
    for token in [*wrong, tokens[1]]:
        for page in ("", "work"):
            assert client.get(f"/judge/{token}/{page}").status_code == 403
        assert client.post(f"/judge/{token}/records", json=[]).status_code == 403
    for token in [*wrong, tokens[0]]:
        for page in ("", "adjudicate", "next", "judgments.qrels", "records.jsonl"):
            assert client.get(f"/organise/{token}/{page}").status_code == 403
        for page in ("adjudicate", "next", "pause"):
            assert client.post(f"/organise/{token}/{page}", data={"paused": "yes"}).status_code == 403
    assert not site.campaign.paused


def test_every_answer_forbids_what_is_not_needed(client: TestClient, site: Site) -> None:
    ann, organiser = link(site, "ann"), link(site, ORGANISER)
    pages = [ann, f"{ann}work", organiser, f"{organiser}records.jsonl", "/files/judge.js", "/", "/judge/x/", "/files/x"]
    for page in pages:
        headers = client.get(page).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        said = headers["x-content-type-options"], headers["referrer-policy"], headers["cache-control"]
        assert said == ("nosniff", "same-origin", "no-store")
        assert not {"server", "set-cookie"} & set(headers)


def test_only_the_files_of_the_pages_are_served(client: TestClient) -> None:
    for name in FILES:
        assert client.get(f"/files/{name}").status_code == 200
    for name in ("judge.html.jinja", "..%2fapp.py", "%2fetc%2fpasswd", "../app.py", ""):
        assert client.get(f"/files/{name}").status_code == 404


def test_posts_of_other_sites_are_refused(client: TestClient, site: Site) -> None:
    document = work(client, site, "ann")[0]
    sent = record(document, 1, "key-00000001")
    others = ("http://evil.test", "null", "http://judging.test.evil.test", "http://judging.test:81")
    same_site = {"sec-fetch-site": "same-site", "origin": "http://judging.test"}
    for headers in (*({"origin": each} for each in others), {"sec-fetch-site": "cross-site"}, same_site):
        assert send(client, site, "ann", sent, **headers).status_code == 403
        pause = client.post(f"{link(site, ORGANISER)}pause", data={"paused": "yes"}, headers=headers)
        assert pause.status_code == 403
    assert site.campaign.kept == 0
    assert not site.campaign.paused
    assert send(client, site, "ann", sent, **{"content-type": "text/plain"}).status_code == 415
    fine = {"origin": "http://judging.test", "sec-fetch-site": "same-origin"}
    assert send(client, site, "ann", sent, **fine).json()["kept"] == ["key-00000001"]


def test_a_process_that_locks_the_file_holds_up_nobody_who_writes_nothing(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("pt_active.judging.server.store._WAIT_SECONDS", 60)
    site = site_of(plan, tmp_path)
    ann, organiser = link(site, "ann"), link(site, ORGANISER)
    writes = [("GET", f"{ann}work"), ("POST", f"{organiser}pause"), ("POST", f"{organiser}renew")]
    reads = ["/health", link(site, "ben"), organiser, f"{organiser}adjudicate"]
    with in_thread(site) as links, ThreadPoolExecutor() as aside, httpx.Client(timeout=60) as client:
        root = links["ann"].partition("/judge/")[0]
        with closing(sqlite3.connect(site.campaign.store.path)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = [
                aside.submit(httpx.request, method, f"{root}{path}", data={"name": "ben"} if method == "POST" else None)
                for method, path in writes
            ]
            answered = [client.get(f"{root}{path}").status_code for path in reads]
            ended = [each.done() for each in waiting]
        assert (answered, ended) == ([200] * len(reads), [False] * len(writes))
        assert [each.result().status_code for each in waiting] == [200, 303, 200]


def test_another_process_that_writes_is_not_called_a_full_disk(plan, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("pt_active.judging.server.store._WAIT_SECONDS", 0.05)
    site = site_of(plan, tmp_path)
    client = client_of(site)
    with closing(sqlite3.connect(site.campaign.store.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = client.get(f"{link(site, 'ann')}work")
    said = "another process is writing to the file, so nothing was kept; the organiser can end that process"
    assert (answer.status_code, answer.json()) == (503, {"error": said})
    documents = {(each["qid"], each["docno"]) for each in work(client, site, "ann")}
    # What was given while nothing could be written is noted by the next request.
    assert {each[:2] for each in site.campaign.store.given()} >= documents


def test_answers_name_no_path_of_the_machine(client: TestClient, site: Site, tmp_path: Path, monkeypatch) -> None:
    def broken(*_) -> None:
        raise sqlite3.OperationalError(f"disk I/O error in {tmp_path}")

    document = work(client, site, "ann")[0]
    monkeypatch.setattr(site.campaign.store, "append", broken)
    answer = send(client, site, "ann", record(document, 1, "key-00000001"))
    said = {"error": "the server could not write to its disk, so nothing was kept"}
    assert (answer.status_code, answer.json()) == (507, said)
    monkeypatch.setattr(site.organiser, "queue", lambda: 1 / 0)
    assert client.get(f"{link(site, ORGANISER)}adjudicate").text == "Internal Server Error"
    texts = [opened(client, site), opened(client, site, "next"), client.get(link(site, "ann")).text, answer.text]
    texts += [form(client, site, "next", budget="40").text, form(client, site, "next", budget="1e-9").text]
    assert not [text for text in texts if str(tmp_path) in text or "/site-packages" in text]


def test_a_judge_sees_no_ranker_rank_or_model(client: TestClient, site: Site) -> None:
    page = client.get(link(site, "ann")).text
    told = client.get(f"{link(site, 'ann')}work").json()
    for name in (*site.campaign.plan.rankers, "rank", "score", "grade_0", "inclusion", "ben"):
        assert name not in page.replace("grades", "")
        assert f'"{name}' not in json.dumps(told)
    assert set(told) == {"documents", "recent", "progress"}
    assert set(told["progress"]) == {"mine", "seconds", "settled", "all", "paused"}
    assert {key for each in told["documents"] for key in each} == {"qid", "docno", "text", "name", "topic", "query"}


def test_what_a_judge_sees_does_not_depend_on_the_grades_of_others(plan: Plan, demo, tmp_path: Path) -> None:
    seen = []
    for label in (0, 3):
        folder = tmp_path / str(label)
        folder.mkdir()
        site = site_of(plan, folder, texts=demo.documents, double=0.5)
        client = client_of(site)
        documents = work(client, site, "ann")
        send(client, site, "ann", *[record(each, label, f"key-{n:08}") for n, each in enumerate(documents)])
        seen.append(client.get(f"{link(site, 'ben')}work").json())
    assert seen[0] == seen[1]


def test_hostile_texts_ids_names_and_notes_are_only_shown(graded, demo, tmp_path: Path) -> None:
    plan, texts = hostile_plan(graded, demo.documents)
    names = ",".join(f"<b>grade</b>{number}" for number in "abcd")
    guide = tmp_path / "guide.md"
    guide.write_text("# Guide\n\n<u>x</u>\n\n|a|\n|-|\n|1|\n\n[x](javascript:alert(1)) ![y](http://evil.test/z)\n")
    site = site_of(plan, tmp_path, ("<i>ann</i>", "ben"), texts=texts, grade_names=names, guideline=guide, double=1.0)
    client = client_of(site)
    answer = client.get(f"{link(site, '<i>ann</i>')}work")
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()["documents"][0]
    assert document["docno"].endswith(PAYLOAD)
    assert all(document[name].endswith(SHOWN) for name in ("name", "topic", "query", "text"))
    send(client, site, "<i>ann</i>", record(document, 0, "key-00000001", note=PAYLOAD))
    work(client, site, "ben")
    send(client, site, "ben", record(document, 3, "key-00000002"), record(document, None, "key-00000003", "skipped"))
    send(client, site, "ben", record(document, 3, "key-00000004"))
    pages = [client.get(link(site, "<i>ann</i>")).text, opened(client, site), opened(client, site, "adjudicate")]
    for page in pages:
        assert not [part for part in ("window.ran=1</script>", "<img", "<i>ann", "<b>grade", "\u202e") if part in page]
    assert "&lt;script&gt;window.ran=1" in pages[2]
    assert all(part in pages[0] for part in ("<h1>Guide</h1>", "<td>1</td>", "&lt;u&gt;"))
    assert 'href="javascript' not in pages[0]
    # The ids that the form sends back are the true ones.
    assert "&lt;script&gt;" in re.search(r'name="docno" value="([^"]*)"', pages[2])[1]


def test_what_is_acknowledged_is_a_record(client: TestClient, site: Site) -> None:
    first, second, third = work(client, site, "ann")[:3]
    sent = [record(first, 2, "key-00000001", note="née\ud800"), record(second, None, "key-00000002", "skipped")]
    sent.append(record(third, None, "key-00000003", "unjudgeable", note="empty"))
    answer = send(client, site, "ann", *sent).json()
    assert answer["kept"] == [f"key-0000000{n}" for n in (1, 2, 3)]
    assert answer["refused"] == {}
    assert answer["progress"]["mine"] == 3
    records = checked_records(site.campaign.store.records(), site.campaign.plan)
    assert records["status"].tolist() == ["judged", "skipped", "unjudgeable"]
    assert records["label"].fillna(-1).tolist() == [2, -1, -1]
    assert records["note"].tolist() == ["née?", "", "empty"]
    assert records["time"].is_monotonic_increasing
    assert records["time"].is_unique
    assert (set(records["annotator"]), set(records["plan"])) == ({"ann"}, {site.campaign.plan.id})


def test_what_is_sent_again_is_acknowledged_and_kept_once(client: TestClient, site: Site) -> None:
    first, second = work(client, site, "ann")[:2]
    sent = record(first, 2, "key-00000001")
    assert [send(client, site, "ann", sent).json()["kept"] for _ in range(3)] == [["key-00000001"]] * 3
    assert send(client, site, "ann", sent, sent).json()["kept"] == ["key-00000001"] * 2
    # One key is one record, also in one request.
    for wrong in (record(first, 1, "key-00000001"), record(second, 2, "key-00000001")):
        answer = send(client, site, "ann", sent, wrong).json()
        said = {"key-00000001": "this key is that of another record"}
        assert (answer["kept"], answer["refused"]) == (["key-00000001"], said)
    new = [record(each, 1, "key-00000002") for each in (first, second)]
    assert send(client, site, "ann", *new).json()["refused"] == {"key-00000002": said["key-00000001"]}
    assert len(site.campaign.store.records()) == site.campaign.kept == 2
    # Somebody else's key is somebody else's.
    work(client, site, "ben")
    assert send(client, site, "ben", sent).json()["kept"] == ["key-00000001"]
    assert len(site.campaign.store.records()) == 3


LABEL, STATUS = "expected a label from 0 to 3", "expected a status that is one of judged, skipped, unjudgeable"
ASKED, NOTE = "the plan does not ask for this document", "expected a note of at most 2000 characters"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        *(({"label": wrong}, LABEL) for wrong in (4, -1, 1.0, True, None, "1")),
        ({"status": "skipped"}, "expected no label with the status skipped"),
        *(({"status": wrong}, STATUS) for wrong in ("done", ["judged"])),
        *(({"note": wrong}, NOTE) for wrong in ("x" * 2001, None)),
        *((wrong, ASKED) for wrong in ({"docno": "none"}, {"qid": 7}, {"docno": ["d"]})),
    ],
)
def test_what_does_not_fit_is_refused_by_itself(client: TestClient, site: Site, change: dict, why: str) -> None:
    first, second = work(client, site, "ann")[:2]
    wrong, right = record(first, 1, "key-00000001") | change, record(second, 1, "key-00000002")
    answer = send(client, site, "ann", wrong, right).json()
    assert answer["kept"] == ["key-00000002"]
    assert why in answer["refused"]["key-00000001"]
    answer = send(client, site, "ben", right).json()
    assert answer["refused"] == {"key-00000002": "this document was not given to you"}
    assert len(site.campaign.store.records()) == 1


def test_what_is_no_list_of_records_or_too_large_is_refused(client: TestClient, site: Site) -> None:
    values = [[], {}, "x", None, [1], [{"key": "short"}], [{"key": "a b c d e f"}], [{}] * 101]
    twice = b'[{"key": "key-0001", "key": "key-0001"}]'
    wrong = [b"", b"{", b"\xff", b"[" * 100_000, b"NaN", twice, *(json.dumps(each).encode() for each in values)]
    headers = {"content-type": "application/json"}
    for content in (*wrong, b"[" + b" " * 1_100_000 + b"]"):
        answer = client.post(f"{link(site, 'ann')}records", content=content, headers=headers)
        assert answer.status_code == (400 if content in wrong else 415)
        assert "expected" in answer.json()["error"].lower()


def test_a_label_that_comes_late_counts(single: Site) -> None:
    """The judge was away until the document went to another, and the page was loaded again before the label came."""
    client = client_of(single)
    document = work(client, single, "ann")[0]
    single.campaign.clock.now += 3600
    assert document in work(client, single, "ben")
    assert document not in work(client, single, "ann")
    kept = send(client, single, "ann", record(document, 1, "key-00000001")).json()["kept"]
    assert kept == ["key-00000001"]
    assert document not in work(client, single, "ben")


@pytest.mark.parametrize("again", [False, True])
def test_a_clock_that_was_ahead_keeps_no_document_from_the_others(single: Site, again: bool) -> None:
    """Also after a start of the server, which reads again when the judge was there."""
    client, campaign, ahead = client_of(single), single.campaign, 400 * 86_400
    campaign.clock.now += ahead
    one, other = work(client, single, "ann")[:2]
    send(client, single, "ann", record(one, 1, "key-00000001"))
    campaign.clock.now -= ahead
    if again:
        campaign.go_on_with(campaign.plan, campaign.work)
    assert other not in work(client, single, "ben")
    campaign.clock.now += 3600
    assert other in work(client, single, "cy")


def test_of_two_devices_of_a_judge_the_later_answer_stays(single: Site) -> None:
    """One had no connection when its answer was given; a request may take half a minute."""
    client, campaign = client_of(single), single.campaign
    ages = {300: 2, 10: 1, 0: 1, None: 1, "old": 1, -5: 1, 1e300: 1}
    documents = work(client, single, "ann")[: len(ages)]
    campaign.clock.now += 600
    phone = [record(each, 2, f"key-of-phone-{n}") | {"age": 0.1} for n, each in enumerate(documents)]
    send(client, single, "ann", *phone)
    campaign.clock.now += 60
    laptop = [record(each, 1, f"key-of-laptop-{n}") for n, each in enumerate(documents)]
    sent = [one | ({} if age is None else {"age": age}) for one, age in zip(laptop, ages, strict=True)]
    assert len(send(client, single, "ann", *sent).json()["kept"]) == len(ages)
    places = [campaign.work.place[each["qid"], each["docno"]] for each in documents]
    for _ in range(2):
        qrels = single.organiser.qrels().set_index(["qid", "docno"])["label"]
        labels = [qrels[each["qid"], each["docno"]] for each in documents]
        assert labels == [campaign.said[place]["ann"].label for place in places] == list(ages.values())
        campaign.go_on_with(campaign.plan, campaign.work)


def test_a_correction_is_a_new_record_and_an_undo_takes_a_label_back(client: TestClient, site: Site) -> None:
    document = work(client, site, "ann")[0]
    # Ben leaves it to Ann.
    work(client, site, "ben")
    send(client, site, "ben", record(document, None, "key-of-ben", "skipped"))
    for number, (label, status) in enumerate([(0, "judged"), (2, "judged"), (None, "skipped"), (1, "judged")]):
        send(client, site, "ann", record(document, label, f"key-{number:08}", status))
        qrels = site.organiser.qrels()["label"].tolist()
        assert qrels == ([] if label is None else [label])
    assert len(site.campaign.store.records()) == 5
    recent = client.get(f"{link(site, 'ann')}work").json()["recent"]
    assert [each["said"] for each in recent] == [{"status": "judged", "label": 1, "note": ""}]
    assert client.get(f"{link(site, 'ann')}work").json()["progress"]["mine"] == 1


def test_a_server_that_starts_again_knows_everything(plan: Plan, demo, tmp_path: Path) -> None:
    before = site_of(plan, tmp_path, texts=demo.documents)
    client = client_of(before)
    documents = work(client, before, "ann")
    send(client, before, "ann", *[record(each, 1, f"key-{n:08}") for n, each in enumerate(documents[:4])])
    told = client.get(f"{link(before, 'ann')}work").json()
    before.campaign.store.close()
    after = site_of(plan, tmp_path, texts=demo.documents)
    again = client_of(after)
    assert again.get(f"{link(after, 'ann')}work").json() == told
    assert send(again, after, "ann", record(documents[0], 1, "key-00000000")).json()["kept"] == ["key-00000000"]
    assert after.campaign.kept == 4


@pytest.mark.parametrize(("labels", "asked"), [((2, 0), 1), ((1, 2), 0)])
def test_disagreements_by_two_grades_are_adjudicated(client: TestClient, site: Site, labels, asked: int) -> None:
    document = work(client, site, "ann")[0]
    work(client, site, "ben")
    for judge, label in zip(("ann", "ben"), labels, strict=True):
        send(client, site, judge, record(document, label, "key-00000001"))
    page = opened(client, site)
    assert f"Adjudicate ({asked})" in page
    assert "<dt>pair</dt><dd>ann, ben: 1 document" in re.sub(r"quadratic kappa [^,]+, ", "", page)
    assert "<caption>ann in rows, ben in columns</caption>" in page
    assert opened(client, site, "adjudicate").count('class="dispute"') == asked
    if not asked:
        return
    fields = {"qid": document["qid"], "docno": document["docno"]}
    assert form(client, site, "adjudicate", **fields, label="1").status_code == 303
    assert "Adjudicate (0)" in opened(client, site)
    assert site.organiser.qrels().values.tolist() == [[document["qid"], document["docno"], 1]]
    # A judge's later correction does not overrule it.
    send(client, site, "ann", record(document, 3, "key-00000009"))
    assert site.organiser.qrels()["label"].tolist() == [1]
    for wrong in ({"label": "4"}, {"label": "x"}, {"docno": "none"}, {}):
        assert form(client, site, "adjudicate", **fields | wrong).status_code == 400


def test_the_page_says_how_far_who_and_how_fast(client: TestClient, site: Site) -> None:
    documents = work(client, site, "ann")
    for number, document in enumerate(documents[:5]):
        site.campaign.clock.now += 12
        send(client, site, "ann", record(document, 1, f"key-{number:08}", "judged"))
    send(client, site, "ann", record(documents[5], None, "key-00000010", "skipped"))
    page = re.sub(r"<[^>]+>", " ", opened(client, site))
    assert re.search(r"ann\s+5\s+1\s+0\s+12\s+now", page)
    assert re.search(r"ben\s+0\s+0\s+0\s+–\s+never", page)
    left = 2 * 120 - 5
    assert f"0 of 120 documents are done; at the present pace, the rest takes {round(left * 12 / 60)} minutes" in page
    assert "ann (skipped) waits for another judge" in re.sub(r"\s+", " ", page)
    assert re.search(r"judged\s+\d of 120 documents: \d labels?, \d of 120 spent", page)
    state = client.get(link(site, ORGANISER) + "state").json()
    assert (state["settled"], state["all"], state["records"], state["paused"]) == (0, 120, 6, False)
    assert [(each["name"], each["done"]) for each in state["judges"]] == [("ann", 5), ("ben", 0)]
    assert state["estimate"]["records"] == 6
    assert not state["estimate"]["stop"]


def test_the_page_says_what_status_says_and_when_to_stop(single: Site, plan: Plan, demo) -> None:
    client = client_of(single)
    labels = demo.judge(plan.assessments).set_index(["qid", "docno"])["label"]
    number = len(judged_all(client, single, "ann", labels))
    assert single.campaign.sharing.settled == number
    status = plan.status(labels.reset_index())
    page = opened(client, single)
    assert "<h1>Which is better by DCG@10: production or candidate?</h1>" in page
    assert "What is known so far of production − candidate</h2>" in page
    assert f"{status.answer[1:]}." in page
    assert ("You can stop" in page) == status.resolved
    assert f"{status.judged} of 120 documents" in page
    lines = opened(client, single, "judgments.qrels").splitlines()
    assert sorted(lines) == sorted(f"{qid} 0 {docno} {label}" for (qid, docno), label in labels.items())
    records = downloaded(client, single)
    assert len(records) == number == 120
    assert qrels_of(records).sort_values(["qid", "docno"])["label"].tolist() == labels.sort_index().tolist()


def downloaded(client: TestClient, site: Site) -> pd.DataFrame:
    """The file of records that the organiser saves."""
    saved = site.campaign.store.path.with_name("records.jsonl")
    saved.write_text(opened(client, site, "records.jsonl"), encoding="utf-8")
    return read_file(saved, site.campaign.plan)


def test_no_winner_is_named_while_second_judgments_are_due(client, site, plan, graded, demo):
    """Ann favours the first ranker. Her labels would settle it, but each document is due to Ben too, who does not."""
    labels = demo.judge(plan.assessments).set_index(["qid", "docno"])["label"]
    ranks = graded.set_index(["qid", "docno"])[["rank_production", "rank_candidate"]].replace(-1, 99)
    favoured = ranks["rank_production"] < ranks["rank_candidate"]
    partial = {pair: 3 if favoured[pair] else labels[pair] for pair in labels.index}
    first = pd.Series(partial).rename_axis(["qid", "docno"]).rename("label").reset_index()
    assert plan.status(first).winner == "production"

    judged_all(client, site, "ann", partial)
    page = re.sub(r"\s+", " ", opened(client, site))
    assert "You can stop" not in page
    assert "<dt>waiting</dt><dd>120 documents have a label that does not count yet: another judge is asked" in page
    assert "0 of 120 documents are done" in page
    records = site.campaign.store.records()
    for state in (plan.status(records), plan.gate(records, 0.1, queries="these").status):
        assert (state.judged, state.due, state.changed) == (0, 120, 0)
    assert opened(client, site, "judgments.qrels") == ""
    for missing in ("error", "nonrelevant"):
        with pytest.raises(ValueError, match="120 documents have a label that does not count yet: .* another judge"):
            plan.compare(records, missing=missing)

    half = judged_all(client, site, "ben", labels, 60)
    records, state = site.campaign.store.records(), plan.status(site.campaign.store.records())
    assert (state.judged, state.due, state.changed, state.winner) == (60, 60, 0, None)
    assert state.open > 0
    assert "judge what is open" in state.advice
    assert plan.status(labels[half].reset_index()).e_value == state.e_value
    page = re.sub(r"\s+", " ", opened(client, site))
    assert f"<dt>open</dt><dd>{state.open} documents not fully judged: the worst case is assumed" in page
    # The file of records says it too, and a judge who looks again changes what has counted.
    assert plan.status(downloaded(client, site)) == state
    (qid, docno), label = next((pair, labels[pair]) for pair in half if labels[pair] < partial[pair] == 3)
    send(client, site, "ben", record({"qid": qid, "docno": docno}, int(label) + 1, "key-corrected"))
    assert "1 label changed after it had counted; earlier looks do not count" in opened(client, site)


def judged_all(client: TestClient, site: Site, judge: str, labels, number: int = 10**6) -> list[tuple[str, str]]:
    """Have a judge label the documents that are given out, at most a number of them; returns which these are."""
    done: list[tuple[str, str]] = []
    while len(done) < number and (documents := work(client, site, judge)[: number - len(done)]):
        pairs = [(each["qid"], each["docno"]) for each in documents]
        keys = (f"{judge}-{qid}-{docno}" for qid, docno in pairs)
        sent = [record(d, int(labels[p]), k) for d, p, k in zip(documents, pairs, keys, strict=True)]
        send(client, site, judge, *sent)
        done += pairs
    return done


@pytest.mark.parametrize(
    ("rankers", "margin", "question"),
    [
        (8, None, "Which is better by DCG@10: production, candidate, noisy or 5 others?"),
        (1, 0.5, "How good is production by DCG@10, within ±0.5?"),
    ],
)
def test_plans_of_one_and_of_many_rankers_have_their_page(graded, tmp_path, rankers, margin, question) -> None:
    frame = graded.assign(rank_noisy=graded.groupby("qid")["docno"].rank().astype(int) - 1)
    frame = frame.assign(**{f"rank_noisy{i}": frame["rank_noisy"] for i in range(rankers - 3)})
    if rankers == 1:
        frame = graded.drop(columns=[name for name in graded.columns if name.endswith("_candidate")])
    plan = Plan.create(frame, None, DCG @ 10, budget=60, level="document", seed=5)
    site = site_of(plan, tmp_path, margin=margin)
    client = client_of(site)
    documents = work(client, site, "ann")
    send(client, site, "ann", *[record(each, 1, f"key-{n:08}") for n, each in enumerate(documents)])
    page = opened(client, site)
    assert plan.status(site.campaign.store.records(), margin=margin).answer[1:] in page
    assert page.count("<dt>next</dt>") == 1
    assert f"<h1>{question}</h1>" in page
    assert ("<dt>production − noisy</dt>" in page) == (rankers > 1)


def test_what_nothing_can_be_proved_of_is_said(graded, tmp_path: Path) -> None:
    site = site_of(Plan.create(graded, None, DCG @ 10, draws=10, replace=True), tmp_path)
    assert "he plan draws with replacement, so its sample has no order" in opened(client_of(site), site)


def test_pausing_stops_the_giving_out_and_keeps_what_comes(client: TestClient, site: Site) -> None:
    document = work(client, site, "ann")[0]
    assert form(client, site, "pause", paused="yes").status_code == 303
    assert "Judging is paused" in opened(client, site)
    told = client.get(f"{link(site, 'ann')}work").json()
    assert (told["documents"], told["progress"]["paused"]) == ([], True)
    assert send(client, site, "ann", record(document, 1, "key-00000001")).json()["kept"] == ["key-00000001"]
    form(client, site, "pause", paused="no")
    assert work(client, site, "ann")


def test_the_organiser_takes_a_copy_of_everything(client: TestClient, site: Site, tmp_path: Path) -> None:
    send(client, site, "ann", record(work(client, site, "ann")[0], 1, "key-00000001"))
    assert '<a href="judgments.sqlite" download>Copy of plan.sqlite</a>' in opened(client, site)
    (tmp_path / "copy.sqlite").write_bytes(client.get(f"{link(site, ORGANISER)}judgments.sqlite").content)
    assert len(stored_records(tmp_path / "copy.sqlite")) == 1
    assert client.get(f"{link(site, 'ann')}judgments.sqlite").status_code == 404


def test_a_leaked_link_is_renewed(client: TestClient, site: Site) -> None:
    old, other = link(site, "ann"), link(site, "ben")
    page = form(client, site, "renew", name="ann")
    new = link(site, "ann")
    assert f'<a href="../..{new}"' in page.text
    assert [client.get(each).status_code for each in (old, new, other)] == [403, 200, 200]
    assert form(client, site, "renew", name="nobody").status_code == 400
    own = link(site, ORGANISER)
    moved = form(client, site, "renew", name=ORGANISER)
    assert moved.headers["location"] == f"../{link(site, ORGANISER).split('/')[2]}/"
    assert [client.get(each).status_code for each in (own, link(site, ORGANISER))] == [403, 200]


def test_the_next_round_goes_on_with_all_that_is_kept(client: TestClient, site: Site, tmp_path: Path) -> None:
    document = work(client, site, "ann")[0]
    send(client, site, "ann", record(document, 1, "key-00000001"))
    for wrong in ("", "x", "-1", "nan", "inf", "1e-9"):
        assert form(client, site, "next", budget=wrong).status_code == 400
    page = form(client, site, "next", budget="40")
    assert "The next round has 40 documents. On the command line, continue with plan-2 and plan.sqlite." in page.text
    longer = Plan.load(tmp_path / "plan-2")
    assert longer.id == site.campaign.plan.id
    assert len(site.campaign.work.documents) == 160
    assert site.campaign.kept == 1
    assert "of 160 documents" in opened(client, site)
    assert all(each.text for each in site.campaign.work.documents)
    asked = {(each["qid"], each["docno"]) for each in work(client, site, "ann")}
    assert (document["qid"], document["docno"]) not in asked


def test_only_this_machine_is_let_in_unless_it_is_said() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        assert risk(host) == ""
    for host in ("0.0.0.0", "::", "192.0.2.7", "judging.test"):
        assert "without TLS" in risk(host)
    opened = listening("127.0.0.1", 0)
    port = opened.getsockname()[1]
    assert root_of(opened, "127.0.0.1", None) == f"http://127.0.0.1:{port}"
    assert root_of(opened, "::1", None) == f"http://[::1]:{port}"
    assert root_of(opened, "::1", "judging.test") == f"http://judging.test:{port}"
    assert root_of(opened, "::1", "https://judging.test/") == "https://judging.test"
    opened.close()


def test_the_command_without_the_extra_says_what_to_install() -> None:
    def judge(tell: Tell) -> None:
        for name in [name for name in sys.modules if name.startswith("pt_active")]:
            del sys.modules[name]
        sys.modules.update(starlette=None, uvicorn=None)
        from pt_active.cli.app import app

        result = CliRunner().invoke(app, ["judge", "x"])
        tell(f"{result.exit_code} {result.stderr}".encode())

    with child(judge) as (_, told):
        assert told.readline() == b"2 error: judge needs starlette, uvicorn: pip install starlette uvicorn\n"
