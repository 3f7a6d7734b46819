"""A simulated collection of products and reviews, and the whole road walked on it."""

from pt_active.demo.collection import DemoCollection, demo_collection

__all__ = ["DemoCollection", "demo_collection"]
