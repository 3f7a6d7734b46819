"""In which words is said what holds of answers to items, rather than of documents of queries [theory 18]?"""

from __future__ import annotations

import re

_WORDS = {
    "document": "answer",
    "documents": "answers",
    "query": "item",
    "queries": "items",
    "ranker": "system",
    "rankers": "systems",
    "qrels": "labels",
}
"""Word of rankings → word of answers."""

# A part of a name, such as that of a file, an option or a system, is no word.
_WORD = re.compile(
    rf"(?<![\w\-./=:'\"])(?<!--level )(?:([Aa]) )?({'|'.join(_WORDS)})(?![\w\-/=\"(]|\.\w)", re.IGNORECASE
)

_MEASURE = re.compile(r"(?<!\w)Score(?:\([^)]*\))?@\d")

_NO_TEXT = re.compile(
    r"(<script\b.*?</script>|<style\b.*?</style>"
    r'|<(?P<tag>details|span) class="(?:text|name)">.*?</(?P=tag)>|<[^>]*>)',
    re.DOTALL,
)
"""What of a page is no text of ours: scripts, styles, tags, and texts and ids of documents."""


def is_of_answers(text: str) -> bool:
    """Whether a text names the measure of answers."""
    return _MEASURE.search(text) is not None


def of_answers(text: str) -> str:
    """A text in the words of answers."""
    return _WORD.sub(_replaced, text)


def page_of_answers(html: str) -> str:
    """A page in the words of answers; what it quotes, and what nobody reads, stays."""
    parts, end = [], 0
    for kept in _NO_TEXT.finditer(html):
        parts += [of_answers(html[end : kept.start()]), kept.group()]
        end = kept.end()
    return "".join([*parts, of_answers(html[end:])])


def _replaced(found: re.Match[str]) -> str:
    article, word = found.groups()
    other = _WORDS[word.lower()]
    other = other.capitalize() if word[0].isupper() else other
    if article is None:
        return other
    return f"{article}{'n' if other[0].lower() in 'ai' else ''} {other}"
