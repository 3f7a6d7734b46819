"""Everything that a plan and its labels say, for people who were not there: one HTML file, or plain data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.inference.methods import YARDSTICK
from pt_active.plans.answers.contributions import Contributions
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.answers.outlook import GRID, Outlook, own_method
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.words import answer_in_words, status_in_words
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.slices import slices as slices_of
from pt_active.plans.answers.status import Status
from pt_active.plans.making.artifact import Printed, plain_rows
from pt_active.plans.making.rankers import named_pair
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import kept_unit
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.chances import Clipped

BINS = 8
"""Classes of queries, by cost and by expected performance."""

HEAVIEST = 10
"""Largest weights that are listed."""

NAMED = 10
"""Queries whose deciding documents are listed."""

_SLICE_COLUMNS = (
    *("column", "value", "queries", "share", "name", "estimator", "judged"),
    *("estimate", "standard_error", "low", "high", "note"),
)


@dataclass(frozen=True)
class Report(Printed):
    """What a plan and its labels say.

    Attributes:
        answer: In one sentence.
        result: An estimate of one ranker, a comparison of two, or a ranking of more.
        estimates: ``name, estimate, standard_error, low, high``: the difference, or each ranker.
        budget: `Outlook.table` of plain random queries and of the plan's way to sample, with the plan's labels as the
            pilot; empty where `budget_note` says why.
        budget_note: Why there is no budget curve; empty if there is one.
        design: ``axis, low, high, queries, drawn, chance, chance_of``: classes of queries by what they cost and by what
            the model expects of them; ``chance`` is the mean of what ``chance_of`` says.
        contributions: The estimate taken apart: of the one ranker, the two compared, or the two that stand first.
        contrast: What that is, in words.
        check: Of the grade model, on the plan's measure.
        slices: One row a group of queries, and a ranker if there are more than two.
        manifest: Of the plan.
        status: Of the judging, where the labels are those so far; its sentence is the answer.
    """

    answer: str
    result: Estimate | Comparison | Ranking
    estimates: pd.DataFrame
    budget: pd.DataFrame
    budget_note: str
    design: pd.DataFrame
    contributions: Contributions
    contrast: str
    check: ModelCheck
    slices: pd.DataFrame
    manifest: dict[str, Any]
    status: Status | None = None

    @classmethod
    def of(
        cls,
        plan: Plan,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | None = None,
        estimator: str = "regression",
        confidence: float = 0.95,
        missing: str = "error",
        *,
        slices: Sequence[str] = (),
        first: str | None = None,
        second: str | None = None,
        status: Status | None = None,
    ) -> Report:
        """Gather what there is to say.

        Args:
            plan: Of queries or of documents.
            qrels: Its labels, of all rounds.
            measure: Another measure than the plan's; budget curve and model check stay with the plan's own.
            estimator: As for `Plan.estimate`, like the arguments after it.
            confidence: Of all intervals.
            missing: What to do about missing labels.
            slices: Columns of ``plan.queries`` by which to look at groups of queries.
            first: A ranker, to compare two of more; see `Plan.compare`.
            second: Another.
            status: What `Plan.status` says of these labels, which need to be those so far only: the report is then of
                `Plan.so_far`, and its answer is that of the status, whose interval holds however often one has looked.

        Raises:
            ValueError: As `Plan.estimate` and `slices.slices` do, or if the status is of something else.
        """
        if isinstance(slices, str):
            raise ValueError(f'slices must be a list of columns; write slices=["{slices}"]')
        wanted = plan.measure if measure is None else parse_measure(measure, plan.tables.pool.max_grade)
        how = (wanted, estimator, confidence, missing)
        plan = plan if status is None else plan.so_far(qrels)
        result = _result(plan, qrels, how, first, second)
        _check_status(status, result)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            budget, budget_note = _budget(plan, qrels, estimator, confidence, missing)
            pair = _pair(plan, result)
            whole = pair if isinstance(result, Comparison) else None
            groups = [s for c in slices for s in slices_of(plan, qrels, c, whole, *how)]
            contrast = _contrast(plan, pair)
            return cls(
                answer=answer_in_words(result) if status is None else status_in_words(status),
                result=result,
                estimates=_estimates(result),
                budget=budget,
                budget_note=budget_note,
                design=_design(plan, contrast if len(plan.rankers) <= 2 else _contrast(plan, None)),
                contributions=Contributions.of(plan, qrels, contrast, wanted, estimator, missing),
                contrast=_named(plan, pair),
                check=ModelCheck.of(plan, qrels, missing),
                slices=pd.DataFrame([row for s in groups for row in s.rows()], columns=_SLICE_COLUMNS),
                manifest=plan.manifest,
                status=status,
            )

    @property
    def note(self) -> str:
        """What a reader must know before trusting the result; empty if there is nothing."""
        return self.result.note

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two rankers whose difference `contributions` takes apart, first minus second; None if there is one."""
        return _compared(self.result)

    @property
    def missing(self) -> tuple[tuple[str, str], ...]:
        """The (qid, docno) pairs that were to be judged and have no label."""
        return self.result.basis.missing

    @property
    def spent(self) -> float:
        """What the judgments of the plan cost, in the unit of its cost."""
        return float(self.manifest["spent"])

    @property
    def cost_unit(self) -> str:
        """The unit of costs with a space before it, as it stands behind a number; empty if the cost names none."""
        arguments = self.manifest["arguments"]
        return kept_unit(arguments["cost"], arguments.get("cost_unit"))

    @property
    def heaviest(self) -> pd.DataFrame:
        """The largest weights, as shares of 1: of queries, or of documents where these were drawn."""
        of_documents = self.result.basis.level == "document"
        table = self.contributions.documents if of_documents else self.contributions.queries
        columns = [name for name in ("qid", "query", "docno", "label", "weight") if name in table.columns]
        return table[columns].nlargest(HEAVIEST, "weight").reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """Every number of the report, ready for JSON: NaN and infinite numbers become None."""
        basis, apart = self.result.basis, self.contributions
        return {
            "answer": self.answer,
            "note": self.note,
            "status": None if self.status is None else self.status.to_dict(),
            "result": self.result.to_dict(),
            "estimates": plain_rows(self.estimates),
            "budget": {"spent": self.spent, "note": self.budget_note, "rows": plain_rows(self.budget)},
            "design": plain_rows(self.design),
            "contributions": {"of": self.contrast, "base": apart.base, "queries": plain_rows(apart.queries)},
            "deciding_documents": plain_rows(apart.deciding(NAMED)),
            "model_check": plain_rows(self.check.to_frame())[0] | {"bins": plain_rows(self.check.bins)},
            "weights": {"n_effective": _finite(basis.n_effective), "heaviest": plain_rows(self.heaviest)},
            "slices": plain_rows(self.slices),
            "missing": {"policy": basis.missing_policy, "pairs": [list(pair) for pair in self.missing]},
            "manifest": self.manifest,
        }

    def to_html(self) -> str:
        """The page: one file that asks for no other."""
        from pt_active.plans.answers.report.page import page

        return page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to a new file.

        Returns:
            The path.

        Raises:
            FileExistsError: If the path exists.
            FileNotFoundError: If its folder does not.
        """
        path = Path(path)
        check_page(path)
        text = self.to_html()
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def __str__(self) -> str:
        return f"{self.answer}\n\n{self.result}\n\n{self.check}"


def check_page(path: Path) -> None:
    """Refuse a path at which no page can be made.

    Raises:
        FileExistsError: If the path exists.
        FileNotFoundError: If its folder does not.
    """
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another file for the report")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")


def _check_status(status: Status | None, result: Estimate | Comparison | Ranking) -> None:
    """Refuse a status of another measure or of other rankers.

    Raises:
        ValueError: With what each is of.
    """
    if status is None:
        return
    if isinstance(result, Ranking):
        raise ArgumentError("a status is of two rankers: name them as ", Argument("first"), " and ", Argument("second"))
    pair = (result.first, result.second) if isinstance(result, Comparison) else (result.name, None)
    if (status.first, status.second, status.measure) != (*pair, result.basis.measure):
        other = " − ".join(filter(None, pair))
        raise ValueError(
            f"the status is of {status.measure} of {status.what}, the report of {result.basis.measure} of {other}"
        )


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _result(
    plan: Plan, qrels: pd.DataFrame, how: tuple[Any, str, float, str], first: str | None, second: str | None
) -> Estimate | Comparison | Ranking:
    if len(plan.rankers) == 1 and first is None and second is None:
        return plan.estimate(qrels, *how)[plan.rankers[0]]
    if len(plan.rankers) > 2 and first is None and second is None:
        return plan.rank(qrels, *how)
    return plan.compare(qrels, *how, first=first, second=second)


def _pair(plan: Plan, result: Estimate | Comparison | Ranking) -> tuple[int, int] | None:
    """Indices of the two rankers that are looked at closely; None if there is one."""
    names = _compared(result)
    return None if names is None else named_pair(plan.rankers, *names)


def _compared(result: Estimate | Comparison | Ranking) -> tuple[str, str] | None:
    if isinstance(result, Estimate):
        return None
    if isinstance(result, Comparison):
        return result.first, result.second
    return result.names[0], result.names[1]


def _contrast(plan: Plan, pair: tuple[int, int] | None) -> np.ndarray:
    """float64[k]: of two rankers their difference, else the mean of all."""
    if pair is None:
        return np.full(len(plan.rankers), 1 / len(plan.rankers))
    contrast = np.zeros(len(plan.rankers))
    contrast[list(pair)] = 1.0, -1.0
    return contrast


def _named(plan: Plan, pair: tuple[int, int] | None) -> str:
    return plan.rankers[0] if pair is None else f"{plan.rankers[pair[0]]} − {plan.rankers[pair[1]]}"


def _estimates(result: Estimate | Comparison | Ranking) -> pd.DataFrame:
    if isinstance(result, Comparison):
        rows = [(f"{result.first} − {result.second}", result.difference, *_spread(result))]
    else:
        found = result.estimates if isinstance(result, Ranking) else (result,)
        rows = [(each.name, each.value, *_spread(each)) for each in found]
    return pd.DataFrame(rows, columns=["name", "estimate", "standard_error", "low", "high"])


def _spread(found: Estimate | Comparison) -> tuple[float, float, float]:
    return (found.standard_error, *found.confidence_interval())


def _budget(
    plan: Plan, qrels: pd.DataFrame, estimator: str, confidence: float, missing: str
) -> tuple[pd.DataFrame, str]:
    if plan.manifest.get("later_rankers"):
        return pd.DataFrame(), "rankers were added later, and what their documents cost is not known"
    if plan.manifest["census"]:
        return pd.DataFrame(), "everything was judged, so there is no sampling error that a budget could make smaller"
    outlook = Outlook.of_plan(plan, qrels, [YARDSTICK, own_method(plan, estimator)], missing)
    if not np.isfinite(list(outlook.optimism.values())).all():
        return pd.DataFrame(), "the model expects no error at all, so the labels cannot correct its opinion of itself"
    spent, whole = float(plan.manifest["spent"]), next(iter(outlook.curves.values())).total
    grid = sorted({spent, *(share * whole for share in GRID), *(spent * f for f in (0.5, 2.0) if spent * f < whole)})
    return outlook.table(grid, confidence=confidence), ""


def _design(plan: Plan, contrast: np.ndarray) -> pd.DataFrame:
    """Classes of queries by cost and by expectation, and how much of them was to be judged."""
    queries, (chance, chance_of) = plan.queries, _chance(plan)
    means = queries[[f"q_mean_{name}" for name in plan.rankers]].to_numpy() @ contrast
    what = "expected difference" if (contrast < 0).any() else "expected performance"
    rows = []
    for axis, values in (("cost of a query", queries["q_cost"].to_numpy(float)), (what, means)):
        known = np.isfinite(values)
        if not known.any():
            continue
        edges = np.unique(np.quantile(values[known], np.linspace(0, 1, BINS + 1)))
        number = np.searchsorted(edges[1:-1], values, side="right")
        for here in (known & (number == each) for each in np.unique(number[known])):
            drawn = int((queries["q_draws"].to_numpy()[here] > 0).sum())
            ends = float(values[here].min()), float(values[here].max())
            rows.append((axis, *ends, int(here.sum()), drawn, float(chance[here].mean()), chance_of))
    return pd.DataFrame(rows, columns=["axis", "low", "high", "queries", "drawn", "chance", "chance_of"])


def _chance(plan: Plan) -> tuple[np.ndarray, str]:
    """How much of each query was to be judged, float64[m], and what that is."""
    tables, arguments = plan.tables, plan.manifest["arguments"]
    if tables.rounds:
        query = tables.pool.query_of_document
        each = [e.sample.design.chance(query) for e in tables.rounds]
        left = np.prod([1 - chance for chance in each], axis=0)
        return np.bincount(query, weights=1 - left, minlength=len(tables.queries)), "documents to be judged"
    q, cost = tables.queries["q_prob"].to_numpy(), tables.queries["q_cost"].to_numpy(float)
    if plan.manifest["census"]:
        return np.ones(len(q)), "chance of being drawn"
    if arguments["replace"]:
        return q * int(tables.queries["q_draws"].sum()), "expected draws"
    if "cut" in plan.manifest:
        amount = plan.manifest["spent"]
    elif arguments["budget"] is None:
        amount, cost = arguments["draws"], np.ones(len(q))
    else:
        amount = arguments["budget"]
    return np.minimum(1.0, Clipped.of(q, cost).factor(float(amount)) * q), "chance of being drawn"
