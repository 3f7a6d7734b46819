"""What can be answered with the labels of a plan: estimates, comparisons, rankings, stopping, budgets, checks."""
