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

NODES = 271_500
"""Nodes of the syntax trees of the package, at most: the size that packing lines cannot change."""

ROOT_ENTRIES = 18
"""Beside ``py.typed`` and ``pt_docs``, whose places are fixed by PEP 561 and PyTerrier."""


MODULES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
"""Dotted name below the package → file. A folder's name stands for its ``__init__``, '' for that of the package."""
MODULES = {name.removesuffix("__init__").removesuffix("."): path for name, path in MODULES.items()}

IN_PLANS = ("making", "answers", "answers.report", "plan")
"""A folder or file of plans imports only from itself and from those before it."""


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Module → its syntax tree."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


@pytest.fixture(scope="module")
def imported(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Module → what it imports, at its top, inside functions and for type checkers.

    ``from pt_active.risk import Audit`` imports ``pt_active.risk``, and ``from pt_active.risk import audit`` imports
    ``pt_active.risk.audit``. The name of a relative import starts with a dot.
    """
    found: dict[str, set[str]] = {name: set() for name in trees}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found[module] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                source = "." * node.level + (node.module or "")
                names = {f"{source}.{alias.name}" for alias in node.names}
                found[module] |= {each if each.removeprefix("pt_active.") in MODULES else source for each in names}
    return found


@pytest.fixture(scope="module")
def imports(imported: dict[str, set[str]]) -> dict[str, set[str]]:
    """Module → the modules of the package that it imports."""
    return {
        module: {name.partition(".")[2] for name in names if name.partition(".")[0] == "pt_active"}
        for module, names in imported.items()
    }


def test_imports_are_absolute_and_name_their_module(imported):
    """No relative imports, and inside the package no names from its root, which imports nearly everything."""
    wrong = [(one, other) for one in imported for other in imported[one] if other[0] == "." or other == "pt_active"]
    assert wrong == []


def row(module: str) -> int:
    """The row of a module; the package's own ``__init__`` and ``__main__`` come last."""
    folder = module.partition(".")[0]
    return next((number for number, names in enumerate(ORDER) if folder in names), len(ORDER))


def test_folders_import_only_from_those_before_them(imports):
    wrong = []
    for module, others in imports.items():
        for other in others:
            folders = module.partition(".")[0], other.partition(".")[0]
            if folders[0] != folders[1] and folders not in ALLOWED and row(other) >= row(module):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


def test_no_arrow_leads_up_inside_plans(imports):
    def place(module: str) -> int:
        return max(n for n, part in enumerate(IN_PLANS) if f"{module}.".startswith(f"plans.{part}."))

    inside = {module for module in imports if module.startswith("plans.")}
    wrong = [(one, other) for one in inside for other in imports[one] & inside if place(other) > place(one)]
    assert wrong == []


def test_sampling_and_inference_know_no_frames(imported):
    barred = re.compile(r"(pandas|pyterrier|ir_measures|pt_active\.frames)\b")
    arrays = [module for module in imported if module.partition(".")[0] in ("sampling", "inference")]
    assert [(module, name) for module in arrays for name in imported[module] if barred.match(name)] == []


def circle(graph: dict[str, set[str]]) -> str:
    """Nodes that need each other, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " → ".join(error.args[1])
    return ""


def test_neither_files_nor_entries_of_a_folder_import_each_other_in_a_circle(imports):
    """At every level: a folder inside counts as one entry, so that what it holds has one place in the order."""
    assert circle(imports) == ""
    levels: dict[str, dict[str, set[str]]] = {}
    for module, others in imports.items():
        for other in others:
            ours, theirs = module.split("."), other.split(".")
            depth = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
            if depth is not None:
                entries = levels.setdefault("/".join(ours[:depth]), {})
                entries.setdefault(ours[depth], set()).add(theirs[depth])
    assert {folder: circle(graph) for folder, graph in levels.items() if circle(graph)} == {}
    assert len(levels) > 1


def test_the_package_has_the_size_that_a_stranger_can_carry(trees):
    nodes = sum(sum(1 for _ in ast.walk(tree)) for tree in trees.values())
    print(f"{nodes:,} nodes in {len(trees)} files")
    assert nodes <= NODES


def test_a_name_of_a_class_means_one_thing(trees):
    """No two classes of the package have one name, so that a reader who meets it knows which one it is."""
    names = Counter(node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, times in names.items() if times > 1] == []


def test_the_root_is_the_road_and_the_folders_say_their_idea(trees):
    python = {path.relative_to(PACKAGE).parts[0] for path in MODULES.values()}
    others = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    entries = (python | others) - {"py.typed"}
    assert len(entries) <= ROOT_ENTRIES
    known = [name if (PACKAGE / name).is_dir() else f"{name}.py" for names in ORDER for name in names]
    assert entries == {"__init__.py", "__main__.py", *known}
    folders = [name for name, path in MODULES.items() if path.name == "__init__.py"]
    assert [name for name in folders if not ast.get_docstring(trees[name])] == []
    assert len(folders) == len({path.parent for path in MODULES.values()})


def test_contributing_shows_every_folder():
    """Each line of the tree that names a folder, which ends in a slash, stands two spaces deeper than that it is in."""
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown, above = [], []
    for line in text.split("```text\npt_active/\n", 1)[1].split("```", 1)[0].splitlines():
        name = line.split()[0]
        above[(len(line) - len(line.lstrip())) // 2 - 1 :] = [name]
        shown += ["".join(above)] if name.endswith("/") else []
    files = {path for ending in ("py", "jinja") for path in PACKAGE.rglob(f"*.{ending}")}
    assert set(shown) == {f"{path.parent.relative_to(PACKAGE)}/" for path in files} - {"./"}
