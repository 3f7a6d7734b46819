"""Frames and files, checked once on the way in, and back out."""
