"""The project file: five commands without options, flags before it, and one line for whatever is wrong in it."""

import asyncio
import shlex
import tomllib
from importlib import import_module

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_collection import complaint, data, invoke, run

from pt_active.cli.app import COMMANDS as LISTED
from pt_active.cli.options import options_of
from pt_active.cli.project import COMMANDS, FILE, KEYS, key_of, project_text
from pt_active.judging.server.store import Entry
from pt_active.plans.plan import Plan

QUERIES = [f"q{i}" for i in range(12)]
PAST = [f"p{i}" for i in range(10)]
DEPTH = 6


def grade(qid, document):
    return (int(qid[1:]) + document) % 3


def ranking(qids, shift, depth=DEPTH):
    return "".join(f"{q} Q0 d{(rank * shift + 1) % 11} {rank} {20 - rank} x\n" for q in qids for rank in range(depth))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with two runs, topics, texts, and a judged past run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.run").write_text(ranking(QUERIES, 2))
    (tmp_path / "old.run").write_text(ranking(QUERIES, 3))
    (tmp_path / "past.run").write_text(ranking(PAST, 2))
    (tmp_path / "past.qrels").write_text("".join(f"{q} 0 d{d} {grade(q, d)}\n" for q in PAST for d in range(11)))
    (tmp_path / "topics.tsv").write_text("".join(f"{q}\twords of {q}\n" for q in QUERIES))
    (tmp_path / "texts.tsv").write_text("".join(f"d{d}\ttext of {d}\n" for d in range(11)))
    return tmp_path


RUNS = ("--run", "new=new.run", "--run", "old=old.run")
PAST_FILES = ("--train-run", "past.run", "--train-qrels", "past.qrels")
ALL = (*RUNS, "--topics", "topics.tsv", "--texts", "texts.tsv", *PAST_FILES, "--budget", "40")


def judged(path, number=None):
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    labels = [str(grade(q, int(d[1:]))) for q, d in zip(table.qid, table.docno, strict=True)]
    table["label"] = [label if number is None or i < number else "" for i, label in enumerate(labels)]
    table.to_csv(path, index=False)


def test_five_commands_need_no_options(files, monkeypatch):
    assert run("init", *ALL).endswith("Next, choose what to judge:\n  pt-active plan\n")
    assert run("plan").startswith("Plan for DCG@10 of new, old\n")
    plan = Plan.load("my-plan")
    assert plan.tables.manifest.arguments.budget == 40
    assert plan.assessments["text"].str.startswith("text of ").all()
    assert complaint("status").startswith(
        "nothing is judged yet: there is no my-plan.sqlite or my-plan.csv; let people"
    )
    served = []
    monkeypatch.setattr("pt_active.cli.judging._serve", lambda site, where: served.append(site.campaign.plan.id))
    assert "pt-active status my-plan my-plan.sqlite" in run("judge", "--judges", "ann")
    assert served == [plan.id]
    run("export", "--out", "my-plan.csv", "--format", "csv")
    judged("my-plan.csv")
    assert data("status") == data("status", "my-plan", "my-plan.csv")
    run("report")
    assert (files / "my-plan.html").is_file()
    assert "The report is my-plan-2.html." in run("report")


def test_a_budget_may_come_after_init(files):
    """`init` needs none, `budget` advises on one, and a second `init` keeps it with all that was typed before."""
    without = ALL[:-2]
    assert run("init", *without).splitlines()[-1].strip() == "pt-active budget --difference X"
    assert "budget" not in tomllib.loads(FILE.read_text())
    assert complaint("plan").startswith("Missing option '--budget'")
    proposed = shlex.split(run("budget", "--difference", "2").splitlines()[-1])
    assert proposed[:3] == ["pt-active", "plan", "--budget"]
    run(*proposed[1:])
    assert (files / "my-plan").is_dir()
    FILE.write_text(f'seed = 3\ncost = "log-length"\n{FILE.read_text()}')
    before = tomllib.loads(FILE.read_text())
    again = invoke("init", "--budget", "30", "--measure", "P@5")
    assert again.exit_code == 0
    assert again.stderr == "from pt-active.toml: plan, runs, topics, texts, train-run, train-qrels\n"
    changed = {"budget": 30, "measure": "P@5"}
    assert tomllib.loads(FILE.read_text()) == before | changed
    arguments = data("plan", "--out", "other")["arguments"]
    assert (arguments["budget"], arguments["seed"], arguments["cost_unit"]) == (30, 3, "average queries")
    assert "is a project of runs; choose another --project" in complaint("init", "--answers", "answers.csv")


def test_documents_without_a_text_are_named(files, monkeypatch):
    (files / "texts.tsv").write_text("".join(f"d{d}\ttext of {d}\n" for d in range(11) if d not in (1, 3)))
    words = (*ALL, "--measure", "P@5")
    FILE.write_text('cost = "log-length"\n')
    assert complaint("plan", *words, "--out", "x").endswith("2 documents have no text: 'd1', 'd3'")
    FILE.unlink()
    run("plan", *words, "--budget", "1000", "--out", "x")
    monkeypatch.setattr("pt_active.cli.judging._serve", lambda site, where: None)
    assert "2 documents have no text: 'd3', 'd1'\n" in invoke("judge", "x", "--texts", "texts.tsv").stderr


def test_what_weighs_unequally_is_said_from_init_to_report(files):
    """Half of the traffic is one query's, and a look at any time for new queries needs as good as 30 equal ones."""
    rows = "".join(f"{q}\twords\t{11 if q == 'q3' else 1}\n" for q in QUERIES)
    (files / "topics.tsv").write_text(f"qid\tquery\ttraffic\n{rows}")
    told = "by traffic (q3 has 50%, so they count as 3.67)"
    said = [run("init", *ALL, "--budget", "1000")]
    FILE.write_text('cost = "log-length"\n' + FILE.read_text())
    said.append(run("plan"))
    run("export", "--out", "my-plan.csv", "--format", "csv")
    judged("my-plan.csv")
    for words in (("status",), ("report", "--so-far"), ("gate", "--margin", "0.1")):
        said.append(invoke(*words, "--queries", "these").output)
        assert " 12 of 12 average queries spent" in said[-1]
    assert all(told in each for each in said)
    assert f"<dd>these 12 queries {told}</dd>" in (files / "my-plan.html").read_text()
    state = invoke("gate", "--queries", "new", "--margin", "0.1").stdout
    assert f"none   for queries like them {told}: looks at any time need 30 queries" in state
    assert "add queries, so that none has much of the traffic\n" in state
    FILE.write_text(FILE.read_text().replace('cost = "log-length"', "per-query = 0.5"))
    opened = run("plan", "--out", "opened")
    assert f"the whole pool of 12 queries {told}; opening a query costs 0.5\n" in opened


def test_after_a_next_round_all_commands_go_on_with_the_longer_plan(files, monkeypatch):
    file = files / "mine.toml"
    words = ("--project", file.name)
    run("init", *RUNS, "--max-grade", "2", "--budget", "20", *words)
    (files / "third.run").write_text(ranking(QUERIES, 5))
    file.write_text("# mine\n" + file.read_text().replace("[runs]", '# of 2026\n[runs]\nplan = "third.run"'))
    run("plan", *words)
    before = file.read_text()

    def judged_and_extended(site, where):
        for place, each in enumerate(site.campaign.work.documents):
            said = grade(each.qid, int(each.docno[1:])), "ann", "judged", "2026-01-01T00:00:00Z", ""
            entry = Entry(f"key-{place:08}", each.qid, each.docno, *said, site.campaign.plan.id)
            site.campaign.store.append([entry])
        site.campaign.go_on_with(site.campaign.plan, site.campaign.work)
        print(asyncio.run(site.organiser.extend(10.0)))

    monkeypatch.setattr("pt_active.cli.judging._serve", judged_and_extended)
    assert "pt-active status my-plan-2 my-plan.sqlite" in run("judge", *words)
    assert file.read_text() == before.replace('plan = "my-plan"', 'plan = "my-plan-2"\nstore = "my-plan.sqlite"')
    state = data("status", *words)
    assert {each["budget"] for each in state["pairs"]} == {30}
    served = []
    monkeypatch.setattr("pt_active.cli.judging._serve", lambda site, where: served.append(site))
    run("judge", *words)
    assert (len(served[0].campaign.work.documents), served[0].campaign.kept) == (30, 20)
    assert not (files / "my-plan-2.sqlite").exists()
    for plan, budget, name in (("my-plan-2", 5, "longer"), ("my-plan", 4, "sibling")):
        extended = run("plan", "--extend", plan, "--budget", budget, "--out", name)
        assert f"pt-active judge {name} --store my-plan.sqlite\n" in extended  # which holds the labels so far
    # The plan that is named and no other, unless it is that of the first round.
    for name, documents in {"longer": 35, "sibling": 24, "my-plan-2": 30, "my-plan": 30}.items():
        run("judge", name, "--store", "my-plan.sqlite")
        work = served[-1].campaign
        assert len(work.work.documents) == documents
        assert work.plan.id == Plan.load(files / (name if name != "my-plan" else "my-plan-2")).id


def test_init_of_labels_of_the_queries_themselves_or_of_a_highest_grade_alone(files):
    labels = "".join(f"{q} 0 d{d} {grade(q, d)}\n" for q in QUERIES for d in range(11))
    (files / "some.qrels").write_text(labels)
    for words, kept in (
        (("--judge", "some.qrels"), {"judge": ["some.qrels"]}),
        (("--train-qrels", "some.qrels"), {"train-run": ["new.run", "old.run"]}),
        (("--max-grade", "2"), {"max-grade": 2, "budget": 25, "measure": "DCG@10"}),
    ):
        assert kept.items() <= data("init", *RUNS, *words, "--budget", "25").items()
        said = run("plan", "--out", words[0])
        FILE.unlink()
    assert "Grade model: none" in said


def findings(*words):
    found = data("init", *words)["findings"]
    return [(each["about"], each["said"], each["wrong"]) for each in found]


TOP = {f"d{(rank * shift + 1) % 11}" for shift in (2, 3) for rank in range(2)}


def test_files_that_fit_leave_no_doubt(files):
    size = len(QUERIES) * len({(rank * shift + 1) % 11 for shift in (2, 3) for rank in range(DEPTH)})
    found = findings(*ALL)
    assert not any(wrong for *_, wrong in found)
    for about, said in (
        ("new", "12 queries, 6 documents each"),
        ("old", "12 queries, 6 documents each"),
        ("queries", "the same 12 queries in every run"),
        ("topics", "every query has one"),
        ("past", "100% of the top 10 of the past runs has a label"),
        ("budget", f"40 of {size} documents that count for DCG@10 ({40 / size:.0%})"),
    ):
        assert (about, said, False) in found
    (files / "texts.tsv").write_text("".join(f"{d}\ttext\n" for d in sorted(TOP)))
    said = f"every one of {len(TOP)} documents that may be judged has one"
    assert ("texts", said, False) in findings(*ALL, "--measure", "DCG@2")


TEXTS = "".join(f"d{d}\tx\n" for d in range(9))
ALL_EQUAL = "".join(f"{q} 0 d{d} 1\n" for q in PAST for d in range(11))
WEIGHTS = "qid\tquery\tweights\n" + "".join(f"{q}\twords\t2\n" for q in QUERIES)
ENOUGH = f"40 of {len(TOP)} documents that count for DCG@2 (100%): everything can be judged"
UNUSED = "the column weights is not used; if queries are to count by it, call it traffic"
DOUBTS = [
    ("topics.tsv", "q0\ta\nq1\tb\n", "topics", "no topic for 10 queries ('q2', 'q3'"),
    ("topics.tsv", WEIGHTS, "topics", UNUSED),
    ("texts.tsv", TEXTS, "texts", "none for 2 of 9 documents that may be judged (22%): "),
    ("past.qrels", "p0 0 d1 1\np0 0 d3 0\n", "past", "3% of the top 10 of the past runs has a label"),
    ("past.qrels", ALL_EQUAL, "past", "110 labels"),
    ("topics.tsv", "q0\ta\n", "budget", ENOUGH),
    ("old.run", ranking(QUERIES[:-2], 3), "runs", "old has nothing for 2 queries ('q10', 'q11'): it scores 0 there"),
    ("old.run", ranking(QUERIES, 2), "runs", "new and old are the same ranking, so they cannot differ"),
    ("old.run", ranking(QUERIES, 3).replace(" d", " x"), "runs", "old has no document in common with another run"),
]


@pytest.mark.parametrize(("file", "text", "about", "said"), DOUBTS)
def test_what_is_probably_not_meant_is_said(files, file, text, about, said):
    (files / file).write_text(text)
    words = (*ALL, *(("--measure", "DCG@2") if "DCG@2" in said else ()))
    found = findings(*words)
    assert any(wrong and name == about and told.startswith(said) for name, told, wrong in found)
    shown = run("init", *words)
    assert any(line.startswith(f"! {about} ") for line in shown.splitlines())
    assert "exclamation mark" in shown
    if about == "runs" or said == UNUSED:
        assert f"{said}" in invoke("plan").stderr


OWN = "past.qrels: no document of new.run, old.run has a label: the labels are of queries 'p0', "
FIT = ranking(QUERIES, 3)
REFUSED = [
    ("old.run", ranking(PAST, 3), ALL, "the runs have no query in common: new has 'q0', 'q1'"),
    ("topics.tsv", "x\ta\n", ALL, "topics.tsv: none of the queries of the runs is among the topics"),
    ("texts.tsv", "x\ta\n", ALL, "texts.tsv: the file has no text for any document of the runs: it has 'x',"),
    ("past.qrels", "x 0 d1 1\n", ALL, "past.qrels: no document of past.run has a label"),
    ("old.run", FIT, (), "pass --run NAME=FILE, once for each ranker (or --answers); and --train-qrels, past"),
    ("old.run", FIT, RUNS, "pass --train-qrels, past judgments, or --judge, labels of an LLM, or without "),
    ("old.run", FIT, (*ALL, "--budget", "-1"), "--budget must be a positive number, got -1.0"),
    ("old.run", FIT, (*ALL, "--measure", "nDGC@5"), "did you mean nDCG?"),
    ("old.run", FIT, (*RUNS, "--train-qrels", "past.qrels"), OWN),
    ("old.run", FIT, (*RUNS, "--train-qrels", "past.run"), "expected 4 columns, qid iteration docno label; got 6"),
]


@pytest.mark.parametrize(("file", "text", "words", "said"), REFUSED)
def test_what_does_not_fit_together_or_is_wanting_is_refused(files, file, text, words, said):
    (files / file).write_text(text)
    assert said in complaint("init", *words)
    assert not FILE.exists()


def test_flags_beat_the_file_and_what_does_not_go_with_them_is_not_taken(files):
    run("init", *ALL)
    made = data("plan", "--budget", "20", "--out", "other", "--measure", "P(rel=1)@5")
    asked = made["arguments"]
    assert (made["plan"], asked["budget"], asked["measure"]) == ("other", 20, "P@5")
    assert made["rankers"] == ["new", "old"]
    assert data("plan", "--run", "alone=old.run", "--out", "alone")["rankers"] == ["alone"]


def test_nothing_is_taken_for_another_plan(files):
    run("init", *ALL)
    run("plan")
    run("export", "--out", "my-plan.csv", "--format", "csv")
    judged("my-plan.csv")
    FILE.write_text("confidence = 0.5\n" + FILE.read_text())
    for words in ((), ("./my-plan", "my-plan.csv")):
        assert data("status", *words)["confidence"] == 0.5
    (files / "my-plan").rename("elsewhere")
    assert data("status", "elsewhere", "my-plan.csv")["confidence"] == 0.95
    assert "from pt-active.toml" not in invoke("status", "elsewhere", "my-plan.csv").stderr
    run("budget", "elsewhere", "--budget", "30")
    FILE.write_text("confidence = 0.5\n")  # which names no plan
    assert data("status", "elsewhere", "my-plan.csv")["confidence"] == 0.5


def test_files_are_relative_to_the_project(files, monkeypatch):
    (files / "inside").mkdir()
    (files / "inside/job.toml").write_text('plan = "p"\n[runs]\nx = "y"\n')
    run("init", *ALL, "--project", "inside/job.toml")
    values = tomllib.loads((files / "inside/job.toml").read_text())
    assert (values["plan"], values["topics"], values["runs"]["new"]) == ("p", "../topics.tsv", "../new.run")
    monkeypatch.chdir(files / "inside")
    assert data("plan", "--project", "job.toml")["plan"] == "p"
    monkeypatch.chdir(files)
    assert data("plan", "--project", "inside/job.toml", "--out", "again")["rankers"] == ["new", "old"]


MISTAKES = [
    ("budgt = 3", "unknown key 'budgt'; it is one of plan, report, "),
    ("budget = 'many'", "budget must be a number, got 'many'"),
    ("budget = nan", "budget must be a number, got nan"),
    ("budget = true", "budget must be a number, got True"),
    ("depth = 2.5", "depth must be a whole number, got 2.5"),
    ("runs = ['a.run']", "runs must be a table of NAME = FILE, got ['a.run']"),
    ("measure = ''", "measure must be a text, got ''"),
    ("train-run = [1]", "train-run must be the name of a file or a list of them, got [1]"),
    ("a = 1\na = 2", "this is not TOML: "),
    ("plan = 'ÿ'", "this is not TOML: "),  # in Latin-1, which is not UTF-8
    ("topics = 'none.tsv'", "topics: there is no file none.tsv"),
    ("[runs]\nx = 'none.run'", "run x: there is no file none.run"),
    ("[runs]\n'a=b' = 'new.run'", "runs: a name is needed, without an equals sign, got 'a=b'"),
    ("[runs]\n'' = 'new.run'", "runs: a name is needed, without an equals sign, got ''"),
    ('topics = "a\\u0000b"', "topics must be the name of a file, got 'a\\x00b'"),
    ('train-run = ["a\\u0000b"]', "train-run must be the name of a file or a list"),
    ('[runs]\nx = "a\\u0000b"', "runs must be a table of NAME = FILE, got {"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_each_mistake_is_one_line(files, text, said):
    FILE.write_bytes(f"{text}\n".encode("latin-1"))
    told = complaint("plan", "--out", "p", "--measure", "DCG@5", "--budget", "5")
    assert told.startswith(f"pt-active.toml: {said}")


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
        module = import_module(f"pt_active.cli.{LISTED[command].file}")
        assert set(taken) <= set(options_of(getattr(module, command)))
    assert {key_of(command, argument) for command, taken in COMMANDS.items() for argument in taken} == set(KEYS)
