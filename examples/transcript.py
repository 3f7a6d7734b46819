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

RUNS = "--run new=new.run --run old=old.run --train-run past.run --train-qrels past.qrels --measure DCG@10"
STATUS = ("  estimate", "  interval", "  judged", "  evidence", "  answer")
STEPS = (
    (f"budget {RUNS} \\\n    --difference 0.5 --until-known", ("   level", "document")),
    (f"plan {RUNS} \\\n    --budget 1275 --out release-7", ("  judge", "  cost", "  chosen")),
    ("export release-7 --out judge-me.csv --format csv --order drawn", ("1275 documents",)),
    ("status release-7 judged.csv", STATUS),
    ("status release-7 judged.csv", STATUS),
    ("report release-7 judged.csv --so-far --out release-7.html", ("The report",)),
)
"""Commands, and the beginnings of the output lines that are shown."""

COMES_IN = {
    2: (300, "# people judge from the top of the list; the first 300 labels come back as judged.csv"),
    3: (900, "# and 600 more"),
}
"""Number of a step → how many labels there are after it, and what the transcript says of them."""

BLOCK = re.compile(r"(<!-- transcript: begin -->\n```text\n).*?(```\n<!-- transcript: end -->)", re.DOTALL)


def write_files() -> pd.DataFrame:
    """Write runs and past judgments into the current folder.

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
    return collection.qrels


def judge(worklist: Path, truth: pd.DataFrame, number: int, out: Path) -> None:
    """Fill in the first labels of a worklist with the true ones."""
    asked = pd.read_csv(worklist, dtype={"qid": str, "docno": str}).drop(columns="label").head(number)
    asked.merge(truth, how="left", on=["qid", "docno"]).fillna({"label": 0}).astype({"label": int}).to_csv(out)


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
                judge(Path("judge-me.csv"), truth, number, Path("judged.csv"))
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
