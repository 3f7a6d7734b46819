"""From labels to estimates with their errors, at one look or at many. This folder works on arrays, not on frames."""
