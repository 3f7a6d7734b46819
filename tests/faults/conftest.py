"""Lets the tests of this folder import its modules, which the command ``python tests/faults`` uses too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
