"""MRR: how far down is the first relevant item?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.ranked import Ranked, Relevant


@metrics.register
@dataclass(frozen=True)
class Mrr(Ranked):
    """1 / rank of the first relevant item, 0 if none (within k); its mean is the MRR.

    Use it when one good result is wanted. It cannot see anything after the first relevant item.
    From 0 to 1, binary, order-aware. Source: trec_eval `recip_rank`.
    """

    name: ClassVar[str] = "mrr"
    aliases: ClassVar[tuple[str, ...]] = ("rr",)
    uses_inventory: ClassVar[bool] = False

    def measure(self, found: Relevant) -> float:
        """Return the reciprocal rank."""
        return 1 / found.ranks[0] if found.ranks else 0.0
