"""All answers of a plan on one page."""
