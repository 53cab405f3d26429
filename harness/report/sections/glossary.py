"""Glossary: what each metric of this run means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.report.blocks import Block, Table
from harness.report.sections import sections
from harness.report.view import View


@sections.register
@dataclass(frozen=True)
class Glossary:
    """Every metric used, with what it judges by."""

    name: ClassVar[str] = "glossary"
    order: ClassVar[int] = 80
    title: ClassVar[str] = "Glossary"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return one table."""
        first: dict[str, str] = {}  # what is said of a metric, once, and the name that it is under
        rows = []
        for name, metric in view.run.provenance.metrics.items():
            other = first.setdefault(metric.about, name)
            about = metric.about if other == name else f"As {other}."
            rows.append([name, about, metric.labels or "–", view.in_full(name)])
        head = ["Metric", "What it is", "Judged by", "In full"]
        return [Table(head, rows, numeric=False)] if rows else []
