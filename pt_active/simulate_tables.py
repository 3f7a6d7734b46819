"""Tables of `pt_active.simulate` for people and for programs."""

from __future__ import annotations

import numpy as np
import pandas as pd

_EXACT = 1e9
"""Label-equivalents above which a method makes no error but for rounding."""


def in_short(table: pd.DataFrame) -> str:
    """The most important columns of a table of `simulate`, for printing, best label-equivalents first.

    Args:
        table: As `simulate` returns it.
    """
    shown = pd.DataFrame(
        {
            "budget": table["budget"].map("{:,.0f}".format),
            "design": table["design"],
            "drawn": np.where(table["with_replacement"], "repeatedly", "once"),
            "estimator": table["estimator"],
            "judged": table["n_judged"].map("{:,.0f}".format),
            "rmse": table["rmse"].map("{:.4f}".format),
            "coverage": table["coverage"].map("{:.3f}".format),
        }
    )
    if "selection_error" in table.columns:
        shown["wrong winner"] = table["selection_error"].map("{:.3f}".format)
    shown["label-equivalents"] = [
        f"{ratio:.2f} ± {error:.2f}" if ratio < _EXACT else "exact"
        for ratio, error in zip(table["label_equivalents"], table["label_equivalents_se"], strict=True)
    ]
    shown["saving"] = table["saving"].map(lambda share: "" if np.isnan(share) else f"{share:.0%}")
    order = np.lexsort([-table["label_equivalents"], table["budget"]])
    legend = (
        f"truth {table['truth'].iloc[0]:.4f}, {table['repetitions'].iloc[0]} repetitions. label-equivalents: judgments "
        "that passive sampling\n(drawn once, plain mean) would need for each judgment of the method; ± standard error. "
        "saving: share of\nthe budget that is not needed for its error; blank where that lies outside the budgets."
    )
    return f"{shown.iloc[order].to_string(index=False)}\n\n{legend}"


def plain_rows(table: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of a table of `simulate`, ready for JSON: NaN and infinite numbers become None."""
    finite = table.replace([np.inf, -np.inf], np.nan).astype(object)
    return [{str(k): v for k, v in row.items()} for row in finite.where(finite.notna(), None).to_dict("records")]
