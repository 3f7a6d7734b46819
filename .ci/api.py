"""Writes the page of the API, ``pt_active/pt_docs/api.md``, from signatures and docstrings.

    python .ci/api.py

A new public name goes into `NAMES`, a module that is worth knowing into `MODULES`; a test fails while the page differs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pt_active

PAGE = Path(__file__).parents[1] / "pt_active" / "pt_docs" / "api.md"

NAMES = {
    "Measures": """
        DCG
        ERR
        parse_measure
        measure_values
    """,
    "Rankings and grades": """
        Runs
        UniformGrades
        PriorGrades
        OrderedLogitGrades
        ForestGrades
        JudgeGrades
        ColdGrades
        MixtureGrades
        OrderedLogitGrades.fit
        GradeReport.of
        GradeReport.cross_validated
    """,
    "Answers": """
        Answers
        Answers.plan
        Answers.labels
    """,
    "Costs": """
        UnitCost
        LogLengthCost
        ColumnCost
    """,
    "Design, draw, plan": """
        SamplingDistribution
        Draw
        plan_of
        Plan
        Plan.create
        Plan.save
        Plan.load
        Plan.export
        Plan.estimate
        Plan.compare
        Plan.rank
        Plan.certificate
        Plan.gate
        Plan.status
        Plan.agreement
        Plan.report
        Plan.extend
        Plan.so_far
        Plan.with_rankers
        Plan.judged
        Plan.topics
        Plan.assessments
        Plan.plot
    """,
    "Budgets": """
        Outlook.of
        Outlook.of_plan
        Outlook.table
        Outlook.until_known
        Outlook.budget_for
    """,
    "Results": """
        Estimate
        Estimate.confidence_interval
        Comparison
        Comparison.to_frame
        Ranking
        Ranking.pairs
        GradeReport
        Status
        Report.of
        Report.headline
        Report.save
        ModelCheck.of
        Experiment
    """,
    "Audits": """
        Audit
        Audit.create
        Audit.estimate
        Audit.compare
        Audit.rank
    """,
    "Testing in rounds": """
        ActiveTest
        ActiveTest.create
        ActiveTest.next_round
        ActiveTest.estimate
    """,
    "Learning algorithms": """
        compare_learners
        LearnerComparison
    """,
}
"""Heading → the names below it, a line each."""

WITHOUT_ARGUMENTS = {"DCG", "ERR"}
"""Measures, which are written as in `ir_measures`."""

RESULTS = {"Estimate", "Comparison", "Ranking", "GradeReport", "Status", "Gate", "LearnerComparison"}
"""Answers, which nobody makes by hand."""

MODULES: dict[str, str] = {
    "pt_active.frames.trec": "read_run read_qrels",
    "pt_active.frames.topics": "read_topics read_texts",
    "pt_active.frames.worklists": "write_assessments",
    "pt_active.judging.records": "write_records qrels_of",
    "pt_active.judging.files": "import_records read_labels write_worklist",
    "pt_active.demo": "demo_collection DemoCollection.judge",
    "pt_active.relevance.grades.recalibration": "recalibrated_grades",
    "pt_active.sampling.designs": "sampling_distribution",
    "pt_active.sampling.draws": "draw_to_budget",
    "pt_active.risk": "Audit ZeroOne Accuracy Squared GaussianSquared CostMatrix FMeasure Precision Recall F1",
    "pt_active.logs": "sample_queries",
    "pt_active.rounds": "ActiveTest CrossEntropy AUC AP",
    "pt_active.judging.server.store": "stored_records",
    "pt_active.studies.simulate": "labelled_population simulate",
}
"""Module → its names that pages use; CONTRIBUTING.md names the registries."""

HEAD = """\
# API

*Which public names are there, and with which arguments?* Each row has a name of `pt_active`, its signature, and the
first sentence of its docstring. `help(pt_active.Plan.create)` has types, units and errors, and `help(pt_active.Status)`
the fields of a result. `python .ci/api.py` makes the page.
"""

MODULES_HEAD = """\
## Modules worth knowing

`import pt_active` does not give these names; import them from their module.

| module | names |
|---|---|
"""


def summary(thing: object) -> str:
    """The first sentence of a docstring, as Markdown on one line."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
    return re.split(r"(?<=\.) (?=[A-Z])", first)[0].replace("|", "\\|")


def signature(name: str, thing: object) -> str:
    """The signature without types; empty for what nobody calls."""
    if name in RESULTS | WITHOUT_ARGUMENTS or not callable(thing):
        return ""
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
        if each.name != "self"
    ]
    return str(inspect.Signature(parameters))


def sections() -> Iterator[str]:
    """The tables of public names."""
    for heading, names in NAMES.items():
        yield f"## {heading}\n\n| name | what it is |\n|---|---|"
        for name in names.split():
            thing = attrgetter(name)(pt_active)
            yield f"| `{name}{signature(name, thing)}` | {summary(thing)} |"
        yield ""


def modules() -> Iterator[str]:
    """The rows of the table of modules.

    Raises:
        AttributeError: If a module does not have a name.
    """
    for path, names in MODULES.items():
        module = import_module(path)
        for name in names.split():
            attrgetter(name)(module)
        listed = ", ".join(f"`{name}`" for name in names.split())
        yield f"| `{path}` | {listed} |"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *sections(), MODULES_HEAD + "\n".join(modules())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
