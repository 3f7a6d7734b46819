"""All answers of a plan on one HTML page."""
