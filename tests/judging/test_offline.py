"""The page of one judge in one file: who gets what, what runs in it, and that it comes from the command."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from serving import PAYLOAD, hostile_plan
from typer.testing import CliRunner

from pt_active import DCG, Plan
from pt_active.cli.app import app
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.templates import offline_page, share_of
from pt_active.judging.worklist import GradeNames


@pytest.fixture(scope="module")
def plan(graded) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=150, level="document", seed=5)


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="offline">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("judges", [1, 2, 3, 5])
def test_every_document_goes_to_as_many_judges_as_it_needs(plan: Plan, judges: int) -> None:
    order, names = JudgingOrder.of(plan, double=0.3), [f"judge {number}" for number in range(judges)]
    shares = {name: share_of(order, names, name) for name in names}
    times = Counter(place for places in shares.values() for place in places)
    for place, document in enumerate(order.documents):
        assert times[place] == min(document.judges, judges)
    assert all(len(set(places)) == len(places) and places == sorted(places) for places in shares.values())
    sizes = [len(places) for places in shares.values()]
    assert max(sizes) - min(sizes) < 25
    with pytest.raises(ValueError, match="must be one of the judges"):
        share_of(order, names, "nobody")


def test_only_the_page_s_own_script_and_style_run(plan: Plan) -> None:
    page = offline_page(plan, JudgingOrder.of(plan), "ann")
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag, kind in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert not re.search(r"(src|href)=\"(?!data:,|#)", page)


def test_hostile_texts_and_names_stay_text(graded, demo) -> None:
    plan, texts = hostile_plan(graded, demo.documents)
    page = offline_page(plan, JudgingOrder.of(plan, texts), PAYLOAD, names=GradeNames.parsed("<b>a,b,c,d"))
    assert page.count("</script>") == page.count("<script") == 2
    assert "<img" not in page
    assert "<b>a" not in page
    assert "\u202e" not in page
    data = data_of(page)
    assert data["annotator"] == PAYLOAD
    assert re.fullmatch(r"[\w.-]+\.jsonl", data["file"])
    assert all(each["docno"].endswith(PAYLOAD) and each["text"].endswith("\\u202e\\x1b") for each in data["documents"])


def test_export_writes_a_page_for_each_judge(plan: Plan, demo, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan.save(tmp_path / "plan")
    demo.documents[["docno", "text"]].to_csv("texts.tsv", sep="\t", header=False, index=False)
    (tmp_path / "guide.md").write_text("# What to *judge*\n")

    def exported(*words: str):
        return CliRunner().invoke(app, ["export", "plan", "--format", "html", *words])

    pairs = []
    for name in ("ann", "ben"):
        words = ("--annotator", name, "--judges", "ann,ben", "--guideline", "guide.md", "--texts", "texts.tsv")
        result = exported("--out", f"{name}.html", *words, "--grade-names", "bad,fair,good,best")
        assert result.exit_code == 0, result.stderr
        assert "Send it to the judge" in result.stdout
        page = Path(f"{name}.html").read_text(encoding="utf-8")
        assert f"<title>Judging as {name}</title>" in page
        assert "What to <em>judge</em>" in page
        assert "<span>best</span>" in page
        assert all(each["text"] for each in data_of(page)["documents"])
        pairs += [(each["qid"], each["docno"]) for each in data_of(page)["documents"]]
    assert set(pairs) == set(plan.assessments[["qid", "docno"]].itertuples(index=False, name=None))
    assert 150 < len(pairs) < 200
    for words, said in (
        ("", "pass --annotator"),
        ("--annotator carl --judges ann,ben", "annotator carl must be one of the judges, ann, ben"),
        ("--annotator ann --labels x", "--labels is for --format"),
        ("--format csv --judges a,b", "--judges and --guideline are for --format html"),
    ):
        result = exported("--out", "other.html", *words.split())
        assert result.exit_code == 2
        assert said in result.stderr
