"""What do the templates of the pages need?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pt_active.frames.visible import visible
from pt_active.judging.grade_names import GradeNames

PAGES = Path(__file__).parent / "pages"
"""The templates, the style sheet and the script."""

FILES = {"judge.js": "text/javascript", "adjudicate.js": "text/javascript", "style.css": "text/css"}
"""The files that pages load, with their types."""

_HIGHEST_KEY = 9
"""The highest grade that has a key."""


def environment() -> Environment:
    """The templates, in which every text is escaped."""

    def shown(value: Any) -> Any:
        return visible(value) if type(value) is str else value

    return Environment(
        loader=PackageLoader("pt_active.judging.server", "pages"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def judge_values(plan: str, name: str, grades: Sequence[tuple[int, str]], guideline: str) -> dict[str, Any]:
    """What the template of a judge's page needs."""
    return {
        "judge": name,
        "grades": [(grade, word, str(grade) if grade <= _HIGHEST_KEY else "") for grade, word in grades],
        "key": _local_key(plan, name),
        "guideline": Markup(guideline),
    }


def named_grades(names: GradeNames, max_grade: int) -> list[tuple[int, str]]:
    """Each grade with its word, which is empty if it has none."""
    words = [names.of(grade) for grade in range(max_grade + 1)]
    return [(grade, word if word != str(grade) else "") for grade, word in enumerate(words)]


def _local_key(plan: str, name: str) -> str:
    """The name under which a judge's browser keeps what is not sent yet; it tells nothing about the token."""
    return hashlib.sha256(f"{plan} {name}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
