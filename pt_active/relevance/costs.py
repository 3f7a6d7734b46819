"""What a judgment costs: a positive number for each document, and an overhead for each query.

A cost reads columns and returns numbers; it never changes a frame. Costs are in the user's own unit: documents,
minutes, money. The budget of a plan is in the same unit. A new cost is a class below and an entry in `COSTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown, some


class Cost(Protocol):
    """A labelling cost, as plans and audits use it.

    A cost may also have an attribute ``unit``, the name of what it counts (see `unit_of`), and an attribute ``column``,
    the name of the column that it reads.
    """

    @property
    def per_query(self) -> float:
        """The fixed cost of opening a query, in the unit of the documents' costs."""

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """The cost of judging each document.

        Args:
            columns: The columns of the pool, N values each, for the documents that the measure depends on.
            query: int64[N], the index of each document's query, from 0.

        Returns:
            float64[N], positive.

        Raises:
            ValueError: If a cost is missing, infinite, zero or negative.
        """


@dataclass(frozen=True)
class UnitCost:
    """Each document costs 1.

    Args:
        per_query: Overhead of opening a query, in documents.
    """

    per_query: float = 0.0

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """float64[N], all 1."""
        return np.ones(len(query))


@dataclass(frozen=True)
class ColumnCost:
    """The cost of each document is given in a column of the frame.

    Args:
        column: The name of the column.
        per_query: Overhead of opening a query, in the column's unit.
    """

    column: str = "doc_cost"
    per_query: float = 0.0

    @property
    def unit(self) -> str:
        """What the column counts, by its name; the usual one says nothing."""
        return "units of cost" if self.column == "doc_cost" else self.column

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """float64[N], the values of the column.

        Raises:
            ValueError: If there is no such column, or a value is not a positive, finite number.
        """
        values = _numbers(columns, self.column)
        if (wrong := values <= 0).any():
            raise ValueError(
                f"column {shown(self.column)}: costs must be positive; {how_many('cost', int(wrong.sum()), 'is')} not, "
                f"such as that of {shown(columns['docno'][np.argmax(wrong)])}"
            )
        return values


@dataclass(frozen=True)
class LogLengthCost:
    """The cost of a document is proportional to the logarithm of its length; the average query costs 1 [T 6.4].

    A document of n words costs ``log(1 + n)``, divided by the average total of a query. An empty document counts as
    one word.

    Args:
        column: The name of a column of texts, whose words are counted, or of lengths.
        per_query: Overhead of opening a query, as a multiple of the documents of an average query.
    """

    unit: ClassVar[str] = "average queries"

    column: str = "text"
    per_query: float = 0.0

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """float64[N], the scaled logarithms of the lengths.

        Raises:
            ValueError: If there is no such column, or a length is missing or negative.
        """
        length = _numbers(columns, self.column, texts=True)
        if (length < 0).any():
            raise ValueError(f"column {shown(self.column)}: lengths must not be negative, got {length.min()}")
        cost = np.log1p(np.maximum(length, 1.0))
        return cost * (len(np.unique(query)) / cost.sum())


COSTS: dict[str, type[Any]] = {
    "unit": UnitCost,
    "log-length": LogLengthCost,
    "column": ColumnCost,
}
"""The costs by name, each of which can be made from ``per_query`` alone."""


def check_per_query(cost: Cost) -> float:
    """The overhead of opening a query, in the unit of the cost."""
    if isinstance(cost, type) or not (hasattr(cost, "per_query") and hasattr(cost, "document_costs")):
        raise ValueError(
            f"cost must be a labelling cost, such as UnitCost() or ColumnCost('minutes'), got {shown(cost)}"
        )
    if not (np.isfinite(cost.per_query) and cost.per_query >= 0):
        raise ValueError(f"per_query must be a finite number and not negative, got {cost.per_query}")
    return float(cost.per_query)


def unit_of(cost: Cost) -> str:
    """What a cost counts, such as ``hours``; empty if it has no attribute ``unit`` that says so."""
    return str(getattr(cost, "unit", ""))


def _numbers(columns: Mapping[str, np.ndarray], name: str, texts: bool = False) -> np.ndarray:
    """float64[N], a column of finite numbers, or of texts, whose words are counted."""
    if name not in columns:
        raise ValueError(f"the cost needs a column {shown(name)}; the frame has {', '.join(map(str, columns))}")
    values = np.asarray(columns[name])
    if texts and not np.issubdtype(values.dtype, np.number):
        values = np.array([len(text.split()) if isinstance(text, str) else np.nan for text in values])
    values = values.astype(np.float64)
    wrong = ~np.isfinite(values)
    if wrong.any():
        such = pd.unique(columns["docno"][wrong])
        what = "text" if texts else "finite value"
        raise ValueError(f"column {shown(name)}: {how_many('document', len(such), 'has')} no {what}: {some(such)}")
    return values
