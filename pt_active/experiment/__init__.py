"""The table of ``pt.Experiment`` for a judged sample, weighted."""

from pt_active.experiment.experiment import Experiment

__all__ = ["Experiment"]
