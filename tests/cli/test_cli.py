"""The command line: the whole road on files, clean output, and one line for bad input."""

import gzip
import json
import os
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest
import typer
from small_collection import (
    MEASURED,
    QUERIES,
    RUNS,
    TRAINING,
    UNIFORM,
    complaint,
    fill,
    invoke,
    label,
    planned,
    qrels_lines,
    run,
    write,
)
from typer.testing import CliRunner

from pt_active import Plan
from pt_active.cli import app as registry
from pt_active.cli.app import app
from pt_active.cli.commands import typed
from pt_active.frames.checks import Argument, ArgumentError, Method

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


@pytest.mark.parametrize("format", ["trec", "jsonl"])
def test_other_exports_come_back_too(files, format):
    planned(*UNIFORM)
    out = f"work.{format}"
    said = json.loads(run("export", "plan", "--out", out, "--format", format, "--json"))
    assert said == {"file": out, "format": format, "assessments": len(Plan.load("plan").assessments), "texts": False}
    assert complaint("compare", "plan", out) == f"{out}: no label is filled in (-1 says unjudged)"
    if format == "trec":
        lines = [line.split() for line in (files / out).read_text().splitlines()]
        text = "".join(f"{q} 0 {d} {label(q, int(d[2:]))}\n" for q, _, d, _ in lines)
    else:
        rows = [json.loads(line) for line in (files / out).read_text().splitlines()]
        text = "".join(json.dumps(row | {"label": label(row["qid"], int(row["docno"][2:]))}) + "\n" for row in rows)
    (files / out).write_text(text)
    assert json.loads(run("compare", "plan", out, "--json"))["missing"] == 0


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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    said = run(command, "--help")
    assert f"pt-active {command} " in said.split("Example:")[1]
    assert "--json" in said


def test_the_examples_of_the_help_run(files, monkeypatch):
    """Each with files of the names that it has, in the order in which they are used; some need more than files."""
    examples = {name: listed.example for name, listed in registry.COMMANDS.items()}
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
    assert set(examples) == {"import", "agreement", "demo"}


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
    context = typer.Context(group.loaded(command), parent=typer.Context(group))
    assert str(error) == python
    assert error.told(lambda named: typed(named, context)) == shell
