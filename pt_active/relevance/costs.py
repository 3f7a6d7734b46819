"""What a judgment costs: one positive number a document, and an overhead a query.

A cost reads columns and returns numbers; it never changes a frame. Costs are in the user's own unit: documents,
minutes, money. The budget of a plan is in the same unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Cost(Protocol):
    """What a plan needs to know of a labelling cost.

    Attributes:
        per_query: The fixed cost of opening a query, in the unit of the documents' costs.
    """

    @property
    def per_query(self) -> float:
        """The fixed cost of opening a query."""

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """Cost of judging each document.

        Args:
            columns: The frame's columns for the documents that the measure sees.
            query: int64[N], the query that each document belongs to, from 0.

        Returns:
            float64[N], positive.

        Raises:
            ValueError: If a cost would be missing, infinite, zero or negative.
        """


@dataclass(frozen=True)
class UnitCost:
    """Each document costs 1.

    Args:
        per_query: Overhead of opening a query, in documents.
    """

    per_query: float = 0.0

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """Ones, float64[N]; see `Cost.document_costs`."""
        return np.ones(len(query))


@dataclass(frozen=True)
class ColumnCost:
    """A column of the frame holds the cost of each document.

    Args:
        column: Its name.
        per_query: Overhead of opening a query, in the column's unit.
    """

    column: str = "doc_cost"
    per_query: float = 0.0

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """The column's numbers, float64[N]; see `Cost.document_costs`."""
        return _positive(columns, self.column, _column(columns, self.column))


@dataclass(frozen=True)
class LogLengthCost:
    """Proportional to the logarithm of the document's length; the average query costs 1 [T 6.4].

    A document of n words costs ``log(1 + n)`` (an empty one counts as one word), divided by the mean over
    queries of the sum over their documents.

    Args:
        column: Text, whose words are counted, or a length in numbers.
        per_query: Overhead of opening a query, in average queries.
    """

    column: str = "text"
    per_query: float = 0.0

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """Scaled log lengths, float64[N]; see `Cost.document_costs`."""
        values = _column(columns, self.column)
        if not np.issubdtype(values.dtype, np.number):
            values = np.array([len(text.split()) if isinstance(text, str) else np.nan for text in values])
        length = _number(columns, self.column, values)
        if (length < 0).any():
            raise ValueError(f"column {self.column!r}: lengths must not be negative, got {length.min()}")
        cost = np.log1p(np.maximum(length, 1.0))
        return cost * (len(np.unique(query)) / cost.sum())


@dataclass(frozen=True)
class TimeCost:
    """Hours of judging, from the seconds that a document and the opening of a query take.

    Args:
        seconds_per_document: To read and label one document.
        seconds_per_query: To understand what a query asks for, before its first document.

    Raises:
        ValueError: If a document takes no time, or a query less than none.
    """

    seconds_per_document: float
    seconds_per_query: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.seconds_per_document) and self.seconds_per_document > 0):
            raise ValueError(f"seconds_per_document must be a positive number, got {self.seconds_per_document}")
        if not (np.isfinite(self.seconds_per_query) and self.seconds_per_query >= 0):
            raise ValueError(
                f"seconds_per_query must be a finite number and not negative, got {self.seconds_per_query}"
            )

    @property
    def per_query(self) -> float:
        """Hours for opening a query."""
        return self.seconds_per_query / 3600

    def document_costs(self, columns: Mapping[str, np.ndarray], query: np.ndarray) -> np.ndarray:
        """Hours of each document, float64[N]; see `Cost.document_costs`."""
        return np.full(len(query), self.seconds_per_document / 3600)


def check_per_query(cost: Cost) -> float:
    """The overhead of a query.

    Raises:
        ValueError: If it is negative or not a finite number, or that is no cost.
    """
    if isinstance(cost, type) or not (hasattr(cost, "per_query") and hasattr(cost, "document_costs")):
        raise ValueError(f"cost must be a labelling cost, such as UnitCost() or ColumnCost('minutes'), got {cost!r}")
    if not (np.isfinite(cost.per_query) and cost.per_query >= 0):
        raise ValueError(f"per_query must be a finite number and not negative, got {cost.per_query}")
    return float(cost.per_query)


def unit_of(cost: str) -> str:
    """``" hours"`` of a `TimeCost`, to stand behind a number; empty of others, whose unit is the user's own.

    Args:
        cost: Its ``repr``, as manifests hold it.
    """
    return " hours" if cost.startswith(f"{TimeCost.__name__}(") else ""


def _column(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in columns:
        raise ValueError(f"the cost needs a column {name!r}; the frame has {', '.join(map(str, columns))}")
    return np.asarray(columns[name])


def _number(columns: Mapping[str, np.ndarray], name: str, values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float64)
    wrong = ~np.isfinite(values)
    if wrong.any():
        example = columns["docno"][np.argmax(wrong)]
        raise ValueError(f"column {name!r}: {int(wrong.sum())} documents have no finite value, such as {example!r}")
    return values


def _positive(columns: Mapping[str, np.ndarray], name: str, values: np.ndarray) -> np.ndarray:
    values = _number(columns, name, values)
    wrong = values <= 0
    if wrong.any():
        example = columns["docno"][np.argmax(wrong)]
        raise ValueError(
            f"column {name!r}: costs must be positive; {int(wrong.sum())} are not, such as that of {example!r}"
        )
    return values
