"""Chart of means with their intervals, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class PlottedMean:
    """The mean of one thing, and its 95 % interval where there is one."""

    name: str
    mean: float | None
    low: float | None
    high: float | None


def chart(rows: Sequence[PlottedMean], metric: str) -> Any:
    """Return an Altair chart: a row each, in order, the mean as a point on its interval."""
    import altair as alt

    base = alt.Chart(alt.Data(values=[asdict(row) for row in rows])).encode(
        y=alt.Y("name:N", sort=None, title=None)
    )
    title = f"{metric}, with 95 % intervals"
    interval = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    mean = base.mark_point(filled=True, size=60, opacity=1).encode(
        x="mean:Q", tooltip=["name:N", "mean:Q", "low:Q", "high:Q"]
    )
    return interval + mean
