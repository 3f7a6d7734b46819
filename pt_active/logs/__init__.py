"""Samples of the queries of logs that are larger than memory, by their traffic."""

from pt_active.logs.sample import QuerySample, drawn_in_order, sample_queries

__all__ = ["QuerySample", "drawn_in_order", "sample_queries"]
