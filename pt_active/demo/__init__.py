"""A simulated test collection, and every step of an active evaluation run on it."""

from pt_active.demo.collection import DemoCollection, demo_collection

__all__ = ["DemoCollection", "demo_collection"]
