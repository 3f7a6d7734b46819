"""Runs larger than memory: partitions of whole queries stream through, and what is kept is a few numbers of each.

Needs the extra ``logs`` (Polars), and ``dask`` for `pt_active.logs.on_dask`.
"""

from pt_active.logs.scan import ScannedRuns, scan

__all__ = ["ScannedRuns", "scan"]
