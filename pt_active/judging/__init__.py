"""Collecting labels: records of judgments, and the files of the tools in which people judge."""
