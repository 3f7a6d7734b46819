"""Commands that answer from labels, and what they say while judging goes on or has ended early."""

import json
import re
import shlex

import pandas as pd
import pytest
from small_collection import (
    MEASURED,
    QUERIES,
    RUNS,
    TRAINING,
    UNIFORM,
    complaint,
    fill,
    invoke,
    planned,
    run,
    write,
    write_run,
)

from pt_active import Outlook, Plan


def test_the_command_says_what_the_library_says(files):
    planned(*TRAINING)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    words = ("--measure", "P(rel=1)@3", "--estimator", "snis", "--confidence", "0.9", "--missing", "expected")
    found = json.loads(run("compare", "plan", "plan.csv", *words, "--json"))
    qrels = pd.read_csv("plan.csv")[["qid", "docno", "label"]]
    expected = Plan.load("plan").compare(qrels, "P(rel=1)@3", "snis", 0.9, "expected")
    assert found == json.loads(json.dumps(expected.to_dict()))


def test_many_rankers_are_ranked(files):
    write_run(files / "c.run", QUERIES, seed=9)
    run("plan", *RUNS, "--run", "c=c.run", *TRAINING, *MEASURED)
    said = run("export", "plan", "--out", "plan.csv", "--format", "csv")
    assert said.rstrip().endswith("pt-active compare plan plan.csv")
    fill("plan.csv")
    assert run("compare", "plan", "plan.csv").startswith("DCG@5 of 3 rankers, best first (regression)\n")
    found = json.loads(run("compare", "plan", "plan.csv", "--json"))
    assert sorted(row["name"] for row in found["rankers"]) == ["a", "b", "c"]
    assert (len(found["pairs"]), found["correction"]) == (3, "holm")
    tukey = json.loads(run("compare", "plan", "plan.csv", "--correction", "tukey", "--json"))
    assert tukey["correction"] == "tukey"
    assert [row["pvalue"] for row in tukey["pairs"]] == [row["pvalue"] for row in found["pairs"]]
    pair = json.loads(run("compare", "plan", "plan.csv", "--first", "c", "--second", "a", "--json"))
    assert (pair["first"], pair["second"]) == ("c", "a")
    assert "or rank them all" in complaint("compare", "plan", "plan.csv", "--first", "c")
    assert complaint("compare", "plan", "plan.csv", "--first", "c", "--second", "a", "--correction", "holm") == (
        "--correction is for more than two rankers, with neither --first nor --second"
    )
    assert complaint("compare", "plan", "plan.csv", "--correction", "x").startswith(
        "unknown correction 'x'; it is tukey"
    )


def test_bad_answers_say_why(files):
    planned(*UNIFORM)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    assert complaint("export", "plan", "--out", "plan.csv") == "plan.csv exists; choose another --out"
    assert complaint("export", "plan", "--out", "x", "--format", "odt").startswith(
        "unknown --format 'odt'; it is one of "
    )
    assert "there is no plan at a.run.gz" in complaint("estimate", "a.run.gz", "plan.csv")
    assert complaint("estimate", "plan", "nothing.csv") == "nothing.csv: No such file or directory"
    first = Plan.load("plan").assessments.iloc[0]
    write(files / "half.qrels", f"{first.qid} 0 {first.docno} 1\n")
    assert "have no label" in complaint("compare", "plan", "half.qrels")
    write(files / "wrong.qrels", "q 0 D-0 good\n")
    assert "wrong.qrels: line 1: expected 4 columns" in complaint("compare", "plan", "wrong.qrels")
    assert "unknown estimator 'best'" in complaint("compare", "plan", "judge.qrels", "--estimator", "best")
    assert "confidence must lie between 0 and 1" in complaint("compare", "plan", "judge.qrels", "--confidence", "95")
    assert "no ranker 'c' in this plan" in complaint("compare", "plan", "judge.qrels", "--second", "c")


def test_hand_picked_labels_are_warned_of_in_one_line(files):
    planned(*UNIFORM)
    result = invoke("compare", "plan", "judge.qrels", "--json")
    assert json.loads(result.stdout)["ignored"] > 0
    (warning,) = result.stderr.splitlines()
    assert "were not sampled are ignored" in warning
    assert warning.startswith("warning: ")


def test_hints_keep_the_options(files):
    planned(*TRAINING)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    words = ("--confidence", "0.9", "--missing", "nonrelevant")
    for command in ("compare", "estimate"):
        assert " ".join(("report plan plan.csv", *words, "--out")) in run(command, "plan", "plan.csv", *words)
        assert "report plan plan.csv --out" in run(command, "plan", "plan.csv", "--confidence", "0.95")
    kept = (*words[2:], "--rule", "median", "--first", "b", "--second", "a", "--measure", "P(rel=1)@3")
    proposed = shlex.split(run("compare", "plan", "plan.csv", *kept).splitlines()[-1])
    assert (
        dict(zip(kept[::2], kept[1::2], strict=True)).items()
        <= dict(zip(proposed[4::2], proposed[5::2], strict=True)).items()
    )
    run(*proposed[1:])
    more = run("status", "plan", "plan.csv", "--confidence", "0.999999", "--missing", "nonrelevant").splitlines()[-1]
    assert more.split()[1:6] == ["extend", "plan", "plan.csv", "--missing", "nonrelevant"]


def test_a_look_at_the_end_says_that_it_comes(files):
    planned(*TRAINING)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    pd.read_csv("plan.csv", dtype=str).head(20).to_csv("part.csv", index=False)
    assert "There is one look, at the end: the labels so far are kept" in run(
        "status", "plan", "part.csv", "--looks", "end"
    )
    assert "There is one look" not in run("status", "plan", "plan.csv", "--looks", "end")


def test_reports_for_pull_requests_and_dashboards(files):
    run("plan", *RUNS, *TRAINING, *MEASURED)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    (files / "texts.tsv").write_text("D-1\tthe first text\n", encoding="utf-8")
    found = json.loads(run("report", "plan", "plan.csv", "--out", "report.md", "--json"))
    text = (files / "report.md").read_text(encoding="utf-8")
    assert text.startswith(f"### {found['headline']['question']}\n\n**{found['headline']['answer']}**")
    run("report", "plan", "plan.csv", "--out", "report.txt", "--format", "json", "--texts", "texts.tsv")
    data = json.loads((files / "report.txt").read_text(encoding="utf-8"))
    assert data["differences"] == found["differences"]
    assert data["headline"]["answer"] == found["headline"]["answer"]
    assert "one of html, md, json" in complaint("report", "plan", "plan.csv", "--out", "r.pdf", "--format", "pdf")
    assert not (files / "r.pdf").exists()


def test_report(files):
    bare = (files / "topics.tsv").read_text(encoding="utf-8").splitlines()
    rows = [f"{line}\t{'odd' if number % 2 else 'even'}" for number, line in enumerate(bare)]
    (files / "wide.tsv").write_text("\n".join(["qid\tquery\tqkind", *rows]), encoding="utf-8")
    run("plan", *RUNS, *TRAINING, *MEASURED, "--topics", "wide.tsv")
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    said = run("report", "plan", "plan.csv", "--out", "report.html")
    assert said.rstrip().endswith("The report is report.html.")
    assert said.splitlines()[0] in (files / "report.html").read_text(encoding="utf-8")
    found = json.loads(run("report", "plan", "plan.csv", "--out", "again.html", "--slice", "qkind", "--json"))
    assert found["file"] == "again.html"
    assert found["result"] == json.loads(run("compare", "plan", "plan.csv", "--json"))
    assert {row["column"] for row in found["slices"]} == {"qkind"}
    assert {row["value"] for row in found["slices"]} == {"odd", "even"}
    page = (files / "again.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
    assert data == {key: value for key, value in found.items() if key != "file"}
    assert "exists; choose another --out" in complaint("report", "plan", "plan.csv", "--out", "report.html")
    missing = complaint("report", "plan", "plan.csv", "--out", "r.html", "--slice", "colour")
    assert "there is no column 'colour'; the plan has qid, query, qkind. Columns of topics stay" in missing
    assert "'q_draws' is the plan's own" in complaint(
        "report", "plan", "plan.csv", "--out", "r.html", "--slice", "q_draws"
    )
    assert not (files / "r.html").exists()


def test_quiet_leaves_results_and_errors(files):
    planned(*UNIFORM)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    extra = pd.read_csv("plan.csv").iloc[:1].assign(qid="not-drawn")
    pd.concat([pd.read_csv("plan.csv"), extra]).to_csv("more.csv", index=False)
    loud, quiet = invoke("compare", "plan", "more.csv"), invoke("compare", "plan", "more.csv", "--quiet")
    assert loud.stderr.startswith("warning: ")
    assert "All of it on one page" in loud.stdout
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert loud.stdout.startswith(quiet.stdout.rstrip())
    assert "All of it on one page" not in quiet.stdout
    assert complaint("compare", "plan", "absent.csv", "--quiet").startswith("absent.csv")


@pytest.fixture
def stopped(files):
    """A plan that is judged in part, in its order: what the hints lead to."""
    made = run("plan", *RUNS, *TRAINING, *MEASURED)
    run(*shlex.split(made.splitlines()[-1])[1:])
    fill("plan.csv")
    pd.read_csv("plan.csv", dtype=str).head(60).to_csv("part.csv", index=False)
    return files


def test_what_is_judged_so_far_can_be_shown(stopped):
    status = json.loads(run("status", "plan", "part.csv", "--margin", "20", "--json"))
    assert status["resolution"] == "within"
    said = run("status", "plan", "part.csv", "--margin", "20")
    proposed = shlex.split(said.splitlines()[-1])
    assert proposed[1:] == shlex.split("report plan part.csv --so-far --margin 20 --out plan.html")
    shown = run(*proposed[1:])
    page = (stopped / "plan.html").read_text(encoding="utf-8")
    sentence = f"95% interval {status['low']:.4f} to {status['high']:.4f}, valid at any time".replace("-", "−")
    assert sentence in shown.splitlines()[0]
    assert sentence in page
    first_screen = page.partition("<main>")[0]
    assert '<p class="answer">a and b are equally good within ±20.</p>' in first_screen
    assert "The interval is valid at any time, for any data." in first_screen
    data = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
    assert data["status"] == status
    assert data["manifest"]["cut"] == {"unit": "queries", "of": status["drawn"], "to": status["judged"]}
    found = json.loads(run("compare", "plan", "part.csv", "--so-far", "--json"))
    assert status["low"] < found["difference"] < status["high"]
    large = json.loads(run("status", "plan", "part.csv", "--looks", "asymptotic", "--json"))
    assert found["difference"] == pytest.approx(large["value"], rel=1e-12)
    assert "that of the status holds" in found["note"]
    assert "estimates" in json.loads(run("estimate", "plan", "part.csv", "--so-far", "--json"))
    looked = json.loads(run("budget", "plan", "part.csv", "--so-far", "--width", "0.5", "--json"))
    assert "optimism" in looked["rows"][0]
    assert "report plan part.csv --so-far" in run("compare", "plan", "part.csv", "--so-far")


def test_without_so_far_the_way_is_said(stopped):
    for command in ("compare", "estimate", "budget"):
        said = complaint(command, "plan", "part.csv")
        assert "judge them, or say --missing nonrelevant or --missing expected; or look at what is judged" in said
        assert said.endswith("so far: pt-active status, or --so-far")
    assert complaint("report", "plan", "part.csv", "--out", "r.html", "--looks", "pocock").endswith("are for --so-far")
    assert complaint("budget", "plan", "--so-far").startswith("--so-far needs the labels so far")


def test_a_budget_has_a_power(stopped):
    words = ("budget", "plan", "--budget", "60", "--budget", "90", "--json")
    rows = json.loads(run(*words, "--difference", "0.5"))["rows"]
    assert sorted({row["budget"] for row in rows}) == [60, 90]
    expected = Outlook.of_plan(Plan.load("plan")).table([60, 90], 0.5)
    assert [row["power"] for row in rows] == pytest.approx(expected["power"])
    strict = json.loads(run(*words, "--power", "0.99"))["rows"]
    assert all(a["detectable"] > b["detectable"] for a, b in zip(strict, rows, strict=True))


def test_complaints_name_options_and_files(stopped):
    runs = (*RUNS[:2], "--run", "b.run")
    assert complaint("plan", *runs, *MEASURED[:-1], "new") == "--run needs NAME=FILE, got 'b.run'"
    absent = ("--run", "a=nowhere.run", *MEASURED[:-1], "new")
    assert complaint("plan", *absent) == "nowhere.run: No such file or directory"
    design = complaint("plan", *RUNS, *TRAINING, *MEASURED[:-1], "new", "--design", "spread")
    assert design == "--design spread is one of --level document, not of --level query"
    write(stopped / "garbage.csv", "this is\nno table\n")
    assert complaint("compare", "plan", "garbage.csv").endswith("names its columns: qid,docno,label")
    table = pd.read_csv("plan.csv", dtype=str)
    table.rename(columns={"docno": "document"}).to_csv("renamed.csv", index=False)
    named = ", ".join("document" if name == "docno" else name for name in table.columns)
    assert complaint("compare", "plan", "renamed.csv") == f"renamed.csv: line 1: no column docno among {named}"
    table.head(1).assign(label="2" if table["label"][0] != "2" else "0").to_csv("other.csv", index=False)
    said = complaint("compare", "plan", "plan.csv", "other.csv")
    assert re.search(r"has different labels: \d in plan\.csv, \d in other\.csv$", said)
    assert complaint("status", "plan", "part.csv", "--looks", "daily").endswith("pocock, end")
    words = ("--run", "a=a.run.gz", *TRAINING, *MEASURED[:-1], "one")
    run("plan", *words)
    assert complaint("compare", "one", "plan.csv") == "the plan has one ranker, a: use pt-active estimate one plan.csv"
    assert complaint("status", "one", "plan.csv").endswith("say --margin, how far off its estimate may be")
