"""The ledger of gates: releases and their levels, looks that repeat, lines that are cut off, and two gates at once."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from small_collection import MEASURED, RUNS, TRAINING, complaint, exported, invoke, keyed, run

from pt_active.cli.ledger import ASKED as KEYS_ASKED
from pt_active.cli.ledger import KEYS, decided_in, place_in, read_ledger
from pt_active.inference.stopping.looks import release_level

LEDGER = Path("gates.jsonl")
ASKED = "--queries these --margin 0.01"
TURNED = "--first b --second a"


@pytest.fixture
def project(judged):
    keyed(plan="plan", ledger=LEDGER.name)
    return judged


def gate(words="", labels="plan.csv", plan="plan"):
    """What a gate answers."""
    found = invoke("gate", plan, labels, *ASKED.split(), *words.split(), "--json")
    assert found.exit_code in (0, 1, 3), found.output
    return json.loads(found.stdout)


def number(*words, **files):
    return gate(*words, **files)["release"]["number"]


def kept():
    return [json.loads(line) for line in LEDGER.read_text("utf-8").splitlines()]


def test_each_question_is_a_release_and_a_look_that_repeats_is_none(project):
    first = gate(TURNED)
    assert first["outcome"] == "pass"
    assert first["release"] == {
        "ledger": LEDGER.name,
        "number": 1,
        "claims": 0,
        "level": pytest.approx(release_level(1, 0.025)),
        "level_of_all": pytest.approx(0.025),
    }
    assert gate(TURNED) == first
    assert len(kept()) == 1
    second = gate()["release"]
    assert (second["number"], second["claims"]) == (2, 1)
    assert gate(labels="part.csv")["release"] == second  # another look at the same level
    assert gate()["release"] == second
    assert len(kept()) == 3
    assert [number(words) for words in ("--margin 0.02", "--better", "--margin 0.02", TURNED)] == [3, 4, 3, 1]
    assert [set(line) for line in kept()] == [set(KEYS)] * 5


def test_no_margin_and_a_margin_of_0_ask_the_same(project):
    for words in ("", "--margin 0"):
        found = invoke("gate", "plan", "plan.csv", "--queries", "these", "--better", *words.split(), "--json")
        assert json.loads(found.stdout)["release"]["number"] == 1
    assert len(kept()) == 1


def test_the_text_says_which_release_it_is_and_its_level(project):
    gate(TURNED)
    said = invoke("gate", "plan", "plan.csv", *ASKED.split()).stdout
    assert "release     2 of gates.jsonl; claims so far 1; this one tested at 0.0038, so that any wrong claim" in said
    assert "99.2401%, valid at any time" in said


def test_a_look_at_the_end_counts_when_all_is_judged_and_again_when_labels_change(project):
    assert "release" not in gate("--looks end", "part.csv")
    assert not LEDGER.exists()
    table = pd.read_csv("plan.csv")
    table.assign(label=(table["label"] + (table.index == 0)) % 3).to_csv("changed.csv", index=False)
    table.iloc[::-1].to_csv("turned.csv", index=False)
    found = [number("--looks end", labels) for labels in ("plan.csv", "changed.csv", "turned.csv")]
    assert found == [1, 2, 1]


def test_other_plans_share_the_ledger_and_an_extended_one_goes_on(project):
    assert number() == 1
    run("plan", *RUNS, *TRAINING, *MEASURED, "--budget", "60", "--out", "other")
    exported("other")
    assert number(labels="other.csv", plan="other") == 2
    run("plan", "--extend", "other", "--budget", "20", "--out", "more")
    assert number(labels="other.csv", plan="more") == 2


def test_a_gate_that_cannot_answer_is_no_release(project):
    complaint("gate", "plan", "plan.csv", "--queries", "these")
    complaint("gate", "plan", "plan.csv", *ASKED.split(), "--first", "nobody")
    assert not LEDGER.exists()


LINE = dict.fromkeys(KEYS, "x") | {"confidence": 0.95, "outcome": "pass"}
HOSTILE = [
    ('{"plan": "x", "fir', "the last line has no end: delete it if it is cut off, since its gate has not answered"),
    ('{"plan": "x", "fir\n', "line 1: expected JSON; got "),
    ("[]\n", "line 1: expected a JSON object with the keys 'plan', 'first'"),
    ("[" * 99999 + "\n", "line 1: expected JSON; got values nested too deeply"),
    (
        "\n" + json.dumps(LINE | {"outcome": ["won"]}) + "\n",
        "line 2: outcome must be one of pass, fail, unresolved, got",
    ),
    (json.dumps(LINE | {"confidence": 0.9}) + "\n", "its releases share confidence=0.9; keep that"),
    (json.dumps(LINE | {"confidence": None}) + "\n", "its releases share confidence=None"),
    ("\0", "a NUL character"),
]


@pytest.mark.parametrize(("content", "message"), HOSTILE)
def test_a_ledger_that_cannot_be_read_is_told_and_left_as_it_is(project, content, message):
    LEDGER.write_text(content)
    assert re.search(message, complaint("gate", "plan", "plan.csv", *ASKED.split()))
    assert LEDGER.read_text() == content


@pytest.mark.parametrize("content", ["", "\n", json.dumps(LINE | {"plan": ["odd"]}) + "\n"])
def test_lines_are_added_to_what_is_there(project, content):
    LEDGER.write_text(content)
    first = number()
    assert [first, number()] == [1 + bool(content.strip())] * 2
    assert LEDGER.read_text().startswith(content)
    assert len(read_ledger(LEDGER)) == first


@dataclass(frozen=True)
class Told:
    """What `decided_in` needs of a gate."""

    outcome: str = "pass"
    release: object = None


def test_a_gate_that_another_one_overtakes_decides_again_at_the_level_that_is_left(tmp_path):
    file, levels = tmp_path / "gates.jsonl", []
    asked = [dict.fromkeys((*KEYS_ASKED, "labels"), name) for name in "ab"]

    def slow(confidence):
        levels.append((1 - confidence) / 2)
        if len(levels) == 1:
            assert decided_in(file, asked[1], 0.95, lambda _: Told()).release.number == 1
        return Told("unresolved" if len(levels) > 1 else "pass")

    found = decided_in(file, asked[0], 0.95, slow)
    assert (found.release.number, found.outcome) == (2, "unresolved")
    assert levels == pytest.approx([release_level(1, 0.025), release_level(2, 0.025)])
    assert place_in(file, read_ledger(file), asked[1], 0.95).claims == 0


def test_processes_at_once_share_the_numbers(tmp_path):
    code = """
import sys
from test_ledger import KEYS_ASKED, Path, Told, decided_in
for name in range(20):
    asked = dict.fromkeys((*KEYS_ASKED, "labels"), f"{sys.argv[2]} {name}")
    print(decided_in(Path(sys.argv[1]), asked, 0.95, lambda _: Told()).release.number)
"""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "gates.jsonl"), name],
            cwd=Path(__file__).parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    numbers = [int(line) for each in started for line in each.communicate()[0].split()]
    assert sorted(numbers) == list(range(1, 41))


def test_the_levels_add_up_to_that_of_all_releases():
    levels = [release_level(number, 0.05) for number in range(1, 100_001)]
    rest = 6 * 0.05 / 3.141592653589793**2 / 100_000  # at least Σ_{j > n} 1/j²
    assert 0.05 - rest <= sum(levels) < 0.05
    assert levels[:3] == pytest.approx([0.0303964, 0.0075991, 0.0033774], abs=1e-7)
