"""The pairing of a design with an estimator."""

from __future__ import annotations

from dataclasses import dataclass

from pt_active.sampling.drawings import DOCUMENT_DRAWINGS


@dataclass(frozen=True)
class Method:
    """How to sample and how to estimate."""

    design: str  # A name in `designs.DESIGNS`, or for single documents in `drawings.DOCUMENT_DRAWINGS`
    estimator: str  # A name in `estimators.ESTIMATORS` or `documents.DOCUMENT_ESTIMATORS`
    with_replacement: bool = True  # Whether a query can be drawn more than once
    rounds: int = 1  # The number of rounds of judging, for single documents

    @property
    def of_documents(self) -> bool:
        """Whether single documents are drawn."""
        return self.design in DOCUMENT_DRAWINGS


YARDSTICK = Method("passive", "snis", with_replacement=False)  # Uniform sampling without replacement and its plain mean
SOURCE_YARDSTICK = Method("passive", "snis")  # Uniform sampling with replacement and its plain mean, as in the sources
