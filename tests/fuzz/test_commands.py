"""Every command on mutated files and arguments ends in an answer, or in exit 2 with one message and nothing written.

By hand, for as long as wanted: ``python tests/fuzz/test_commands.py --seconds 3600``. The folders of plans stay whole:
`tests/faults` damages them.
"""

from __future__ import annotations

import contextlib
import csv
import faulthandler
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow
import pytest
from typer.testing import CliRunner

from pt_active import Plan
from pt_active.cli.app import app
from pt_active.frames.visible import visible
from pt_active.judging.server.store import Entry, Store

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "shared")]

from accidents import by_hand, damaged  # noqa: E402
from samples import small_pool  # noqa: E402

PROGRESS = re.compile(r"[^\r\n]*(?:sample|look)/s[^\r\n]*\r| *\r")
SECONDS_EACH = 5.0
INPUTS = 30
TRAINED = "--run a=a.run --run b=b.run --train-run past.run --train-qrels past.qrels --measure DCG@5 --quiet"
COMMANDS = [
    f"plan {TRAINED} --budget 40 --out new --topics topics.tsv --texts texts.tsv",
    f"plan {TRAINED} --budget 30 --out new --texts texts.tsv --project queries.toml",
    "plan --run a=a.run --run b=b.run --max-grade 2 --measure ERR@5 --budget 30 --out new --json",
    "plan --measure RBP --budget 30 --out new --project pool.toml",
    f"plan {TRAINED} --budget 30 --out new --judge past.qrels --project depth.toml",
    "plan --audit --judge past.qrels --budget 20 --out new",
    "export plan --out new.csv --format csv --labels judged.qrels",
    "export docs --out new.jsonl --format trec",
    "status docs judged.csv --margin 0.1 --project answers.toml",
    "status plan judged.csv --looks end --json",
    "plan --extend docs --budget 10 --out new",
    "plan --extend plan --budget 10 --out new",
    "status docs judged.jsonl --project answers.toml --first a --second b",
    "status plan judged.qrels --measure P@3 --project answers.toml",
    "report docs judged.csv --out new.html --so-far --margin 0.1 --slice qkind --quiet",
    "budget plan judged.csv --width 0.3 --json",
    "budget --project pool.toml --measure P@5 --budget 20 --budget 40",
    f"init {TRAINED} --budget 40 --topics topics.tsv --texts texts.tsv --project new",
    "plan --project job.toml --out new --quiet",
    "status --project job.toml --json",
    "status docs kept.sqlite --json",
    "status docs judged.xlsx --project answers.toml",
    "import quepid book.json --plan docs --out new.jsonl",
    "simulate --run a=a.run --run b=b.run --qrels judged.qrels --measure DCG@5 --repetitions 5 --out new.csv --quiet",
]
"""Commands that succeed on the files of `make_world`."""

JOBS = {
    "job": 'labels = ["judged.csv"]\ngrades = "prior"\nconfidence = 0.9\n',
    "queries": 'level = "query"\ndepth = 4\ncost = "log-length"\n',
    "pool": 'pool = "pool.parquet"\nlevel = "document"\nper-query = 0.5\n',
    "whole": 'level = "query"\n',
    "depth": 'design = "depth"\n',
    "answers": 'missing = "nonrelevant"\nconfidence = 0.9\n',
}
"""Project files; that of the job goes on with what ``init`` writes."""

TOKENS = (
    *("", "\x00", "\x1b[31m\x1b]0;title\x07", "\u202egnp.exe", "</script><script>alert(1)</script>", "=HYPERLINK(1)"),
    *("\t", "\r", "\r\n", "\n\n", " ", "١٢", "\u00e9", "e\u0301", "\ufeff", "[" * 3000, "x" * 5000, "@SUM(1)", '"'),
    *("'", ",", ";", "-1", "-2", "0", "1e308", "1e400", "-1e400", "nan", "inf", "1000000000", "9" * 23),
    *("0x10", "{{7*7}}", "$\\frac{1}{0}$", "NaN", "null", "None", "../x", "%s%n"),
)
BYTES = [token.encode() for token in TOKENS]
OTHER_FILES = (b"", b"\n", b"\xff\xfe\x00", b"PAR1", b"\x1f\x8b")
ODD_PATHS = ("", ".", "/dev/null", "/dev/full", "missing", "loop", "plan", "a.run", "x" * 300, "a\udcff", "plan/x")


def make_world(folder: Path) -> None:
    """Small files of every kind that commands read, and a plan of queries and one of documents."""
    pool = small_pool().drop(columns=["judge", "query", "text"])
    past = pool["qid"] >= "q14"
    pool["qid"] = "née/" + pool["qid"]
    asked = pool[~past]
    judged = asked[["qid", "docno", "label"]]
    trec = {"sep": " ", "header": False, "index": False}
    for name, rows in (("a", asked), ("b", asked), ("past", pool[past])):
        rank = rows["rank_b" if name == "b" else "rank_a"]
        run = rows[["qid"]].assign(q0="Q0", docno=rows["docno"], rank=rank, score=10 - rank, tag="t")
        run.to_csv(folder / f"{name}.run", **trec)
    for name, rows in (("past.qrels", pool[past]), ("judged.qrels", judged)):
        rows.assign(zero=0)[["qid", "zero", "docno", "label"]].to_csv(folder / name, **trec)
    topics = pd.DataFrame({"qid": judged["qid"].unique()})
    topics = topics.assign(query="what is " + topics["qid"], qkind=["long", "short"] * (len(topics) // 2))
    topics.to_csv(folder / "topics.tsv", sep="\t", index=False)
    texts = pd.DataFrame({"docno": judged["docno"].unique()}).assign(text=lambda rows: "some words of " + rows["docno"])
    texts.to_csv(folder / "texts.tsv", sep="\t", header=False, index=False)
    judged.to_csv(folder / "judged.csv", index=False)
    judged.to_json(folder / "judged.jsonl", orient="records", lines=True)
    asked.to_parquet(folder / "pool.parquet")
    (folder / "loop").symlink_to("loop")
    for name, text in JOBS.items():
        (folder / f"{name}.toml").write_text(text)
    with contextlib.chdir(folder):
        for words in (
            f"plan {TRAINED} --budget 40 --out docs --topics topics.tsv --project answers.toml",
            f"plan {TRAINED} --budget 40 --out plan --topics topics.tsv --project whole.toml",
            f"init {TRAINED} --budget 40 --topics topics.tsv --project init.toml",
        ):
            assert CliRunner().invoke(app, words.split()).exit_code == 0
    (folder / "job.toml").write_text(JOBS["job"] + (folder / "init.toml").read_text().replace("my-plan", "docs"))
    plan = Plan.load(folder / "docs")
    rows = plan.assessments[["qid", "docno"]].merge(judged)
    rows.to_excel(folder / "judged.xlsx", index=False)
    store, said = Store(folder / "kept.sqlite", plan.id), ("ann", "judged", "2026-01-01T00:00:00Z", "", plan.id)
    store.append([Entry(f"key-{i}", *row, *said) for i, row in enumerate(rows.itertuples(index=False, name=None))])
    store.close()
    pairs = [
        {"doc_id": docno, "options": {"pt_active": {"qid": qid, "docno": docno, "plan": plan.id}}}
        | {"judgements": [{"rating": label, "judge_name": "ann"}]}
        for qid, docno, label in rows.itertuples(index=False, name=None)
    ]
    (folder / "book.json").write_text(json.dumps({"name": "a book", "query_doc_pairs": pairs}))


def mutated_bytes(content: bytes, rng: random.Random) -> bytes:
    """A file with something wrong in it, or another kind of file in its place."""
    if rng.random() < 0.9:
        return damaged(content, np.random.default_rng(rng.randrange(2**32)), BYTES)
    return rng.choice([*OTHER_FILES, gzip.compress(content), gzip.compress(content)[:30]])


def mutated_words(words: list[str], rng: random.Random) -> list[str]:
    """Words of which one is missing, another, or there twice; the command stays, and no word has a NUL."""
    where = rng.randrange(1, len(words))
    other = rng.choice([rng.choice(TOKENS), rng.choice(ODD_PATHS)]).replace("\x00", rng.choice(["", "\x01"]))
    name, sign, _ = words[where].partition("=")
    new = rng.choice(
        [[], [other], [f"{name}{sign}{other}"], [words[where], other], [words[where], rng.choice(words[1:])]]
    )
    return [*words[:where], *new, *words[where + 1 :]]


def trial(seed: int, world: Path, folder: Path) -> list[str]:
    """Fill a folder with the world's files, one to three things changed, and return the words to type."""
    rng = random.Random(seed)
    shutil.copytree(world, folder, symlinks=True)
    words = rng.choice(COMMANDS).split()
    used = {part for word in words for part in word.split("=")}
    files = sorted(folder / name for name in used if (folder / name).is_file())
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if files and rng.random() < 0.6:
            path = rng.choice(files)
            path.write_bytes(mutated_bytes(path.read_bytes(), rng))
        else:
            words = mutated_words(words, rng)
    return words


def contents(folder: Path) -> dict[str, int]:
    """Path → size of everything in a folder."""
    return {str(path.relative_to(folder)): path.lstat().st_size for path in folder.rglob("*")}


def complaints(words: list[str], folder: Path, codes: tuple[int, ...] = (0, 2)) -> list[str]:
    """What is wrong with how a command ends; an empty list if it ends well, with one of some exit codes."""
    before, start = contents(folder), time.process_time()
    faulthandler.dump_traceback_later(120, exit=True)  # if it hangs
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, words)
    faulthandler.cancel_dump_traceback_later()
    spent, after = time.process_time() - start, contents(folder)
    said = PROGRESS.sub("", result.stderr)
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    failed = result.exit_code == 2
    one_line = len(lines) == 1 and lines[0].startswith("error: ") and len(lines[0]) <= 3000
    wrongs = {
        f"took {spent:.1f} s": spent > SECONDS_EACH,
        f"exit {result.exit_code}": result.exit_code not in codes,
        "prints control characters": visible(result.stdout + said) != result.stdout + said,
        "prints a traceback": "Traceback" in result.output,
        f"{len(lines)} lines on stderr": failed and not one_line,
        "prints an answer and fails": failed and result.stdout,
        f"writes {sorted(after.keys() - before.keys())} and fails": failed and after != before,
        "prints no answer": result.exit_code == 0 and not result.stdout.strip(),
        "prints no JSON object": result.exit_code == 0 and words[-1] == "--json" and result.stdout[:1] != "{",
    }
    wrong = [what for what, holds in wrongs.items() if holds]
    if wrong:
        wrong.append(result.stderr[-1500:])
        if result.exit_code == 1:
            wrong.append("".join(traceback.format_exception(result.exception))[-1500:])
    return wrong


def fuzz(seed: int, world: Path) -> list[str]:
    """What is wrong with how a changed command ends, and the command; empty if nothing."""
    with tempfile.TemporaryDirectory() as folder:
        words = trial(seed, world, Path(folder) / "w")
        wrong = complaints(words, Path(folder) / "w")
    return [f"seed {seed}: {' '.join(words)[:300]!r}: " + "\n".join(wrong)] if wrong else []


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


def test_the_commands_succeed_on_whole_files(world: Path, tmp_path: Path) -> None:
    for number, line in enumerate(COMMANDS):
        folder = tmp_path / str(number)
        shutil.copytree(world, folder, symlinks=True)
        assert complaints(line.split(), folder, codes=(0,)) == [], line


def test_mutated_files_and_arguments_end_in_an_answer_or_one_message(world: Path) -> None:
    assert [said for seed in range(INPUTS) for said in fuzz(seed, world)] == []


def test_an_answer_that_cannot_be_printed_fails_in_one_line(world: Path) -> None:
    nobody, pipe = os.pipe()
    os.close(nobody)
    for line, out, message in (
        ("status plan judged.csv", os.open("/dev/full", os.O_WRONLY), "standard output: No space left on device"),
        ("--version", pipe, "Broken pipe"),
    ):
        how = {"cwd": world, "stdout": out, "stderr": subprocess.PIPE, "text": True, "timeout": 120}
        said = subprocess.run([sys.executable, "-m", "pt_active", *line.split()], **how).stderr.splitlines()
        assert [each for each in said if not each.startswith("warning: ")] == [f"error: {message}"]
        os.close(out)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no list of loaded libraries")
@pytest.mark.parametrize("library", ["_multiarray_umath", pytest.param("llvmlite", marks=pytest.mark.slow)])
def test_ctrl_c_ends_in_one_line_even_during_imports(world: Path, library: str) -> None:
    runs = ["--run", "a=a.run", "--run", "b=b.run", "--qrels", "judged.qrels"]
    words = ["-m", "pt_active", "simulate", *runs, "--measure", "DCG@5", "--repetitions", "900000"]
    piped = {"cwd": world, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    listens = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([sys.executable, *words], preexec_fn=listens, **piped)
    while process.poll() is None and library not in Path(f"/proc/{process.pid}/maps").read_text():
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    answer, said = process.communicate(timeout=120)
    # Python lets the signal itself end a module that was interrupted within ``exec``; shells call both 130.
    assert process.returncode in (130, -signal.SIGINT)
    assert answer == ""
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said


def test_almost_nothing_is_imported_before_ctrl_c_ends_in_one_line() -> None:
    code = "import sys; known = set(sys.modules); import pt_active.__main__; print(*set(sys.modules) - known)"
    answer = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert {"typing", "re", "enum", "signal", "collections", "functools"}.isdisjoint(answer.split())


def test_what_cannot_be_foreseen_is_called_a_bug(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pt_active.cli.options.LabelFiles.read", Mock(side_effect=KeyError("q\x1b[31m")))
    monkeypatch.chdir(world)
    result = CliRunner().invoke(app, ["status", "plan", "judged.csv"])
    assert (result.exit_code, result.stdout) == (70, "")
    first, *_, raised, last = result.stderr.splitlines()
    assert first.startswith("Traceback")
    assert raised.startswith("KeyError: 'q\\x1b[31m'")
    assert last.startswith("this is a bug in pt-active; please report it at https://")


NO_MEMORY = "error: there is not enough memory: "
FORESEEABLE = [
    (OSError(28, "No space left on device", "x"), "error: x: No space left on device"),
    (OSError("odd"), "error: odd"),
    (MemoryError("Unable to allocate 2 TiB"), f"{NO_MEMORY}Unable to allocate 2 TiB"),
    (RuntimeError("can't start new thread"), f"{NO_MEMORY}can't start new thread"),
    (RecursionError("too deep"), "error: RecursionError: too deep"),
    (csv.Error("field larger than field limit"), "error: field larger than field limit"),
    (zlib.error("bad"), "error: a compressed file is damaged: bad"),
    (EOFError("ended"), "error: a compressed file is damaged: ended"),
    (pyarrow.ArrowInvalid("no\nParquet"), "error: no Parquet"),
    (pyarrow.lib.ArrowKeyError("column"), "error: column"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "error: 'utf-8' codec can't decode byte 0xff"),
    (ValueError(f"label {'x' * 10**6!r} of \x1b[31m"), "error: label 'xxx"),
    (UserWarning("odd"), "error: UserWarning: odd"),
    (KeyboardInterrupt(), "interrupted"),
]


@pytest.mark.parametrize(("error", "message"), FORESEEABLE, ids=lambda each: type(each).__name__)
def test_every_foreseeable_failure_is_one_line(error, message, world, monkeypatch) -> None:
    def fails(*_: object) -> None:
        if type(error) is ValueError:  # those of this package are messages
            exec(compile("raise error", "x.py", "exec"), {"error": error, "__name__": "pt_active.x"})
        raise error

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("pt_active.cli.options.LabelFiles.read", fails)
    result = CliRunner().invoke(app, ["status", "plan", "judged.csv"])
    signal.signal(signal.SIGINT, before)
    (line,) = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (130 if isinstance(error, KeyboardInterrupt) else 2, "")
    assert line.startswith(message)
    assert len(line) < 2100
    assert visible(line) == line


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        make_world(Path(place))
        sys.exit(by_hand(__doc__, lambda seed: fuzz(seed, Path(place))))
