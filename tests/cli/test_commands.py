"""The commands: what each answers, its help and its example, and the process that they run in."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest
import typer
from small_collection import COLD, LOG, MEASURED, QUERIES, RUNS, complaint, data, exported, fill, invoke, run, write

from pt_active import Plan
from pt_active.cli.app import COMMANDS, app, main
from pt_active.demo.run import METHODS

GROUP = typer.main.get_command(app)
BOTH, BLIND = " ".join(RUNS), " ".join(COLD)
ANSWERED = [
    (f"init {BOTH} {BLIND} --project new.toml", 0, "file plan report measure max-grade runs queries documents"),
    (f"plan {BOTH} {BLIND} --measure DCG@5 --budget 30 --out new", 0, "plan rankers spent caution grades arguments"),
    ("plan --extend plan --budget 30 --out new", 0, "plan rankers spent caution limit"),
    ("plan --audit --judge judge.qrels --budget 30 --out new", 0, "audit spent arguments"),
    (f"budget {BOTH} {BLIND} --measure DCG@5", 0, "measure rankers queries expected_from notes cost rows grades"),
    ("budget plan part.csv --width 0.5", 0, "measure rankers queries expected_from notes cost rows needed"),
    ("status plan part.csv", 0, "measure low high resolution needed guarantee assumptions"),
    ("status plan plan.csv", 0, "measure low high resolution result estimates"),
    ("status plan plan.csv --measure P@3", 0, "result estimates"),
    ("status plan ann.csv --looks end", 0, "measure low high result estimates"),
    ("status audit audit.csv --rel 2", 0, "estimates ranking"),
    ("report plan plan.csv --out new.json", 0, "file result headline manifest differences"),
    ("report plan part.csv --so-far --out new.html", 0, "file status headline manifest differences"),
    ("gate plan part.csv --queries new --margin 0.01", 3, "outcome question advice"),
    ("gate plan plan.csv --queries these --margin 9", 0, "outcome question advice"),
    (f"simulate {BOTH} --qrels judge.qrels --measure DCG@5 --repetitions 5 --budget 60 --design passive", 0, "rows"),
    ("export plan --out new.csv --format csv", 0, "file format assessments texts"),
    ("export plan --out new.json --format label-studio", 0, "file format assessments texts beside"),
    ("export audit --out new.csv --format csv", 0, "file format assessments"),
    ("import csv ann.csv --plan plan --out new.jsonl", 0, "file records annotators judged"),
    (f"sample-queries {' '.join(LOG)} --weight queries.csv --size 15 --out new", 0, "out queries drawn certain rows"),
    # Options of every command stand anywhere.
    ("--project pt-active.toml status plan part.csv --grade-names a,b,c", 0, "measure low high"),
]
"""Words, the exit code, and keys of the answer."""


@pytest.mark.parametrize(("words", "code", "keys"), ANSWERED)
def test_what_a_command_answers(judged, words, code, keys):
    if words.startswith("sample-queries"):
        pytest.importorskip("duckdb")
    pd.read_csv("plan.csv", dtype=str).assign(annotator="ann").to_csv("ann.csv", index=False)
    found = invoke(*words.split(), "--json", "--quiet")
    assert (found.exit_code, found.stderr) == (code, "")
    assert set(keys.split()) <= set(json.loads(found.stdout))


def test_the_command_line_is_no_larger_than_it_has_to_be():
    commands = [GROUP.loaded(name) for name in COMMANDS]
    each = [[option for option in command.params if not getattr(option, "hidden", False)] for command in commands]
    assert len(each) == 12
    assert max(map(len, each)) <= 12
    assert sum(map(len, each)) + len(GROUP.params) <= 109


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_is_short_and_names_the_keys_without_a_flag(name):
    said = run(name, "--help")
    assert f"pt-active {name}" in said.split("Example:")[1]
    assert "--json" in said
    assert not re.search(r"<bool>", said.replace("--help", "").split("Show this")[0].rpartition("\n")[0])
    assert ("per-query" in said) == (name in ("plan", "budget"))


def test_help_is_printed_where_the_width_is_not_known(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["pt-active", "status", "--help"])
    said = []
    for width in ("80", "0", "", "00"):
        monkeypatch.setenv("COLUMNS", width)
        with pytest.raises(SystemExit, match="0"):
            main()
        said.append(capsys.readouterr().out)
    assert "pt-active status" in said[0]
    assert set(said) == {said[0]}


def test_the_examples_of_the_help_run(files, monkeypatch):
    """Each with files of the names that it has, in the order in which they are used; some need more than files."""
    (files / "pt-active.toml").unlink()
    examples = {name: listed.example for name, listed in COMMANDS.items()}
    for old, new in {"a.run.gz": "a.run", "past.run": "old.run", "past.qrels.gz": "old.qrels"}.items():
        content = (files / old).read_bytes()
        (files / new).write_bytes(gzip.decompress(content) if old.endswith(".gz") else content)
    monkeypatch.setattr("pt_active.cli.judging._serve", lambda site, where: None)

    def example(name):
        return invoke(*shlex.split(examples.pop(name).replace("\\\n", " "))[1:])

    assert example("init").exit_code == 0
    (files / "pt-active.toml").unlink()
    for name in ("budget", "plan", "export", "judge"):
        assert example(name).exit_code == 0
    fill("judge-me.csv")
    for copy in ("judged.csv", "judged-so-far.csv"):
        (files / copy).write_text((files / "judge-me.csv").read_text())
    for name in ("status", "report"):
        assert example(name).exit_code == 0
    assert example("gate").exit_code in (0, 1, 3)
    assert set(examples) == {"import", "demo", "sample-queries", "simulate"}


def test_from_a_log_to_a_verdict(files):
    pytest.importorskip("duckdb")
    lines = "".join(f'{qid},{1 + place % 3},"what, is {qid}"\n' for place, qid in enumerate(QUERIES))
    write(files / "queries.csv", f"qid,traffic,query\n{lines}")
    said = run("sample-queries", *LOG, "--weight", "queries.csv", "--size", "15", "--out", "sampled")
    assert "--topics sampled/topics.csv" in said
    runs = "--run a=sampled/a.parquet --run b=sampled/b.parquet --topics sampled/topics.csv"
    run("plan", *runs.split(), *COLD, *MEASURED)
    plan, topics = Plan.load("plan"), pd.read_csv("sampled/topics.csv", dtype={"qid": str}).set_index("qid")
    assert (plan.assessments["query"] == "what, is " + plan.assessments["qid"]).all()
    weight = plan.queries.set_index("qid")["q_weight"]
    assert weight.to_numpy() == pytest.approx((topics["traffic"] / topics["traffic"].sum()).loc[weight.index])
    exported()
    assert data("status", "plan", "plan.csv", "--queries", "new")["queries"] == "new"


EACH_TYPED = """
import sys
from pt_active.__main__ import main
for words in (["--help"], [], ["nonsense"]):
    sys.argv = ["pt-active", *words]
    try:
        main()
    except SystemExit as ended:
        print("ended with", ended.code, [m for m in ("pandas", "pyterrier", "scipy") if m in sys.modules])
"""


def test_a_process_helps_without_frames():
    ran = subprocess.run([sys.executable, "-c", EACH_TYPED], capture_output=True, text=True, check=True)
    said = re.split(r"ended with (.*)\n", ran.stdout)
    assert said[1::2] == ["0 []", "2 []", "2 []"], ran.stderr
    for text, part in zip(said[::2], ("which ranker is", "From runs", ""), strict=False):
        assert part in text
    assert ran.stderr == "error: No such command 'nonsense'; see pt-active --help\n"


def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("demo")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert result.stdout.startswith("SIMULATED")
    names = {"assessments.csv", "judgments.csv", "plan", "result.json"}
    assert {path.name for path in (tmp_path / "demo-out").iterdir()} == names
    numbers = json.loads((tmp_path / "demo-out/result.json").read_text())
    truth = numbers["truth"]
    assert numbers["simulated"] is True
    assert truth["difference"] == pytest.approx(truth["candidate"] - truth["production"])
    documents, queries, at_random = (numbers[name]["samples"] for name in METHODS)
    assert documents["error"] < 0.7 * queries["error"] < 0.7 * at_random["error"]
    assert documents["found"] > 1.5 * max(queries["found"], at_random["found"])
    assert all(0.92 < each["coverage"] < 0.98 for each in (documents, queries, at_random))
    numbers["single documents"].pop("samples")
    by_hand = data("status", "demo-out/plan", "demo-out/judgments.csv", "--looks", "end")["result"]
    assert by_hand == numbers["single documents"]
    assert complaint("demo") == "demo-out exists; take it away, or run the demo in another folder"
