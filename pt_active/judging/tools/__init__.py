"""Judging tools: what each gets, and what it gives back."""
