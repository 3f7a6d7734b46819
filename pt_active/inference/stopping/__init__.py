"""How many labels are enough: boundaries for repeated looks, error curves and topic set sizes."""
