"""Whatever a command refuses is one line with exit code 2, and leaves nothing behind."""

import contextlib
import shutil

import pandas as pd
import pytest
from small_collection import COLD, LOG, QUERIES, RUNS, TRAINING, complaint, write

from pt_active.judging.records import write_records

BOTH, BLIND, LEARNED = (" ".join(words) for words in (RUNS, COLD, TRAINING))
PLAN = "plan --measure DCG@5 --budget 100 --out new"
AUDIT = "plan --audit --budget 9 --out new"
OTHER_TEXTS = "other.tsv: the file has no text for any document: it has 'E-1', the pool 'D-"

INIT = "init --project new.toml"
PROJECT = "plan --out new --measure DCG@5 --budget 5 |"

NAMES = "--judges: expected names of 1 to 60 characters"

REFUSED = {
    "": {  # options of every command stand anywhere
        "--json --quiet export none --out new": "there is no plan at none",
        "export --quiet none --out new --json --grade-names a,b": "there is no plan at none",
        "--project=none.toml export none --out new": "none.toml",
        "export none --out new --project none.toml": "none.toml",
    },
    "demo": {
        "--project x.toml": "demo does not use --project: leave it out",
        "--grade-names a,b": "demo does not use --grade-names: leave it out",
        "--jsonn": "No such option",
        "-- --json": "extra argument",
    },
    INIT: {
        "": "pass --run NAME=FILE, once for each ranker",
        BOTH: "the grade model learns from --train-run and --train-qrels; without any judgments, pass --max-grade N",
        f"--run a=a.run.gz --run b=past2.run {BLIND}": "the runs have no query in common: a has 'née-0/x'",
        f"{BOTH} --train-qrels past.qrels.gz": "no document of the training run",
        f"{BOTH} --train-qrels past.run": "expected 4 columns, qid iteration docno label; got 6",
    },
    f"{INIT} {BOTH} {BLIND}": {
        "--topics other.tsv": "other.tsv: none of the queries of the runs is among the topics",
        "--texts other.tsv": OTHER_TEXTS,
        "--budget -1": "budget must be a positive number, got -1.0",
        "--measure nDGC@5": "unknown measure 'nDGC@5'",
    },
    PROJECT: {
        "budgt = 3": "pt-active.toml: unknown key 'budgt'; it is one of plan, report, ",
        "budget = 'many'": "budget must be a number, got 'many'",
        "budget = nan": "budget must be a number, got nan",
        "budget = true": "budget must be a number, got True",
        "depth = 2.5": "depth must be a whole number, got 2.5",
        "runs = ['a.run']": "runs must be a table of NAME = FILE, got ['a.run']",
        "measure = ''": "measure must be a text, got ''",
        "train-run = [1]": "train-run must be the name of a file or a list of them, got [1]",
        "a = 1; a = 2": "this is not TOML: ",
        "plan = 'ÿ'": "this is not TOML: ",  # in Latin-1, which is not UTF-8
        "topics = 'none.tsv'": "topics: there is no file none.tsv",
        "[runs]; x = 'none.run'": "run x: there is no file none.run",
        "[runs]; 'a=b' = 'b.run'": "runs: a name is needed, without an equals sign, got 'a=b'",
        "[runs]; '' = 'b.run'": "runs: a name is needed, without an equals sign, got ''",
        'topics = "a\\u0000b"': "topics must be the name of a file, got 'a\\x00b'",
        'train-run = ["a\\u0000b"]': "train-run must be the name of a file or a list",
        '[runs]; x = "a\\u0000b"': "runs must be a table of NAME = FILE, got {",
    },
    "plan": {
        "--project": "requires an argument",
        "--nonsense": "No such option",
        f"{BOTH} {BLIND} --measure DCG@5 --out new": "Missing option '--budget'; see pt-active plan --help",
        f"{BOTH} {BLIND} --budget 9 --out new": "pass what to estimate, such as --measure",
        "--extend plan --budget 20 --out new --texts other.tsv": OTHER_TEXTS,
        f"--extend plan --budget 20 --out new --measure P@5 {BOTH}": "leave out --measure, --run",
    },
    f"{PLAN} {BOTH} {BLIND}": {
        "--run a=b.run": "--run a=b.run: the name 'a' is taken",
        "| cost = 'log-length'": "cost log-length needs the texts",
        "--measure Best@5": "unknown measure 'Best@5'",
        "--budget -5": "budget must be a positive number, got -5.0",
        "--budget 1 | level = 'query'": "budget 1 does not pay for the cheapest query",
        "| per-query = -1": "per_query must be a finite number and not negative",
        "--out a.run.gz": "a.run.gz exists; choose another --out",
        "--out no/where": "the folder no does not exist",
        "| level = 'page'": "unknown level 'page'; it is one of query, document",
        "| level = 'document'; design = 'optimal'": "unknown document design 'optimal'; it is one of successive, surpr",
        "--measure nDCG@5 | design = 'successive'": "documents of this measure are drawn by surprises or depth, not",
        "--max-grade 0": "max_grade must be at least 1, got 0",
        "| seed = -1": "seed must be at least 0, got -1",
        "| depth = 0": "depth must be at least 1, got 0",
        "| topics = 'irds:none'": "ir_datasets has no data set 'none'",
        "| cost = 'free'": "unknown cost 'free'; it is one of unit, log-length",
    },
    f"{PLAN} {BLIND}": {
        "": "pass --run NAME=FILE, once for each ranker; or name a pool in the project file",
        "--run a=nowhere.run": "nowhere.run: No such file or directory",
        "--run a.run.gz": "--run needs NAME=FILE, got 'a.run.gz'",
        "--run depth=b.run": "--run depth=b.run: the name 'depth' is taken",
        "--run a=topics.tsv": "topics.tsv: line 1: expected 6 columns",
        "--run a=a.run.gz --run b=past2.run": "the runs have no query in common: a has 'née-0/x'",
        "| pool = 'a.run.gz'": "a.run.gz: ",
        "| pool = '.'": ".: Is a directory",
    },
    PLAN: {
        BOTH: "the grade model learns from --train-run and --train-qrels; without any judgments, pass --max-grade N",
        f"{BOTH} --judge judge.qrels --train-run past.run": "--train-run needs --train-qrels",
        f"{BOTH} | grades = 'uniform'": "grades uniform need --max-grade",
        f"{BOTH} | grades = 'oracle'": "unknown grades 'oracle'; it is one of ordered-logit, forest",
        f"{BOTH} {LEARNED} --max-grade 1": "not above the highest grade, 1",
    },
    f"budget {BOTH} {BLIND} --measure DCG@5": {
        "--difference 0": "difference must be a number other than 0, got 0.0",
        "--width -1": "width must be a positive number, got -1.0",
        "--width 1 --difference 1": "pass either width= or difference=, and not both",
        "--width 1 --budget 9": "pass either --budget or --width, and not both",
        "--queries all --width 1": "queries must be 'these' or 'new', got 'all'",
    },
    "budget": {
        "": "pass what to estimate",
        "--measure DCG@5": "pass --run NAME=FILE",
        f"plan {BOTH} --measure DCG@5": "leave out --measure, --run",
    },
    "status": {
        "": "Missing argument 'PLAN'; see pt-active status --help",
        "a.run.gz plan.csv": "there is no plan at a.run.gz",
        "plan nothing.csv --quiet": "nothing.csv: No such file or directory",
        "plan wrong.qrels": "wrong.qrels: line 1: expected a label",
        "plan seed=1/wrong.qrels": "seed=1/wrong.qrels: line 1: expected a label",
        "plan garbage.csv": "names its columns: qid,docno,label",
        "plan renamed.csv": "renamed.csv: expected a header with",
        "plan words.csv": "words for grades need grade_names=",
        "plan foreign.jsonl": "foreign.jsonl: row 1: expected a plan that is '",
        "plan plan.csv other.csv": " in other.csv",
        "plan plan.csv | confidence = 95": "confidence must lie between 0 and 1",
        "plan plan.csv | missing = 'none'": "unknown missing 'none'; it is one of error, nonrelevant",
        "plan plan.csv --second looks=None": "no ranker 'looks=None' in this plan",
        "plan part.csv --looks daily": "unknown looks 'daily'; it is one of always, obrien-fleming, end",
        "plan part.csv --margin -1": "margin must be a positive number, got -1.0",
        "plan plan.csv --measure P@3 --margin 1": "--looks and --margin are for the plan's own measure",
        "plan plan.csv --measure DCG@5 --queries all": "queries must be 'these' or 'new', got 'all'",
        "plan plan.csv --measure DCG@5 --queries new | clusters = 'need'": "there is no column 'need'",
        "plan plan.csv --rel 2": "--rel is for audits",
        "plan plan.csv --families families.csv": "--judge, which --families needs, is for",
        "plan plan.csv --judge judge.qrels --first a": "is for all rankers, --queries these and --looks end",
        "plan plan.csv --judge judge.qrels --queries new": "is for all rankers, --queries these and --looks end",
        "plan plan.csv --judge judge.qrels --looks always": "--looks end",
        "plan plan.csv --judge judge.qrels": "at least three rankers",
        "plan plan.csv --judge none.qrels": "none.qrels",
    },
    "report plan --out new.html": {
        "part.csv": "plan.status(qrels), or plan.so_far(qrels)",
        "part.csv --margin 1": "is for --so-far",
        "plan.csv --out plan.csv": "exists; choose another --out",
        "plan.csv --slice colour": "the plan has qid, query. Columns",
        "plan.csv --slice q_draws": "is the plan's own",
    },
    "gate plan plan.csv --queries these": {
        "": "margin is needed: by how much may the candidate be worse?",
        "--margin -1": "margin must be a number from 0, got -1",
        "--margin 0.1 --looks daily": "unknown looks 'daily'; it is one of always, obrien-fleming, end",
    },
    "export plan --out new": {
        "--format trec --grade-names a,b,c": "--grade-names is not for --format trec",
        "--format quepid --labels x.csv": "--labels is for",
        "--format csv --texts other.tsv": OTHER_TEXTS,
    },
    "judge": {
        "": "pass the folder of a plan, or --demo",
        "none": "there is no plan at",
        "plan --texts other.tsv": OTHER_TEXTS,
        "plan --double 1.5": "double must lie between 0 and 1",
        "plan --grade-names a,a": "grade_names must be different words",
        "plan --guideline none.md": "none.md: No such file",
        "plan --judges ann,ann": "the name 'ann' occurs more than once",
    },
    "judge plan --judges": dict.fromkeys(["ann,,ben", "a:b", "x" * 61, "a\u202e", "organiser", "adjudicator"], NAMES),
    "import": {
        "csv plan.csv --plan plan --out new.jsonl": "name the judge with annotator=",
        "csv unjudged.csv --plan plan --out new.jsonl": "unjudged.csv: nothing is judged",
        "excel plan.csv --plan plan --out new.jsonl": "unknown tool 'excel'; it is one of label-studio",
    },
    f"simulate {BOTH} --qrels judge.qrels --measure DCG@5": {
        "--design best": "unknown design 'best'; the designs are hedged, assisted",
        "--budget 1e9": "budgets outside the pool: 1e+09",
        "--repetitions 0": "repetitions must be at least 1",
        "--out nowhere/x.csv": "the folder nowhere does not exist",
    },
    "simulate --measure DCG@5": {
        BOTH: "Missing option '--qrels'; see pt-active simulate --help",
        f"{BOTH} --qrels past.qrels.gz": "at least 2 queries of the runs, got 0",
    },
    f"sample-queries {' '.join(LOG)} --weight queries.csv --size 15 --out new": {
        "--out plan": "plan exists",
        "--run a=b.run": "the name 'a' is taken",
        "--run x/y=b.run": "cannot be that of a file",
        "--run c=no.run": "no.run: No such file",
        "--size 1000": f"the log has {len(QUERIES)} with traffic",
        "--seed -1": "seed must be at least 0, got -1",
    },
    AUDIT: {
        "": "pass --judge, once for each judge whose errors people are to find",
        f"{BOTH} --judge gpt=judge.qrels": "an audit is of judges alone; leave out --run",
        "--judge gpt": "gpt: No such file or directory",
        "--judge a=judge.qrels --judge a=judge.qrels": "the name 'a' is taken",
        "--judge a=none.qrels": "none.qrels: No such file or directory",
        "--judge a=judge.qrels --max-grade 1": "'a' gives the grade 2, above the highest grade",
        "--judge a=judge.qrels --out audit": "audit exists; choose another --out",
        "--judge a=zero.qrels": "0 is the only grade that the judge gives: pass --max-grade N",
        "--judge a=judge.qrels --budget 0": "budget must be a positive number, got 0",
    },
    "status audit": {
        "high.csv": "not above the highest grade, 2",
        "none.csv": "none.csv: No such file or directory",
        "few.csv": 'judge them, or pass missing="nonrelevant"',
        "judge.qrels --rel 7": "rel=7 is above the highest grade, 2",
        "judge.qrels --margin 1": "an audit is answered at once, for all judges: leave out all options but --rel",
    },
    "export audit --out new.csv": {"--format rtf": "unknown format 'rtf'; it is one of csv, opensearch"},
}
"""The beginning of a command → its other words, with keys of the project file after a bar → part of the message."""


@pytest.fixture(scope="module")
def world(judged_once, tmp_path_factory):
    """A folder with files of each kind, some of them wrong."""
    folder = shutil.copytree(judged_once, tmp_path_factory.mktemp("refused"), dirs_exist_ok=True)
    (folder / "seed=1").mkdir()
    for name in ("wrong.qrels", "seed=1/wrong.qrels"):
        write(folder / name, "q 0 D-0 good\n")
    write(folder / "garbage.csv", "this is\nno table\n")
    write(folder / "other.tsv", "E-1\tone\n")
    write(folder / "zero.qrels", "q 0 D-0 0\nq 0 D-1 0\n")
    with contextlib.chdir(folder):
        asked = pd.read_csv("audit.csv", dtype=str)
        asked.assign(label="5").to_csv("high.csv", index=False)
        asked.head(5).to_csv("few.csv", index=False)
        table = pd.read_csv("plan.csv", dtype=str)[["qid", "docno", "label"]]
        table.rename(columns={"docno": "document"}).to_csv("renamed.csv", index=False)
        table.assign(label="good").to_csv("words.csv", index=False)
        table.assign(label="").to_csv("unjudged.csv", index=False)
        first = table.head(1)
        first.assign(label="2" if first["label"].item() != "2" else "0").to_csv("other.csv", index=False)
        foreign = first.assign(label=1, annotator="ann", status="judged", plan="feedfeedfeedfeed")
        write_records(foreign, "foreign.jsonl")
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [(f"{start} {words}", message) for start, rows in REFUSED.items() for words, message in rows.items()],
)
def test_what_is_refused_is_one_line_and_leaves_nothing(world, monkeypatch, words, message):
    if words.startswith("sample-queries"):
        pytest.importorskip("duckdb")
    monkeypatch.chdir(world)
    line, _, keys = words.partition(" | ")
    (world / "pt-active.toml").write_bytes(keys.replace("; ", "\n").encode("latin-1"))
    before = set(world.rglob("*"))
    assert message in complaint(*line.split())
    assert set(world.rglob("*")) == before
