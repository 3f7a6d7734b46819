"""From two run files to a decision with ``pt-active`` alone: the transcript in the README.

The files come from the simulated collection, whose judgments stand in for human ones. Some output is left out.

    python examples/transcript.py                       # print it
    python examples/transcript.py --readme README.md    # write it into the README
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.demo.collection import demo_collection

FILES = (
    "--run new=new.run --run old=old.run --topics topics.tsv --texts texts.tsv \\\n"
    "    --train-run past.run --train-qrels past.qrels --measure nDCG@10 --budget 2000"
)
STEPS = (
    (f"init {FILES}", ()),
    ("plan", ("  cost",)),
    ("export --out my-plan.csv --format csv", ()),
    ("status", ("new is better", "  judged")),
)
"""Commands, and the beginnings of the output lines that are shown."""

COMES_IN = {2: (2000, "# people fill in the labels")}
"""Number of a step → how many labels there are after it, and what the transcript says about them."""

BLOCK = re.compile(r"(<!-- transcript: begin -->\n```text\n).*?(```\n<!-- transcript: end -->)", re.DOTALL)


def write_files() -> pd.DataFrame:
    """Write runs, topics, texts and past judgments into the current folder.

    Returns:
        ``qid, docno, label``: the simulated human judgments.
    """
    collection = demo_collection()
    for name, run in (
        ("new", collection.runs["candidate"]),
        ("old", collection.runs["production"]),
        ("past", collection.past_run),
    ):
        lines = run.assign(iteration="Q0", tag=name)[["qid", "iteration", "docno", "rank", "score", "tag"]]
        lines.to_csv(f"{name}.run", sep=" ", header=False, index=False)
    qrels = collection.past_qrels.assign(iteration=0)[["qid", "iteration", "docno", "label"]]
    qrels.to_csv("past.qrels", sep=" ", header=False, index=False)
    collection.topics.to_csv("topics.tsv", sep="\t", header=False, index=False)
    collection.documents.to_csv("texts.tsv", sep="\t", header=False, index=False)
    return collection.qrels


def judge(worklist: Path, truth: pd.DataFrame, number: int) -> None:
    """Fill in the first labels of a worklist with the true ones."""
    asked = pd.read_csv(worklist, dtype=str, keep_default_na=False).drop(columns="label")
    judged = asked.merge(truth, how="left", on=["qid", "docno"]).fillna({"label": 0}).astype({"label": int})
    judged["label"] = judged["label"].astype(str).where(judged.index < number, "")
    judged.to_csv(worklist, index=False)


def transcript() -> str:
    """The commands and their output.

    Raises:
        RuntimeError: If a command fails.
    """
    shown = []
    with in_new_folder():
        truth = write_files()
        for step, (typed, starts) in enumerate(STEPS):
            result = CliRunner().invoke(app, shlex.split(typed.replace("\\\n", "")))
            if result.exit_code:
                raise RuntimeError(f"pt-active {typed}: {result.output}")
            shown.append(f"$ pt-active {typed}")
            shown += [line for line in result.stdout.splitlines() if line.startswith(starts)]
            if step in COMES_IN:
                number, said = COMES_IN[step]
                judge(Path("my-plan.csv"), truth, number)
                shown.append(said)
    return "\n".join(shown) + "\n"


@contextlib.contextmanager
def in_new_folder() -> Iterator[None]:
    """Work in a temporary folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def main() -> None:
    """Print the transcript, or write it into the README."""
    parser = argparse.ArgumentParser(description="The README's transcript")
    parser.add_argument("--readme", type=Path, help="the file to write it into")
    readme = parser.parse_args().readme
    text = transcript()
    if readme is None:
        print(text, end="")
    else:
        page = readme.read_text(encoding="utf-8")
        readme.write_text(BLOCK.sub(lambda match: match[1] + text + match[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
