"""Whole evaluations run many times, and learners compared by cross-validation."""
