"""What init does with answers of systems in place of runs: a pool of them, and a project file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt_active.answers.comparison import Answers
from pt_active.cli.answer import check_new
from pt_active.cli.commands import Typed, option
from pt_active.cli.files import named_file
from pt_active.cli.fits import Finding
from pt_active.frames.atomic import new_file
from pt_active.frames.checks import how_many, positive, shown


@dataclass(frozen=True)
class AnswerFiles(Typed):
    """Answers of systems to the same items."""

    answers: list[str] | None = option(
        None, "Answers of systems in place of runs: a table with item and system, or repeat NAME=FILE.", "FILE"
    )
    scale: str = option("0-1", "How people score answers: 0-1, 1-5, 0-1:0.25 or preference.", "SCALE")

    def read(self) -> Answers:
        """The answers."""
        files = self.answers or []
        if len(files) == 1 and (Path(files[0]).exists() or "=" not in files[0]):
            return Answers(files[0], self.scale)
        pairs = [named_file(each, "--answers") for each in files]
        if twice := [name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i])]:
            raise ValueError(f"--answers {twice[0]}: the name {shown(twice[0])} is taken")
        return Answers(dict(pairs), self.scale)


def project_of_answers(given: AnswerFiles, budget: float | None, folder: Path) -> tuple[list[Finding], dict[str, Any]]:
    """What was found, and the keys of the project file; the pool of the answers is kept beside the plan to be."""
    if budget is None:
        raise ValueError("pass --budget, how many answers people can judge at most")
    pool, answers = folder.with_name(f"{folder.name}-answers.parquet"), given.read()
    check_new(pool)
    level = answers.level()
    found = _findings(answers, positive("budget", budget), level)
    with new_file(pool) as unfinished:
        answers.pool.to_parquet(unfinished, index=False)
    values = {
        "measure": answers.measure,
        "budget": int(budget) if float(budget).is_integer() else budget,
        "level": level,
        "pool": pool,
    }
    return found, values | ({"grade-names": names} if (names := answers.scale.names()) else {})


def _findings(answers: Answers, budget: float, level: str) -> list[Finding]:
    table, pool = answers.table, answers.pool
    items = how_many("item", table["item"].nunique())
    runs = f", {answers.runs} runs each" if answers.runs > 1 else ""
    found = [Finding(name, f"an answer to each of {items}{runs}") for name in answers.systems]
    if len(answers.systems) == 1:
        found.append(Finding("systems", "there is only one, so nothing is compared: its mean score is estimated", True))
    if shared := len(table) - len(pool) if not answers.scale.prefers else 0:
        found.append(Finding("same", f"{how_many('answer', shared, 'is')} the same text as another's: judged once"))
    if "answer" not in table.columns:
        found.append(Finding("answers", "there are no texts, so judges see ids alone", True))
    if "cost" in table.columns:
        found.append(Finding("cost", "costs of answers count in Python (Answers.plan) and not in these commands", True))
    judges = [name for name in answers.judges if table[name].notna().any()]
    said = f"{', '.join(judges)}: steers what people score, and is not believed" if judges else "no scores of a judge"
    unit = "item with all its answers" if level == "query" else "pair of answers" if answers.scale.prefers else "answer"
    share = f"{budget:g} of {how_many('answer', len(pool))} to judge ({min(budget / len(pool), 1):.0%})"
    more = [("scale", f"people give {answers.scale}"), ("judge", said), ("unit", f"one {unit} after the other")]
    return [*found, *(Finding(*each) for each in more), Finding("budget", share, budget >= len(pool))]
