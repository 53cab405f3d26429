"""Hit rate: was anything relevant found?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.ranked import Ranked, Relevant


@metrics.register
@dataclass(frozen=True)
class HitRate(Ranked):
    """1 if any of the top k is relevant, else 0.

    Use it when one good result is enough. It cannot see how many were found, nor their order. 0 or
    1 a question, binary, order-aware only through the cut. Source: trec_eval `success_k`.
    """

    name: ClassVar[str] = "hit_rate"
    aliases: ClassVar[tuple[str, ...]] = ("success",)
    uses_inventory: ClassVar[bool] = False

    def measure(self, found: Relevant) -> float:
        """Return 1 or 0."""
        return float(bool(found.ranks))
