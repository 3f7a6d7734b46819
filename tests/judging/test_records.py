"""Records of judgments: what is accepted, which of several counts, which qrels follow, and how files keep them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active import Plan
from pt_active.frames.records import RECORD_COLUMNS, STATUSES, latest
from pt_active.judging.files import read_file
from pt_active.judging.records import checked_records, qrels_of, write_records
from pt_active.plans.making.judgments import changed_of, waiting_of


def records(*rows: tuple[object, ...]) -> pd.DataFrame:
    """Rows of docno, annotator, label (None: skipped) and optionally a time."""
    said = [(*row[:3], "skipped" if row[2] is None else "judged", row[3] if len(row) > 3 else "", "q1") for row in rows]
    return pd.DataFrame(said, columns=["docno", "annotator", "label", "status", "time", "qid"])


@pytest.fixture(scope="module")
def plan() -> Plan:
    ids = {"qid": np.repeat(["q1", "q2", "q3"], 2), "docno": ["007", "d2", "d1", "d2", "d1", "d2"]}
    ranks = {"rank_a": [0, 1] * 3, "rank_b": [1, 0] * 3}
    grades = pd.DataFrame(ids | ranks | {"grade_0": 0.5, "grade_1": 0.3, "grade_2": 0.2})
    return Plan.create(grades, None, "DCG@2", budget=4, level="query")


NO_TIMES = ("yesterday", "2026-03-01T09:30:00+01:00", "2026-13-01T09:30:00Z", "2026-02-30T09:30:00Z")
WHOLE = "label that is a whole number from 0 to 1000"
WRONG = [
    *(
        ({"label": label}, f"row 0: expected a {WHOLE}, for document 'd1' of ")
        for label in (1.5, -1, True, None, "good")
    ),
    ({"status": "Judged"}, "status that is one of judged, skipped, unjudgeable"),
    ({"status": "skipped"}, "a label that is empty unless the status is judged"),
    *(({"time": time}, "a time that is ISO 8601 in UTC") for time in NO_TIMES),
    ({"docno": " "}, "expected a docno that is text"),
    ({"qid": None}, "expected a qid that is text"),
    *(({"judges": number}, "expected a judges that is a whole number from 1") for number in (0, 1.5, "two", True)),
]


def test_records_have_one_form_and_a_malformed_one_is_named() -> None:
    checked = checked_records(records(("d1", "ann", 2), ("d2", "bob", None)))
    assert list(checked.columns) == RECORD_COLUMNS
    assert str(checked["label"].dtype) == "Int64"
    assert checked["label"].isna().tolist() == [False, True]
    assert (checked[["time", "note", "plan"]] == "").all(axis=None)
    for change, message in WRONG:
        frame = records(("d1", "ann", 1)).astype(object).assign(**{name: [value] for name, value in change.items()})
        with pytest.raises(ValueError, match=message):
            checked_records(frame)


def test_records_of_another_plan_its_documents_or_its_grades_are_refused(plan: Plan, tmp_path: Path) -> None:
    fit = records(("007", "ann", 2))
    other = f"row 0: expected a plan that is '{plan.id}', the id of this plan"
    for change, message in (
        ({"plan": "0123456789abcdef"}, other),
        ({"docno": "7"}, "row 0: document '7' of query 'q1' is not in the plan.*may be document '007'"),
        ({"label": 3}, "row 0: expected a label that is a grade of the plan, from 0 to 2"),
    ):
        with pytest.raises(ValueError, match=message):
            checked_records(fit.assign(plan=plan.id).assign(**change), plan)
    plan.save(tmp_path / "plan")
    longer, sibling = (plan.extend(more).save(tmp_path / f"longer-{more}") for more in (2, 4))
    assert len({plan.id, longer.id, sibling.id}) == 3
    assert Plan.load(tmp_path / "plan").id == plan.id
    assert Plan.load(tmp_path / "longer-2").id == longer.id
    for name in (plan.id, longer.id, ""):  # judgments of the plan count in its extension
        assert checked_records(fit.assign(plan=name), longer)["plan"].tolist() == [name]
    with pytest.raises(ValueError, match=other):
        checked_records(fit.assign(plan=sibling.id), longer)
    frame = plan.tables.pool.document_frame()
    assert len({Plan.create(frame, None, "DCG@2", budget=4, seed=seed, level="query").id for seed in (0, 1)}) == 2


def test_a_correction_is_a_later_record() -> None:
    two = checked_records(records(("d1", "ann", 1), ("d1", "bob", 0), ("d1", "ann", 2)))
    assert latest(two)["label"].tolist() == [0, 2]
    times = ["2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z", "2026-03-01T09:59:59.5Z"]
    assert latest(two.assign(time=times))["label"].tolist() == [1, 0]
    assert latest(two.assign(time=[*times[:2], ""]))["label"].tolist() == [0, 2]
    tenths = ["2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z", "2026-03-01T10:00:00.5Z"]
    assert latest(two.assign(time=tenths))["label"].tolist() == [0, 2]


def test_a_document_that_waits_for_another_judge_has_no_label_yet() -> None:
    """Whether it waits depends on how many are asked, judged it, or passed over it, and on the adjudicator."""
    cases = {
        "asked once": (1, ["judged"], False),
        "first of two": (2, ["judged"], True),
        "both": (2, ["judged", "judged"], False),
        "the other passed": (2, ["judged", "skipped"], False),
        "the first passed": (2, ["unjudgeable", "judged"], False),
        "one of three passed": (3, ["judged", "skipped"], True),
        "two passed": (3, ["judged", "skipped", "unjudgeable"], False),
        "nobody judged": (2, ["skipped"], False),
    }
    rows = [
        {"qid": "q1", "docno": name, "label": 2 if status == "judged" else None, "annotator": who, "status": status}
        | {"judges": judges}
        for name, (judges, statuses, _) in cases.items()
        for who, status in zip("abc", statuses, strict=False)
    ]
    frame = pd.DataFrame(rows)
    waiting = [name for name, (*_, waits) in cases.items() if waits]
    assert sorted(waiting_of(frame)["docno"]) == sorted(waiting)
    assert set(qrels_of(frame)["docno"]) == set(cases) - {*waiting, "nobody judged"}
    settled = pd.DataFrame([{**rows[1], "annotator": "adjudicator", "label": 0}])
    assert "first of two" not in set(waiting_of(pd.concat([frame, settled]))["docno"])
    # Files that do not say how many are asked have labels that count at once, and one file is enough to say it.
    assert waiting_of(frame.drop(columns="judges")).empty
    assert len(waiting_of(pd.concat([frame.drop(columns="judges").iloc[:1], frame]))) == len(waiting)


SAID = st.tuples(*map(st.sampled_from, (["d1", "d2"], ["a", "b", "adjudicator"], [None, 0, 1])))


@settings(max_examples=8)
@given(st.lists(SAID, min_size=1, max_size=6), st.integers(1, 2), st.randoms(use_true_random=False))
def test_labels_that_changed_are_those_of_the_records_one_after_the_other(rows, judges, random) -> None:
    came = records(*[(*row, f"2026-03-01T10:00:0{number}Z") for number, row in enumerate(rows)]).assign(judges=judges)
    kinds: dict[str, set[int]] = {}
    for number in range(1, len(came) + 1):
        for docno, label in qrels_of(came.head(number))[["docno", "label"]].itertuples(index=False, name=None):
            kinds.setdefault(docno, set()).add(label)
    mixed = came.iloc[random.sample(range(len(came)), len(came))]
    assert set(changed_of(mixed)["docno"]) == {docno for docno, labels in kinds.items() if len(labels) > 1}
    # Files of several judges, put together, do not say who was first.
    assert changed_of(came.assign(time="")).empty


@settings(max_examples=4)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=9), min_size=20, max_size=30))
def test_majority_and_median_are_those_of_sorted_lists(grades: list[list[int]]) -> None:
    documents = {f"d{number:02}": sorted(given) for number, given in enumerate(grades)}
    votes = records(*[(name, str(i), grade) for name, given in documents.items() for i, grade in enumerate(given)])

    def labels(rule: str, ties: str) -> list[int]:
        return qrels_of(votes, rule, ties).sort_values("docno")["label"].tolist()

    most = [[one for one in range(5) if n.count(one) == max(map(n.count, n))] for n in documents.values()]
    assert labels("majority", "down") == [min(each) for each in most]
    assert labels("majority", "up") == [max(each) for each in most]
    assert labels("median", "down") == [given[(len(given) - 1) // 2] for given in documents.values()]
    assert labels("median", "up") == [given[len(given) // 2] for given in documents.values()]
    for wrong in ({"rule": "average"}, {"ties": "left"}):
        with pytest.raises(ValueError, match=f"unknown {next(iter(wrong))}"):
            qrels_of(votes, **wrong)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = TEXT.map(lambda text: text.replace("\0", "")).filter(str.strip)


@st.composite
def any_records(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.lists(st.tuples(IDS, IDS, st.integers(0, 4), TEXT, st.sampled_from(STATUSES), TEXT), min_size=1))
    frame = pd.DataFrame(rows, columns=["qid", "docno", "label", "annotator", "status", "note"])
    time = draw(st.sampled_from(["", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00.123456Z"]))
    return checked_records(frame.assign(label=frame["label"].where(frame["status"] == "judged"), time=time, plan="ab"))


@settings(max_examples=8)
@given(frame=any_records())
def test_files_keep_all_of_a_record(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> None:
    folder = tmp_path_factory.mktemp("records")
    for path in (folder / "records.jsonl", folder / "records.parquet"):
        write_records(frame, path)
        pd.testing.assert_frame_equal(read_file(path).reset_index(drop=True), frame, check_dtype=False)
        with pytest.raises(FileExistsError):
            write_records(frame, path)
