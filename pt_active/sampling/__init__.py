"""Where the budget is spent, and what was drawn. Arrays only, no frames."""
