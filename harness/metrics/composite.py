"""Composite: several metrics in one number, with weights that a person chose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from harness.metrics import metrics
from harness.metrics.facts import PYTHON_CASE, Example, MetricFacts
from harness.metrics.needs import Need, QualityMetric, ScoringContext
from harness.records import Case, Score

_TERM = re.compile(r"\s*([0-9.eE+-]+?)\s*\*\s*(.+?)\s*")
_PLUS = re.compile(r"\+(?=\s*[0-9.]+(?:[eE][+-]?\d+)?\s*\*)")


def _as_text(weights: Any) -> Any:
    """Accept `{bleu: 0.5, ...}` as well: YAML's own way to say it."""
    if isinstance(weights, Mapping):
        return " + ".join(f"{weight}*{name}" for name, weight in weights.items())
    return weights


@metrics.register
@dataclass(frozen=True)
class Composite(QualityMetric):
    """Weighted sum of quality metrics of the same question; the weights are 0 or more, sum 1.

    None, with the part's name, when a part has no value: weights are never made to fit the rest. 1:
    every part is 1. A middling value does not say which part is low. From 0 to 1. Source: this
    harness.
    """

    weights: Annotated[str, BeforeValidator(_as_text)] = (
        "0.5*bleu + 0.2*length_ratio + 0.3*context_overlap"
    )

    name: ClassVar[str] = "composite"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset()
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="Σ weight × metric, by default 0.5 bleu + 0.2 length_ratio + 0.3 context_overlap",
        example=Example(
            "bleu 0.4408, length_ratio 0.6538, context_overlap 0.4615: "
            "0.5 × 0.4408 + 0.2 × 0.6538 + 0.3 × 0.4615 = 0.4896.",
            "composite",
            [PYTHON_CASE],
            0.4896,
        ),
        use="only if the weights are yours",
        blind="which part moved",
        order="order-aware where a part is",
    )

    def __post_init__(self) -> None:
        weights = self._parse_weights()
        if any(weight < 0 for weight in weights.values()):
            raise ValueError("weights: each must be 0 or more")
        if abs(sum(weights.values()) - 1) > 1e-9:
            total = sum(weights.values())
            raise ValueError(f"weights: they sum to {total:.12g}, and must sum to 1")
        for name in weights:
            part = metrics.build(name)
            if part.name == self.name:
                raise ValueError("weights: a composite cannot be part of itself")
            if getattr(part, "rescale", False) and getattr(part, "baseline", None) is None:
                raise ValueError(f"weights: {name!r} must be given its baseline here")
            if part.kind != "quality":
                raise ValueError(f"weights: {name!r} gives no quality of single questions")

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the metrics it is made of."""
        return tuple(self._parse_weights())

    def score_all(self, cases: Sequence[Case], context: ScoringContext) -> list[Score]:
        """Return the weighted sums of the scores of the parts."""
        weights = self._parse_weights()
        rows = zip(*(context.scores[name] for name in weights), strict=True)
        return [self._combine(weights, dict(zip(weights, row, strict=True))) for row in rows]

    def _combine(self, weights: Mapping[str, float], scores: Mapping[str, Score]) -> Score:
        """Return the weighted sum; a part that does not apply, or else one that failed, decides."""
        null = [name for name in weights if scores[name].value is None]
        if null:
            name = min(null, key=lambda part: scores[part].state != "not_scored")
            return Score(None, f"{name}: {scores[name].reason}", scores[name].state)
        total = sum(weight * (scores[name].value or 0.0) for name, weight in weights.items())
        return Score(min(max(total, 0.0), 1.0), self.weights)

    def _parse_weights(self) -> dict[str, float]:
        weights: dict[str, float] = {}
        for term in _PLUS.split(self.weights):
            match = _TERM.fullmatch(term)
            if not match:
                raise ValueError(f"weights: {term.strip()!r} is not of the form 0.5*bleu")
            try:
                weight = float(match[1])
            except ValueError:
                raise ValueError(f"weights: {match[1]!r} is not a number") from None
            if match[2] in weights:
                raise ValueError(f"weights: {match[2]!r} is there twice")
            weights[match[2]] = weight
        return weights
