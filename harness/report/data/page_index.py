"""Index of the question browser: what it needs before it unpacks any other part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from harness.report.charts.losses_chart import kept_label
from harness.report.data.first_questions import choose_first
from harness.report.data.page_records import STAGES
from harness.report.run_view import View

_USUAL_SECOND = "token_f1"


def index(view: View) -> dict[str, Any]:
    """Return the run's cells, metrics, settings and questions to read; numbers are places."""
    run = view.run
    settings = run.config.get("resolved", {})
    focus = view.focus
    place = {question: number for number, question in enumerate(view.stored.questions)}
    return {
        "by": view.metrics.index(view.by),
        "second": _second_metric(view),
        "labels": run.provenance.labels,
        "level": settings.get("relevance_level", 1),
        "chunks": settings.get("context", {}).get("chunks"),
        "cells": [
            {
                "name": view.name(cell),
                "best": cell is focus,
                "baseline": cell.name == run.baseline,
                "hue": view.mark(cell).hue,
                "shape": view.mark(cell).shape,
            }
            for cell in view.cells
        ],
        "metrics": [_metric_entry(view, name) for name in view.metrics],
        "stages": STAGES,
        "kept": kept_label(view),
        "ten": [place[record.question] for record in choose_first(view)],
    }


def _metric_entry(view: View, name: str) -> dict[str, Any]:
    about = view.run.provenance.metrics[name]
    metric = view.build_metric(name)
    options = {field.name: getattr(metric, field.name) for field in fields(metric)}  # type: ignore[arg-type]
    plain = {key: value for key, value in options.items() if isinstance(value, str | int | float)}
    return {"name": name, "kind": about.kind, "of": metric.name, "options": plain}


def _second_metric(view: View) -> int | None:
    """Return the metric of answers that stands beside the deciding one."""
    of_answers = [
        name
        for name in view.metrics
        if name != view.by
        and view.run.provenance.metrics[name].kind == "quality"
        and "answer" in view.build_metric(name).needs
    ]
    candidates: Sequence[str] = [_USUAL_SECOND] if _USUAL_SECOND in of_answers else of_answers
    return view.metrics.index(candidates[0]) if candidates else None
