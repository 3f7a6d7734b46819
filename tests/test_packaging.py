"""The package is found by its names: PyTerrier's site looks up the distribution and the import by ``pt_active``."""

import ast
import re
import subprocess
import sys
from fnmatch import fnmatch
from importlib.metadata import metadata
from importlib.resources import files
from pathlib import Path

import pyterrier as pt
import pytest

import pt_active

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["pt_active", "pt-active"])
def test_the_distribution_is_found_by_either_name(name):
    """As the script behind PyTerrier's list of extensions goes about it."""
    assert metadata(name)["Name"] == "pt-active"
    assert files(name.replace("-", "_")).joinpath("pt_docs", "index.rst").is_file()


def test_pyterrier_loads_the_module_which_imports_nothing_else():
    assert pt.active is pt_active
    code = "import pt_active, sys; print(*{'numpy', 'pandas', 'pyterrier', 'typer'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_names_are_those_that_type_checkers_see():
    tree = ast.parse(Path(pt_active.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    shown = {each.module: " ".join(name.name for name in each.names) for each in block.body}
    sources = {f"pt_active.{source}": names for source, names in pt_active._SOURCES.items()}
    assert {module: names for module, names in shown.items() if "pt_active." in module} == sources
    assert sorted(" ".join(sources.values()).split()) == sorted(pt_active.__all__)
    assert set(pt_active.__all__) <= set(dir(pt_active))
    assert pt_active.frames.trec.read_run
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pt_active.nothing  # noqa: B018


def test_every_page_and_picture_is_packaged():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["pt_active.pt_docs"]
    names = [path.name for path in (ROOT / "pt_active" / "pt_docs").iterdir()]
    assert "index.rst" in names
    assert [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)] == ["evidence"]
    assert {"evidence/*.csv", "evidence/*.txt"} <= set(patterns)


def test_links_of_the_readme_resolve_where_there_is_no_repository():
    """An index shows the README alone: links are addresses, and those of the repository lead to its files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []
    ours = re.findall(r"\]\(https://[^/]+/pt-active/pt_active/(?:blob/)?main/([^)#]+)(?:#([^)]+))?\)", text)
    assert len(ours) > 10
    for file, anchor in ours:
        assert (ROOT / file).is_file(), file
        headings = re.findall(r"^#+ (.+)$", (ROOT / file).read_text("utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, anchor


def test_schematics_and_the_citation_have_the_address_and_the_version():
    about, address = metadata("pt_active"), pt_active.UniformGrades.schematic["help_url"]
    assert f"Homepage, {address}" in about.get_all("Project-URL")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = dict(re.findall(r'^(version|repository-code): "(.+)"$', citation, flags=re.MULTILINE))
    assert found == {"version": about["Version"], "repository-code": address}
