"""Cases to scores: which metric applies to what, and what becomes of it when a stage failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Protocol

from harness.chat import ChatModel
from harness.fingerprint import fingerprint
from harness.judging import Replies
from harness.labels import has
from harness.metrics import Asking, Batched, Combined, Fitted, Metric, Pooled, Single, metrics
from harness.needs import Need
from harness.records import Answer, Case, Label, Question, Sample, Score, Stage, not_scored
from harness.statistics.aggregate import Total
from harness.statistics.intervals import Whole

_MADE_BY: Mapping[Stage, frozenset[Need]] = {
    "retrieval": frozenset({"ranking", "context", "answer"}),
    "generation": frozenset({"answer"}),
}
"""What is missing once a stage has failed: what it makes, and what later stages make of it."""

GOLD: Mapping[Need, Label] = {
    "evidence": "evidence",
    "documents": "documents",
    "keywords": "keywords",
    "references": "answer",
}
"""The kind of label that gives each gold need."""


_COMPARABLE = frozenset({"hit_rate", "mrr", "keyword_mrr", "keyword_recall"})
"""May rank cells of different chunkers, though they judge each index's own chunks."""


@dataclass(frozen=True)
class Named:
    """A metric under the name it was asked for by."""

    name: str
    metric: Metric


def build(spec: Any, labels: Label | None = None, level: int = 1) -> Named:
    """Return the metric that `spec` names, with the run's kind of label and level filled in.

    Raises:
        SpecError: there is no such metric, or it does not take these options.
    """
    from harness.registry import label, parse

    metric = metrics.build(spec)
    typed, _ = parse(spec)
    name = spec.strip() if isinstance(spec, str) else typed + label(metric)[len(metric.name) :]
    return Named(name, with_run_settings(metric, labels, level))


def with_run_settings(metric: Metric, labels: Label | None, level: int) -> Metric:
    """Return `metric` with the run's labels and level of relevance where it names none."""
    given: dict[str, Any] = {}
    if labels is not None and getattr(metric, "labels", ...) is None:
        given["labels"] = labels
    if getattr(metric, "rel", ...) is None:
        given["rel"] = level
    return replace(metric, **given) if given else metric  # type: ignore[type-var]


def with_judge(named: Sequence[Named], judge: ChatModel | None) -> list[Named]:
    """Return the metrics, those that ask a judge and have none with this one."""
    return [
        Named(each.name, replace(each.metric, judge=judge))  # type: ignore[type-var]
        if isinstance(each.metric, Asking) and each.metric.judge is None
        else each
        for each in named
    ]


def fitted(named: Sequence[Named], questions: Sequence[Question], seed: int) -> list[Named]:
    """Return the metrics, those that learn something of the whole test set having done so."""
    return [
        Named(each.name, each.metric.fitted(questions, seed))
        if isinstance(each.metric, Fitted)
        else each
        for each in named
    ]


def label_of(metric: Metric) -> Label | None:
    """Return the kind of label that `metric` judges a ranking by; None if it does not."""
    found: Label | None = getattr(metric, "labels", None)
    return found


def total_of(metric: Metric) -> Total | None:
    """Return what turns summed counts into the value of a metric of the whole set; else None."""
    if not isinstance(metric, Pooled):
        return None
    return Whole(metric.total, getattr(metric, "totals", None))


def leaves(metric: Metric, labels: Label | None = None, level: int = 1) -> list[Metric]:
    """Return the metric itself, or where it combines others those that it comes down to."""
    if not isinstance(metric, Combined):
        return [metric]
    parts = [build(part, labels, level).metric for part in metric.parts]
    return [leaf for part in parts for leaf in leaves(part, labels, level)]


def own_chunks(metric: Metric, labels: Label | None) -> bool:
    """Return whether a metric counts the chunks of its cell's own index as the relevant items.

    `labels` is the run's, for the parts of a metric that combines others.
    """
    return any(label_of(leaf) not in (None, "documents") for leaf in leaves(metric, labels))


def within_chunker(metric: Metric, labels: Label | None) -> bool:
    """Return whether a metric says nothing between cells of different chunkers.

    Where it counts its own index's chunks, two overlapping chunks with the same passage are two
    relevant items. Hit rate and MRR, by keyword too, look only for the first, and are excepted.
    """
    counted = [leaf for leaf in leaves(metric, labels) if own_chunks(leaf, labels)]
    return any(leaf.name not in _COMPARABLE for leaf in counted)


class Keeper(Protocol):
    """Gives out scores that were made before, and keeps those that are made now."""

    def scored(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case, by its key; `score` makes those that are not there."""
        ...

    def replies(self, judge: ChatModel) -> Replies:
        """Return the replies that a judge gave before, which also keeps those it gives now."""
        ...


def score_all(
    wanted: Sequence[Named],
    cases: Sequence[Case],
    labels: Label | None = None,
    level: int = 1,
    keeper: Keeper | None = None,
) -> list[dict[str, Score]]:
    """Score each case by each metric; the results keep the order of both.

    `labels` and `level` are the run's settings, for the parts of metrics that combine others.
    """
    table: dict[str, list[Score]] = {}
    views = [_View(case) for case in cases]
    for named in _with_parts(wanted, labels, level):
        if not isinstance(named.metric, Combined):
            table[named.name] = _scores(named.metric, views, keeper)
    for named in wanted:
        if isinstance(named.metric, Combined):
            parts = named.metric.parts
            table[named.name] = [
                _barred(named.metric, case)
                or named.metric.combine({part: table[part][at] for part in parts})
                for at, case in enumerate(cases)
            ]
    return [{named.name: table[named.name][at] for named in wanted} for at in range(len(cases))]


def score_sampled(
    wanted: Sequence[Named],
    sampled: Sequence[Sequence[Case]],
    labels: Label | None = None,
    level: int = 1,
    keeper: Keeper | None = None,
) -> list[tuple[dict[str, Score], tuple[Sample, ...]]]:
    """Score questions that have a case for each of their answers; arguments as of `score_all`.

    Returns for each question its scores, and where it has several cases each of them apart.
    """
    rows = iter(
        score_all(wanted, [case for some in sampled for case in some], labels, level, keeper)
    )
    found: list[tuple[dict[str, Score], tuple[Sample, ...]]] = []
    for cases in sampled:
        scored = [Sample(case.answer, next(rows)) for case in cases]
        means = {
            named.name: _averaged([each.scores[named.name] for each in scored]) for named in wanted
        }
        found.append((means, tuple(scored) if len(scored) > 1 else ()))
    return found


def _averaged(scores: Sequence[Score]) -> Score:
    """Return the score of a question that was answered several times: the mean over its samples.

    A sample that the metric does not apply to is left out, and named in the reason; where it
    applies to none, that is the score. One without a verdict fails the question. Samples that score
    the same keep their reason.
    """
    if all(each == scores[0] for each in scores):
        return scores[0]
    unjudged = [each for each in scores if each.state == "judge_failed"]
    if unjudged:
        reason = f"{len(unjudged)} of {len(scores)} samples: {unjudged[0].reason}"
        return Score(None, reason, "judge_failed")
    found = [each for each in scores if each.state == "scored"]
    if not found:
        return scores[0]
    reason = f"mean of {len(found)} of {len(scores)} samples"
    if found[0].counts:
        counts = tuple(map(fmean, zip(*(each.counts for each in found), strict=True)))
        return Score(None, reason, counts=counts)
    return Score(fmean(each.value for each in found if each.value is not None), reason)


def _with_parts(wanted: Sequence[Named], labels: Label | None, level: int) -> list[Named]:
    """Return `wanted` and the metrics it is made of that are not in it."""
    known = {named.name: named for named in wanted}
    for named in wanted:
        if isinstance(named.metric, Combined):
            for part in named.metric.parts:
                known.setdefault(part, build(part, labels, level))
    judges = [each.metric.judge for each in wanted if isinstance(each.metric, Asking)]
    return with_judge(list(known.values()), next(iter(judges), None))


class _View:
    """A case as metrics are shown it, and the keys that its scores are kept under.

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
    def whole_key(self) -> str:
        return fingerprint(repr(self.whole))

    @cached_property
    def answer_key(self) -> str:
        return fingerprint(repr(self.answer))


_ANSWER: frozenset[Need] = frozenset({"answer", "references"})


def _scores(metric: Metric, views: Sequence[_View], keeper: Keeper | None) -> list[Score]:
    barred = [_barred(metric, view.whole) for view in views]
    free = [view for view, bar in zip(views, barred, strict=True) if bar is None]
    narrow = bool(metric.needs) and metric.needs <= _ANSWER
    cases = [view.answer if narrow else view.whole for view in free]
    found: Sequence[Score]

    def score(some: Sequence[Case]) -> Sequence[Score]:
        if isinstance(metric, Batched):
            return metric.score_all(some)
        assert isinstance(metric, Single), f"{metric.name} has none of the forms"
        return [metric.score(case) for case in some]

    if isinstance(metric, Asking):
        judge = metric.judge
        kept = None if keeper is None or judge is None else keeper.replies(judge)
        found = metric.score_with(cases, kept)
    elif keeper is None:
        found = score(cases)
    else:
        keys = [view.answer_key if narrow else view.whole_key for view in free]
        found = keeper.scored(metric, cases, keys, score)
    scores = iter(found)
    return [bar or next(scores) for bar in barred]


def _barred(metric: Metric, case: Case) -> Score | None:
    """Return why `metric` has nothing to say on `case`, or None where it may score it."""
    if not case.question.answerable and not getattr(metric, "unanswerable", False):
        return not_scored("the question is unanswerable")
    unseen: set[Need] = {"ranking"} if case.context is not None else {"ranking", "context"}
    if not case.ranked and metric.needs & unseen:
        return not_scored("the system does not tell what it retrieved")
    if not case.answers and "answer" in metric.needs:
        return not_scored("the system gives no answers")
    if case.failure is not None and metric.needs & _MADE_BY[case.failure.stage]:
        # Only a question that carries the label can fail; without it the metric does not apply.
        wanted = {GOLD[need] for need in metric.needs if need in GOLD} | {label_of(metric)}
        missing = sorted(kind for kind in wanted if kind and not has(case.question, kind))
        if missing:
            return not_scored(f"the question has no {missing[0]} label")
        return Score(None, f"{case.failure.stage}: {case.failure.reason}", "failed")
    return None
