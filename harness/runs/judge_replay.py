"""Replays the judge's replies of a stored run by prompt, so that rescoring need not ask again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from harness.files.paths import make_portable
from harness.fingerprint import digest
from harness.metrics import Metric
from harness.metrics.judge import MeanVerdictMetric
from harness.metrics.judge_replies import CircuitBreaker, JudgeReplies
from harness.metrics.named_metrics import NamedMetric
from harness.models.chat import ChatModel, ChatReply
from harness.records import Case, Question, Score
from harness.runs.outcomes import make_cases
from harness.runs.scoring import ScoreCache
from harness.store.reader import StoredRun

ScoredCase = tuple[Mapping[str, Score], Case]
"""The scores of one answer of a run, and the case that they were given to."""


def stored_answers(stored: StoredRun, questions: Mapping[str, Question]) -> Iterator[ScoredCase]:
    """Yield the scores of each answer in a run's records, and its case."""
    for record in stored.records:
        answers = make_cases(record, questions[record.question], stored.texts)
        yield from zip((part.scores for part in record.samples or (record,)), answers, strict=True)


def stored_replies(
    stored: StoredRun, named: Sequence[NamedMetric], judged: Iterable[ScoredCase]
) -> dict[bytes, tuple[str, ...]]:
    """Return the replies to each prompt, by its key, that gave one of a run's verdicts, in order.

    Those of a metric whose judge or prompt is not that of the run are left out.
    """
    judge_metrics = {
        entry.name: entry.metric
        for entry in named
        if isinstance(entry.metric, MeanVerdictMetric) and _is_same_judge(stored, entry.metric)
    }
    replies: dict[bytes, tuple[str, ...]] = {}
    for scores, case in judged if judge_metrics else ():
        for name, metric in judge_metrics.items():
            score = scores.get(name)
            items = metric.items(case) if score is not None and score.verdicts else []
            if score is None or isinstance(items, Score):
                continue
            if [item.of for item in items] == [verdict.of for verdict in score.verdicts]:
                replies |= {
                    digest(item.prompt): tuple(verdict.replies)
                    for item, verdict in zip(items, score.verdicts, strict=True)
                    if verdict.value is not None
                }
    return replies


def _is_same_judge(stored: StoredRun, metric: MeanVerdictMetric) -> bool:
    about = make_portable({"used_by": metric.name, **metric.identity()})
    return about in stored.run.provenance.models


class ReplayingScores:
    """Gives out what a run's judge said, by the key of its prompt, and for the rest asks `keeper`.

    Without one, what a judge says now is kept here: the next questions may have the same prompt.
    """

    def __init__(
        self, run_replies: Mapping[bytes, tuple[str, ...]], keeper: ScoreCache | None
    ) -> None:
        self._run_replies = run_replies
        self._keeper = keeper
        self._by_judge: dict[ChatModel, _ReplayedReplies] = {}

    def get_or_score(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case; `score` makes those that are not there."""
        if self._keeper is None:
            return list(score(cases))
        return self._keeper.get_or_score(metric, cases, keys, score)

    def replies(self, judge: ChatModel) -> JudgeReplies:
        """Return the replies that a judge gave before, which also keeps those it gives now."""
        if judge not in self._by_judge:
            kept = None if self._keeper is None else self._keeper.replies(judge)
            self._by_judge[judge] = _ReplayedReplies(dict(self._run_replies), kept)
        return self._by_judge[judge]


class _ReplayedReplies:
    """Replies by prompt: those of the run, those of this process, then those that are `kept`."""

    def __init__(self, known: dict[bytes, tuple[str, ...]], kept: JudgeReplies | None) -> None:
        self.breaker = CircuitBreaker() if kept is None else kept.breaker
        self._known = known
        self._kept = kept

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        keys = {prompt: digest(prompt) for prompt in prompts}
        known = {prompt: self._known[key] for prompt, key in keys.items() if key in self._known}
        if self._kept is None:
            return known
        return {**self._kept.get([prompt for prompt in prompts if prompt not in known]), **known}

    def put(self, prompt: str, replies: Sequence[ChatReply]) -> None:
        self._known[digest(prompt)] = tuple(reply.text for reply in replies)
        if self._kept is not None:
            self._kept.put(prompt, replies)

    def count(self, replies: Sequence[ChatReply]) -> None:
        if self._kept is not None:
            self._kept.count(replies)
