"""Judging single documents instead of whole queries: which, how drawn, and what their labels say [theory 9]."""
