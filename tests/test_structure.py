"""The order of the folders, which CONTRIBUTING.md shows as a tree: what may import what."""

from __future__ import annotations

import ast
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
    ("plans",),
    ("risk", "rounds"),
    ("transformers", "experiment"),
    ("studies", "demo"),
    ("cli",),
)
"""A folder, or a file at the root, imports only from those of earlier rows. Those of one row do not know each other."""

ALLOWED = {("demo", "studies")}
"""The demo replays its evaluation, which is what ``studies`` is for."""

ROOT_ENTRIES = 14
"""Beside ``py.typed`` and ``pt_docs``, whose places are fixed by PEP 561 and PyTerrier."""


def modules() -> dict[str, Path]:
    """Dotted name below the package → file, without the ``__init__`` files, which only hand names on."""
    files = (path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in files}


def imported(path: Path) -> tuple[set[str], set[str]]:
    """What a file imports, at its top, inside functions and for type checkers: own modules, and other packages."""
    own, others = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            others |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package, _, module = str(node.module).partition(".")
            if package == "pt_active":
                own |= {module} | {f"{module}.{alias.name}".strip(".") for alias in node.names}
            else:
                others.add(package)
    return own, others


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Module → the modules of the package that it imports."""
    known = modules()
    return {name: imported(path)[0] & set(known) for name, path in known.items()}


def row(module: str) -> int:
    folder = module.partition(".")[0]
    return next(number for number, names in enumerate(ORDER) if folder in names)


def test_folders_import_only_from_those_before_them(imports: dict[str, set[str]]) -> None:
    wrong = []
    for module, others in imports.items():
        for other in others:
            folders = module.partition(".")[0], other.partition(".")[0]
            if folders[0] != folders[1] and folders not in ALLOWED and row(other) >= row(module):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


@pytest.mark.parametrize("folder", ["sampling", "inference"])
def test_sampling_and_inference_know_no_frames(folder: str, imports: dict[str, set[str]]) -> None:
    for module, path in modules().items():
        if module.startswith(f"{folder}."):
            assert not imported(path)[1] & {"pandas", "pyterrier", "ir_measures"}, module
            assert not [other for other in imports[module] if other.startswith("frames.")], module


def test_no_files_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_the_root_is_the_road_and_the_folders_say_their_idea() -> None:
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "py.typed", "pt_docs"}
    assert len(entries) <= ROOT_ENTRIES
    assert entries == {"__init__.py", "__main__.py"} | {
        name if (PACKAGE / name).is_dir() else f"{name}.py" for names in ORDER for name in names
    }
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        text = (folder / "__init__.py").read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{folder.name}/__init__.py does not say its idea"


def test_contributing_shows_every_folder_and_file() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = text.split("```text", 1)[1].split("```", 1)[0]
    shown = set(tree.split())
    for path in modules().values():
        if path.parent != PACKAGE:
            assert f"{path.parent.name}/" in shown, path.parent.name
        assert path.name in shown, path.name
