"""A method is a design and an estimator."""

from __future__ import annotations

from dataclasses import dataclass

from pt_active.sampling.documents import DOCUMENT_DRAWINGS


@dataclass(frozen=True)
class Method:
    """A way to sample and to estimate.

    Attributes:
        design: A name in `designs.DESIGNS`, or for single documents in `documents.DOCUMENT_DRAWINGS`.
        estimator: A name in `estimators.ESTIMATORS` or `documents.DOCUMENT_ESTIMATORS`.
        with_replacement: How queries are drawn.
        rounds: Of judging, for documents.
    """

    design: str
    estimator: str
    with_replacement: bool = True
    rounds: int = 1

    @property
    def of_documents(self) -> bool:
        """Whether single documents are drawn."""
        return self.design in DOCUMENT_DRAWINGS


YARDSTICK = Method("passive", "snis", with_replacement=False)
"""Uniform sampling without replacement and its plain mean."""

SOURCE_YARDSTICK = Method("passive", "snis")
"""The same with replacement, as the sources sample."""
