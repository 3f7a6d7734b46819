"""The order of the folders, which CONTRIBUTING.md shows as a tree: what may import what."""

from __future__ import annotations

import ast
import functools
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

NODES = 282_000
"""Nodes of the syntax trees of the package, at most: the size that packing lines cannot change."""

ROOT_ENTRIES = 18
"""Beside ``py.typed`` and ``pt_docs``, whose places are fixed by PEP 561 and PyTerrier."""


@functools.cache
def modules() -> dict[str, Path]:
    """Dotted name below the package → file. A folder's name stands for its ``__init__``, '' for that of the package."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Module → its syntax tree."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules().items()}


@functools.cache
def imported(module: str) -> tuple[set[str], set[str]]:
    """What a file imports, at its top, inside functions and for type checkers: own modules, and other packages.

    ``from pt_active.risk import Audit`` imports ``risk``, ``from pt_active.risk import audit`` imports ``risk.audit``.
    A relative import counts as another package, whose name starts with a dot.
    """
    known, full = modules(), set()
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.Import):
            full |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            names = {f"{source}.{alias.name}" for alias in node.names}
            full |= {name if name.removeprefix("pt_active.") in known else source for name in names}
    own = {name for name in full if name.partition(".")[0] == "pt_active"}
    others = {name if name.startswith(".") else name.partition(".")[0] for name in full - own}
    return {name.partition(".")[2] for name in own}, others


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Module → the modules of the package that it imports."""
    return {name: imported(name)[0] for name in modules()}


def test_imports_are_absolute_and_name_their_module(imports: dict[str, set[str]]) -> None:
    """No relative imports, and inside the package no names from its root, which imports nearly everything."""
    for name in modules():
        relative = [other for other in imported(name)[1] if other.startswith(".")]
        assert not relative, f"{name} imports {relative}"
        assert "" not in imports[name], f"{name} imports from pt_active itself"


def row(module: str) -> int:
    """The row of a module; the package's own ``__init__`` and ``__main__`` come last."""
    folder = module.partition(".")[0]
    return next((number for number, names in enumerate(ORDER) if folder in names), len(ORDER))


def test_folders_import_only_from_those_before_them(imports: dict[str, set[str]]) -> None:
    wrong = []
    for module, others in imports.items():
        for other in others:
            folders = module.partition(".")[0], other.partition(".")[0]
            if folders[0] != folders[1] and folders not in ALLOWED and row(other) >= row(module):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


IN_PLANS = ("making", "answers", "answers.report", "estimating", "answering", "plan")
"""A folder or file of plans imports only from itself and from those before it."""


def test_no_arrow_leads_up_inside_plans(imports: dict[str, set[str]]) -> None:
    def place(module: str) -> int:
        return max(n for n, part in enumerate(IN_PLANS) if f"{module}.".startswith(f"plans.{part}."))

    inside = {module for module in imports if module.startswith("plans.")}
    wrong = [(one, other) for one in inside for other in imports[one] & inside if place(other) > place(one)]
    assert wrong == []


@pytest.mark.parametrize("folder", ["sampling", "inference"])
def test_sampling_and_inference_know_no_frames(folder: str, imports: dict[str, set[str]]) -> None:
    for module in modules():
        if module.partition(".")[0] == folder:
            assert not imported(module)[1] & {"pandas", "pyterrier", "ir_measures"}, module
            assert not [other for other in imports[module] if other.partition(".")[0] == "frames"], module


def test_no_files_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    assert circle(imports) == ""


def circle(graph: dict[str, set[str]]) -> str:
    """Nodes that need each other, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " → ".join(error.args[1])
    return ""


def test_no_entries_of_a_folder_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    """At every level: a folder inside counts as one entry, so that what it holds has one place in the order."""
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


def test_the_package_has_the_size_that_a_stranger_can_carry() -> None:
    nodes = sum(sum(1 for _ in ast.walk(tree)) for tree in trees().values())
    print(f"{nodes:,} nodes in {len(trees())} files")
    assert nodes <= NODES


def test_a_name_of_a_class_means_one_thing() -> None:
    """No two classes of the package have one name, so that a reader who meets it knows which one it is."""
    names = Counter(node.name for tree in trees().values() for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, times in names.items() if times > 1] == []


def test_the_root_is_the_road_and_the_folders_say_their_idea() -> None:
    python = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    others = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    entries = (python | others) - {"py.typed"}
    assert len(entries) <= ROOT_ENTRIES
    assert entries == {"__init__.py", "__main__.py"} | {
        name if (PACKAGE / name).is_dir() else f"{name}.py" for names in ORDER for name in names
    }
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        text = (folder / "__init__.py").read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{folder.name}/__init__.py does not say its idea"


def test_contributing_shows_every_folder() -> None:
    """Each line of the tree that names a folder, which ends in a slash, stands two spaces deeper than that it is in."""
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown, above = [], []
    for line in text.split("```text\npt_active/\n", 1)[1].split("```", 1)[0].splitlines():
        name = line.split()[0]
        above[(len(line) - len(line.lstrip())) // 2 - 1 :] = [name]
        shown += ["".join(above)] if name.endswith("/") else []
    files = {path for ending in ("py", "jinja") for path in PACKAGE.rglob(f"*.{ending}")}
    assert set(shown) == {f"{path.parent.relative_to(PACKAGE)}/" for path in files} - {"./"}
