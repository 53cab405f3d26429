"""Glossary: what every number means, so that a newcomer can work it out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from harness import bands
from harness.metrics import Metric, metrics
from harness.registry import description, in_full, summary
from harness.report.blocks import Block, Entry, Fold
from harness.report.sections import sections
from harness.report.terms import discounts, terms, worded
from harness.report.view import View
from harness.stored import MetricLine


@sections.register
@dataclass(frozen=True)
class Glossary:
    """Every metric used, and what else a reader of this run must know."""

    name: ClassVar[str] = "glossary"
    order: ClassVar[int] = 80
    title: ClassVar[str] = "Glossary"
    short: ClassVar[str] = "Glossary"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return an entry for each metric, whatever it is cut at, and for each other term."""
        lines = view.run.provenance.metrics
        built = {name: metrics.build(line.spec) for name, line in lines.items()}
        entries: dict[str, list[str]] = {}
        for name, metric in built.items():
            entries.setdefault(metric.name, []).append(name)
        return [
            *(
                _entry({name: (built[name], lines[name]) for name in each})
                for each in entries.values()
            ),
            *terms(view, built),
            Fold("Discounts by rank", [discounts()]),
        ]


def _entry(variants: Mapping[str, tuple[Metric, MetricLine]]) -> Entry:
    """Return the entry of a metric that a run has under one name or several."""
    metric, line = next(iter(variants.values()))
    cls, facts = type(metric), metric.facts
    about = description(cls).removeprefix(summary(cls)).replace("`", "").strip()
    scale = bands.scale(metric.name)
    changed = sorted({key for each, _ in variants.values() for key in _options(each)})
    said = f"of its usual form; {', '.join(changed)} of this run changes it" if changed else ""
    return Entry(
        metric.name,
        summary(cls).replace("`", ""),
        facts.formula,
        facts.example.said,
        [
            *([("Formula", said)] if said else []),
            *facts.rows(),
            *([("In words", worded(scale))] if scale else []),
            ("Also", about),
            ("Version", str(line.version)),
            *((name, _in_full(*each)) for name, each in variants.items()),
        ],
    )


def _in_full(metric: Metric, line: MetricLine) -> str:
    said = in_full(metric)
    return f"{said}, judged by {line.labels}" if line.labels else said


def _options(metric: Metric) -> list[str]:
    """Return the options that change what a metric computes, where they are not the usual ones."""
    usual = {field.name: field.default for field in fields(metric)}  # type: ignore[arg-type]
    return [
        name
        for name in ("denominator", "gain", "ideal", "match", "abutting", "tokens")
        if name in usual and getattr(metric, name) != usual[name]
    ]
