"""Imports everything that the cases need from the package: the only file to change when modules move."""

from __future__ import annotations

import pt_active as pta
from pt_active import risk, rounds
from pt_active.cli.app import app
from pt_active.demo import DemoCollection, demo_collection
from pt_active.inference.replay import Method
from pt_active.studies.simulate import draw_until_significant, labelled_population, simulate

__all__ = [
    "DemoCollection",
    "Method",
    "app",
    "demo_collection",
    "draw_until_significant",
    "labelled_population",
    "pta",
    "risk",
    "rounds",
    "simulate",
]
