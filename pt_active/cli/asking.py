"""What does a user answer whom ``pt-active init`` asks? Each answer is checked at once, and asked for until it fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from pt_active.cli.collection import PoolFiles
from pt_active.cli.command_line import command_line
from pt_active.cli.failures import in_one_line
from pt_active.cli.fits import Files, check_past, highest_grade, of_shared_queries, of_texts, of_topics
from pt_active.cli.pools import read_judges, read_runs, run_files
from pt_active.frames.checks import ArgumentError, Named, positive, shown, whole_number
from pt_active.frames.qrels import HIGHEST_LABEL
from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.frames.visible import visible
from pt_active.relevance.measures import parse_measure


@dataclass
class Asked:
    """The answers so far, with the files that they name.

    Attributes:
        proposed: The measure that is proposed.
        source: The files.
        files: What they hold.
        measure: The measure; None until it is answered.
        budget: How many documents people can judge; None until it is answered.
    """

    proposed: str
    source: PoolFiles = field(default_factory=PoolFiles)
    files: Files = field(default_factory=lambda: Files({}, None, None, None, None))
    measure: str | None = None
    budget: float | None = None

    @property
    def command(self) -> str:
        """The command that says all that was answered."""
        given = {"--measure": self.measure, "--budget": None if self.budget is None else f"{self.budget:g}"}
        words = [word for option, value in given.items() if value is not None for word in (option, value)]
        return command_line("init", *self.source.words(), *words)

    def ask(self) -> None:
        """Ask for everything."""
        while _answer(f"Run {len(self.files.runs) + 1} to compare, NAME=FILE{self._may_end}", self._run):
            pass
        _answer("Topics, a file or irds:ID (empty: none)", self._topics)
        _answer("Texts of the documents, a file or irds:ID (empty: none)", self._texts)
        if _answer("Past judgments of people, qrels (empty: none)", self._qrels):
            _answer("The run that they judge (empty: the runs above)", self._past)
        elif not _answer("Labels of an LLM or another judge (empty: none)", self._judge):
            _answer("The highest grade", self._highest, "3")
        _answer("Measure", self._measure, self.proposed)
        _answer("How many documents can people judge", self._budget, "300")

    @property
    def _may_end(self) -> str:
        return " (empty: no more)" if self.files.runs else ""

    def _run(self, given: str) -> None:
        if not given:
            if not self.files.runs:
                raise ValueError("at least one run is needed")
            return
        entry = given if "=" in given else f"{Path(given).name.partition('.')[0]}={given}"
        source = replace(self.source, run=[*(self.source.run or []), entry])
        run_files(source.run or [])
        source.check()
        files = replace(self.files, runs=self.files.runs | read_runs([entry]))
        of_shared_queries(files, allowed=False)
        self.source, self.files = source, files

    def _topics(self, given: str) -> None:
        if given:
            files = replace(self.files, topics=read_topics(given))
            of_topics(files, given)
            self.source, self.files = replace(self.source, topics=Path(given)), files

    def _texts(self, given: str) -> None:
        if given:
            docnos = self.files.documents["docno"].unique()
            files = replace(self.files, texts=read_texts(given, docnos=docnos))
            of_texts(files, files.documents["docno"].drop_duplicates(), given)
            self.source, self.files = replace(self.source, texts=Path(given)), files

    def _qrels(self, given: str) -> None:
        if given:
            qrels = read_qrels(given)
            if qrels.empty:
                raise ValueError(f"{given}: no document has a label")
            self.source, self.files = replace(self.source, train_qrels=Path(given)), replace(self.files, qrels=qrels)

    def _past(self, given: str) -> None:
        source, files = self.source, self.files
        if given:
            source, files = replace(source, train_run=[Path(given)]), replace(files, past=read_run(given))
        check_past(files, source)
        self.source, self.files = source, files

    def _judge(self, given: str) -> None:
        if given:
            self.files = replace(self.files, judges=read_judges([given]))
            self.source = replace(self.source, judge=[given])

    def _highest(self, given: str) -> None:
        highest = whole_number("max_grade", int(_number(given)), 1, HIGHEST_LABEL)
        self.source = replace(self.source, max_grade=highest)

    def _measure(self, given: str) -> None:
        parse_measure(given, highest_grade(self.files, self.source))
        self.measure = given

    def _budget(self, given: str) -> None:
        self.budget = float(positive("budget", _number(given)))


def _number(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"expected a number, got {shown(given)}") from None


def _answer(question: str, take: Callable[[str], None], proposed: str = "") -> str:
    """An answer that fits, asked for until there is one."""
    while True:
        about: dict[str, Any] = {"default": proposed, "show_default": bool(proposed), "err": True}
        given = str(typer.prompt(question, **about)).strip()
        try:
            take(given)
        except FileNotFoundError as error:
            typer.echo(f"there is no file {visible(str(error.filename))}", err=True)
        except (ValueError, OSError) as error:
            told = error.told(_option) if isinstance(error, ArgumentError) else str(error)
            typer.echo(in_one_line(told), err=True)
        else:
            return given


def _option(named: Named) -> str:
    return "--lenient" if named.name == "on_error" else f"--{named.name.replace('_', '-')}"
