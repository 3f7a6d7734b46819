"""Pages are short, and so are their sentences; pages, messages and help texts have words that people use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(path for ending in ("py", "md", "rst", "jinja", "js") for path in (ROOT / "pt_active").rglob(f"*.{ending}")),
    *(ROOT / "examples").glob("*.py"),
]


def strings(source: str) -> list[str]:
    """The messages, help texts and docstrings of a module, each in one piece, with … for what is put in."""
    nodes = list(ast.walk(ast.parse(source)))
    shown = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    made = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    return shown + [
        "".join(getattr(part, "value", "") if isinstance(part, ast.Constant) else "…" for part in parts)
        for parts in made
    ]


def text_of(path: Path) -> str:
    """A file as it is read, lines joined: also the strings of a module, which its lines may cut."""
    text = path.read_text(encoding="utf-8")
    return " ".join("\n".join([text, *(strings(text) if path.suffix == ".py" else [])]).split())


INSTEAD = {
    r"cut-offs?": "cutoff",
    r"[Qq]uery ids?": "qid",
    r"[pe] values?|[EP]-values? [^a-z]": "p-value, e-value",
    r"standard deviation of the estimate": "standard error",
    r"[Hh]e|[Hh]im|(?<!her )[Hh]is": "they, them, their",
    r"[Jj]udg(e|ing) on|judged on(?=,| from| until)": "keep judging",
    r"[Ss]ay `{0,2}--[a-z-]+": "pass --option",
    r"[Ss]ay `{0,2}[a-z_]+=\S*": "pass argument=",
    r"say either": "pass either",
    r"by cascades": "for cascades, such as ERR",
    r"[Ff]rom (so many|\d+ [a-z ]+ on)": "with N … or more",
    r"the (drawn|judged)(?= (and|are|is|of|in|to|have|were)\b|[.,;:)])": "the drawn queries, what is judged",
    r"whyever": "for whatever reason",
    r"goes? on with": "continue with",
    r"if nothing is said|if nothing else is said|unless said": "by default",
    r"all the while": "at any time",
    r"in order to": "to",
    r"utili[sz]e[sd]?|leverages?": "use",
    r"thereof|therein|whereby|hereby": "a plainer word",
    r"until then (it|they) counts?": "it counts … until you do",
    r"at (its|their) worst": "the worst case is assumed",
    r"how one goes about": "how to",
    r"worth (its|their|the) while": "pays, helps, is useful",
    r"in which manner": "how",
    r"as is usual": "usually",
    r"anew": "again, a new one",
    r"hangs? on": "depends on",
    r"all the same(?=[.,;])": "still",
    r"in silence": "silently",
    r"has all of it": "prints all of it",
    r"may flatter": "may be too sure of itself",
    r"taken for the": "treated as the",
    r"turned round": "of the wrong sign",
    r"(as|like) it looks now|what it looks like now": "the one estimated now",
    r"labels (do not|cannot) say": "the labels do not show, the question stays open",
    r"cannot be said": "these labels do not show, nobody can say",
    r"repeat it": "pass one for each, you may pass several",
    r"[Ww]ays? to sample": "way of sampling, design",
    r"over the budget": "at each budget",
    r"take[sn]? [a-z ]{0,20}for certain": "is certain of",
    r"come to its end": "end, finish",
    r"(was|were)( never)? to be judged": "the plan judges, never asks for",
    r"go(es)? on where": "continue where",
    r"[Ww]hoever": "anyone who",
    r"holds by itself": "holds for this pair alone",
    r"labels? of people(?!')": "human labels, people's labels",
    r"[Uu]nit(e|es|ing) the": "merge the",
    r"looks before(?= do not)": "earlier looks",
    r"have the other sign|has the other sign": "contradicts",
    r"at last with": "the last with",
    r"the other (sign|way) than": "opposite to",
    r"not valid any more|any more is": "no longer",
    r"planned looks \(": "after each fifth of the plan (",
    r"expected further cost": "about N more",
    r"queries not learned from": "queries that it has not seen",
    r"taken as not relevant": "counted as not relevant",
    r"(file|folder|records) to make\.": "to create",
    r"[Aa]ll is judged": "everything is judged",
    r"(documents|pairs) that a person (judges|labels)": "that people judge",
    r"(it|they) needs? \|": "labels must include, requires",
    r"(say|says|said) of(?= (it|them|a|an|the|each|every|all|some|labels|queries|documents)\b)": "say about",
    r"from which on": "after which",
    r"an error is left": "some error remains",
    r"costs? (something|nothing|much) to open|costs? to open": "if opening a query costs …",
    r"suffices? in (?=\S+ of)": "is enough in",
}
"""What is not to come back, and what to write instead."""


def said(phrase: str, text: str) -> list[str]:
    """Where a text has a phrase, with the words around it."""
    found = re.finditer(rf"(?<![\w-])(?:{phrase})(?![\w-])", text)
    return [" ".join(text[max(0, hit.start() - 30) : hit.end() + 30].split()) for hit in found]


def test_what_people_would_not_say_does_not_come_back() -> None:
    """One search for all phrases is ten times as fast as one for each."""
    found = {(path.name, hit) for path in FILES for hit in said("|".join(INSTEAD), text_of(path))}
    write = {where: [better for phrase, better in INSTEAD.items() if said(phrase, where[1])] for where in found}
    assert write == {}


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("judge on, from query q1", "judge one document"),
        ("say --budget", "say what"),
        ("say budget=3", "pass budget=3"),
        ("from 50 degrees of freedom on", "from one on"),
        ("the drawn are few", "the drawn queries are few"),
    ],
)
def test_the_list_finds_what_it_should(bad: str, good: str) -> None:
    assert said("|".join(INSTEAD), bad)
    assert not said("|".join(INSTEAD), good)


# --- length ---------------------------------------------------------------------------------------------------------

DOCS = ROOT / "pt_active" / "pt_docs"
KINDS = ("Tutorials", "How to …", "Why …", "Reference")
MOST = dict(zip(KINDS, (1500, 1200, 1500, 1500), strict=True))
MOST_OF = {"README": 700, "index": 700, "study": 3000, "concepts": 2500}
NOT_COUNTED = {"api", "theory"}
"""What a command makes, and the appendix."""


def pages_by_kind() -> dict[str, str]:
    """The kind of each page: the heading that the first page lists it under."""
    listed = (DOCS / "index.rst").read_text(encoding="utf-8").split("All pages\n")[1].split(".. toctree::")[0]
    parts = re.split(rf"^({'|'.join(KINDS)})$", listed, flags=re.MULTILINE)[1:]
    return {
        page: kind
        for kind, part in zip(parts[::2], parts[1::2], strict=True)
        for page in re.findall(r":doc:`[^`<]+<([^>`]+)>`", part)
    }


def written(page: Path) -> str:
    """What a reader reads: prose and tables written by hand, without code, its output and what commands put in."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"<!-- (evidence|transcript)[:\w -]*.*?<!-- \1: end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", text)


def long_sentences(page: Path, most: int) -> list[str]:
    """The sentences and clauses of its prose that have more words."""
    prose = re.sub(r"^(\||!\[|\d+\. ).*$", "", written(page), flags=re.MULTILINE)
    parts = re.split(r"(?<=[.?!:;])[*)]*\s+|\n\n|^[-*] ", re.sub(r"`[^`]*`", "code", prose), flags=re.MULTILINE)
    return [part for part in parts if len(part.split()) > most]


def words(page: Path) -> int:
    """The number of its words: what has a letter or a digit, between white space."""
    return sum(any(character.isalnum() for character in word) for word in written(page).split())


def test_a_page_is_no_longer_than_its_kind() -> None:
    kinds = pages_by_kind()
    assert set(kinds) == {page.stem for page in DOCS.glob("*.md")}
    paths = {page: DOCS / f"{page}.md" for page in kinds} | {"README": ROOT / "README.md", "index": DOCS / "index.rst"}
    count = {page: words(path) for page, path in paths.items() if page not in NOT_COUNTED}
    most = {page: MOST_OF[page] if page in MOST_OF else MOST[kinds[page]] for page in count}
    assert {page: (count[page], most[page]) for page in count if count[page] > most[page]} == {}
    assert sum(count.values()) <= 30_000


def test_words_are_those_that_a_reader_reads(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n\n| two | words |\n|---|---|\n\n```sh\nno words\n```\n\n[see](there.md) – 3.\n")
    assert words(page) == 6


def test_sentences_are_short() -> None:
    pages = [ROOT / "README.md", *(page for page in DOCS.glob("*.md") if page.stem not in NOT_COUNTED)]
    assert {page.name: found for page in pages if (found := long_sentences(page, most=38))} == {}


def test_a_long_sentence_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n\nShort. " + "long " * 39 + "sentence; short.\n")
    assert len(long_sentences(page, most=38)) == 1
