"""Judging plans: a sample of rankings is drawn, kept while people judge, and estimated from the labels."""
