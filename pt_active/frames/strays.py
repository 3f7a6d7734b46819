"""Labels that belong to no document of a plan, and the documents that were meant."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown, some

SPELLING, ZEROS, MISTYPED, OTHER = "case or spaces", "leading zeros", "mistyped", "other"
"""Kinds of labels: whose ids are those of a document but for upper case or white space; but for leading zeros; but for
one character of the docno, or two that changed places; and all others."""

_COMPARED = 20_000  # Labels that are compared with documents at most; all are counted
_HINTS = 3  # Close misses that are named
_CROWD = 20
"""With more unknown labels for each document that lacks one, an id that differs by one character is a coincidence."""


@dataclass(frozen=True)
class Strays:
    """Labels that belong to no document of a plan."""

    kinds: Mapping[str, int] = field(default_factory=dict)  # `SPELLING`, `ZEROS`, `MISTYPED` or `OTHER` → how many
    hints: tuple[str, ...] = ()  # close misses in words, some of them

    @property
    def number(self) -> int:
        """The number of labels."""
        return sum(self.kinds.values())

    @property
    def counted(self) -> str:
        """The number of labels of each kind in words; empty if there are none."""
        if not self.kinds:
            return ""
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.kinds.items())
        return f"{how_many('label', self.number)} of documents that are not in the plan ({kinds})"

    @property
    def caution(self) -> str:
        """What a reader must know of close misses; empty if there are none."""
        return f"{self.counted} {agreeing('is', self.number)} not used: {self.hint}" if self.hints else ""

    @property
    def hint(self) -> str:
        """The close misses in words."""
        return "; ".join(self.hints)


def stray_labels(keys: pd.DataFrame, lacking: np.ndarray, qrels: pd.DataFrame) -> Strays:
    """Find the labels that belong to no document, and documents that lack one, bool[N], which may have been meant."""
    given = qrels[["qid", "docno"]]
    joined = given.merge(keys[["qid", "docno"]], how="left", on=["qid", "docno"], indicator=True)
    unknown = given[(joined["_merge"] == "left_only").to_numpy()]
    if unknown.empty:
        return Strays()
    own = unknown["qid"].isin(keys["qid"].unique()).to_numpy()
    near, kinds, crowd = _Near(keys[lacking]), Counter[str](), len(unknown) > _CROWD * lacking.sum()
    compared = list(unknown.iloc[:_COMPARED].itertuples(index=False, name=None))
    slips = [near.meant(qid, docno) for qid, docno in compared]
    claims, hints = Counter(meant for _, meant in slips), list[str]()
    for pair, (kind, meant), of_plan in zip(compared, slips, own[:_COMPARED].tolist(), strict=True):
        # Among many strangers some ids are close to one that lacks a label; then nobody can tell which was meant.
        if meant is None or claims[meant] > 1 or (crowd and kind == MISTYPED):
            kinds[OTHER] += of_plan
        else:
            kinds[kind] += 1
            hints.append(_hint(pair, meant))
    kinds[OTHER] += int(own[_COMPARED:].sum())
    counted = {kind: kinds[kind] for kind in (SPELLING, ZEROS, MISTYPED, OTHER) if kinds[kind]}
    return Strays(counted, tuple(hints[:_HINTS]))


def not_found(complaint: str, keys: pd.DataFrame, qrels: pd.DataFrame) -> ValueError:
    """The error that no label belongs to any document, with the close misses."""
    hint = stray_labels(keys, np.ones(len(keys), dtype=bool), qrels).hint
    return ValueError(f"{complaint}; {hint}" if hint else complaint)


def restored_zeros(
    keys: pd.DataFrame, given: pd.DataFrame, rows: Collection[tuple[str, str]]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Give ids their leading zeros back where one document alone is meant; ``rows`` has all pairs of a sheet."""
    known, meant = set(zip(keys["qid"], keys["docno"], strict=True)), defaultdict(set)
    for qid, docno in known:
        meant[_as_number(qid), _as_number(docno)].add((qid, docno))
    pairs, changes = [], dict[str, None]()
    for row, pair in zip(given.index, zip(given["qid"], given["docno"], strict=True), strict=True):
        short = _as_number(pair[0]), _as_number(pair[1])
        may_be = meant.get(short, set())
        if len(may_be) > 1 and pair == short in rows and not any(other in rows for other in may_be - {pair}):
            both = " or ".join(shown(docno) for _, docno in sorted(may_be))
            said = f"the spreadsheet may have removed leading zeros, and this may be {both}"
            raise ValueError(f"row {row}: {said}; keep the rows of all of them, with their ids as text")
        if pair not in known and len(may_be) == 1:
            changes[" ".join(map(shown, pair)) + " → " + " ".join(map(shown, next(iter(may_be))))] = None
            pair = next(iter(may_be))
        pairs.append(pair)
    ids = pd.DataFrame(pairs, columns=["qid", "docno"], index=given.index, dtype=object)
    return given.assign(qid=ids["qid"], docno=ids["docno"]), tuple(changes)


def topics_as_in_runs(topics: pd.DataFrame, qids: set[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Topics under the ids that runs have, where leading zeros alone differ, as 051 of TREC-1 and 51 of its qrels."""
    idle, lacking = defaultdict(set), defaultdict(set)
    for qid in set(topics["qid"]) - qids:
        idle[_as_number(qid)].add(qid)
    for qid in qids.difference(topics["qid"]):
        lacking[_as_number(qid)].add(qid)
    renamed = {}
    for number in sorted(idle.keys() & lacking.keys(), key=lambda number: (len(number), number)):
        if len(idle[number]) + len(lacking[number]) > 2:
            both = " or ".join(map(shown, sorted(idle[number])))
            raise ValueError(f"of query {some(sorted(lacking[number]))} of the runs the topic can be {both}")
        renamed[idle[number].pop()] = lacking[number].pop()
    changes = tuple(f"{shown(qid)} → {shown(other)}" for qid, other in renamed.items())
    return topics.assign(qid=topics["qid"].map(lambda qid: renamed.get(qid, qid))) if renamed else topics, changes


def other_zeros(changes: Sequence[str]) -> str:
    """What `topics_as_in_runs` changed, in words."""
    counted = how_many("topic", len(changes), "has")
    return f"{counted} other leading zeros than the runs, taken as {'; '.join(changes[:3])}"


def _as_number(name: str) -> str:
    """An id of digits without its leading zeros, as a spreadsheet shows it; any other id as it is."""
    return name.lstrip("0") or "0" if name.isascii() and name.isdigit() else name


def _hint(given: tuple[str, str], meant: tuple[str, str]) -> str:
    (qid, docno), (its_qid, its_docno) = ((shown(q), shown(d)) for q, d in (given, meant))
    if docno == its_docno:
        return f"query {qid} is not in the plan; did you mean {its_qid}?"
    if qid == its_qid:
        return f"document {docno} of query {qid} is not in the plan; did you mean {its_docno}?"
    return f"document {docno} of query {qid} is not in the plan; did you mean {its_docno} of {its_qid}?"


class _Near:
    """Documents by what is left of their ids after common slips."""

    def __init__(self, keys: pd.DataFrame) -> None:
        self.close: dict[tuple[str, str, str], tuple[str, str]] = {}
        self.docnos: dict[str, list[str]] = defaultdict(list)
        self.shortened: dict[str, dict[str, set[str]]] = {}
        forms = {qid: (_folded(qid), _unpadded(qid), _number(qid)) for qid in keys["qid"].unique()}
        for qid, docno in zip(keys["qid"], keys["docno"], strict=True):
            (folded, unpadded, number), short = forms[qid], _unpadded(docno)
            self.docnos[qid].append(docno)
            for key in ((SPELLING, folded, _folded(docno)), (ZEROS, unpadded, short), (ZEROS, number, short)):
                self.close.setdefault(key, (qid, docno))

    def meant(self, qid: str, docno: str) -> tuple[str, tuple[str, str] | None]:
        """The kind of slip, and the document that was meant; None if there is none, or more than one."""
        for kind, form in ((SPELLING, _folded), (ZEROS, _unpadded)):
            if pair := self.close.get((kind, form(qid), form(docno))):
                return kind, pair
        near = self._typed(qid, docno)
        return (MISTYPED, (qid, near.pop())) if len(near) == 1 else (OTHER, None)

    def _typed(self, qid: str, docno: str) -> set[str]:
        """The documents of a query from which a docno differs by one slip of the keyboard."""
        if qid not in self.docnos or len(docno) < 2:
            return set()
        if qid not in self.shortened:
            index = self.shortened[qid] = defaultdict(set)
            for each in self.docnos[qid]:
                for short in _shortened(each):
                    index[short].add(each)
        candidates = {each for short in _shortened(docno) for each in self.shortened[qid].get(short, ())}
        return {each for each in candidates if _is_slip(docno, each)}


def _folded(name: str) -> str:
    """The id without white space, characters of no width (such as a byte order mark) and upper case."""
    return "".join(re.sub("[\u200b-\u200d\u2060\ufeff]", "", name).split()).casefold()


def _unpadded(name: str) -> str:
    """The id with no leading zeros in any of its numbers."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", _folded(name))


def _number(name: str) -> str:
    """The number of an id such as ``q007``, without its letters and zeros; the id itself if it is none."""
    match = re.fullmatch(r"[^0-9]*0*([0-9]+)", _folded(name))
    return match[1] if match else _folded(name)


def _shortened(name: str) -> Iterator[str]:
    """The id itself, and all that is left of it without one character."""
    yield name
    for i in range(len(name)):
        yield name[:i] + name[i + 1 :]


def _is_slip(given: str, meant: str) -> bool:
    """Whether two ids differ by one character that is wrong, missing or too much, or by two that changed places."""
    if len(given) != len(meant):
        shorter, longer = sorted((given, meant), key=len)
        return len(longer) - len(shorter) == 1 and shorter in _shortened(longer)
    wrong = [i for i, (a, b) in enumerate(zip(given, meant, strict=True)) if a != b]
    if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
        return given[wrong[0] : wrong[1] + 1] == meant[wrong[1]] + meant[wrong[0]]
    return len(wrong) == 1
