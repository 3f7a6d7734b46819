"""Files of a small collection, and commands that run on them in this process."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.cli.project import project_text

QUERIES = [f"née-{i}/x" for i in range(30)]
PAST = [f"past_{i}" for i in range(25)]
DOCUMENTS = 12

RUNS = ("--run", "a=a.run.gz", "--run", "b=b.run")
LOG = ("--run", "a=log-a.csv", "--run", "b=log-b.csv")
TRAINING = ("--train-run", "past.run", "--train-qrels", "past.qrels.gz")
COLD = ("--max-grade", "2")
MEASURED = ("--measure", "DCG@5", "--budget", "100", "--out", "plan")


def label(qid, document):
    """The truth: good documents have low numbers, and some queries have few of them."""
    return max(0, 2 - (3 * document + len(qid) + int(qid.rsplit("_")[-1].strip("née-/x"))) % 7)


def labelled(table):
    """The documents of a table with the truth."""
    pairs = zip(table["qid"], table["docno"], strict=True)
    return table.assign(label=[label(qid, int(docno.removeprefix("D-"))) for qid, docno in pairs])


def run_lines(qids, seed):
    rng = np.random.default_rng(seed)
    lines = []
    for qid in qids:
        order = np.argsort([seed * label(qid, d) * -0.3 + rng.normal() for d in range(DOCUMENTS)])[:8]
        lines += [f"{qid} Q0 D-{d} {rank} {10 - rank} tag\n" for rank, d in enumerate(order, start=1)]
    return "".join(lines)


def qrels_lines(qids):
    return "".join(f"{q} 0 D-{d} {label(q, d)}\n" for q in qids for d in range(DOCUMENTS))


def write(path, text):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as stream:
        stream.write(text)


def worked_on(folder, copy, monkeypatch):
    """A copy of a folder in which the commands run."""
    monkeypatch.chdir(copy)
    return shutil.copytree(folder, copy, dirs_exist_ok=True)


def keyed(**keys):
    """Write the project file of the current folder."""
    Path("pt-active.toml").write_text(project_text({name.replace("_", "-"): each for name, each in keys.items()}))


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def run(*words):
    """The standard output of a command that succeeds."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def data(*words):
    """The JSON object of a command that succeeds."""
    return json.loads(run(*words, "--json"))


def planned(*words):
    return data("plan", *RUNS, *MEASURED, *words)


def complaint(*words):
    """The message of a command that ends in exit code 2, one line on stderr and nothing on stdout."""
    result = invoke(*words)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    *before, last = result.stderr.splitlines()
    assert all(line.startswith("warning: ") for line in before)
    assert last.startswith("error: ")
    return last.removeprefix("error: ")


def exported(folder="plan"):
    """Write the worklist of a plan beside it, and judge it as people do in a spreadsheet."""
    said = run("export", folder, "--out", f"{folder}.csv", "--format", "csv")
    fill(f"{folder}.csv")
    return said


def fill(path):
    """Judge a CSV worklist as people do in a spreadsheet."""
    labelled(pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(path, index=False)
