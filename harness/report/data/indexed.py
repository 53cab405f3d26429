"""The index: what the browser of questions must know before it unpacks anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from harness.metrics import Metric, metrics
from harness.report.charts.losses import kept
from harness.report.data.records import FACTS, STAGES
from harness.report.data.ten import to_read
from harness.report.view import View
from harness.stored import CellLine

_SECOND = "token_f1"


def index(view: View) -> dict[str, Any]:
    """Return the run's cells, metrics, settings and questions to read; numbers are places."""
    run = view.run
    settings = run.config.get("resolved", {})
    focus = view.focus
    place = {question: number for number, question in enumerate(view.stored.questions)}
    return {
        "by": view.metrics.index(view.by),
        "second": _second(view),
        "labels": run.provenance.labels,
        "level": settings.get("relevance_level", 1),
        "chunks": settings.get("context", {}).get("chunks"),
        "cells": [
            {
                "name": view.name(cell),
                "best": cell is focus,
                "baseline": cell.name == run.baseline,
                "going_on": going_on(view, cell),
                "hue": view.mark(cell).hue,
                "shape": view.mark(cell).shape,
            }
            for cell in view.cells
        ],
        "metrics": [_metric(view, name) for name in view.metrics],
        "stages": STAGES,
        "kept": kept(view),
        "facts": FACTS,
        "ten": [place[record.question] for record in to_read(view)],
    }


def going_on(view: View, cell: CellLine) -> int | None:
    """Return how many of the hits retrieved go on, to be reranked or read; None: all of them."""
    settings = view.run.config.get("resolved", {})
    read: int | None = (settings.get("context") or {}).get("chunks")
    return read if cell.reranker == "none" else settings.get("retrieve")


def _metric(view: View, name: str) -> dict[str, Any]:
    about = view.run.provenance.metrics[name]
    built = _built(view, name)
    options = {each.name: getattr(built, each.name) for each in fields(built)}  # type: ignore[arg-type]
    plain = {key: value for key, value in options.items() if isinstance(value, str | int | float)}
    return {
        "name": name,
        "kind": about.kind,
        "of": built.name,
        "options": plain,
    }


def _built(view: View, name: str) -> Metric:
    return metrics.build(view.run.provenance.metrics[name].spec)


def _second(view: View) -> int | None:
    """Return the metric of answers that stands beside the deciding one."""
    of_answers = [
        name
        for name in view.metrics
        if name != view.by
        and view.run.provenance.metrics[name].kind == "quality"
        and "answer" in _built(view, name).needs
    ]
    wanted: Sequence[str] = [_SECOND] if _SECOND in of_answers else of_answers
    return view.metrics.index(wanted[0]) if wanted else None
