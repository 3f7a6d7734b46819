"""The notebook in ``examples`` runs from its first cell to its last, and ends in the right verdict."""

import json
from pathlib import Path

import matplotlib as mpl

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def test_the_tour_ends_in_a_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not kept, since they would go out of date"
            exec("".join(cell["source"]), names)
    status, truth = names["status"], names["truth"]
    assert status.winner == "candidate"  # type: ignore[attr-defined]
    assert status.low < truth < status.high  # type: ignore[attr-defined]
    assert (tmp_path / "report.html").is_file()
    assert names["figure"].axes  # type: ignore[attr-defined]
