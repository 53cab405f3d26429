"""Makes the state *metric failed* of what a metric raises, or returns and may not."""

from __future__ import annotations

import logging
import math
import re
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, TypeVar, get_args

from harness.errors import HarnessError, StageError
from harness.metrics import Metric
from harness.records import Case, Score, State
from harness.text.secrets import describe_error, redact

C = TypeVar("C")
_LOG = logging.getLogger("harness.metrics")
_ROUNDING = 1e-6
_STATES = get_args(State)


def metric_failed(reason: str) -> Score:
    """Return the score of a case on which the metric itself gave up."""
    return Score(None, reason, "metric_failed")


def failure_of(metric: Metric, error: Exception, case: object) -> Score:
    """Return the score of a case on which a metric raised `error`; its traceback is logged.

    Raises:
        HarnessError: `error` itself, where what the metric needs is not there for any case.
    """
    if _stops_run(error):
        raise error
    if _LOG.isEnabledFor(logging.DEBUG):
        question = case.question.id if isinstance(case, Case) else ""
        lines = redact("".join(traceback.format_exception(error)))
        _LOG.debug("metric %r, question %r\n%s", metric.name, question, lines)
    return metric_failed(describe_error(error))


def _stops_run(error: Exception) -> bool:
    return isinstance(error, HarnessError | MemoryError) and not isinstance(error, StageError)


def score_safely(metric: Metric, score: Callable[[C], Any], case: C) -> Score:
    """Return what `score` gives of a case; *metric failed* where it raises or gives no score."""
    try:
        return _checked(metric, score(case))
    except Exception as error:  # noqa: BLE001  a metric may raise anything
        return failure_of(metric, error, case)


def score_all_safely(
    metric: Metric, score_all: Callable[[Sequence[C]], Sequence[Any]], cases: Sequence[C]
) -> list[Score]:
    """Return what `score_all` gives of cases; where it raises, each case is tried by itself."""
    try:
        scores = list(score_all(cases))
        if len(scores) != len(cases):
            raise ValueError(f"it returned {len(scores)} scores for {len(cases)} cases")
        return [_checked(metric, score) for score in scores]
    except Exception as error:  # noqa: BLE001  a metric may raise anything
        if len(cases) == 1 or _stops_run(error):
            return [failure_of(metric, error, cases[0])]
        return [score_all_safely(metric, score_all, [case])[0] for case in cases]


def _checked(metric: Metric, score: Any) -> Score:
    """Return a score with plain floats, or why it is none."""
    if not isinstance(score, Score):
        return metric_failed(f"it returned {_quote(score)}, which is no Score")
    value, kind = score.value, metric.kind
    if not isinstance(score.reason, str) or score.state not in _STATES:
        return metric_failed(f"it returned {_quote(score)}, whose state or reason is none")
    if type(value) is float and 0.0 <= value <= 1.0 and kind == "quality" and not score.counts:
        return score  # nearly all are, and there are many
    whole = kind == "whole set"
    numbers = score.counts if value is None else (value, *score.counts)
    for number in numbers:
        if not isinstance(number, Real) or not math.isfinite(number):
            return metric_failed(f"it returned {_quote(number)}, which is no finite number")
    if bool(score.counts) != whole and score.state == "scored":
        wanted = "counts" if whole else "a value"
        return metric_failed(f"a metric of kind {kind!r} returns {wanted}")
    if value is not None and kind == "quality":
        if not -_ROUNDING <= value <= 1 + _ROUNDING:
            return metric_failed(f"it returned {value!r}, and a quality is from 0 to 1")
        value = min(max(value, 0.0), 1.0)
    if value is score.value and all(type(number) is float for number in numbers):
        return score
    value = None if value is None else float(value)
    return replace(score, value=value, counts=tuple(map(float, score.counts)))


def _quote(value: object) -> str:
    return describe_error(ValueError(repr(value))).removeprefix("ValueError: ")


_NO_LABEL = re.compile(r"the question (?:has no \w+ label|is unanswerable)")
NO_LABELS = "no question says what is relevant"


def lack_labels(reasons: Collection[str]) -> bool:
    """Return whether these are the reasons of questions none of which has a label."""
    return bool(reasons) and all(_NO_LABEL.fullmatch(reason) for reason in reasons)
