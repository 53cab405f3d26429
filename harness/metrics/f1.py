"""F1: precision and recall in one number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.ranked import Ranked, Relevant


@metrics.register
@dataclass(frozen=True, kw_only=True)
class F1(Ranked):
    """Harmonic mean of precision@k (divided by k) and recall@k; 0 when both are 0.

    Use it to balance what is shown against what is missed. It cannot see order. From 0 to 1,
    binary, not order-aware. Source: van Rijsbergen, "Information Retrieval", 1979.
    """

    k: Annotated[int, Gt(0)] = field()  # without it, the base class's default would stand

    name: ClassVar[str] = "f1"
    perfect: ClassVar[bool] = False

    def measure(self, found: Relevant) -> float:
        """Return 2 found / (k + inventory), which the harmonic mean comes to."""
        return 2 * len(found.ranks) / (self.k + found.inventory)
