"""How a plan is made and stored, and how qrels become the arrays that answers are computed from."""
