"""The picture of `pt-active demo`: one sample beside the truth, and the typical error over budgets.

python examples/reproduce/demo_picture.py --out pt_active/pt_docs/demo.png
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from evidence import parser_with
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from pt_active.demo.run import MEASURE, METHODS, RANKERS, Demo, run_demo
from pt_active.studies.simulate import replays

REPETITIONS = 1000
FACTORS = 2.0 ** (np.arange(-6, 7) / 2)  # Budgets of the error curves, as multiples of the demo's budget


class Curves(NamedTuple):
    """Estimates of the difference from many samples."""

    budgets: np.ndarray  # float64[b], increasing
    chosen: int  # the place of the demo's budget
    estimates: dict[str, np.ndarray]  # of each method, float64[b, REPETITIONS]
    errors: dict[str, np.ndarray]  # their root mean squared errors, float64[b]

    @property
    def equal_error_budget(self) -> float:
        """The budget at which documents have the typical error of random queries, rounded to two digits."""
        wanted = np.log(self.errors["random queries"][self.chosen])
        curve = np.log(np.minimum.accumulate(self.errors["single documents"]))
        return float(f"{np.exp(np.interp(-wanted, -curve, np.log(self.budgets))):.2g}")


def curves_of(demo: Demo) -> Curves:
    """Draw many samples of each method at several budgets, and estimate the difference from each."""
    cost, every = demo.population.cost, demo.budget * FACTORS
    usable = (every > 10 * cost.max()) & (every < 0.8 * cost.sum())
    budgets = np.unique(np.append(np.round(every[usable]), demo.budget))
    found = replays(demo.population, METHODS.values(), REPETITIONS, budgets=budgets, seed=demo.seed, progress=False)
    errors = {name: np.sqrt((found[method].error ** 2).mean(axis=-1)) for name, method in METHODS.items()}
    estimates = {name: found[method].estimate for name, method in METHODS.items()}
    return Curves(budgets, int(np.searchsorted(budgets, demo.budget)), estimates, errors)


class Look(NamedTuple):
    """How a method is drawn: a colour of Okabe and Ito that also differs in lightness, a marker and a line style."""

    colour: str
    marker: str
    line: str
    label: str


LOOKS = {
    "single documents": Look("#0072B2", "o", "-", "single\ndocuments"),
    "whole queries": Look("#009E73", "^", "-.", "whole queries,\nSawade et al."),
    "random queries": Look("#E69F00", "s", "--", "random\nqueries"),
}

INK = "#333333"


def save_picture(demo: Demo, path: Path) -> None:
    """Save the picture as PNG."""
    figure = Figure(figsize=(11, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    many = curves_of(demo)
    draw_answers(left, demo, many)
    draw_errors(right, demo, many)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    title = f"Which of two rankers is better? A simulated collection of {len(demo.collection.topics)} queries"
    figure.suptitle(title, x=0.01, ha="left", fontsize=14)
    figure.savefig(path)


def draw_answers(axes: Axes, demo: Demo, many: Curves) -> None:
    """The interval of each method, over the range that holds 95% of its estimates."""
    for y, (name, answer) in enumerate(demo.answers.items()):
        look, value = LOOKS[name], answer.comparison.difference
        low, high = answer.comparison.confidence_interval()
        usual = np.quantile(many.estimates[name][many.chosen], [0.025, 0.975])
        axes.barh(y, np.ptp(usual), left=usual[0], height=0.4, color=look.colour, alpha=0.35, lw=0)
        arms = [[value - low], [high - value]]
        axes.errorbar(value, y, xerr=arms, fmt=look.marker, color=INK, ms=8, capsize=6, lw=1.8)
    for x, text, line in ((demo.truth["difference"], "truth", "-"), (0, "tie", ":")):
        axes.axvline(x, color=INK, lw=1.2, ls=line)
        axes.annotate(
            text, (x, 1), xycoords=axes.get_xaxis_transform(), xytext=(4, -2), textcoords="offset points", va="top"
        )
    axes.set_yticks(range(len(demo.answers)), [LOOKS[name].label for name in demo.answers], fontsize=12)
    axes.set_ylim(len(demo.answers) - 0.5, -0.6)
    axes.set_xlabel(f"difference in {MEASURE}, {RANKERS[0]} − {RANKERS[1]}")
    everything = demo.population.cost.sum()
    axes.set_title(f"Answers from {demo.budget:,.0f} of {everything:,.0f} judgments", loc="left")
    handles = [
        Line2D([], [], color=INK, marker="o", lw=1.8, label="one sample, its 95% interval"),
        Patch(color=INK, alpha=0.25, lw=0, label=f"where 95% of {REPETITIONS:,} samples fall"),
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncol=2, frameon=False, fontsize=9.5)


def draw_errors(axes: Axes, demo: Demo, many: Curves) -> None:
    """Typical error of each method over budgets, and the saving of documents at equal error."""
    for name, errors in many.errors.items():
        look = LOOKS[name]
        axes.loglog(many.budgets, errors, look.line, marker=look.marker, color=look.colour, lw=2, ms=6)
        axes.annotate(name, (many.budgets[-1], errors[-1]), xytext=(8, -3), textcoords="offset points", fontsize=12)
    saved, error = many.equal_error_budget, many.errors["random queries"][many.chosen]
    if saved < demo.budget:
        arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.5, "shrinkA": 4, "shrinkB": 0}
        axes.annotate("", (saved, error), (demo.budget, error), arrowprops=arrow)
        text = f"the same error\nfrom {saved:,.0f} judgments\ninstead of {demo.budget:,.0f}"
        axes.annotate(text, (demo.budget, error), xytext=(12, 6), textcoords="offset points", va="bottom", fontsize=11)
    axes.set_xlabel("judgments")
    axes.set_ylabel("typical error (RMSE) of the difference")
    axes.set_title("Typical error, for other budgets", loc="left")
    axes.margins(x=0.08)
    plain_ticks(axes.xaxis, many.budgets[::2], "{x:,.0f}")
    low, high = axes.get_ylim()
    steps = np.outer(10.0 ** np.arange(-6, 6), [1, 2, 4]).ravel()
    plain_ticks(axes.yaxis, steps[(steps >= low) & (steps <= high)], "{x:g}")


def plain_ticks(axis: Axis, places: np.ndarray, format: str) -> None:
    axis.set_major_locator(FixedLocator(places.tolist()))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter(format))


def main() -> None:
    """Run the demo, and draw its picture."""
    parser = parser_with(__doc__, seed=4, evidence=False)
    parser.add_argument("--out", type=Path, default=Path("demo.png"))
    arguments = parser.parse_args()
    save_picture(run_demo(arguments.seed), arguments.out)
    print(f"The picture is {arguments.out}.")


if __name__ == "__main__":
    main()
