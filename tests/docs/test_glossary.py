"""What a reader meets on the first screen, in notes and in advice is plain, or the glossary explains it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "pt_active/pt_docs/glossary.md").read_text(encoding="utf-8")

SPEAKING = (
    *(f"plans/answers/report/{name}" for name in ("headline", "differences", "sections")),
    *(f"plans/answers/{name}" for name in ("results", "ranking", "judged", "judged_documents", "labelled_plan")),
    *(f"plans/answers/{name}" for name in ("status", "pairwise", "gaps", "gate", "model_check", "interval_caution")),
    *(f"risk/{name}" for name in ("report", "judged", "agreement")),
    "inference/calibration",
    "relevance/grades/validation",
)
"""The modules whose sentences a reader of results meets."""

TERMS = (
    *(
        "alpha",
        "assisted",
        "Bonferroni",
        "bets",
        "degrees of freedom",
        "effective",
        "e-value",
        "F1",
        "hedged",
    ),
    *("grade model", "Holm", "interval", "kappa", "margin", "optimal", "passive", "pool", "p-value", "precision"),
    *("recall", "regression", "replays", "SE", "sequential", "simultaneous", "slope", "snis", "successive"),
    *("told apart", "variance", "weight", "weights"),
)
"""Words of the field or of the tool, as they stand in sentences."""

UNKNOWN_TO_READERS = re.compile(
    r"[`Σπεψτ]|\b(asymptotic|bootstrap|conjugate|design effect|estimand|GREG|Horvitz|Poisson|posterior)\b"
)
"""What no sentence for readers has."""


def sentences() -> Iterator[tuple[str, str]]:
    """Module and text of each literal of at least three words that is neither a docstring nor an error message."""
    for module in SPEAKING:
        tree = ast.parse((ROOT / f"pt_active/{module}.py").read_text(encoding="utf-8"))
        errors = {id(each) for error in ast.walk(tree) if isinstance(error, ast.Raise) for each in ast.walk(error)}
        docstrings = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for each in ast.walk(tree):
            text = each.value if isinstance(each, ast.Constant) and id(each) not in errors | docstrings else None
            if isinstance(text, str) and len(re.findall(r"[A-Za-z]{2,}", text)) >= 3:
                yield module, text


def test_sentences_have_no_code_and_no_formulas() -> None:
    found = list(sentences())
    assert len(found) > 150
    assert [(module, said) for module, said in found if UNKNOWN_TO_READERS.search(said)] == []


def test_each_term_that_a_sentence_uses_is_explained() -> None:
    said = [text for _, text in sentences()]
    words = {term: re.compile(rf"(?<![\w-]){re.escape(term)}(?![\w-])") for term in TERMS}
    used = [term for term, word in words.items() if any(word.search(text) for text in said)]
    assert len(used) > 12
    assert [term for term in used if not words[term].search(PAGE)] == []
