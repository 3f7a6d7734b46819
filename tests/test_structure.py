"""The order of the folders, which CONTRIBUTING.md shows as a tree: what may import what."""

import ast
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pt_active

PACKAGE = Path(pt_active.__file__).parent

ORDER = (
    ("frames",),
    ("relevance",),
    ("sampling",),
    ("inference",),
    ("showing",),
    ("plans",),
    ("risk", "judging"),
    ("rounds", "transformers", "experiment", "answers"),
    ("studies", "demo", "logs"),
    ("cli",),
)
"""A folder, or a file at the root, imports only from those of earlier rows. Those of one row do not know each other."""

ALLOWED = {("demo", "studies")}
"""The demo replays its evaluation, which is what ``studies`` is for."""

IN_PLANS = ("making", "answers", "answers.report", "plan")
"""A folder or file of plans imports only from itself and from those before it."""

NODES = 266_000
"""Nodes of the syntax trees of the package, at most: the size that packing lines cannot change."""

ROOT_ENTRIES = 18
"""Beside ``py.typed`` and ``pt_docs``, whose places are fixed by PEP 561 and PyTerrier."""

FILES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
MODULES = {name.removesuffix("__init__").removesuffix("."): path for name, path in FILES.items()}
"""Dotted name below the package → file. A folder's name stands for its ``__init__``, '' for that of the package."""


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Module → its syntax tree."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


@pytest.fixture(scope="module")
def imported(trees) -> list[tuple[str, str]]:
    """A module and what it imports, at its top, inside functions and for type checkers.

    ``from pt_active.risk import Audit`` imports ``pt_active.risk``, and ``from pt_active.risk import audit`` imports
    ``pt_active.risk.audit``. The name of a relative import starts with a dot.
    """
    found = set()
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {(module, alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                source = "." * node.level + (node.module or "")
                names = [f"{source}.{alias.name}" for alias in node.names]
                known = [name if name.removeprefix("pt_active.") in MODULES else source for name in names]
                found |= {(module, name) for name in known}
    return sorted(found)


@pytest.fixture(scope="module")
def imports(imported) -> list[tuple[str, str]]:
    """A module and one of the package that it imports."""
    ours = [(one, other) for one, other in imported if other.partition(".")[0] == "pt_active"]
    return [(one, other.partition(".")[2]) for one, other in ours]


def test_imports_are_absolute_and_name_their_module(imported):
    """No relative imports, and inside the package no names from its root, which imports nearly everything."""
    assert [pair for pair in imported if pair[1][0] == "." or pair[1] == "pt_active"] == []


def test_sampling_and_inference_know_no_frames(imported):
    barred = re.compile(r"(sampling|inference)\b.* (pandas|pyterrier|ir_measures|pt_active\.frames)\b")
    assert [pair for pair in imported if barred.match(" ".join(pair))] == []


def test_folders_import_only_from_those_before_them(imports):
    """The package's own ``__init__`` and ``__main__`` come last."""
    row = {folder: number for number, names in enumerate(ORDER) for folder in names}
    folders = {(one.partition(".")[0], other.partition(".")[0]) for one, other in imports}
    wrong = [pair for pair in folders if pair[0] in row and row.get(pair[1], 99) >= row[pair[0]]]
    assert {pair for pair in wrong if pair[0] != pair[1]} <= ALLOWED


def test_no_arrow_leads_up_inside_plans(imports):
    def place(module: str) -> int:
        return max(n for n, part in enumerate(IN_PLANS) if f"{module}.".startswith(f"plans.{part}."))

    inside = [pair for pair in imports if all(each.startswith("plans.") for each in pair)]
    assert [(one, other) for one, other in inside if place(other) > place(one)] == []


def test_neither_files_nor_entries_of_a_folder_import_each_other_in_a_circle(imports):
    """At every level: a folder inside counts as one entry, so that what it holds has one place in the order."""
    levels: dict[str, dict[str, set[str]]] = {"files": {}}
    for module, other in imports:
        levels["files"].setdefault(module, set()).add(other)
        ours, theirs = module.split("."), other.split(".")
        pairs = enumerate(zip(ours, theirs, strict=False))
        depth = next((at for at, pair in pairs if pair[0] != pair[1]), None)
        if depth is not None:
            entries = levels.setdefault("/".join(["", *ours[:depth]]), {})
            entries.setdefault(ours[depth], set()).add(theirs[depth])
    for folder, graph in levels.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(f"{folder}: {' → '.join(error.args[1])}")
    assert len(levels) > 2


def test_the_package_has_the_size_that_a_stranger_can_carry(trees):
    nodes = sum(sum(1 for _ in ast.walk(tree)) for tree in trees.values())
    print(f"{nodes:,} nodes in {len(trees)} files")
    assert nodes <= NODES


def test_a_name_of_a_class_means_one_thing(trees):
    """No two classes of the package have one name, so that a reader who meets it knows which one it is."""
    nodes = [node for tree in trees.values() for node in tree.body]
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, times in names.items() if times > 1] == []


def test_the_root_is_the_road_and_the_folders_say_their_idea(trees):
    python = {path.relative_to(PACKAGE).parts[0] for path in MODULES.values()}
    entries = python | {path.name for path in PACKAGE.iterdir() if path.is_file()} - {"py.typed"}
    assert len(entries) <= ROOT_ENTRIES
    known = [name if (PACKAGE / name).is_dir() else f"{name}.py" for names in ORDER for name in names]
    assert entries == {"__init__.py", "__main__.py", *known}
    folders = [name for name, path in MODULES.items() if path.name == "__init__.py"]
    assert [name for name in folders if not ast.get_docstring(trees[name])] == []
    assert len(folders) == len({path.parent for path in MODULES.values()})


def test_contributing_shows_every_folder():
    """Each line of the tree that names a folder, which ends in a slash, stands two spaces deeper than that it is in."""
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown, above = set(), []
    for line in text.split("```text\npt_active/\n", 1)[1].split("```", 1)[0].splitlines():
        name = line.split()[0]
        above[(len(line) - len(line.lstrip())) // 2 - 1 :] = [name]
        shown |= {"".join(above)} if name.endswith("/") else set()
    files = {path for ending in ("py", "jinja") for path in PACKAGE.rglob(f"*.{ending}")}
    assert shown == {f"{path.parent.relative_to(PACKAGE)}/" for path in files} - {"./"}
