"""Glossary: definition, formula and example of every metric and term of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from harness.metrics import Metric
from harness.registry import description, full_label, summary
from harness.report import bands
from harness.report.document import Block, Fold, GlossaryEntry
from harness.report.glossary_terms import describe_scale, discounts, terms
from harness.report.run_view import View
from harness.report.sections import section
from harness.store.run_file import MetricDescription


@section("glossary", 80, "Glossary")
def blocks(view: View) -> Sequence[Block]:
    """Return an entry for each metric, whatever it is cut at, and for each other term."""
    lines = view.run.provenance.metrics
    built_metrics = {name: view.build_metric(name) for name in lines}
    entries: dict[str, list[str]] = {}
    for name, metric in built_metrics.items():
        entries.setdefault(metric.name, []).append(name)
    return [
        *(
            _entry({name: (built_metrics[name], lines[name]) for name in names})
            for names in entries.values()
        ),
        *terms(view, built_metrics),
        Fold("Discounts by rank", [discounts()]),
    ]


def _entry(variants: Mapping[str, tuple[Metric, MetricDescription]]) -> GlossaryEntry:
    """Return the entry of a metric that a run has under one name or several."""
    metric, line = next(iter(variants.values()))
    cls, facts = type(metric), getattr(metric, "facts", None)
    about = description(cls).removeprefix(summary(cls)).replace("`", "").strip()
    scale = bands.scale(metric.name)
    changed = sorted({key for variant, _ in variants.values() for key in _unusual_options(variant)})
    changes = f"of its usual form; {', '.join(changed)} of this run changes it" if changed else ""
    return GlossaryEntry(
        metric.name,
        summary(cls).replace("`", ""),
        facts.formula if facts else "",
        facts.example.text if facts else "",
        [
            *([("Formula", changes)] if changes else []),
            *(facts.rows() if facts else ()),
            *([("In words", describe_scale(scale))] if scale else []),
            *([("Also", about)] if about else []),
            ("Version", str(line.version)),
            *((name, _full_label(*variant)) for name, variant in variants.items()),
        ],
    )


def _full_label(metric: Metric, line: MetricDescription) -> str:
    text = full_label(metric)
    return f"{text}, judged by {line.labels}" if line.labels else text


def _unusual_options(metric: Metric) -> list[str]:
    """Return the options that change what a metric computes, where they are not the usual ones."""
    usual = {field.name: field.default for field in fields(metric)}  # type: ignore[arg-type]
    return [
        name
        for name in ("denominator", "gain", "ideal", "match", "abutting", "tokens")
        if name in usual and getattr(metric, name) != usual[name]
    ]
