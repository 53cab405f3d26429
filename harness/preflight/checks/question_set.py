"""Checks the test set itself: its size, repeated questions, drafts, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log2

from harness.metrics import Metric
from harness.metrics.named_metrics import LABEL_OF_NEED, label_of, leaf_metrics
from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding, describe_share
from harness.ranking.relevance import fold, has_label
from harness.records import Question
from harness.runs.run_inputs import RunInputs
from harness.stats import mcnemar
from harness.text import numbers
from harness.text.numbers import are

_FEW_QUESTIONS, _ENOUGH_QUESTIONS = 50, 100
_FEW_CLUSTERS = 20
_SIGNIFICANCE_LEVEL = 0.05
_DIFFERING_SHARE = 0.1
"""The share of questions on which two cells are taken to differ."""


def find_small_set(run: CheckInput) -> Iterator[Finding]:
    """Yield that the questions asked are few, and the smallest difference that they show.

    That is a note, which no run keeps: its report has the figure of its own scores.
    """
    prepared = run.prepared
    n, metric_name = _count_judged(prepared), prepared.config.decide_by
    total, shows = len(prepared.testset.questions), describe_smallest_difference(n)
    if prepared.sample is not None:
        line = prepared.sample.line
        when = "chosen once" if line.day is None else f"those of {line.day}"
        judged = "" if n == total else f"; {metric_name} judges {n:,} of them"
        text = f"a sample of {line.size} of the {line.of} questions, {when}{judged}"
        yield Finding("size", "warning", text, "several runs taken together show more")
        yield Finding("size", "note", shows)
    elif n < _ENOUGH_QUESTIONS:
        more = "`python -m harness draft` proposes more"
        whose = "" if n == total else f" of {total:,} that {metric_name} judges"
        counted = f"{numbers.count(n, 'question')}{whose} {are(n)}"
        if n < _FEW_QUESTIONS:
            yield Finding("size", "warning", f"{counted} few", more)
            yield Finding("size", "note", shows)
        else:
            yield Finding("size", "note", f"{counted} not many: {shows}", more)
    if prepared.clusters is not None:
        clusters = len(set(prepared.clusters.values()))
        if clusters < _FEW_CLUSTERS:
            text = f"{numbers.count(clusters, 'cluster')} of questions {are(clusters)} too few"
            yield Finding("size", "warning", f"{text} for an interval to rest on")


def _count_judged(prepared: RunInputs) -> int:
    """Return how many questions the deciding metric looks at."""
    plan, metric_name = prepared.plan, prepared.config.decide_by
    metric = next(named.metric for named in plan.metrics if named.name == metric_name)
    parts = leaf_metrics(metric, plan.labels, plan.settings.relevance_level)
    return sum(
        all(_applies(part, question) for part in parts) for question in prepared.testset.questions
    )


def _applies(metric: Metric, question: Question) -> bool:
    if not question.answerable and not getattr(metric, "unanswerable", False):
        return False
    labels = {LABEL_OF_NEED[need] for need in metric.needs if need in LABEL_OF_NEED}
    return all(
        has_label(question, kind) for kind in labels | {label_of(metric)} if kind is not None
    )


def describe_smallest_difference(n: int) -> str:
    """Return in words the smallest differences of a 0/1 metric that `n` questions show.

    By McNemar's exact test at 5 %, of one pair of cells: the smallest that can be significant, as
    all questions that change go one way, and the one that is found with 80 % power where one
    question in ten differs, or where that is less than the difference, where all go one way.
    """
    pairs = ceil(1 - log2(_SIGNIFICANCE_LEVEL))  # 2 × 0.5 ** pairs is at most the level
    if n < pairs:
        return "no difference between two cells can be significant"
    text = f"between two cells, differences under {pairs / n:.3f} ({pairs} questions) cannot show"
    rejecting = mcnemar.wins_that_reject(n, _SIGNIFICANCE_LEVEL)
    difference = mcnemar.smallest_detectable(n, round(_DIFFERING_SHARE * n), rejecting)
    if difference is None or difference >= 1:
        return text
    where = "all that change go one way"
    if difference <= _DIFFERING_SHARE:
        where = "one question in ten differs"
    return f"{text}, and {difference:.3f} shows four times in five where {where}"


def find_poor_questions(run: CheckInput) -> Iterator[Finding]:
    """Yield repeated questions, drafts among those asked, and that none is unanswerable."""
    same: dict[str, list[str]] = {}
    for question in run.questions:
        same.setdefault(fold(question.text), []).append(question.id)
    repeated = [ids for ids in same.values() if len(ids) > 1]
    if repeated:
        more = len(run.questions) - len(same)
        yield Finding(
            "questions",
            "warning",
            f"{describe_share(more, len(run.questions), 'question')} "
            f"{'repeats' if more == 1 else 'repeat'} the text of another: "
            "what is asked twice counts twice",
            "take them out, or join their labels",
            tuple(" = ".join(ids[:MAX_EXAMPLES]) for ids in repeated[:MAX_EXAMPLES]),
        )
    testset = run.prepared.testset
    if testset.unaccepted:
        yield Finding(
            "questions",
            "warning",
            f"{testset.unaccepted} of {len(testset.questions)} questions are drafts that no "
            "person has accepted",
            "read them, then `python -m harness draft accept`",
        )
    if all(question.answerable for question in run.questions):
        yield Finding(
            "questions",
            "note",
            "no question is unanswerable: whether the system says so when it does not know is "
            "not measured",
            "add some, with `answerable: false`",
        )
