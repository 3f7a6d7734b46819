"""From pools and budgets to a plan on disk, and from qrels to the arrays that answers are computed from."""
