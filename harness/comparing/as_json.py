"""A comparison as JSON, for machines. Version 1."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from harness.comparing.comparison import Compared, Comparison, Row
from harness.comparing.words import headline, outcome


def as_dict(found: Comparison) -> dict[str, Any]:
    """Return all of a comparison but the texts: numbers, questions by id, and what changed."""
    return {
        "schema": 1,
        "baseline": found.baseline.id,
        "run": found.run.id,
        "headline": headline(found),
        "worse": found.worse,
        "better": found.better,
        "identical": found.identical,
        "by": found.by,
        "test": found.options.test,
        "correction": found.options.correction,
        "allowed": sorted(found.options.allow),
        "family": found.family,
        "segment_family": found.segment_family,
        "questions": len(found.shared),
        "only_baseline": list(found.only_baseline),
        "only_run": list(found.only_run),
        "changed_questions": list(found.changed),
        "left_out": dict(found.left_out),
        "changes": [asdict(each) for each in found.changes],
        "cells": [_pair(each) for each in found.pairs],
    }


def as_json(found: Comparison) -> str:
    """Return `as_dict` as text."""
    return json.dumps(as_dict(found), indent=1, ensure_ascii=False, allow_nan=False)


def _pair(pair: Compared) -> dict[str, Any]:
    return {
        "baseline": pair.pairing.baseline,
        "run": pair.pairing.run,
        "metrics": [_row(row) for row in pair.rows],
        "segments": [{"by": row.way, "segment": row.segment, **_row(row)} for row in pair.segments],
        "finished": _row(pair.finished),
        "lost": [asdict(gap) for gap in pair.lost],
        "won": [asdict(gap) for gap in pair.won],
        "unpaired": [asdict(each) for each in pair.unpaired],
        "untested": dict(pair.untested),
        "differs": [asdict(each) for each in pair.differs],
        "people": None if pair.people is None else asdict(pair.people),
    }


def _row(row: Row) -> dict[str, Any]:
    """Return one row; `before` and `after` are the two values on the questions that both have."""
    return {
        "metric": row.metric,
        "before": row.baseline,
        "after": row.run,
        "outcome": outcome(row),
        **asdict(row.difference),
    }
