"""Writes the demo's files, and its picture: one sample beside the truth, and the typical error over budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from pt_active.demo.run import MEASURE, RANKERS, REPETITIONS, Demo
from pt_active.frames.atomic import new_folder
from pt_active.frames.visible import guarded
from pt_active.frames.worklists import write_assessments


def write_demo(demo: Demo, folder: Path) -> None:
    """Write the plan, its assessments, the judgments, the numbers and the picture into a new folder."""
    active = demo.answers["active"]
    with new_folder(folder) as inside:
        active.plan.save(inside / "plan")
        write_assessments(active.plan.assessments, inside / "assessments.csv", "csv")
        active.judgments.apply(guarded).to_csv(inside / "judgments.csv", index=False)
        (inside / "result.json").write_text(json.dumps(demo.to_dict(), indent=2) + "\n", encoding="utf-8")
        save_picture(demo, inside / "demo.png")


class _Look(NamedTuple):
    """How a method is drawn: a colour of Okabe and Ito that also differs in lightness, a marker and a line style."""

    colour: str
    marker: str
    line: str
    label: str


_LOOKS = {
    "active": _Look("#0072B2", "o", "-", "active,\nwith model"),
    "passive": _Look("#E69F00", "s", "--", "passive,\nplain mean"),
}

_INK = "#333333"


def save_picture(demo: Demo, path: Path) -> None:
    """Save the picture as PNG."""
    figure = Figure(figsize=(11, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    _draw_answers(left, demo)
    _draw_errors(right, demo)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    title = f"Which of two rankers is better? A simulated collection of {len(demo.collection.topics)} queries"
    figure.suptitle(title, x=0.01, ha="left", fontsize=14)
    figure.savefig(path)


def _draw_answers(axes: Axes, demo: Demo) -> None:
    """The interval of each method, over the range that holds 95% of its estimates."""
    many = demo.repetitions
    for y, (name, answer) in enumerate(demo.answers.items()):
        look, value = _LOOKS[name], answer.comparison.difference
        low, high = answer.comparison.confidence_interval()
        usual = np.quantile(many.estimates[name][many.chosen], [0.025, 0.975])
        axes.barh(y, np.ptp(usual), left=usual[0], height=0.4, color=look.colour, alpha=0.35, lw=0)
        arms = [[value - low], [high - value]]
        axes.errorbar(value, y, xerr=arms, fmt=look.marker, color=_INK, ms=8, capsize=6, lw=1.8)
    for x, text, line in ((many.truth, "truth", "-"), (0, "no difference", ":")):
        axes.axvline(x, color=_INK, lw=1.2, ls=line)
        axes.annotate(
            text, (x, 1), xycoords=axes.get_xaxis_transform(), xytext=(4, -2), textcoords="offset points", va="top"
        )
    axes.set_yticks(range(len(demo.answers)), [_LOOKS[name].label for name in demo.answers], fontsize=12)
    axes.set_ylim(len(demo.answers) - 0.5, -0.6)
    axes.set_xlabel(f"difference in {MEASURE}, {RANKERS[0]} − {RANKERS[1]}")
    everything = demo.answers["active"].plan.tables.manifest.pool_cost
    axes.set_title(f"Answers from {demo.budget:,.0f} of {everything:,.0f} judgments", loc="left")
    handles = [
        Line2D([], [], color=_INK, marker="o", lw=1.8, label="one sample, its 95% interval"),
        Patch(color=_INK, alpha=0.25, lw=0, label=f"where 95% of {REPETITIONS:,} samples fall"),
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncol=2, frameon=False, fontsize=9.5)


def _draw_errors(axes: Axes, demo: Demo) -> None:
    """Typical error of each method over budgets, and the saving of active at equal error."""
    many = demo.repetitions
    for name, errors in many.typical_errors.items():
        look = _LOOKS[name]
        axes.loglog(many.budgets, errors, look.line, marker=look.marker, color=look.colour, lw=2, ms=6)
        axes.annotate(name, (many.budgets[-1], errors[-1]), xytext=(8, -3), textcoords="offset points", fontsize=12)
    saved, error = many.equal_error_budget, many.typical_errors["passive"][many.chosen]
    if saved < demo.budget:
        arrow = {"arrowstyle": "-|>", "color": _INK, "lw": 1.5, "shrinkA": 4, "shrinkB": 0}
        axes.annotate("", (saved, error), (demo.budget, error), arrowprops=arrow)
        text = f"the same error\nfrom {saved:,.0f} judgments\ninstead of {demo.budget:,.0f}"
        axes.annotate(text, (demo.budget, error), xytext=(12, 6), textcoords="offset points", va="bottom", fontsize=11)
    axes.set_xlabel("judgments")
    axes.set_ylabel("typical error (RMSE) of the difference")
    axes.set_title("Typical error, for other budgets", loc="left")
    axes.margins(x=0.08)
    _plain_ticks(axes.xaxis, many.budgets[::2], "{x:,.0f}")
    low, high = axes.get_ylim()
    steps = np.outer(10.0 ** np.arange(-6, 6), [1, 2, 4]).ravel()
    _plain_ticks(axes.yaxis, steps[(steps >= low) & (steps <= high)], "{x:g}")


def _plain_ticks(axis: Axis, places: np.ndarray, format: str) -> None:
    axis.set_major_locator(FixedLocator(places.tolist()))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter(format))
