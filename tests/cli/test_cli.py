"""The command line: the whole road on files, clean output, and one line for bad input."""

import functools
import gzip
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from pt_active import DCG, OrderedLogitGrades, Outlook, Plan, Runs, measure_values
from pt_active.cli.app import EXAMPLES, app
from pt_active.cli.command_line import typed
from pt_active.cli.pools import cross_graded_pool
from pt_active.frames import sources
from pt_active.frames.checks import Argument, ArgumentError, Method
from pt_active.frames.trec import read_qrels, read_run
from pt_active.studies.simulate import labelled_population

COMMANDS = (
    "init",
    "budget",
    "plan",
    "export",
    "judge",
    "import",
    "status",
    "agreement",
    "extend",
    "compare",
    "estimate",
    "report",
    "simulate",
    "demo",
)
QUERIES = [f"née-{i}/x" for i in range(30)]
PAST = [f"past_{i}" for i in range(25)]
DOCUMENTS = 12


def label(qid, document):
    """The truth: good documents have low numbers, and some queries have few of them."""
    return max(0, 2 - (3 * document + len(qid) + int(qid.rsplit("_")[-1].strip("née-/x"))) % 7)


def write_run(path, qids, seed):
    rng = np.random.default_rng(seed)
    lines = []
    for qid in qids:
        order = np.argsort([seed * label(qid, d) * -0.3 + rng.normal() for d in range(DOCUMENTS)])[:8]
        lines += [f"{qid} Q0 D-{d} {rank} {10 - rank} tag" for rank, d in enumerate(order, start=1)]
    write(path, "\n".join(lines) + "\n")


def write(path, text):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as stream:
        stream.write(text)


def qrels_lines(qids):
    return "".join(f"{q} 0 D-{d} {label(q, d)}\n" for q in qids for d in range(DOCUMENTS))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with two runs, a judged past run, topics, texts and another judge's labels."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "a.run.gz", QUERIES, seed=1)
    write_run(tmp_path / "b.run", QUERIES, seed=5)
    write_run(tmp_path / "past.run", PAST, seed=2)
    write_run(tmp_path / "past2.run", PAST, seed=3)
    write(tmp_path / "past.qrels.gz", qrels_lines(PAST))
    write(tmp_path / "judge.qrels", qrels_lines(PAST + QUERIES))
    write(tmp_path / "topics.tsv", "".join(f"{q}\twhat is {q}\n" for q in QUERIES))
    write(tmp_path / "texts.tsv", "".join(f"D-{d}\t{'word ' * (d + 1)}\n" for d in range(DOCUMENTS)))
    return tmp_path


RUNS = ("--run", "a=a.run.gz", "--run", "b=b.run")
TRAINING = ("--train-run", "past.run", "--train-qrels", "past.qrels.gz")
UNIFORM = ("--grades", "uniform", "--max-grade", "2")
MEASURED = ("--measure", "DCG@5", "--level", "query", "--budget", "100", "--seed", "1", "--out", "plan")


@pytest.fixture(autouse=True)
def made_once(monkeypatch):
    """The command of the app, which ``CliRunner`` would make anew at each call."""
    monkeypatch.setattr("typer.testing._get_command", COMMAND_OF)


COMMAND_OF = functools.cache(typer.main.get_command)


def invoke(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def run(*words):
    """The standard output of a command that succeeds."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(*words):
    """The message of a command that ends in exit code 2, one line on stderr and nothing on stdout."""
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    *before, last = result.stderr.splitlines()
    assert all(line.startswith("warning: ") for line in before)
    assert last.startswith("error: ")
    return last.removeprefix("error: ")


def planned(*words):
    return json.loads(run("plan", *RUNS, *MEASURED, *words, "--json"))


def fill(path):
    """Judge a CSV worklist as people do in a spreadsheet."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["label"] = [label(q, int(d.removeprefix("D-"))) for q, d in zip(table.qid, table.docno, strict=True)]
    table.to_csv(path, index=False)


def test_the_whole_road(files):
    said = run("plan", *RUNS, *TRAINING, *MEASURED, "--topics", "topics.tsv", "--texts", "texts.tsv")
    assert said.startswith("Plan for DCG@5 of a, b")
    assert "in their browsers:\n  pt-active judge plan\nOr write " in said
    proposed = shlex.split(said.splitlines()[-1])
    assert proposed == shlex.split("pt-active export plan --out plan.csv --format csv --order drawn")
    said = run(*proposed[1:])
    assert said.rstrip().endswith("pt-active compare plan plan.csv")
    assert "as labels come in:\n  pt-active status plan plan.csv\n" in said
    worklist = pd.read_csv("plan.csv")
    assert worklist.columns.tolist() == ["qid", "docno", "query", "text", "label"]
    assert worklist["qid"].isin(QUERIES).all()
    assert worklist["query"].str.startswith("what is née-").all()
    fill("plan.csv")
    assert "b" in run("compare", "plan", "plan.csv")
    found = json.loads(run("compare", "plan", "plan.csv", "--json"))
    assert (found["first"], found["second"], found["missing"]) == ("a", "b", 0)
    assert found["low"] < found["difference"] < found["high"]
    other = json.loads(run("compare", "plan", "plan.csv", "--first", "b", "--second", "a", "--json"))
    assert other["difference"] == pytest.approx(-found["difference"])
    plain = ("plan", "plan.csv", "--estimator", "snis", "--json")
    estimates, compared = json.loads(run("estimate", *plain))["estimates"], json.loads(run("compare", *plain))
    assert estimates["a"]["value"] - estimates["b"]["value"] == pytest.approx(compared["difference"])
    assert compared["difference"] == pytest.approx(found["difference"], abs=compared["standard_error"])
    assert run("estimate", "plan", "plan.csv").count("DCG@5 of ") == 2


def test_a_plan_says_what_a_measure_costs_that_needs_whole_pools(files):
    words = ("--level", "query", "--budget", "100", "--out")
    made = invoke("plan", *RUNS, *TRAINING, "--measure", "nDCG@5", *words, "whole")
    assert made.exit_code == 0, made.output
    assert "nDCG@5 depends on a query's whole pool, " in made.stderr
    assert "depends on" not in invoke("plan", *RUNS, *TRAINING, "--measure", "DCG@5", *words, "cut").stderr


def test_labels_come_in_bit_by_bit(files):
    planned(*TRAINING)
    run("export", "plan", "--out", "plan.csv", "--format", "csv", "--order", "drawn")
    fill("plan.csv")
    table = pd.read_csv("plan.csv", dtype=str)
    assert table["qid"].tolist() != sorted(table["qid"])
    table.head(40).to_csv("part.csv", index=False)
    said = run("status", "plan", "part.csv")
    assert "ask again" in said
    assert said.rstrip().endswith("pt-active export plan --out plan-2.csv --format csv --order drawn")
    found = json.loads(run("status", "plan", "part.csv", "--looks", "pocock", "--margin", "0.2", "--json"))
    library = Plan.load("plan").status(table.head(40).astype({"label": int}), "pocock", 0.2)
    assert found == library.to_dict()
    assert 0 < found["judged"] < found["drawn"]
    assert "nothing more to judge" in run("status", "plan", "plan.csv", "--margin", "9")
    whole = json.loads(run("status", "plan", "plan.csv", "--looks", "end", "--json"))
    compared = json.loads(run("compare", "plan", "plan.csv", "--json"))
    assert (whole["low"], whole["high"]) == pytest.approx((compared["low"], compared["high"]))
    if not whole["resolution"]:
        assert "The planned looks are over." in run("status", "plan", "plan.csv", "--looks", "end")
    said = run("status", "plan", "plan.csv", "--confidence", "0.999999")
    found = json.loads(run("status", "plan", "plan.csv", "--confidence", "0.999999", "--json"))
    more = re.search(r"Next, draw more:\n  (pt-active extend plan plan.csv --budget [0-9.]+ --out plan-more)", said)
    lacking, budget = found["needed"] - 100, float(more[1].split()[5])
    assert lacking <= budget < 1.01 * lacking + 1
    assert "in extension 1 (drawn by hedged)" in run(*shlex.split(more[1])[1:])
    assert run("export", "plan-more", "--out", "more.csv", "--format", "csv").rstrip().endswith("QRELS more.csv")
    fill("more.csv")
    again = json.loads(run("status", "plan-more", "plan.csv", "more.csv", "--json"))
    assert again["judged"] == again["drawn"] > found["drawn"]
    assert found["needed"] <= again["spent"] <= 100 + budget
    assert complaint("status", "plan", "part.csv", "--looks", "daily").startswith("unknown --looks 'daily'")
    assert complaint("status", "plan", "part.csv", "--margin", "-1") == "--margin must be a positive number, got -1.0"
    assert complaint("export", "plan", "--out", "x.csv", "--order", "up").startswith("unknown order 'up'")


def test_the_command_says_what_the_library_says(files):
    planned(*TRAINING)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    words = ("--measure", "P(rel=1)@3", "--estimator", "snis", "--confidence", "0.9", "--missing", "expected")
    found = json.loads(run("compare", "plan", "plan.csv", *words, "--json"))
    qrels = pd.read_csv("plan.csv")[["qid", "docno", "label"]]
    expected = Plan.load("plan").compare(qrels, "P(rel=1)@3", "snis", 0.9, "expected")
    assert found == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize("format", ["trec", "jsonl"])
def test_other_exports_come_back_too(files, format):
    planned(*UNIFORM)
    out = f"work.{format}"
    said = json.loads(run("export", "plan", "--out", out, "--format", format, "--json"))
    assert said == {"file": out, "format": format, "assessments": len(Plan.load("plan").assessments), "texts": False}
    assert complaint("compare", "plan", out) == f"{out}: no label is filled in"
    if format == "trec":
        lines = [line.split() for line in (files / out).read_text().splitlines()]
        text = "".join(f"{q} 0 {d} {label(q, int(d[2:]))}\n" for q, _, d, _ in lines)
    else:
        rows = [json.loads(line) for line in (files / out).read_text().splitlines()]
        text = "".join(json.dumps(row | {"label": label(row["qid"], int(row["docno"][2:]))}) + "\n" for row in rows)
    (files / out).write_text(text)
    assert json.loads(run("compare", "plan", out, "--json"))["missing"] == 0


@pytest.mark.parametrize(
    "words",
    [
        TRAINING,
        ("--grades", "forest", *TRAINING, "--train-run", "past2.run"),
        ("--grades", "prior", *TRAINING, "--depth", "5", "--max-grade", "3"),
        UNIFORM,
        ("--judge", "judge.qrels", "--train-qrels", "past.qrels.gz"),
        ("--judge", "judge.qrels", *TRAINING),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_grade_models(files, words):
    made = planned(*words)
    assert made["plan"] == "plan"
    assert made["rankers"] == ["a", "b"]
    assert 0 < made["spent"] <= 100
    grades = Plan.load("plan").tables.pool.grades
    assert grades.shape[1] == (4 if "prior" in words else 3)
    assert ("uniform" in words) == bool((grades == grades[0, 0]).all())


@pytest.mark.parametrize("how", [(), ("--level", "query"), ("--design", "optimal"), ("--replace",)], ids=str)
def test_every_plan_does_without_judgments(files, how):
    asked = ("--measure", "DCG@5", "--budget", "60", "--max-grade", "2")
    said = run("plan", *RUNS, *asked, *how, "--out", "plan")
    assert "Grade model: none, so grades are guessed from ranks alone\n" in said
    pool = Plan.load("plan").tables.pool
    best = np.where(pool.ranks > 0, pool.ranks, DOCUMENTS).min(axis=0)
    relevant = 1 / (1 + np.exp(-0.5 + 0.5 * np.log(best)))
    np.testing.assert_allclose(1 - pool.grades[:, 0], relevant)


def test_a_budget_does_without_judgments(files):
    said = run("budget", *RUNS, "--measure", "DCG@5", "--width", "0.5", "--max-grade", "2")
    assert "Grade model: none, so grades are guessed from ranks alone\n" in said
    (proposed,) = re.findall(r"pt-active (plan .*)", said)
    run(*shlex.split(proposed))


def test_a_stray_label_is_not_the_top_grade(files):
    write(files / "stray.qrels", qrels_lines(PAST) + f"{PAST[0]} 0 D-new 9\n")
    trained = ("--train-run", "past.run", "--train-qrels", "stray.qrels")
    said = complaint("plan", *RUNS, *MEASURED, *trained)
    assert said.startswith("stray.qrels: 1 label is above 2, such as 9 for document 'D-new' of query 'past_0'")
    assert said.endswith("if this is meant to be, say --max-grade 9")
    planned(*trained, "--max-grade", "9")
    assert "1 label is not, such as 9" in complaint("plan", *RUNS, *MEASURED[:-1], "x", *trained, "--max-grade", "2")


def test_a_stray_label_of_a_pool_is_not_the_top_grade(labelled, files):
    labelled.assign(label=np.where(np.arange(len(labelled)) == 3, 9, labelled["label"])).to_parquet("pool.parquet")
    said = complaint("simulate", "pool.parquet", "--measure", "DCG@5", "--train-fold", "1")
    assert said.startswith("pool.parquet: 1 label is above 2, such as 9 for document")
    assert said.endswith("if this is meant to be, give the pool its own grades, in columns grade_0 to grade_9")


def test_a_plan_without_a_budget_asks_for_it(files):
    said = complaint("plan", *RUNS, *UNIFORM, "--measure", "DCG@5", "--out", "p")
    assert said == "say --budget, the most to spend, such as the number of documents that people can judge"


def test_later_rounds_say_how_to_go_on(files):
    run("plan", *RUNS, *UNIFORM, "--measure", "DCG@5", "--budget", "60", "--out", "p", "--rounds", "3")
    run("export", "p", "--out", "p.csv", "--format", "csv")
    fill("p.csv")
    said = run("extend", "p", "p.csv", "--refit", "--budget", "20", "--out", "p-2")
    assert said.splitlines()[-1] == "  pt-active extend p-2 p.csv p-2.csv --refit --budget 20 --out p-3"
    run("export", "p-2", "--out", "p-2.csv", "--format", "csv")
    fill("p-2.csv")
    run(*shlex.split(said.splitlines()[-1])[1:])
    asked = run("status", "p-2", "p.csv", "p-2.csv", "--margin", "0.0001").splitlines()[-1]
    assert "--refit" in asked.split() or "pt-active report" in asked


def test_rounds_say_which_option_is_too_many(files):
    asked = (*RUNS, *UNIFORM, "--measure", "DCG@5", "--budget", "60", "--out", "p", "--rounds", "2")
    assert complaint("plan", *asked, "--design", "hedged") == "--rounds are of documents: leave out --design hedged"
    assert complaint("plan", *asked, "--level", "query") == "--rounds are of documents: say --level document"


def test_limits_are_lifted_by_an_option(files, monkeypatch):
    monkeypatch.setattr(sources, "LIMITS", sources.Limits(size=500))
    said = complaint("plan", *RUNS, *MEASURED, *UNIFORM)
    assert "is larger than 500 bytes, the limit; if it is meant to be, --no-limit lifts the limit" in said
    planned(*UNIFORM, "--no-limit")


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


def test_options_reach_the_plan(files):
    words = ("--cost", "log-length", "--per-query", "0.5", "--design", "optimal", "--defensive", "0.2", "--replace")
    measured = ("--measure", "ERR@5", "--draws", "9", "--seed", "4", "--out", "plan", "--texts", "texts.tsv")
    made = json.loads(run("plan", *RUNS, *UNIFORM, *words, *measured, "--json"))
    assert made["counts"]["draws"] == 9
    assert made["arguments"] == {
        "measure": "ERR(max_rel=2)@5",
        "cost": "LogLengthCost(column='text', per_query=0.5)",
        "per_query": 0.5,
        "design": "optimal",
        "level": "query",
        "seed": 4,
        "budget": None,
        "draws": 9,
        "replace": True,
        "defensive": 0.2,
        "objective": "mean",
        "pairs": None,
    }


def test_a_graded_pool_instead_of_runs(files):
    planned(*TRAINING)
    Plan.load("plan").tables.pool.document_frame().to_parquet("pool.parquet")
    again = run("plan", "--pool", "pool.parquet", *MEASURED[:-1], "again")
    assert again.startswith("Plan for DCG@5 of a, b")
    pd.testing.assert_frame_equal(Plan.load("again").queries, Plan.load("plan").queries)
    assert complaint("plan", "--pool", "pool.parquet", *MEASURED[:-1], "third", "--depth", "3", *UNIFORM) == (
        "--pool already has grades; leave out --grades, --max-grade, --depth"
    )


def test_topics_choose_the_queries(files):
    write(files / "few.tsv", f"{QUERIES[0]}\tone\n{QUERIES[3]}\ttwo\nstranger\tthree\n")
    words = ("--measure", "DCG@5", "--budget", "1000", "--out", "plan", "--topics", "few.tsv", "--json")
    result = invoke("plan", *RUNS, *UNIFORM, *words)
    assert json.loads(result.stdout)["counts"]["queries"] == 2
    assert json.loads(result.stdout)["census"]
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("warning: 1 topic has no document")


def test_missing_queries_only_if_asked(files):
    write_run(files / "b.run", QUERIES[:-2], seed=5)
    assert "run 'b' has no documents for 2 queries" in complaint("plan", *RUNS, *UNIFORM, *MEASURED)
    assert planned(*UNIFORM, "--allow-missing-queries")["counts"]["queries"] == len(QUERIES)


def test_missing_texts_are_counted(files):
    write(files / "texts.tsv", "D-1\tone\n")
    result = invoke("plan", *RUNS, *UNIFORM, *MEASURED, "--texts", "texts.tsv")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"warning: texts.tsv: no text for {DOCUMENTS - 1} documents of the pool")


def test_texts_of_other_documents_are_refused_and_a_few_are_counted(files):
    planned(*UNIFORM)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    write(files / "other.tsv", "E-1\tone\n")
    first = Plan.load("plan").assessments["docno"].iloc[0]
    write(files / "one.tsv", f"{first}\tone\n")
    wanted = "other.tsv: no document of the plan has a text there; the file is of 'E-1', the plan of 'D-"
    for words in (
        ("report", "plan", "plan.csv", "--out", "r.html"),
        ("export", "plan", "--out", "e.csv", "--format", "csv"),
        ("export", "plan", "--out", "e.html", "--format", "html", "--annotator", "ann"),
        ("judge", "plan"),
        ("extend", "plan", "plan.csv", "--budget", "20", "--out", "p2"),
    ):
        assert complaint(*words, "--texts", "other.tsv").startswith(wanted)
    several = Plan.load("plan").assessments["docno"].nunique() - 1
    for words in (("report", "plan", "plan.csv", "--out", "r.md"), ("export", "plan", "--out", "e.jsonl")):
        told = invoke(*words, "--texts", "one.tsv")
        assert told.exit_code == 0
        assert told.stderr.startswith(f"warning: one.tsv: no text for {several} documents of the plan: ")


BAD_PLANS = {
    "no such run": (("--run", "a=nowhere.run", *UNIFORM), "nowhere.run: No such file or directory"),
    "no name": (("--run", "a.run.gz", *UNIFORM), "--run needs NAME=FILE, got 'a.run.gz'"),
    "same name": ((*RUNS, "--run", "a=b.run", *UNIFORM), "--run a=b.run: the name 'a' is taken"),
    "reserved name": (("--run", "depth=b.run", *UNIFORM), "--run depth=b.run: the name 'depth' is taken"),
    "no runs": (UNIFORM, "say either --run (one for each ranker) or --pool, and not both"),
    "no training": (
        RUNS,
        "the grade model learns from --train-run and --train-qrels; without any judgments, say --max-grade N",
    ),
    "no training of documents": ((*RUNS, "--level", "document"), "without any judgments, say --max-grade N"),
    "no training qrels": ((*RUNS, "--judge", "judge.qrels"), "--judge needs --train-qrels"),
    "no maximum": ((*RUNS, "--grades", "uniform"), "--grades uniform needs --max-grade"),
    "no maximum of cold grades": ((*RUNS, "--grades", "cold"), "--grades cold needs --max-grade"),
    "two models": ((*RUNS, *TRAINING, "--grades", "prior", "--judge", "judge.qrels"), "say either --grades or --judge"),
    "unknown grades": (
        (*RUNS, "--grades", "oracle"),
        "unknown --grades 'oracle'; it is one of auto, ordered-logit, forest",
    ),
    "unknown cost": ((*RUNS, *UNIFORM, "--cost", "much"), "unknown --cost 'much'; it is one of unit, log-length"),
    "unknown design": ((*RUNS, *UNIFORM, "--design", "nice"), "unknown design 'nice'"),
    "cost without texts": ((*RUNS, *UNIFORM, "--cost", "log-length"), "--cost log-length needs the texts"),
    "budget and draws": ((*RUNS, *UNIFORM, "--draws", "5"), "say either --budget or --draws, and not both"),
    "unknown measure": ((*RUNS, *UNIFORM, "--measure", "Best@5"), "unknown measure 'Best@5'"),
    "no budget at all": ((*RUNS, *UNIFORM, "--budget", "-5"), "--budget must be a positive number, got -5.0"),
    "no share": ((*RUNS, *UNIFORM, "--defensive", "2"), "--defensive must lie between 0 and 1, got 2.0"),
    "no seed": ((*RUNS, *UNIFORM, "--seed", "-1"), "--seed must be at least 0, got -1"),
    "overhead": ((*RUNS, *UNIFORM, "--per-query", "-1"), "--per-query must be a finite number and not negative"),
    "budget too small": ((*RUNS, *UNIFORM, "--budget", "1"), "budget 1 does not pay for the cheapest query"),
    "grade above maximum": ((*RUNS, *TRAINING, "--max-grade", "1"), "must not be above the highest grade, 1"),
    "not a run": (("--run", "a=topics.tsv", *UNIFORM), "topics.tsv: line 1: expected 6 columns"),
    "not Parquet": (("--pool", "a.run.gz"), "a.run.gz: "),
    "a folder": (("--pool", "."), ".: Is a directory"),
    "out exists": ((*RUNS, *UNIFORM, "--out", "a.run.gz"), "a.run.gz exists; choose another --out"),
    "out of nowhere": ((*RUNS, *UNIFORM, "--out", "no/where"), "the folder no does not exist"),
    "rounds of a design of queries": (
        (*RUNS, *UNIFORM, "--level", "query", "--design", "hedged", "--rounds", "2"),
        "--rounds are of documents: say --level document and leave out --design hedged",
    ),
}


@pytest.mark.parametrize(("words", "message"), BAD_PLANS.values(), ids=BAD_PLANS)
def test_a_bad_plan_says_why_and_leaves_nothing(files, words, message):
    before = set(files.rglob("*"))
    assert message in complaint("plan", *MEASURED, *words)
    assert set(files.rglob("*")) == before


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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    said = run(command, "--help")
    assert f"pt-active {command} " in said.split("Example:")[1]
    assert "--json" in said


def test_the_examples_of_the_help_run(files, monkeypatch):
    """Each with files of the names that it has, in the order in which they are used; some need more than files."""
    examples = {command.__name__: text for commands in EXAMPLES.values() for command, text in commands.items()}
    for old, new in {"a.run.gz": "a.run", "past.run": "old.run", "past.qrels.gz": "old.qrels"}.items():
        opened = gzip.open if old.endswith(".gz") else open
        with opened(old, "rt", encoding="utf-8") as stream:
            write(files / new, stream.read())
    write(files / "judged.qrels", qrels_lines(QUERIES))
    monkeypatch.setattr("pt_active.cli.judge._serve", lambda site, where: None)

    def example(name):
        return run(*shlex.split(examples.pop(name).replace("\\\n", " "))[1:])

    example("init")
    (files / "pt-active.toml").unlink()
    for name in ("budget", "plan", "export", "judge"):
        example(name)
    fill("judge-me.csv")
    for copy in ("judged.csv", "judged-so-far.csv"):
        (files / copy).write_text((files / "judge-me.csv").read_text())
    for name in ("status", "compare", "estimate", "report", "extend"):
        example(name)
    gate = invoke(*shlex.split(examples.pop("gate"))[1:])
    assert gate.exit_code in (0, 1, 3), gate.output
    examples["simulate"] += " --repetitions 5 --depth 6"
    example("simulate")
    assert set(examples) == {"import_", "agreement", "demo"}


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


def test_an_export_in_quiet_is_one_line(files):
    planned(*UNIFORM)
    said = run("export", "plan", "--out", "plan.csv", "--format", "csv", "--quiet")
    assert re.fullmatch(r"\d+ documents to judge are in plan.csv.\n", said)


def test_strata_are_not_offered_to_plans_that_have_none(files):
    planned(*UNIFORM)
    assert complaint("export", "plan", "--out", "x", "--format", "strata").startswith("unknown --format 'strata'")


def test_a_look_at_the_end_says_that_it_comes(files):
    planned(*TRAINING)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    pd.read_csv("plan.csv", dtype=str).head(20).to_csv("part.csv", index=False)
    assert "There is one look, at the end: the labels so far are kept" in run(
        "status", "plan", "part.csv", "--looks", "end"
    )
    assert "There is one look" not in run("status", "plan", "plan.csv", "--looks", "end")


def test_help_and_version():
    said = run("--help")
    assert all(command in said for command in COMMANDS)
    assert run("--version").startswith("pt-active 0.")
    assert invoke("plan", "--nonsense").exit_code == 2


def process(*words, cwd, env=None):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=cwd, env=env, check=False)


def test_as_a_process(files):
    words = ("plan", *RUNS, *UNIFORM, *MEASURED, "--json")
    made = process("-m", "pt_active", *words, cwd=files)
    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(made.stdout)["plan"] == "plan"
    again = process("-m", "pt_active", *words, cwd=files)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == "error: plan exists; choose another --out\n"


def test_starts_light(tmp_path):
    heavy = ("numba", "sklearn", "matplotlib")
    code = f"import sys, pt_active.cli; print([name for name in {heavy} if name in sys.modules])"
    assert process("-c", code, cwd=tmp_path).stdout == "[]\n"


def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("demo", "--seed", "2", "--budget", "600")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.startswith("SIMULATED")
    assert "demo-out/demo.png" in result.stdout
    folder = tmp_path / "demo-out"
    assert {path.name for path in folder.iterdir()} == {
        "assessments.csv",
        "demo.png",
        "judgments.csv",
        "plan",
        "result.json",
    }
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads((folder / "result.json").read_text())
    truth = numbers["truth"]
    assert numbers["simulated"] is True
    assert truth["difference"] == pytest.approx(truth["candidate"] - truth["production"])
    assert numbers["active"]["n_judged"] <= 600
    assert numbers["passive"]["n_judged"] <= 600
    assert 0.5 < numbers["repetitions"]["error_ratio"] < 1
    assert 0 < numbers["repetitions"]["error_of_model_alone"] < numbers["repetitions"]["typical_error"]["passive"][0]
    by_hand = json.loads(run("compare", folder / "plan", folder / "judgments.csv", "--json"))
    assert by_hand == {name: value for name, value in numbers["active"].items() if name != "estimates"}
    assert complaint("demo") == "demo-out exists; choose another --out"


def test_demo_refuses_a_census(tmp_path):
    out = tmp_path / "out"
    assert "the demo shows sampling" in complaint("demo", "--budget", "100000", "--out", out)
    assert not out.exists()


# --- documents ------------------------------------------------------------------------------------------------------


def test_documents_from_plan_to_verdict_in_two_rounds(files):
    level = ("--level", "document", "--per-query", "2")
    made = json.loads(
        run("plan", *RUNS, *UNIFORM, *level, "--measure", "DCG@5", "--budget", "60", "--out", "p1", "--json")
    )
    assert made["arguments"]["design"] == "spread"
    assert made["spent"] <= 60
    labels = Plan.load("p1").assessments[["qid", "docno"]].assign(label=1)
    labels.iloc[::3, 2] = 0
    labels.to_csv("judged.csv", index=False)
    text = run("extend", "p1", "judged.csv", "--budget", "40", "--out", "p2", "--texts", "texts.tsv")
    assert "in round 2 (drawn by spread)" in text
    assert "pt-active export p2 --out p2.csv --format csv" in text
    second = Plan.load("p2").assessments
    assert second["text"].notna().all()
    second[["qid", "docno"]].assign(label=1).to_csv("judged2.csv", index=False)
    assert "pt-active compare p2 QRELS p2.csv" in run("export", "p2", "--out", "p2.csv", "--format", "csv")
    said = complaint("status", "p2", "judged.csv", "--looks", "always")
    assert "use --looks end, after each of many rounds --looks asymptotic, or make a plan with --design succ" in said
    assert "valid at the end" in run("status", "p2", "judged.csv")
    large = ("--looks", "asymptotic")
    early = json.loads(run("status", "p2", "judged.csv", *large, "--json"))
    assert (early["unit"], early["judged"], early["drawn"]) == ("round", 1, 2)
    said = run("status", "p2", "judged.csv", "judged2.csv", *large, "--confidence", "0.999999")
    proposed = re.search(r"pt-active extend p2 judged.csv judged2.csv --budget ([0-9.]+) --out p2-more", said)
    state = json.loads(run("status", "p2", "judged.csv", "judged2.csv", *large, "--confidence", "0.999999", "--json"))
    assert float(proposed[1]) == pytest.approx(state["needed"] - state["spent"], rel=1e-2)
    found = json.loads(run("compare", "p2", "judged.csv", "judged2.csv", "--json"))
    assert found["n_judged"] == len(labels) + len(second)
    assert (found["level"], found["n_rounds"]) == ("document", 2)
    assert found["error_of_documents"] > 0


def test_queries_are_extended_without_labels(files):
    planned(*TRAINING)
    text = run("extend", "plan", "--budget", "40", "--out", "p2", "--texts", "texts.tsv")
    assert "in extension 1 (drawn by hedged)" in text
    assert "pt-active export p2 --out p2.csv --format csv --order drawn" in text
    assert not set(Plan.load("p2").assessments.qid) & set(Plan.load("plan").assessments.qid)
    (more,) = re.findall(r"Next, draw more:\n  pt-active (extend .*)", run("budget", "plan", "--width", "0.05"))
    run(*shlex.split(more))
    assert Plan.load("plan-more").manifest["spent"] > Plan.load("plan").manifest["spent"]
    said = complaint("extend", "plan", "--budget", "40", "--out", "p3", "--seed", "2")
    assert said == "the order of the queries is drawn already: --seed is for plans with --level document"
    said = complaint("extend", "plan", "past.qrels.gz", "--budget", "40", "--out", "p3", "--refit")
    assert said == "the order of the queries is drawn already: --refit is for plans with --level document"
    planned("--level", "document", "--design", "spread", *TRAINING, "--out", "documents")
    said = complaint("extend", "documents", "--budget", "40", "--out", "p3")
    assert said == "a round of documents learns from the labels so far, and there are none"


def test_documents_that_come_one_after_the_other(files):
    words = (*RUNS, *UNIFORM, "--level", "document", "--design", "successive", "--measure", "DCG@5")
    said = run("plan", *words, "--budget", "30", "--out", "p1")
    assert "--order drawn" in said
    run("export", "p1", "--out", "p1.csv", "--format", "csv", "--order", "drawn")
    first = pd.read_csv("p1.csv", dtype=str).assign(label=1)
    first.to_csv("judged.csv", index=False)
    text = run("extend", "p1", "judged.csv", "--budget", "10", "--out", "p2")
    assert "judge     10 more documents of" in text
    assert "pt-active compare p2 QRELS p2.csv" in run("export", "p2", "--out", "p2.csv", "--format", "csv")
    pd.read_csv("p2.csv", dtype=str).assign(label=0).to_csv("judged2.csv", index=False)
    found = json.loads(run("compare", "p2", "judged.csv", "judged2.csv", "--json"))
    assert (found["n_judged"], found["n_rounds"]) == (40, 1)


def test_documents_refuse_what_does_not_fit(files):
    words = (*RUNS, *UNIFORM, "--level", "document", "--budget", "60", "--out", "p1")
    said = complaint("plan", *words, "--measure", "nDCG@5", "--design", "spread")
    assert "nDCG@5 is neither additive nor a cascade, so its documents are judged from the top" in said
    assert "depends on which documents are judged" in complaint("plan", *words, "--measure", "Judged@5")
    assert complaint("plan", *words, "--measure", "DCG@5", "--design", "optimal") == (
        "--design optimal is one of --level query, not of --level document"
    )
    assert "unknown --level 'page'" in complaint("plan", *RUNS, *UNIFORM, *MEASURED, "--level", "page")


def test_ndcg_is_planned_from_documents(files):
    words = (*RUNS, *TRAINING, "--level", "document", "--budget", "60", "--out", "p1")
    said = run("plan", *words, "--measure", "nDCG@5")
    assert "(drawn by depth)" in said
    assert len(Plan.load("p1").assessments) <= 60


# --- simulate -------------------------------------------------------------------------------------------------------


@pytest.fixture
def labelled(files):
    """Two rankers on judged queries in two folds."""
    runs = {name: read_run(files / file) for name, file in (("a", "a.run.gz"), ("b", "b.run"))}
    pool = Runs(**runs).transform(pd.DataFrame({"qid": QUERIES}))
    pool["label"] = [label(q, int(d[2:])) for q, d in zip(pool["qid"], pool["docno"], strict=True)]
    pool["fold"] = [1 + (QUERIES.index(q) >= 12) for q in pool["qid"]]
    pool.to_parquet(files / "pool.parquet")
    return pool


def simulated(*words):
    return json.loads(run("simulate", "pool.parquet", "--measure", "DCG@5", *words, "--json"))["rows"]


def test_simulate_replays_a_labelled_pool(labelled, files):
    words = ("--train-fold", "1", "--repetitions", "40", "--budget", "60", "--budget", "40", "--seed", "3")
    rows = simulated(*words, "--design", "passive", "--design", "hedged", "--out", "table.csv")
    assert {row["design"] for row in rows} == {"passive", "hedged"}
    assert {row["budget"] for row in rows} == {40, 60}
    assert all(row["repetitions"] == 40 and row["spent"] <= row["budget"] for row in rows)
    graded = OrderedLogitGrades(2).fit(
        labelled[labelled.fold == 1].drop(columns="label"), labelled[labelled.fold == 1][["qid", "docno", "label"]]
    )
    population = labelled_population(graded(labelled[labelled.fold == 2]), "DCG@5")
    assert rows[0]["truth"] == pytest.approx(population.truth)
    written = pd.read_csv(files / "table.csv")
    assert written["rmse"].tolist() == pytest.approx([row["rmse"] for row in rows])
    text = run("simulate", "pool.parquet", "--measure", "DCG@5", *words)
    assert "label-equivalents" in text
    assert "\n    40 " in text


ON_RUNS = ("simulate", *RUNS, "--measure", "DCG@5", "--repetitions", "10")


def test_simulate_makes_folds_of_judged_runs(files):
    (files / "all.qrels").write_text(qrels_lines(QUERIES), encoding="utf-8")
    words = (*ON_RUNS, "--qrels", "all.qrels", "--grades", "ordered-logit", "--budget", "60")
    assert "Each query was graded by a model that learned from the others, in 5 folds." in run(*words)
    row, *_ = json.loads(run(*words, "--json"))["rows"]
    labels = read_qrels("all.qrels")
    values = [measure_values(read_run(file), labels, DCG @ 5)["value"] for file in ("a.run.gz", "b.run")]
    assert row["truth"] == pytest.approx(np.mean(values[0]) - np.mean(values[1]))
    alone = json.loads(run(*ON_RUNS[:3], *ON_RUNS[5:], "--qrels", "all.qrels", *UNIFORM[:2], "--json"))["rows"]
    assert alone[0]["truth"] == pytest.approx(np.mean(values[0]))


def test_no_query_is_graded_by_a_model_that_has_seen_its_labels(files):
    (files / "all.qrels").write_text(qrels_lines(QUERIES), encoding="utf-8")
    graded = cross_graded_pool(list(RUNS[1::2]), files / "all.qrels", "ordered-logit", None, None)
    columns = ["qid", "docno", "grade_0", "grade_1", "grade_2"]
    for qid in QUERIES[:3]:
        other = "".join(f"{qid} 0 D-{d} {2 - label(qid, d)}\n" for d in range(DOCUMENTS))
        (files / "other.qrels").write_text(qrels_lines([q for q in QUERIES if q != qid]) + other, encoding="utf-8")
        again = cross_graded_pool(list(RUNS[1::2]), files / "other.qrels", "ordered-logit", None, None)
        own, rest = graded["qid"] == qid, graded["qid"] != qid
        pd.testing.assert_frame_equal(again.loc[own, columns], graded.loc[own, columns])
        assert not np.allclose(again.loc[rest, "grade_0"], graded.loc[rest, "grade_0"])


def test_simulate_says_what_runs_lack(files):
    (files / "some.qrels").write_text(qrels_lines(QUERIES[:20]).replace("D-3 ", "D-x "), encoding="utf-8")
    said = complaint(*ON_RUNS, "--qrels", "some.qrels")
    assert re.match(r"\d+ of \d+ documents of the runs have no label: \('née-", said)
    assert said.endswith("say --depth N, how deep was judged, or --unjudged nonrelevant to take them as grade 0")
    result = invoke(*ON_RUNS, "--qrels", "some.qrels", "--unjudged", "nonrelevant", "--grades", "ordered-logit")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: 10 queries are left out, without a label: 'née-")
    assert complaint(*ON_RUNS) == "say --run, once for each ranker, and --qrels; or a Parquet pool with labels"
    assert "at least 2 queries of the runs, got 0" in complaint(*ON_RUNS, "--qrels", "past.qrels.gz")
    assert complaint(*ON_RUNS, "--qrels", "some.qrels", "--unjudged", "missing").startswith("unknown --unjudged")
    assert complaint(*ON_RUNS, "--qrels", "some.qrels", "--train-fold", "1").startswith("--train-fold is for a pool")
    assert complaint(*ON_RUNS[:1], "x.parquet", *ON_RUNS[1:]).startswith("say either a pool, or --run and --qrels")


def test_simulate_takes_grades_as_they_are_and_one_ranker(labelled, files):
    labelled.assign(grade_0=0.5, grade_1=0.3, grade_2=0.2).to_parquet(files / "pool.parquet")
    rows = simulated("--ranker", "b", "--repetitions", "10", "--estimator", "snis", "--cost", "unit")
    assert "selection_error" not in rows[0]
    assert {row["estimator"] for row in rows} == {"snis"}
    grading = ("--train-fold", "1")
    assert "already has grades" in complaint("simulate", "pool.parquet", "--measure", "DCG@5", *grading)


def test_simulate_takes_lengths_of_documents(labelled, files):
    words = ("--train-fold", "1", "--repetitions", "10", "--cost", "log-length")
    assert "needs a column 'text'" in complaint("simulate", "pool.parquet", "--measure", "DCG@5", *words)
    labelled.assign(length=[1 + 40 * int(d[2:]) for d in labelled["docno"]]).to_parquet(files / "pool.parquet")
    rows = simulated(*words, "--per-query", "1")
    assert all(row["spent"] < row["n_judged"] for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "has no grades; say --train-fold N"),
        (("--train-fold", "7"), "fold 7 must hold some queries and not all; the folds are 1, 2"),
        (("--train-fold", "1", "--ranker", "c"), "no ranker 'c' in the pool; it has 'a', 'b'"),
        (("--train-fold", "1", "--design", "best"), "unknown design 'best'; the designs are hedged"),
        (("--train-fold", "1", "--estimator", "mle"), "unknown estimator 'mle'"),
        (("--train-fold", "1", "--grades", "bert"), "unknown --grades 'bert'"),
        (("--train-fold", "1", "--budget", "1e9"), "budgets outside the pool: 1e+09"),
        (("--train-fold", "1", "--repetitions", "0"), "repetitions must be at least 1"),
        (("--train-fold", "1", "--out", "nowhere/x.csv"), "the folder nowhere does not exist"),
    ],
)
def test_a_bad_simulation_says_why(labelled, words, message):
    assert message in complaint("simulate", "pool.parquet", "--measure", "DCG@5", *words)


def test_a_pool_without_labels_says_so(labelled, files):
    labelled.drop(columns="label").to_parquet(files / "pool.parquet")
    assert "needs a column 'label'" in complaint("simulate", "pool.parquet", "--measure", "DCG@5", "--train-fold", "1")
    labelled["label"] = labelled["label"].where(labelled["docno"] != "D-3").astype("Float64")
    labelled.to_parquet(files / "pool.parquet")
    words = ("--measure", "DCG@5", "--train-fold", "1")
    assert "the replay pool has 9 documents without a label" in complaint("simulate", "pool.parquet", *words)


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


PILOT = ("--level", "document", "--budget", "60")


def test_how_much_it_takes_from_runs(files):
    said = run("budget", *RUNS, *TRAINING, "--measure", "DCG@5", "--per-query", "2")
    assert said.startswith("DCG@5 of a, b; expected from the grade model's opinion of itself")
    found = json.loads(run("budget", *RUNS, *TRAINING, "--measure", "DCG@5", "--width", "0.2", "--json"))
    model = OrderedLogitGrades(2).fit(read_run("past.run"), read_qrels("past.qrels.gz"))
    pool = Runs(a=read_run("a.run.gz"), b=read_run("b.run")).transform(pd.DataFrame({"qid": QUERIES}))
    table = Outlook.of(model.transform(pool), None, "DCG@5").budget_for(width=0.2)
    assert [row["budget"] for row in found["rows"]] == pytest.approx(table["budget"])
    assert found["rankers"] == ["a", "b"]


def test_what_only_everything_reaches_is_said(files):
    said = run("budget", *RUNS, *TRAINING, "--measure", "nDCG@5", "--width", "1e-9")
    census = "query passive, query hedged, document depth"
    assert f"A half-width of 0 is a census, all that matters is judged: {census}." in said
    assert "Next, draw everything, since nothing less does:" in said


def test_what_a_budget_proposes_is_a_plan(files):
    words = (*RUNS, *TRAINING, "--measure", "DCG@5", "--seconds-per-document", "30", "--seconds-per-query", "60")
    said = run("budget", *words, "--difference", "0.5", "--power", "0.7")
    proposed = shlex.split(said.splitlines()[-1])
    assert proposed[:2] == ["pt-active", "plan"]
    run(*proposed[1:])
    made = Plan.load("my-plan").manifest
    assert made["arguments"]["cost"] == "TimeCost(seconds_per_document=30.0, seconds_per_query=60.0)"
    assert made["spent"] < 10
    row = [line.split() for line in said.splitlines()[2:5] if line.split()[0] == made["arguments"]["level"]][-1]
    assert made["arguments"]["budget"] == pytest.approx(float(row[3]), rel=1e-2)


def test_a_pilot_tells_what_a_plan_lacks(files):
    planned(*TRAINING, *PILOT)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    before = json.loads(run("budget", "plan", "--budget", "100", "--json"))
    after = json.loads(run("budget", "plan", "plan.csv", "--budget", "100", "--json"))
    assert "optimism" in after["rows"][0]
    assert "optimism" not in before["rows"][0]
    assert run("budget", "plan", "plan.csv", "--width", "1e-9").rstrip().endswith("only judging everything does it.")
    said = run("budget", "plan", "plan.csv", "--width", "0.05")
    proposed = shlex.split(said.splitlines()[-1])
    assert proposed[:4] == ["pt-active", "extend", "plan", "plan.csv"]
    run(*proposed[1:])
    (longer,) = Plan.load("plan-more").manifest["rounds"]
    assert longer["budget"] == 60 + float(proposed[proposed.index("--budget") + 1])
    assert run("budget", "plan", "plan.csv", "--width", "9").rstrip().endswith("The plan's own budget is enough.")
    (more,) = re.findall(
        r"Next, draw more:\n  pt-active extend plan --budget ([0-9]+)", run("budget", "plan", "--width", "0.05")
    )
    assert float(more) > 0
    run("plan", *RUNS, *TRAINING, *PILOT, "--design", "spread", "--measure", "DCG@5", "--out", "spread")
    (again,) = re.findall(
        r"plan again as before, but with --budget ([0-9]+) --seed 0\.", run("budget", "spread", "--width", "0.05")
    )
    assert float(again) > 60


def test_a_small_pilot_and_a_tiny_budget_are_said_to_be_so(files):
    run("plan", *RUNS, *TRAINING, "--measure", "DCG@5", "--draws", "3", "--out", "plan")
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    said, found = (run("budget", "plan", "plan.csv", "--budget", "100", *how) for how in ((), ("--json",)))
    (note,) = json.loads(found)["notes"]
    assert note.startswith("The pilot has 3 queries. Below 30, chance decides which errors it shows")
    assert note in said
    row = json.loads(found)["rows"][0]
    assert 0 < row["low"] < row["standard_error"] < row["high"]
    tiny = json.loads(run("budget", "plan", "--budget", "3", "--json"))["notes"]
    assert "too few for an interval: query passive at 3" in tiny[0]
    assert json.loads(run("budget", "plan", "--budget", "100", "--json"))["notes"] == []


@pytest.mark.parametrize("design", ["hedged", "successive", "spread"])
def test_what_a_plan_lacks_is_counted_from_its_budget_if_it_goes_on(files, design):
    level = "query" if design == "hedged" else "document"
    sampled = ("--level", level, "--design", design, "--per-query", "3.3", "--seed", "1", "--out", "plan")
    run("plan", *RUNS, *TRAINING, "--measure", "DCG@5", "--budget", "100", *sampled)
    run("export", "plan", "--out", "plan.csv", "--format", "csv")
    fill("plan.csv")
    plan = Plan.load("plan")
    spent = plan.manifest["spent"]
    assert spent < 99
    before = spent if design == "spread" else 100
    (row,) = (
        each
        for each in json.loads(run("budget", "plan", "plan.csv", "--width", "0.3", "--json"))["rows"]
        if (each["level"], each["design"]) == (level, design)
    )
    said = run("budget", "plan", "plan.csv", "--width", "0.3")
    assert f"The plan lacks {row['budget'] - before:.4g} of it. Next, draw" in said
    run(*shlex.split(said.splitlines()[-1])[1:])
    if design != "spread":
        assert Plan.load("plan-more").manifest["spent"] <= row["budget"] + 1
        words = ("plan", "plan.csv", "--confidence", "0.999999")
        state, hint = json.loads(run("status", *words, "--json")), run("status", *words).splitlines()[-1]
        proposed = float(re.search("--budget ([0-9.]+)", hint)[1])
        assert state["needed"] - 100 <= proposed < 1.01 * (state["needed"] - 100) + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--difference", "0"), "--difference must be a number other than 0, got 0.0"),
        (("--difference", "1", "--power", "1"), "--power must lie between 0.05"),
        (("--power", "2"), "--power must lie between 0.05"),
        (("--width", "-1"), "--width must be a positive number, got -1.0"),
        (("--width", "1", "--difference", "1"), "say either --width or --difference, and not both"),
        (("--width", "1", "--budget", "9"), "say either --budget or --width, and not both"),
        (("--seconds-per-document", "-3"), "--seconds-per-document must be a positive number, got -3.0"),
        (("--seconds-per-document", "3", "--cost", "log-length"), "--seconds-per-document is a cost of its own"),
        (("--seconds-per-query", "3"), "--seconds-per-query goes with --seconds-per-document"),
        (
            ("--seconds-per-document", "3", "--seconds-per-query", "-3"),
            "--seconds-per-query must be a finite number and not negative, got -3.0",
        ),
        (("--cost", "free"), "unknown --cost 'free'"),
        (("--until-known",), "--until-known needs --difference"),
        (("--until-known", "--difference", "1", "--width", "1"), "leave out --width and --budget with --until-known"),
        (("--until-known", "--budget", "9"), "leave out --width and --budget with --until-known"),
    ],
)
def test_budgets_that_cannot_be(files, words, said):
    assert complaint("budget", *RUNS, *UNIFORM, "--measure", "DCG@5", *words).startswith(said)


def test_a_budget_needs_one_source(files):
    assert complaint("budget", *RUNS, *UNIFORM).startswith("say what to estimate")
    assert complaint("budget").startswith("say either --run")
    planned(*UNIFORM)
    assert complaint("budget", "plan", *RUNS, "--measure", "DCG@5").endswith("leave out --run, --measure")


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


@pytest.mark.parametrize(
    ("typed", "offered"), [("plan --level do", "document"), ("compare x y --estimator sn", "snis")]
)
def test_shells_complete_commands_and_names(typed, offered):
    words = {"_PT_ACTIVE_COMPLETE": "complete_bash", "COMP_WORDS": f"pt-active {typed}"}
    words["COMP_CWORD"] = str(len(typed.split()))
    assert CliRunner().invoke(app, [], prog_name="pt-active", env=words).stdout.split() == [offered]


def test_a_shell_completes_by_a_process(tmp_path):
    words = {"_PT_ACTIVE_COMPLETE": "complete_bash", "COMP_WORDS": "pt-active sta", "COMP_CWORD": "1"}
    assert process("-m", "pt_active", cwd=tmp_path, env=os.environ | words).stdout.split() == ["status"]


# --- after an early stop ----------------------------------------------------------------------------------------------


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
    assert proposed[1:] == shlex.split("report plan part.csv --so-far --margin 20.0 --out plan.html")
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
    assert "that of `status` holds" in found["note"]
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


def test_hours_are_said(files):
    seconds = ("--seconds-per-document", "30", "--seconds-per-query", "60")
    words = ("--measure", "DCG@5", "--level", "query", "--budget", "1.2", "--out", "plan")
    assert " hours for the whole pool" in run("plan", *RUNS, *TRAINING, *seconds, *words)
    run("export", "plan", "--out", "plan.csv", "--format", "csv", "--order", "drawn")
    fill("plan.csv")
    assert "hours spent" in run("status", "plan", "plan.csv")
    run("report", "plan", "plan.csv", "--out", "plan.html")
    page = (files / "plan.html").read_text(encoding="utf-8")
    assert re.search(r"This plan cost [0-9.]+ hours\.", page)
    assert "budget, hours" in page


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
    table.head(1).assign(label="2" if table["label"][0] != "2" else "0").to_csv("other.csv", index=False)
    said = complaint("compare", "plan", "plan.csv", "other.csv")
    assert re.search(r"has different labels: \d in plan\.csv, \d in other\.csv$", said)
    assert complaint("status", "plan", "part.csv", "--looks", "daily").endswith("pocock, end")
    words = ("--run", "a=a.run.gz", *TRAINING, *MEASURED[:-1], "one")
    run("plan", *words)
    assert complaint("compare", "one", "plan.csv") == "the plan has one ranker, a: use pt-active estimate one plan.csv"
    assert complaint("status", "one", "plan.csv").endswith("say --margin, how far off its estimate may be")


LEVEL, REPLACED = Argument("level", "document"), Argument("replace", True)


@pytest.mark.parametrize(
    ("command", "parts", "python", "shell"),
    [
        ("plan", ("needs ", LEVEL), 'needs level="document"', "needs --level document"),
        ("plan", ("with ", Argument("replace", False)), "with replace=False", "with no --replace"),
        ("plan", (REPLACED, " and ", LEVEL), 'replace=True and level="document"', "--replace and --level document"),
        ("status", ("say ", Argument("looks", "always")), 'say looks="always"', "say --looks always"),
        ("plan", (Argument("max_grade"), " must"), "max_grade must", "--max-grade must"),
        ("plan", ("file budget=3.run: bad",), "file budget=3.run: bad", "file budget=3.run: bad"),
        ("export", ("needs ", LEVEL), 'needs level="document"', "needs --level document"),
        ("plan", (Argument("slices", 3),), "slices=3", "slices=3"),
        ("export", (Argument("plan"), " must"), "plan must", "plan must"),
        ("extend", ("no ", Argument("grades", "refit")), 'no grades="refit"', "no --refit"),
        ("compare", (Method("so_far"),), "plan.so_far(qrels)", "--so-far"),
        ("compare", (Method("status"),), "plan.status(qrels)", "pt-active status"),
        ("extend", (Method("so_far"),), "plan.so_far(qrels)", "plan.so_far(qrels)"),
    ],
)
def test_arguments_are_said_as_options(command, parts, python, shell):
    error, group = ArgumentError(*parts), typer.main.get_command(app)
    context = typer.Context(group.commands[command], parent=typer.Context(group))
    assert str(error) == python
    assert error.told(lambda named: typed(named, context)) == shell


def test_several_judges_make_one_model(files):
    (files / "other.qrels").write_text((files / "judge.qrels").read_text())
    judges = ("--judge", "judge.qrels", "--judge", "other.qrels")
    assert "Plan for DCG@5" in run("plan", *RUNS, *TRAINING[2:], *judges, *MEASURED)
    same = complaint(
        "plan", *RUNS, *TRAINING[2:], "--judge", "judge.qrels", "--judge", "./judge.qrels", *MEASURED[:-1], "p"
    )
    assert same == ("--judge ./judge.qrels: the name 'judge' is taken; say NAME=./judge.qrels, with another name")
    named = ("--judge", "judge.qrels", "--judge", "again=judge.qrels")
    run("plan", *RUNS, *TRAINING[2:], *named, *MEASURED[:-1], "named")
