"""R-precision: precision where it and recall meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from harness.metrics import metrics
from harness.ranked import Ranked, Relevant


@metrics.register
@dataclass(frozen=True)
class RPrecision(Ranked):
    """Relevant items among the first R, divided by R, the number of relevant items there are.

    Use it when questions differ in how much is relevant to them. It cannot see order within the
    first R. From 0 to 1, binary, order-aware only through the cut. Source: trec_eval `Rprec`.
    """

    k: None = field(default=None, init=False)

    name: ClassVar[str] = "r_precision"

    def measure(self, found: Relevant) -> float:
        """Return the share of relevant items in the first R."""
        return sum([rank <= found.inventory for rank in found.ranks]) / found.inventory
