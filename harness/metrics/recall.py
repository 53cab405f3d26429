"""Recall: how much of what is relevant was found?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.ranked import Ranked, Relevant


@metrics.register
@dataclass(frozen=True, kw_only=True)
class Recall(Ranked):
    """Relevant items in the top k, divided by all relevant items there are.

    Use it when the model needs the complete context. It cannot see what stands between the relevant
    items. From 0 to 1, binary, not order-aware. Source: trec_eval `recall_k`.
    """

    k: Annotated[int, Gt(0)] = field()  # without it, the base class's default would stand

    name: ClassVar[str] = "recall"

    def measure(self, found: Relevant) -> float:
        """Return the share that was found."""
        return len(found.ranks) / found.inventory
