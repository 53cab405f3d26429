"""`judge check --labels`: a judge's verdicts held against people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from harness.errors import DataError, HarnessError, Problem, RunError, suggest
from harness.files.data_rows import DataRow
from harness.metrics.judge import MeanVerdictMetric
from harness.metrics.named_metrics import NamedMetric
from harness.metrics.needs import ScoringContext
from harness.people.judge_check import pad
from harness.records import Answer, Case, Chunk, Hit, Question, Score, Span
from harness.runs.judge_cards import metric_identity
from harness.stats.calibration import gather_items, make_card
from harness.stats.estimate import Estimate
from harness.stats.intervals import mean_interval
from harness.store.judge_cards import JudgeCard
from harness.testset.label_file import LabelFile, LabelRow

_PARAGRAPH = "\n\n"
_TEXTS: Mapping[str, str] = {
    "answer": "answer",
    "context": "context",
    "ranking": "context",
    "references": "reference",
}
"""The column that a metric's need is met by."""


def choose_metric(metrics: Sequence[NamedMetric], name: str | None) -> MeanVerdictMetric | None:
    """Return the metric that labels are about: the one named, or the only one that asks a judge.

    Raises:
        HarnessError: there is none of this name, or several and none is named.
    """
    judged = {
        named.name: named.metric for named in metrics if isinstance(named.metric, MeanVerdictMetric)
    }
    if name is not None:
        for known, metric in judged.items():
            if name in (known, metric.name):
                return metric
        raise HarnessError(f"no metric {name!r} asks a judge\n  {suggest(name, judged)}")
    if len(judged) > 1:
        raise HarnessError(
            f"{len(judged)} metrics ask a judge\n  name the one that the labels are about: "
            f"--metric NAME; choose from: {', '.join(judged)}"
        )
    return next(iter(judged.values()), None)


def check_labels(
    file: LabelFile,
    metric: MeanVerdictMetric | None,
    threshold: float | Literal["halves"] | None = None,
    seed: int = 7,
) -> JudgeCard:
    """Return the card of a judge by a file of labels.

    Where verdicts are recorded no model is asked; else `metric`'s judge judges the texts.

    Raises:
        DataError: with all that is wrong with the file.
        HarnessError: the judge cannot be started, or labels and verdicts cannot be compared.
        RunError: the judge gave no verdict.
    """
    problems = list(_find_problems(file, metric))
    if problems:
        raise DataError("the labels", problems)
    rows, no_verdict = file.rows, 0
    changes: dict[str, Estimate] = {}
    if file.kind == "verdicts":
        verdicts = [row.value.verdict for row in rows]
    else:
        assert metric is not None
        verdicts, changes = _judge(metric, rows)
        no_verdict = verdicts.count(None)
        if no_verdict == len(verdicts):
            raise RunError("the judge gave no verdict on any labelled item")
    items = gather_items(
        (row.value.item, row.value.rater, row.value.label, verdict, row.value.cluster)
        for row, verdict in zip(rows, verdicts, strict=True)
        if verdict is not None
    )
    judge: Any = None if metric is None else metric.judge
    identity = None if judge is None else metric.identity() if metric is not None else None
    return JudgeCard(
        metric=metric.name if metric is not None else next(iter(_metrics(file)), "verdict"),
        judge=None if judge is None else judge.shown,
        identity=None if metric is None or judge is None else metric_identity(metric),
        prompt=None if identity is None else identity["prompt"]["version"],
        labels=file.path.name,
        labels_hash=file.hash,
        no_verdict=no_verdict,
        order=changes.get("order"),
        length=changes.get("length"),
        card=make_card(items, threshold, seed, file.hash),
    )


def _metrics(file: LabelFile) -> list[str]:
    return list(dict.fromkeys(row.value.metric for row in file.rows if row.value.metric))


def _find_problems(file: LabelFile, metric: MeanVerdictMetric | None) -> Iterator[Problem]:
    """Yield what of a file does not fit the metric, or is missing from it."""
    version = None
    if metric is not None and metric.judge is not None:
        version = metric.identity()["prompt"]["version"]
    for row in file.rows:
        value, where = row.value, row.where
        if metric is not None and value.metric not in ("", metric.name):
            message = f"item {value.item!r} is a label for {value.metric!r}, not {metric.name!r}"
            yield Problem(where, message, f"name the metric: --metric {value.metric}")
        if None not in (version, value.prompt_version) and value.prompt_version != version:
            yield Problem(
                where,
                f"the verdict on {value.item!r} is by version {value.prompt_version} of the prompt,"
                f" which now has version {version}",
                "leave the verdicts out and have the texts judged again",
            )
        if file.kind == "verdicts":
            if value.verdict is None:
                message = f"item {value.item!r} has a label and no verdict"
                yield Problem(where, message, "leave it out, or take all verdicts out of the file")
        elif metric is None:
            message = f"item {value.item!r} has no verdict, and no judge is configured"
            hint = "give a configuration with a `judge` and a metric that asks it"
            yield Problem(where, message, hint)
        else:
            case = _case(metric, value)
            reason = _items_or_reason(metric, case)
            if isinstance(reason, str):
                columns = sorted({_TEXTS[need] for need in metric.needs if need in _TEXTS})
                columns = ["question", *columns]
                hint = f"{metric.name} reads the columns {', '.join(columns)}"
                yield Problem(where, f"item {value.item!r} cannot be judged: {reason}", hint)


def _items_or_reason(metric: MeanVerdictMetric, case: Case) -> str | None:
    items = metric.items(case)
    return items.reason if isinstance(items, Score) else None


def _case(metric: MeanVerdictMetric, row: LabelRow, answer: str = "", context: str = "") -> Case:
    """Return what the judge is to read of a row, with another answer or context where given."""
    context = context or row.context
    references = (row.reference,) if row.reference else ()
    hits: tuple[Hit, ...] = ()
    if "ranking" in metric.needs and context:
        hits = (Hit(Chunk(0, Span(row.item, 0, len(context)), context), 1.0),)
    return Case(
        question=Question(row.item, row.question, answers=references),
        hits=hits,
        context=context or None,
        answer=Answer(answer or row.answer),
    )


def _judge(
    metric: MeanVerdictMetric, rows: Sequence[DataRow[LabelRow]]
) -> tuple[list[float | None], dict[str, Estimate]]:
    """Return the verdict on each row, and how many change with order and length."""
    values = [row.value for row in rows]
    metric.check()
    verdicts = _ask(metric, [_case(metric, row) for row in values])
    changes: dict[str, Estimate] = {}
    if "context" in metric.needs:
        turned = [_PARAGRAPH.join(row.context.split(_PARAGRAPH)[::-1]) for row in values]
        several = [row.context != other for row, other in zip(values, turned, strict=True)]
        if any(several):
            cases = [_case(metric, row, context=text)
                     for row, text in zip(values, turned, strict=True)]  # fmt: skip
            changes["order"] = _changed(verdicts, _ask(metric, cases), several)
    if "answer" in metric.needs and metric.top > 1:
        padded = _ask(metric, [_case(metric, row, pad(row.answer)) for row in values])
        changes["length"] = _changed(verdicts, padded, [True] * len(values))
    return verdicts, changes


def _ask(metric: MeanVerdictMetric, cases: Sequence[Case]) -> list[float | None]:
    """Return the verdict on each case: a grade, or for yes and no the share of yes."""
    scores = metric.score_all(cases, ScoringContext())
    return [None if score.value is None else score.value * metric.top for score in scores]


def _changed(
    before: Sequence[float | None], after: Sequence[float | None], counted: Sequence[bool]
) -> Estimate:
    changes = [
        float(one != other)
        for one, other, count in zip(before, after, counted, strict=True)
        if count and one is not None and other is not None
    ]
    ends = mean_interval(changes)
    mean = sum(changes) / len(changes) if changes else None
    return Estimate(mean, ends.low, ends.high, len(changes), ends.reason)
