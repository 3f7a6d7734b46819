"""From labels to numbers with their errors, at one look or at many. Arrays only, no frames."""
