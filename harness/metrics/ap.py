"""AP: precision, averaged over the places where relevant items stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.metrics import metrics
from harness.ranked import Ranked, Relevant


@metrics.register
@dataclass(frozen=True, kw_only=True)
class Ap(Ranked):
    """Sum of precision@i over the relevant ranks i up to k, divided by all relevant items.

    Its mean is MAP. `denominator: retrieved` divides by the relevant items found, which hides what
    was missed. Use it when several relevant items matter and so does their order. It cannot see
    grades. From 0 to 1, binary, order-aware. Source: trec_eval `map`, `map_cut_k`.
    """

    denominator: Literal["inventory", "retrieved"] = "inventory"

    name: ClassVar[str] = "ap"
    aliases: ClassVar[tuple[str, ...]] = ("map",)

    @property
    def uses_inventory(self) -> bool:  # type: ignore[override]  # here it is the option's to say
        """Whether it needs to know every relevant item there is."""
        return self.denominator == "inventory"

    def measure(self, found: Relevant) -> float:
        """Return the average precision."""
        total = sum([count / rank for count, rank in enumerate(found.ranks, start=1)])
        divisor = found.inventory if self.denominator == "inventory" else len(found.ranks)
        return total / divisor if divisor else 0.0
