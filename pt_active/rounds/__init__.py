"""Active testing in rounds: labels are drawn, learnt from, and drawn again [theory 7, AI]."""
