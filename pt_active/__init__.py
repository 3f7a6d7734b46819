"""Active evaluation of rankers: which is better, and by how much, from few human judgments."""
