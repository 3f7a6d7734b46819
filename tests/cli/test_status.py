"""Commands that answer from labels, and what they say while judging goes on, has ended early, or is complete."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from small_collection import (
    COLD,
    MEASURED,
    QUERIES,
    RUNS,
    TRAINING,
    complaint,
    data,
    exported,
    invoke,
    keyed,
    planned,
    run,
    run_lines,
    write,
)

from pt_active import Plan


def plain(result):
    """A result as its JSON."""
    return json.loads(json.dumps(result.to_dict()))


def test_status_says_what_the_library_says(judged):
    labels = pd.read_csv("plan.csv")[["qid", "docno", "label"]]
    plan, part = Plan.load("plan"), labels.head(60)
    assert data("status", "plan", "part.csv") == plan.status(part).to_dict()
    looked = data("status", "plan", "part.csv", "--looks", "end", "--margin", "0.2")
    assert looked == plan.status(part, None, 0.2).to_dict()
    found = data("status", "plan", "plan.csv")
    result, status = found["result"], plan.status(labels)
    assert result == plain(plan.compare(labels))
    assert found["estimates"]["b"] == plain(plan.estimate(labels)["b"])
    assert (found["value"], found["low"]) == (status.value, status.low)
    turned = data("status", "plan", "plan.csv", "--first", "b", "--second", "a")["result"]
    assert turned["difference"] == pytest.approx(-result["difference"])
    said = run("status", "plan", "plan.csv")
    assert "Everything is judged. If this is your first look, --looks end prints" in said
    assert "for queries like them: the labels so far do not tell how far queries differ" in said
    assert said.startswith(status.headline)
    assert len(said.partition("\n\n")[0].splitlines()) <= 6
    assert status.details in run("status", "plan", "plan.csv", "--details")
    whole = data("status", "plan", "plan.csv", "--looks", "end")
    assert (whole["low"], whole["high"]) == pytest.approx((result["low"], result["high"]))
    end = run("status", "plan", "plan.csv", "--looks", "end").partition("Everything is judged:\n")[2]
    assert end.startswith("DCG@5: a − b (regression)\n  difference ")
    assert f"\n  b  {found['estimates']['b']['value']:.4f} [" in end


def test_flags_and_keys_ask_the_library(judged):
    plan, labels = Plan.load("plan"), pd.read_csv("plan.csv")[["qid", "docno", "label"]]
    keyed(confidence=0.9, missing="nonrelevant")
    found = data("status", "plan", "plan.csv", "--measure", "P(rel=1)@3")
    expected = plan.compare(labels, "P(rel=1)@3", confidence=0.9, missing="nonrelevant")
    assert (set(found), found["result"]) == ({"result", "estimates"}, plain(expected))
    keyed(plan="plan", labels="plan.csv", queries="new")
    words = "status", "plan", "plan.csv", "--measure", "DCG@5"
    assert data(*words)["result"] == plain(plan.compare(labels, queries="new"))
    assert data(*words, "--queries", "these")["result"]["queries"] == "these"
    for out, *so_far in (("r.html",), ("s.html", "--so-far")):
        page = data("report", "plan", "plan.csv", "--out", out, *so_far)
        assert (page["result"] or page["status"])["queries"] == "new"
        assert "these alone" in page["headline"]["facts"]


def test_values_that_do_not_subtract_to_the_difference_say_why(judged):
    keyed(level="document")
    planned(*TRAINING, "--budget", "90", "--out", "docs")
    exported("docs")
    words = "status", "docs", "docs.csv", "--measure", "DCG@5"
    found = data(*words)
    result = found["result"]
    first, second = (found["estimates"][result[which]]["value"] for which in ("first", "second"))
    assert abs(first - second - result["difference"]) > 5e-5
    assert "A difference is estimated directly" in run(*words)


def test_a_verdict_without_an_estimate_says_what_it_lacks(judged):
    """The first query in the order has no label, and those after it prove the verdict all the same."""
    labels = pd.read_csv("plan.csv", dtype=str)
    labels[labels["qid"] != labels["qid"].iloc[0]].to_csv("later.csv", index=False)
    asked = ("status", "plan", "later.csv", "--margin", "50")
    status, said = data(*asked), run(*asked)
    assert (status["resolution"], status["value"]) == ("within", None)
    assert "pt-active" not in said


def test_what_is_judged_so_far_can_be_shown_by_a_hint_with_the_options_and_the_project_file(judged):
    keyed(confidence=0.9)
    (judged / "pt-active.toml").rename("mine.toml")
    pair = "--first b --second a"
    asked = ("status", "plan", "part.csv", "--margin", "20", *pair.split(), "--project", "mine.toml")
    status = data(*asked)
    assert (status["resolution"], status["confidence"]) == ("within", 0.9)
    proposed = run(*asked).splitlines()[-1].strip()
    options = f"--so-far --margin 20 {pair} --out plan.html --project mine.toml"
    assert proposed == f"pt-active report plan part.csv {options}"
    shown = run(*shlex.split(proposed)[1:])
    page = (judged / "plan.html").read_text(encoding="utf-8")
    interval = f"[{status['low']:.4f}, {status['high']:.4f}]"
    assert f"{interval} in DCG@5; wrong in at most 10% of campaigns, at any time, for any data" in shown
    assert f"{interval}, 90%, valid at any time".replace("-", "−") in page
    answer = '<p class="answer">b and a are equally good within ±20 on these 30 queries.</p>'
    assert answer in page.partition("<main>")[0]
    kept = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
    assert kept["status"] == status
    assert kept["manifest"]["cut"] == {"unit": "queries", "of": status["drawn"], "to": status["judged"]}


def test_labels_come_in_bit_by_bit(judged):
    said = run("status", "plan", "part.csv")
    assert said.rstrip().endswith("pt-active export plan --out plan.csv --format csv")
    assert "--so-far --margin 9 --out plan.html" in run("status", "plan", "plan.csv", "--margin", "9")
    keyed(confidence=0.999999, missing="nonrelevant")
    strict = ("status", "plan", "plan.csv")
    more = re.search(r"Next, draw more:\n  (pt-active plan --extend plan .*)", run(*strict))
    words, lacking = shlex.split(more[1]), data(*strict)["needed"] - 100
    budget = float(words[words.index("--budget") + 1])
    assert lacking <= budget < 1.01 * lacking + 1
    assert "more documents of" in run(*words[1:])
    assert not set(Plan.load("plan-more").assessments.qid) & set(Plan.load("plan").assessments.qid)
    assert exported("plan-more").rstrip().endswith("LABELS plan-more.csv")
    again = data("status", "plan-more", "plan.csv", "plan-more.csv")
    assert again["judged"] == again["drawn"]
    assert lacking + 100 <= again["spent"] <= 100 + budget


def test_many_rankers_are_ranked(files):
    """A look at the end tells fewer pairs apart than looks at each pair would; all begin with the table of rankers."""
    runs = []
    for number in range(6):
        write(files / f"r{number}.run", run_lines(QUERIES, seed=number))
        runs += ["--run", f"r{number}=r{number}.run"]
    run("plan", *runs, *COLD, *MEASURED)
    exported()
    ranking = Plan.load("plan").rank(pd.read_csv("plan.csv")[["qid", "docno", "label"]])
    apart = sum(winner is not None for winner in ranking.winners)
    assert apart < sum(each.winner is not None for each in ranking.comparisons)
    shown, found = run("status", "plan", "plan.csv"), data("status", "plan", "plan.csv")
    assert shown.startswith(f"{found['headline']}\n")
    assert re.match(
        r" +these \d+ queries +queries like them\n  ranker +value +interval +rank +best", shown[shown.index("\n") + 1 :]
    )
    assert "−" not in shown.partition("  judged ")[0]
    end = run("status", "plan", "plan.csv", "--looks", "end")
    assert end.startswith(f"{ranking.headline}\n")
    assert len(found["pairs"]) == len(found["result"]["pairs"]) == 15
    assert len(found["rankers"]) == 6
    names = sorted(row["name"] for row in found["result"]["rankers"])
    assert names == sorted(found["estimates"]) == [f"r{number}" for number in range(6)]
    whole = data("status", "plan", "plan.csv", "--looks", "end")
    assert whole == {key: found[key] for key in ("result", "estimates")}
    pair = data("status", "plan", "plan.csv", "--first", "r2", "--second", "r0")
    assert (pair["first"], pair["result"]["second"]) == ("r2", "r0")
    assert "name the rankers to compare" in complaint("status", "plan", "plan.csv", "--first", "r2")


def test_one_ranker_is_estimated(files):
    run("plan", "--run", "a=a.run.gz", *TRAINING, *MEASURED)
    assert exported().rstrip().endswith("pt-active status plan plan.csv --margin X")
    assert run("status", "plan", "plan.csv").startswith("DCG@5 of a (regression)\n  estimate ")
    assert list(data("status", "plan", "plan.csv")["estimates"]) == ["a"]
    with_margin = data("status", "plan", "plan.csv", "--margin", "1")
    assert with_margin["value"] == pytest.approx(with_margin["estimates"]["a"]["value"])


def test_labels_that_were_not_drawn_are_one_warning_and_quiet_leaves_results_and_errors(judged):
    loud, quiet = (invoke("status", "plan", "judge.qrels", *words) for words in ((), ("--quiet",)))
    assert re.fullmatch("warning: .* that were not (sampled|drawn) are ignored.*\n", loud.stderr)
    assert data("status", "plan", "judge.qrels", "--quiet")["result"]["ignored"] > 0
    assert "pt-active" in loud.stdout
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert loud.stdout.startswith(quiet.stdout.rstrip())
    assert "pt-active" not in quiet.stdout


def test_report(judged):
    kinds = [f"{qid}\twhat\t{'odd' if number % 2 else 'even'}\n" for number, qid in enumerate(QUERIES)]
    write(judged / "wide.tsv", "qid\tquery\tqkind\n" + "".join(kinds))
    run("plan", *RUNS, *TRAINING, *MEASURED[:-1], "wide", "--topics", "wide.tsv")
    words = ("report", "wide", "plan.csv", "--slice", "qkind", "--out")
    said = run(*words, "report.html")
    assert said.endswith("The report is report.html.\n")
    page = (judged / "report.html").read_text(encoding="utf-8")
    assert said.splitlines()[0] in page
    found = data(*words, "report.json")
    assert found.pop("file") == "report.json"
    assert found["result"] == data("status", "wide", "plan.csv")["result"]
    assert [row["value"] for row in found["slices"]] == ["even", "odd"]
    assert json.loads(page.split('id="report-data">')[1].split("</script>")[0]) == found
    assert json.loads((judged / "report.json").read_text(encoding="utf-8")) == found


def test_documents_from_plan_to_verdict_with_an_extension(files):
    keyed(design="depth", per_query=2)
    made = planned(*COLD, "--budget", "60")
    assert (made["arguments"]["level"], made["spent"] <= 60) == ("document", True)
    exported()
    text = run("plan", "--extend", "plan", "--budget", "40", "--out", "p2", "--texts", "texts.tsv")
    assert "more documents of" in text
    assert "pt-active judge p2" in text
    assert Plan.load("p2").assessments["text"].notna().all()
    assert "pt-active status p2 LABELS p2.csv" in exported("p2")
    said = complaint("status", "p2", "plan.csv", "--looks", "always")
    assert 'use looks=None, or make a plan with design="succ' in said
    early = data("status", "p2", "plan.csv")
    assert (early["unit"], early["judged"], early["drawn"]) == ("sample", 0, 1)
    every = ("status", "p2", "plan.csv", "p2.csv", "--looks", "end")
    found = data(*every)["result"]
    assert found["level"] == "document"
    assert found["n_judged"] == len(pd.read_csv("plan.csv")) + len(pd.read_csv("p2.csv"))


def test_an_audit_finds_the_better_judge_from_labels_of_any_file(judged):
    truth = pd.read_csv("judge.qrels", sep=" ", names=["qid", "zero", "docno", "label"])
    rng = np.random.default_rng(0)
    for name, wrong in (("gpt", 0.2), ("llama", 0.5)):
        errs = rng.random(len(truth)) < wrong
        given = truth.assign(label=(truth["label"] + errs) % 3)
        given.to_csv(f"{name}.qrels", sep=" ", header=False, index=False)
    judges = ("--judge", "gpt.qrels", "--judge", "llama.qrels")
    run("plan", "--audit", "--budget", 150, *judges, "--out", "two")
    exported("two")
    said = data("status", "two", "two.csv", "--rel", 2)
    assert set(said["estimates"]) == {"error", "precision", "recall", "f1", "kappa", "alpha"}
    low, value, high = (said["estimates"]["kappa"]["llama"][name] for name in ("low", "value", "high"))
    assert low < value < high
    assert said["ranking"]["winner"] == "gpt"
    table = pd.read_csv("two.csv").assign(zero=0)
    table[["qid", "zero", "docno", "label"]].to_csv("two.qrels", sep=" ", header=False, index=False)
    record = {"annotator": "ann", "status": "judged", "time": "", "note": "", "plan": ""}
    table.assign(**record).to_json("two.jsonl", orient="records", lines=True)
    for name in ("two.qrels", "two.jsonl"):
        assert data("status", "two", name, "--rel", 2) == said


def test_an_audit_says_which_grades_it_has_room_for(judged):
    words = ("plan", "--audit", "--budget", 150, "--judge", "gpt=judge.qrels", "--out")
    room = "  grades    0 to 2, the highest that the judge gives; if people may give more, pass --max-grade\n"
    assert room in run(*words, "b")
    assert "the judge gives, or that --train-qrels has; if" in run(*words, "c", "--train-qrels", "past.qrels.gz")
    assert "--max-grade" not in run(*words, "d", "--max-grade", 4)
    assert "grade_4" in pd.read_parquet("d/pairs.parquet").columns


def test_an_llms_order_of_the_rankers_is_certified(files):
    write(files / "c.run", run_lines(QUERIES, 1))
    run("plan", *RUNS, "--run", "c=c.run", *COLD, *MEASURED)
    exported()
    families = pd.DataFrame({"name": ["a", "b", "c"], "family": ["old", "new", "new"]})
    families.to_csv("families.csv", index=False)
    keyed(margin=0.2, looks="end")  # of the measure
    said = data("status", "plan", "plan.csv", "--judge", "judge.qrels", "--families", "families.csv")
    labels, about = (
        pd.read_csv("plan.csv")[["qid", "docno", "label"]],
        {"families": {"a": "old", "b": "new", "c": "new"}},
    )
    found = Plan.load("plan").certificate(labels, "judge.qrels", **about)
    assert (said, said["half_width"]) == (plain(found), 0.05)
    words = ("status", "plan", "plan.csv", "--judge", "judge.qrels", "--families", "families.csv")
    for wrong, message in (
        (pd.concat([families, families.tail(1).assign(family="old")]), "families.csv: 'c' more than once; each ranker"),
        (families.assign(family=["old", "new", None]), "'c' has no family"),
    ):
        wrong.to_csv("families.csv", index=False)
        assert message in complaint(*words)
    wide = data("status", "plan", "plan.csv", "--judge", "judge.qrels", "--margin", "1")
    assert (wide["half_width"], wide["needed"], wide["families"]) == (1, 0, [])
    text = run("status", "plan", "plan.csv", "--judge", "judge.qrels")
    assert text.startswith("the judge's order of 3 rankers by DCG@5")
