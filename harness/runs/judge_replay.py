"""Replays the judge's replies of a stored run by prompt, so that rescoring need not ask again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
    by_metric: dict[str, dict[bytes, tuple[str, ...]]] = {name: {} for name in judge_metrics}
    for scores, case in judged if judge_metrics else ():
        for name, metric in judge_metrics.items():
            score = scores.get(name)
            items = metric.items(case) if score is not None and score.verdicts else []
            if score is None or isinstance(items, Score):
                continue
            if [item.of for item in items] == [verdict.of for verdict in score.verdicts]:
                for item, verdict in zip(items, score.verdicts, strict=True):
                    if verdict.value is not None:
                        by_metric[name][digest(item.prompt)] = tuple(verdict.replies)
    return {
        key: replies
        for replies_by_key in by_metric.values()
        for key, replies in replies_by_key.items()
    }


def _is_same_judge(stored: StoredRun, metric: MeanVerdictMetric) -> bool:
    about = make_portable({"used_by": metric.name, **metric.identity()})
    return about in stored.run.provenance.models


@dataclass(frozen=True)
class ReplayingScores:
    """Gives out what a run's judge said, by the key of its prompt, and for the rest asks `keeper`.

    Without one, what a judge says now is kept here: the next questions may have the same prompt.
    """

    run_replies: Mapping[bytes, tuple[str, ...]]
    keeper: ScoreCache | None
    _anew: dict[ChatModel, _NewReplies] = field(default_factory=dict)

    def get_or_score(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case; `score` makes those that are not there."""
        if self.keeper is None:
            return list(score(cases))
        return self.keeper.get_or_score(metric, cases, keys, score)

    def replies(self, judge: ChatModel) -> JudgeReplies:
        """Return the replies that a judge gave before, which also keeps those it gives now."""
        if self.keeper is not None:
            return _ReplayedReplies(self.run_replies, self.keeper.replies(judge))
        return _ReplayedReplies(self.run_replies, self._anew.setdefault(judge, _NewReplies()))


class _NewReplies:
    """Replies of this process alone."""

    def __init__(self) -> None:
        self.breaker = CircuitBreaker()
        self._replies: dict[bytes, tuple[str, ...]] = {}

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        return _find_replies(self._replies, prompts)

    def put(self, prompt: str, replies: Sequence[ChatReply]) -> None:
        self._replies[digest(prompt)] = tuple(reply.text for reply in replies)

    def count(self, replies: Sequence[ChatReply]) -> None:
        """Nothing is spent by a limit here."""


@dataclass(frozen=True)
class _ReplayedReplies:
    """Replies by prompt: a run's first, then those that are kept."""

    run_replies: Mapping[bytes, tuple[str, ...]]
    new_replies: JudgeReplies

    @property
    def breaker(self) -> CircuitBreaker:
        return self.new_replies.breaker

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        known = _find_replies(self.run_replies, prompts)
        rest = [prompt for prompt in prompts if prompt not in known]
        return {**self.new_replies.get(rest), **known}

    def put(self, prompt: str, replies: Sequence[ChatReply]) -> None:
        self.new_replies.put(prompt, replies)

    def count(self, replies: Sequence[ChatReply]) -> None:
        self.new_replies.count(replies)


def _find_replies(
    replies: Mapping[bytes, tuple[str, ...]], prompts: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    keys = {prompt: digest(prompt) for prompt in prompts}
    return {prompt: replies[key] for prompt, key in keys.items() if key in replies}
