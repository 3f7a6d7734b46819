"""Graded-relevance models: P(grade | query, document)."""
