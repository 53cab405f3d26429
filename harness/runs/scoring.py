"""Scores cases by metrics, and decides what a failed stage means for each metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from statistics import fmean
from typing import Any, Protocol

from harness.fingerprint import fingerprint, is_built_in
from harness.metrics import Metric, judge_of, parts_of
from harness.metrics.failures import metric_failed, score_all_safely, score_safely
from harness.metrics.judge_replies import JudgeReplies
from harness.metrics.named_metrics import (
    LABEL_OF_NEED,
    NamedMetric,
    build_metric,
    label_of,
    with_judge,
)
from harness.metrics.needs import Need, ScoringContext
from harness.models.chat import ChatModel
from harness.ranking.relevance import has_label
from harness.records import Answer, AnswerSample, Case, Label, Question, Score, Stage, not_scored
from harness.runs.outcomes import usage_of

_NEEDS_LOST_BY: Mapping[Stage, frozenset[Need]] = {
    "retrieval": frozenset({"ranking", "context", "answer"}),
    "generation": frozenset({"answer"}),
}
"""What is missing once a stage has failed: what it makes, and what later stages make of it."""


class ScoreCache(Protocol):
    """Gives out scores that were made before, and keeps those that are made now."""

    def get_or_score(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case, by its key; `score` makes those that are not there."""
        ...

    def replies(self, judge: ChatModel) -> JudgeReplies:
        """Return the replies that a judge gave before, which also keeps those it gives now."""
        ...


def score_all(
    metrics: Sequence[NamedMetric],
    cases: Sequence[Case],
    labels: Label | None = None,
    level: int = 1,
    keeper: ScoreCache | None = None,
) -> list[dict[str, Score]]:
    """Score each case by each metric; the results keep the order of both.

    `labels` and `level` are the run's settings, for the parts of metrics that combine others.
    """
    table: dict[str, list[Score]] = {}
    views = [_CaseView(case) for case in cases]
    for named in _with_parts(metrics, labels, level):
        if not parts_of(named.metric):
            table[named.name] = _score_metric(named.metric, views, keeper)
    for named in metrics:
        if parts := parts_of(named.metric):
            table[named.name] = [
                _reason_not_scored(named.metric, case)
                or combine_scores(named.metric, case, {part: table[part][index] for part in parts})
                for index, case in enumerate(cases)
            ]
    return [
        {named.name: table[named.name][index] for named in metrics} for index in range(len(cases))
    ]


def combine_scores(metric: Any, case: Case, scores: Mapping[str, Score]) -> Score:
    """Return the score of a metric that is made of others, from the scores of its parts."""
    context = ScoringContext(scores={part: [score] for part, score in scores.items()})
    return score_all_safely(metric, partial(metric.score_all, context=context), [case])[0]


def score_sampled(
    metrics: Sequence[NamedMetric],
    sampled: Sequence[Sequence[Case]],
    labels: Label | None = None,
    level: int = 1,
    keeper: ScoreCache | None = None,
) -> list[tuple[dict[str, Score], tuple[AnswerSample, ...]]]:
    """Score questions that have a case for each of their answers; arguments as of `score_all`.

    Returns for each question its scores, and where it has several cases each of them apart.
    """
    rows = iter(
        score_all(metrics, [case for group in sampled for case in group], labels, level, keeper)
    )
    results: list[tuple[dict[str, Score], tuple[AnswerSample, ...]]] = []
    for cases in sampled:
        scored = [_sample(case.answer, next(rows)) for case in cases]
        means = {
            named.name: _average_samples([sample.scores[named.name] for sample in scored])
            for named in metrics
        }
        results.append((means, tuple(scored) if len(scored) > 1 else ()))
    return results


def _sample(answer: Answer | None, scores: Mapping[str, Score]) -> AnswerSample:
    if answer is None:
        return AnswerSample(scores=scores)
    return AnswerSample(answer.text, answer.declined, usage_of(answer), scores)


def _average_samples(scores: Sequence[Score]) -> Score:
    """Return the score of a question that was answered several times: the mean over its samples.

    A sample that the metric does not apply to is left out, and named in the reason; where it
    applies to none, that is the score. One on which the metric failed fails the question. Samples
    that score the same keep their reason.
    """
    if all(score == scores[0] for score in scores):
        return scores[0]
    lost = [score for score in scores if score.state == "metric_failed"]
    if lost:
        return metric_failed(f"{len(lost)} of {len(scores)} samples: {lost[0].reason}")
    valid = [score for score in scores if score.state == "scored"]
    if not valid:
        return scores[0]
    reason = f"mean of {len(valid)} of {len(scores)} samples"
    if valid[0].counts:
        counts = tuple(map(fmean, zip(*(score.counts for score in valid), strict=True)))
        return Score(None, reason, counts=counts)
    return Score(fmean(score.value for score in valid if score.value is not None), reason)


def _with_parts(
    metrics: Sequence[NamedMetric], labels: Label | None, level: int
) -> list[NamedMetric]:
    """Return `metrics` and their parts that are not among them."""
    by_name = {named.name: named for named in metrics}
    for named in metrics:
        for part in parts_of(named.metric):
            by_name.setdefault(part, build_metric(part, labels, level))
    judges = [judge for named in metrics if (judge := judge_of(named.metric)) is not None]
    return with_judge(list(by_name.values()), next(iter(judges), None))


class _CaseView:
    """A case as metrics are shown it, and the key that scores of its answer are kept under.

    A metric that needs an answer and references alone is shown nothing else, so its score is good
    for every cell that gave the same answer.
    """

    def __init__(self, case: Case) -> None:
        self.whole = case

    @cached_property
    def answer(self) -> Case:
        question, answer = self.whole.question, self.whole.answer
        bare = Question("", "", answers=question.answers, answerable=question.answerable)
        return Case(bare, answer=None if answer is None else Answer(answer.text, answer.declined))

    @cached_property
    def answer_key(self) -> str:
        return fingerprint(repr(self.answer))


_ANSWER_NEEDS: frozenset[Need] = frozenset({"answer", "references"})


def _score_metric(
    metric: Any, views: Sequence[_CaseView], keeper: ScoreCache | None
) -> list[Score]:
    reasons = [_reason_not_scored(metric, view.whole) for view in views]
    scorable = [view for view, reason in zip(views, reasons, strict=True) if reason is None]
    own = not is_built_in(type(metric))  # it may read more of a case than its needs tell
    narrow = bool(metric.needs) and metric.needs <= _ANSWER_NEEDS and not own
    cases = [view.answer if narrow else view.whole for view in scorable]
    judge = judge_of(metric)
    replies = None if keeper is None or judge is None else keeper.replies(judge)
    context = ScoringContext(replies)
    new_scores: Sequence[Score]

    def score(part: Sequence[Case]) -> Sequence[Score]:
        if hasattr(metric, "score_all"):
            return score_all_safely(metric, partial(metric.score_all, context=context), part)
        return [score_safely(metric, metric.score, case) for case in part]

    if keeper is None or not narrow:  # to look a ranking's score up takes as long as to make it
        new_scores = score(cases)
    else:
        keys = [view.answer_key for view in scorable]
        new_scores = keeper.get_or_score(metric, cases, keys, score)
    scores = iter(new_scores)
    return [reason or next(scores) for reason in reasons]


def _reason_not_scored(metric: Metric, case: Case) -> Score | None:
    """Return why `metric` has nothing to say on `case`, or None where it may score it."""
    if not case.question.answerable and not getattr(metric, "unanswerable", False):
        return not_scored("the question is unanswerable")
    if case.ranked and case.answers and case.failure is None:
        return None
    untold: set[Need] = {"ranking"} if case.context is not None else {"ranking", "context"}
    if not case.ranked and metric.needs & untold:
        return not_scored("the system does not tell what it retrieved")
    if not case.answers and "answer" in metric.needs:
        return not_scored("the system gives no answers")
    if case.failure is not None and metric.needs & _NEEDS_LOST_BY[case.failure.stage]:
        # Only a question that carries the label can fail; without it the metric does not apply.
        needed = {LABEL_OF_NEED[need] for need in metric.needs if need in LABEL_OF_NEED}
        missing = {kind for kind in needed if not has_label(case.question, kind)}
        if (kind := label_of(metric)) and kind not in case.judged:
            missing.add(kind)
        if missing:
            return not_scored(f"the question has no {min(missing)} label")
        return Score(None, f"{case.failure.stage}: {case.failure.reason}", "failed")
    return None
