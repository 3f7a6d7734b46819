"""Where to spend the budget, and what was drawn. This folder works on arrays, not on frames."""
