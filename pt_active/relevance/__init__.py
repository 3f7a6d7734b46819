"""What a label is worth, what it costs, and what is believed of it beforehand."""
