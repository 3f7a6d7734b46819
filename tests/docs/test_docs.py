"""The documentation says what the code does: its examples run, its outputs are real, its names and links exist.

In a page of ``pt_docs`` each fenced ``python`` block is executed, in one namespace a page, and so is each line of a
fenced ``sh`` block that starts with ``pt-active``. A ``text`` block right after one of them is all that it prints,
but for white space at the ends of lines.
"""

import contextlib
import functools
import io
import pkgutil
import re
import runpy
import shlex
import warnings
from pathlib import Path
from types import SimpleNamespace

import ir_measures
import joblib
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import typer
from ir_measures import P
from scipy import stats
from statsmodels.stats.multitest import multipletests
from typer.testing import CliRunner

import pt_active
from pt_active.cli import app
from pt_active.demo import collection
from pt_active.inference.estimators import estimators_of
from pt_active.inference.stopping.looks import ALWAYS, PLANNED
from pt_active.inference.weightings import round_estimators
from pt_active.relevance.grades import fitting
from pt_active.sampling import designs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "pt_active" / "pt_docs"
PAGES = sorted(DOCS.glob("*.md"))
README = (ROOT / "README.md").read_text("utf-8")


RUN = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n*```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
"""A block that is executed: its language, its text, and its output, if that is the next block."""


def executed(language, text, namespace):
    """What a block prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if language == "python":
            exec(text, namespace)
        for command in text.replace("\\\n", " ").splitlines() if language == "sh" else ():
            if command.startswith("pt-active "):
                words = shlex.split(command, comments=True)[1:]
                print(CliRunner().invoke(app.app, words, env={"COLUMNS": "100", "TERM": "dumb"}).output)
    return plain(printed.getvalue())


def plain(text):
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


@pytest.fixture(autouse=True, scope="module")
def made_once():
    """Pages that simulate the same collection share it, and forests that are grown on the same labels."""
    forests, collections = {}, functools.cache(collection.demo_collection)
    grown = fitting.fit_forest

    def fit(*data):
        key = joblib.hash(data)
        if key not in forests:
            forests[key] = grown(*data)
        return forests[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collection, "demo_collection", lambda seed=7, queries=600: collections(seed, queries))
        patch.setattr(fitting, "fit_forest", fit)
        yield


def marks(page):
    """Those of a page; some have examples that take seconds."""
    return [pytest.mark.slow] if page.stem in ("crossval", "documents", "quickstart") else []


@pytest.mark.parametrize("page", [pytest.param(page, marks=marks(page), id=page.stem) for page in PAGES])
def test_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in RUN.finditer(page.read_text("utf-8")):
            language, text, output = block.groups()
            printed = executed(language, text, namespace)
            assert output is None or printed == plain(output), f"{page.name}, {text}"


def test_there_are_examples():
    """Guards against fences that the test above would not see."""
    texts = {page.stem: page.read_text("utf-8") for page in PAGES}
    for stem in ("quickstart", "concepts", "definitions", "documents", "many-rankers", "auditing"):
        assert any(block[3] for block in RUN.finditer(texts[stem]))
    for text in texts.values():
        fences = re.findall("^```(.*)$", text, re.MULTILINE)
        assert {*fences[::2]} <= {"python", "sh", "text"}
        assert not any(fences[1::2])


def test_the_workflow_of_the_gate_runs_the_command_of_its_page():
    text = (ROOT / "examples" / "release-gate.yml").read_text("utf-8")
    blocks = RUN.findall((DOCS / "gate.md").read_text("utf-8"))
    assert any(f"- run: {command.strip()}\n" in text for language, command, _ in blocks if language == "sh")


def anchors(text):
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


MAKES_ANCHORS = "---\nmyst:\n  heading_anchors: 3\n---\n"
"""Sphinx gives the headings of a page anchors if it begins so: PyTerrier's site asks for none."""


def is_a_test(named):
    """Whether ``FILE::NAME`` is one."""
    file, name = named.split("::")
    return f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_opens_with_its_question_and_leads_on(page):
    """The question stands in italics below the title, and where to go next in the last paragraph or list."""
    text = page.read_text("utf-8")
    assert re.search(r"\A(---\n.*?\n---\n\n)?# [^\n]+\n\n\*[^*]+\?\*", text, flags=re.DOTALL)
    assert page.stem in ("api", "theory") or "](" in text.rstrip().split("\n\n")[-1]
    for target in re.findall(r"\]\((?!https://)([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked.read_text("utf-8")), target
            assert linked.read_text("utf-8").startswith(MAKES_ANCHORS), linked.name
    for named in re.findall(r"`tests/([\w/]+\.py::\w+)`", text):
        assert is_a_test(named), named


def test_docstrings_cite_sections_of_the_appendix():
    sections = re.findall(r"^## (\d+)\.", (DOCS / "theory.md").read_text("utf-8"), flags=re.MULTILINE)
    code = "".join(path.read_text("utf-8") for path in Path(pt_active.__file__).parent.rglob("*.py"))
    cited = set(", ".join(re.findall(r"\[theory ([\d, ]+)\]", code)).split(", "))
    assert len(cited) > 10
    assert cited <= set(sections)


def test_the_first_page_lists_all_others():
    index = (DOCS / "index.rst").read_text("utf-8")
    assert all(target.startswith("https://") for target in re.findall(r"`[^`<]+<([^>`]+)>`_", index))
    pages = {page.stem for page in PAGES}
    assert set(re.findall(r":doc:`[^`<]+<([^>`]+)>`", index)) == pages
    assert pages <= set(re.findall(r"^ +(\S+)$", index.split(".. toctree::")[1], flags=re.MULTILINE))


LISTED = {
    "measures": ("definitions", "relevance.measures:RANK_FORMS"),
    "designs": ("concepts", "sampling.designs:DESIGNS"),
    "estimators": ("concepts", "inference.estimators:ESTIMATORS"),
    "missing": ("judging", "frames.qrels:MISSING_POLICIES"),
    "drawings": ("documents", "sampling.drawings:DOCUMENT_DRAWINGS"),
    "document estimators": ("documents", "inference.documents:DOCUMENT_ESTIMATORS"),
    "formats": ("data-model", "frames.worklists:FORMATS"),
    "grade models": ("concepts", "relevance.grades.learned:GRADES"),
    "costs": ("concepts", "relevance.costs:COSTS"),
    "round estimators": ("auditing", round_estimators()),
    "looks": ("stopping", (ALWAYS, PLANNED)),
    "strategies": ("auditing", "rounds.active_test:STRATEGIES"),
    "round drawings": ("auditing", "sampling.draws:ROUND_DRAWINGS"),
    "losses": ("auditing", "relevance.losses:LOSSES"),
    "designs of audits": ("auditing", (*designs.GAP_DESIGNS, designs.STRATIFIED)),
    "risk estimators": ("auditing", estimators_of("pair")),
    "judging tools": ("judging", "judging.tools.registry:TOOLS"),
    "rules": ("judging", "plans.making.judgments:RULES"),
    "keys of the project file": ("data-model", "cli.project:KEYS"),
}
"""What has a row for each of its names → the page, and the names or where they are."""


@pytest.mark.parametrize("what", LISTED)
def test_every_registered_name_has_its_row(what):
    page, names = LISTED[what]
    if isinstance(names, str):
        names = pkgutil.resolve_name(f"pt_active.{names}")
    cells = re.findall(r"^\| (`[^|]+?) \|", (DOCS / f"{page}.md").read_text("utf-8"), flags=re.MULTILINE)
    rows = [row for cell in cells for row in re.findall(r"`([^`]+)`", cell)]
    for name in names:
        assert any(re.match(rf"{re.escape(name)}\b", row) for row in rows), f"{page}.md has no row of {name!r}"


def test_every_method_has_its_name_test_and_example():
    page = (DOCS / "sources.md").read_text("utf-8").split("## Every method")[1]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] not in ("method", "---")]
    assert len(rows) > 40
    for method, name, test, example in rows:
        assert method, name
        assert name, method
        assert is_a_test(test.strip("`")), test
        parts = [re.fullmatch(r"`([\w/]+\.py)`|\[.+\]\(([\w-]+\.md)\)", part) for part in example.split(", ")]
        assert all(parts), example
        files = [ROOT / "examples" / part[1] if part[1] else DOCS / part[2] for part in parts]
        used = "".join(file.read_text("utf-8") for file in files)
        for said in re.findall(r"`([^`]+)`", name):
            value = re.search(r'"([^"]+)"', said)  # of a keyword; else the last part of the name must be used
            key = value[1] if value else re.sub(r"[(=].*", "", said).split(".")[-1]
            assert re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w-])|\.{re.escape(key)}\b", used), (name, key, example)


def test_the_page_of_the_api_is_that_of_the_docstrings():
    api = SimpleNamespace(**runpy.run_path(str(ROOT / ".ci" / "api.py")))
    assert (DOCS / "api.md").read_text("utf-8") == api.page(), "python .ci/api.py makes the page again"
    assert {name.split(".")[0] for names in api.NAMES.values() for name in names.split()} >= set(pt_active.__all__)


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL)


def test_the_road_of_a_label_ends_in_the_intervals_of_its_plan():
    names = {}
    exec(BLOCKS[0], names)
    plan, qrels, found = names["plan"], names["qrels"], names["found"]
    compared, status = plan.compare(qrels), plan.status(qrels)
    assert found.difference == compared.difference
    assert found.confidence_interval() == compared.confidence_interval()
    assert (names["low"], names["high"]) == (status.low, status.high)


def test_what_is_offered_upstream_says_what_its_experiment_says():
    """P-values are those of an experiment with one baseline; an interval ends where a t test rejects."""
    names = {"stats": stats, "multipletests": multipletests}
    for block in BLOCKS[1:]:
        exec(block, names)
    rng, topics = np.random.default_rng(0), pd.DataFrame({"qid": [f"q{i}" for i in range(30)], "query": "words"})
    pairs = topics[["qid"]].merge(pd.DataFrame({"docno": [f"d{i}" for i in range(9)]}), how="cross")
    qrels = pairs.assign(label=rng.integers(0, 2, len(pairs)))
    runs = [pairs.assign(score=qrels["label"] * weight + rng.random(len(pairs))) for weight in (0, 0.2, 0.4)]
    shown = {"correction": "holm", "baseline": 0, "names": ["a", "b", "c"]}
    found = pt.Experiment(runs, topics, qrels, [P @ 3], **shown)["P@3 p-value corrected"]

    calls = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}.items()
    qrels, *runs = (frame.rename(columns={old: new for new, old in calls}) for frame in (qrels, *runs))
    results = [ir_measures.calc([P @ 3], qrels, run) for run in runs]
    values = {name: np.array([m.value for m in each.per_query]) for name, each in zip("abc", results, strict=True)}
    assert names["corrected"](values, ["a"]) == pytest.approx({("a", "b"): found[1], ("a", "c"): found[2]})
    assert {frozenset(pair) for pair in names["corrected"](values, "ab")} == {*map(frozenset, ("ab", "ac", "bc"))}

    high = stats.ttest_1samp(values["a"], 0.7).pvalue
    assert names["interval"](results[0], P @ 3, 1 - high)[1] == pytest.approx(0.7, abs=1e-9)


def test_the_road_names_files_that_exist():
    named = set(re.findall(r"\b[a-z]+(?:/\w+)*/(?:\w+\.py)?", CONTRIBUTING.split("## Folders")[0]))
    known = {f"{path.relative_to(ROOT / 'pt_active')}{'/' * path.is_dir()}" for path in (ROOT / "pt_active").rglob("*")}
    others = {"tests/test_seams.py", "pt_active/pt_docs/", "report/", "report/report.py"}
    assert len(named & known) > 20
    assert named - known - others == set()


def test_the_python_of_the_readme_prints_what_is_shown(capsys):
    """In an empty namespace, as in a new notebook."""
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_the_readme_is_read_in_a_minute_without_the_glossary():
    assert len(README.split()) <= 600
    assert not re.search(r"surprises|hedged|obrien|\blevel|e-value", README)


@pytest.mark.slow
def test_the_readme_shows_what_the_commands_print():
    script = SimpleNamespace(**runpy.run_path(str(ROOT / "examples" / "transcript.py")))
    shown = script.BLOCK.search(README)
    assert plain(script.transcript()) == plain(shown[0].removeprefix(shown[1]).removesuffix(shown[2]))


def test_commands_in_pages_are_those_that_the_command_line_takes():
    """No command or option in README and in pages is one that there is not; values are not tried."""
    root, seen = typer.main.get_command(app.app), 0
    for page in (ROOT / "README.md", *PAGES):
        blocks = re.findall(r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
            if not (found := re.match(r"(\$ )?pt-active ([a-z].*)", line)):
                continue
            command, words = root, shlex.split(found[2], comments=True)
            while words and words[0] in getattr(command, "commands", ()):
                command, words = command.loaded(words[0]), words[1:]
            assert not hasattr(command, "commands") or not words or words[0].startswith("-"), (page.name, line)
            known = {name for each in (*command.params, *root.params) for name in (*each.opts, *each.secondary_opts)}
            asked = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert asked <= {*known, "--help"}, (page.name, line)
            seen += 1
    assert seen > 30
