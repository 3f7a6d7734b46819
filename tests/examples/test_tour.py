"""The notebook in ``examples`` runs from its first cell to its last, and ends in the right verdict."""

import json
from pathlib import Path

import matplotlib as mpl

from pt_active.demo import collection

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def test_the_tour_ends_in_a_verdict(tmp_path, monkeypatch):
    """With half of its queries, which is quicker."""
    monkeypatch.chdir(tmp_path)
    made = collection.demo_collection
    monkeypatch.setattr(collection, "demo_collection", lambda queries: made(queries=queries // 2))
    mpl.use("Agg")
    names = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not kept, since they would go out of date"
            exec("".join(cell["source"]), names)
    status = names["status"]
    assert status.winner == "candidate"
    assert status.low < names["truth"] < status.high
    assert (tmp_path / "report.html").is_file()
    assert names["figure"].axes
