"""Runs larger than memory: partitions of whole queries stream through, and what is kept is a few numbers of each.

`pt_active.logs.on_dask` needs the extra ``dask``, and `pt_active.logs.on_spark` the extra ``spark``.
"""

from pt_active.logs.scan import ScannedRuns, scan

__all__ = ["ScannedRuns", "scan"]
