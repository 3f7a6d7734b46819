"""Replays of whole evaluations, and learners compared by cross-validation."""
