"""The project file: five commands without options, flags before it, and what init finds in the files."""

import shlex
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_collection import (
    COLD,
    DOCUMENTS,
    PAST,
    QUERIES,
    RUNS,
    TRAINING,
    complaint,
    data,
    exported,
    invoke,
    qrels_lines,
    run,
    run_lines,
    write,
)

from pt_active.cli.app import COMMANDS as LISTED
from pt_active.cli.options import options_of
from pt_active.cli.project import COMMANDS, FILE, KEYS, key_of, project_text
from pt_active.judging.server.store import Entry, Store
from pt_active.plans.plan import Plan

FILES = (*RUNS, *TRAINING, "--topics", "topics.tsv", "--texts", "texts.tsv")
ALL = (*FILES, "--budget", "40")


@pytest.fixture
def folder(files):
    """The files of a collection that is no project yet."""
    FILE.unlink()
    return files


@pytest.fixture
def served(monkeypatch):
    """The sites that `judge` would have opened."""
    sites = []
    monkeypatch.setattr("pt_active.cli.judging._serve", lambda site, where: sites.append(site))
    return sites


def test_five_commands_need_no_options(folder, served):
    assert run("init", *ALL).endswith("Next, choose what to judge:\n  pt-active plan\n")
    assert run("plan").startswith("Plan for DCG@10 of a, b\n")
    plan = Plan.load("my-plan")
    assert plan.tables.manifest.arguments.budget == 40
    assert plan.assessments["text"].str.startswith("word ").all()
    nothing = "nothing is judged yet: there is no my-plan.sqlite or my-plan.csv; let people"
    assert complaint("status").startswith(nothing)
    assert "pt-active status my-plan my-plan.sqlite" in run("judge", "--judges", "ann")
    assert [site.campaign.plan.id for site in served] == [plan.id]
    exported("my-plan")
    assert data("status") == data("status", "my-plan", "my-plan.csv")
    run("report")
    assert (folder / "my-plan.html").is_file()
    assert complaint("report") == "my-plan.html exists; choose another --out"


def test_a_budget_may_come_after_init(folder):
    """`init` needs none, `budget` advises on one, and a second `init` keeps it with all that was typed before."""
    assert run("init", *FILES).splitlines()[-1].strip() == "pt-active budget --difference X"
    assert complaint("plan").startswith("Missing option '--budget'")
    proposed = shlex.split(run("budget", "--difference", "2").splitlines()[-1])
    assert proposed[:3] == ["pt-active", "plan", "--budget"]
    run(*proposed[1:])
    assert (folder / "my-plan").is_dir()
    FILE.write_text(f'seed = 3\ncost = "log-length"\n{FILE.read_text()}')
    before = tomllib.loads(FILE.read_text())
    again = invoke("init", "--budget", "30", "--measure", "P@5")
    assert again.stderr == "from pt-active.toml: plan, runs, topics, texts, train-run, train-qrels\n"
    assert tomllib.loads(FILE.read_text()) == before | {"budget": 30, "measure": "P@5"}
    arguments = data("plan", "--out", "other")["arguments"]
    assert (arguments["budget"], arguments["seed"], arguments["cost_unit"]) == (30, 3, "average queries")
    assert "is a project of runs; choose another --project" in complaint("init", "--answers", "a.csv")


def test_documents_without_a_text_are_named(folder, served):
    write(folder / "texts.tsv", "".join(f"D-{d}\ttext\n" for d in range(DOCUMENTS) if d not in (1, 3)))
    words = (*FILES, "--measure", "P@5", "--budget", "1000", "--out", "x")
    FILE.write_text('cost = "log-length"\n')
    assert complaint("plan", *words).endswith("2 documents have no text: 'D-3', 'D-1'")
    FILE.unlink()
    run("plan", *words)
    assert "2 documents have no text: 'D-" in invoke("judge", "x", "--texts", "texts.tsv").stderr


def test_what_weighs_unequally_is_said_from_plan_to_report(folder):
    """Half of the traffic is one query's, and a look at any time for new queries needs as good as 30 equal ones."""
    rows = "".join(f"{q}\twords\t{29 if q == QUERIES[3] else 1}\n" for q in QUERIES)
    write(folder / "topics.tsv", f"qid\tquery\ttraffic\n{rows}")
    weighed = f"by traffic ({QUERIES[3]} has 50%, so they count as 3.87)"
    run("init", *FILES, "--budget", "1000")
    FILE.write_text('cost = "log-length"\n' + FILE.read_text())
    said = [run("plan")]
    exported("my-plan")
    for words in (("status",), ("report", "--so-far"), ("gate", "--margin", "0.1")):
        said.append(invoke(*words, "--queries", "these").output)
        assert " 30 of 30 average queries spent" in said[-1]
    assert all(weighed in each for each in said)
    assert f"<dd>these 30 queries {weighed}</dd>" in (folder / "my-plan.html").read_text()
    state = invoke("gate", "--queries", "new", "--margin", "0.1").stdout
    assert f"none   for queries like them {weighed}: looks at any time need 30 queries" in state
    assert "add queries, so that none has much of the traffic\n" in state


def test_keys_may_be_added_at_the_end_of_what_init_writes(folder):
    run("init", *FILES, "--run", "007=b.run", "--budget", "20")
    FILE.write_text(f'{FILE.read_text()}seed = 7\nledger = "gates.jsonl"\n')
    run("plan")
    exported("my-plan")
    assert Plan.load("my-plan").rankers == ("a", "b", "007")
    said = invoke("gate", "--queries", "these", "--margin", "1", "--first", "a", "--second", "007").stdout
    assert "release     1 of gates.jsonl" in said


def test_an_extended_plan_is_judged_with_the_labels_so_far(folder, served):
    run("init", *RUNS, *COLD, "--budget", "20")
    run("plan")
    run("judge")
    first = served[0].campaign
    entries = [
        Entry(f"key-{place}", each.qid, each.docno, 1, "ann", "judged", "2026-01-01T00:00:00Z", "", first.plan.id)
        for place, each in enumerate(first.work.documents)
    ]
    store = Store(Path("my-plan.sqlite"), first.plan.id)
    store.append(entries)
    store.close()
    said = run("plan", "--extend", "my-plan", "--budget", 10, "--out", "longer")
    assert "pt-active judge longer --store my-plan.sqlite\n" in said
    run("judge", "longer", "--store", "my-plan.sqlite")
    assert (len(served[1].campaign.work.documents), served[1].campaign.kept) == (30, 20)


OWN = {"train-run": ["a.run.gz", "b.run"]}
COLD_KEYS = {"max-grade": 2, "budget": 25, "measure": "DCG@10"}


@pytest.mark.parametrize(
    ("words", "kept"),
    [("--judge", {"judge": ["of.qrels"]}), ("--train-qrels", OWN), ("--max-grade", COLD_KEYS)],
)
def test_init_of_labels_of_the_queries_themselves_or_of_a_highest_grade_alone(folder, words, kept):
    write(folder / "of.qrels", qrels_lines(QUERIES))
    value = "2" if words == "--max-grade" else "of.qrels"
    assert kept.items() <= data("init", *RUNS, words, value, "--budget", "25").items()
    assert ("Grade model: none" in run("plan")) == (words == "--max-grade")


TEXTS = "".join(f"D-{d}\tx\n" for d in range(9))
WEIGHTS = "qid\tquery\tweights\n" + "".join(f"{q}\twords\t2\n" for q in QUERIES)
UNUSED = "the column weights is not used; if queries are to count by it, call it traffic"
TWO = f"{QUERIES[0]}\ta\n{QUERIES[1]}\tb\n"
DOUBTS = [
    ("topics.tsv", TWO, "no topic for 28 queries: 'née-10/x', 'née-11/x'"),
    ("topics.tsv", WEIGHTS, UNUSED),
    ("texts.tsv", TEXTS, "no text for 3 documents: "),
    ("past.qrels", f"{PAST[0]} 0 D-0 1\n{PAST[0]} 0 D-1 0\n", "only 2 of 200 documents down to rank 10"),
    ("b.run", run_lines(QUERIES[:-2], 5), "b has nothing for 2 queries ('née-28/x', 'née-29/x'): it scores 0 there"),
    ("b.run", run_lines(QUERIES, 1), "a and b are the same ranking, so they cannot differ"),
    ("b.run", run_lines(QUERIES, 5).replace(" D-", " E-"), "b has no document in common with another run"),
]


@pytest.mark.parametrize(("file", "text", "said"), DOUBTS)
def test_what_is_probably_not_meant_is_said(folder, file, text, said):
    assert not invoke("init", *ALL).stderr
    FILE.unlink()
    write(folder / file, text)
    words = [each.replace("qrels.gz", "qrels") if file == "past.qrels" else each for each in ALL]
    for found in (invoke("init", *words), invoke("plan")):
        assert found.exit_code == 0
        assert said in found.stderr


def test_flags_beat_the_file_and_what_does_not_go_with_them_is_not_taken(folder):
    run("init", *ALL)
    made = data("plan", "--budget", "20", "--out", "other", "--measure", "P(rel=1)@5")
    asked = made["arguments"]
    assert (made["plan"], asked["budget"], asked["measure"]) == ("other", 20, "P@5")
    assert made["rankers"] == ["a", "b"]
    assert data("plan", "--run", "alone=b.run", "--out", "alone")["rankers"] == ["alone"]


def test_nothing_is_taken_for_another_plan(folder):
    run("init", *ALL)
    run("plan")
    exported("my-plan")
    FILE.write_text("confidence = 0.5\n" + FILE.read_text())
    for words in ((), ("./my-plan", "my-plan.csv")):
        assert data("status", *words)["confidence"] == 0.5
    (folder / "my-plan").rename("elsewhere")
    assert data("status", "elsewhere", "my-plan.csv")["confidence"] == 0.95
    assert "from pt-active.toml" not in invoke("status", "elsewhere", "my-plan.csv").stderr
    run("budget", "elsewhere", "--budget", "30")
    FILE.write_text("confidence = 0.5\n")  # which names no plan
    assert data("status", "elsewhere", "my-plan.csv")["confidence"] == 0.5


def test_files_are_relative_to_the_project(folder, monkeypatch):
    (folder / "inside").mkdir()
    write(folder / "inside/job.toml", 'plan = "p"\n[runs]\nx = "y"\n')
    run("init", *ALL, "--project", "inside/job.toml")
    values = tomllib.loads((folder / "inside/job.toml").read_text())
    assert (values["plan"], values["topics"], values["runs"]["b"]) == ("p", "../topics.tsv", "../b.run")
    monkeypatch.chdir(folder / "inside")
    assert data("plan", "--project", "job.toml")["plan"] == "p"
    monkeypatch.chdir(folder)
    again = data("plan", "--project", "inside/job.toml", "--out", "again")
    assert again["rankers"] == ["a", "b"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
VALUES = {
    "plan": NAMES,
    "budget": st.one_of(st.integers(1, 10**9), st.floats(1e-9, 1e12)),
    "train-run": st.lists(NAMES, min_size=1),
    "runs": st.dictionaries(NAMES, NAMES, min_size=1),
}


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_what_is_written_is_what_is_read(values):
    assert tomllib.loads(project_text(values, ["a remark"])) == values


def test_what_commands_take_is_an_option_and_each_key_is_of_use():
    for command, taken in COMMANDS.items():
        assert set(taken) <= set(options_of(resolve_name(f"pt_active.cli.{LISTED[command].place}")))
    assert {key_of(command, argument) for command, taken in COMMANDS.items() for argument in taken} == set(KEYS)
