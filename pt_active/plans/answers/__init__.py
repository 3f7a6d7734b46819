"""What the labels of a plan answer: estimates, comparisons, rankings, stopping, budgets, checks."""
