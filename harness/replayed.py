"""What a stored run's judge said, by the prompt it was sent: whoever scores again need not ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.chat import ChatModel, Reply
from harness.judging import ByJudge, Replies
from harness.lines import cases
from harness.metrics import Metric
from harness.paths import portable
from harness.records import Case, Question, Score
from harness.rows import key_of
from harness.scoring import Keeper, Named
from harness.store import StoredRun
from harness.stored import RecordLine, SampleLine, ScoreLine
from harness.unheard import Unheard

Judged = tuple[Mapping[str, ScoreLine], Case]
"""The scores of one answer of a run, and the case that they were given to."""


def answers_of(stored: StoredRun, questions: Mapping[str, Question]) -> Iterator[Judged]:
    """Yield the scores of each answer in a run's records, and its case."""
    for record in stored.records:
        lines: Sequence[RecordLine | SampleLine] = record.samples or [record]
        some = cases(record, questions[record.question], stored.texts)
        yield from zip((line.scores for line in lines), some, strict=True)


def replies_of(
    stored: StoredRun, named: Sequence[Named], judged: Iterable[Judged]
) -> dict[bytes, tuple[str, ...]]:
    """Return the replies to each prompt, by its key, that gave one of a run's verdicts, in order.

    Those of a metric whose judge or prompt is not that of the run are left out.
    """
    asking = {
        each.name: each.metric
        for each in named
        if isinstance(each.metric, ByJudge) and _same(stored, each.metric)
    }
    found: dict[str, dict[bytes, tuple[str, ...]]] = {name: {} for name in asking}
    for scores, case in judged if asking else ():
        for name, metric in asking.items():
            score = scores.get(name)
            items = metric.items(case) if score is not None and score.verdicts else []
            if score is None or isinstance(items, Score):
                continue
            if [item.of for item in items] == [verdict.of for verdict in score.verdicts]:
                for item, verdict in zip(items, score.verdicts, strict=True):
                    if verdict.value is not None:
                        found[name][key_of(item.prompt)] = tuple(verdict.replies)
    return {key: replies for each in found.values() for key, replies in each.items()}


def _same(stored: StoredRun, metric: ByJudge) -> bool:
    about = portable({"used_by": metric.name, **metric.identity()})
    return about in stored.run.provenance.models


@dataclass(frozen=True)
class Replayed:
    """Gives out what a run's judge said, by the key of its prompt, and for the rest asks `keeper`.

    Without one, what a judge says now is kept here: the next questions may have the same prompt.
    """

    said: Mapping[bytes, tuple[str, ...]]
    keeper: Keeper | None
    _anew: dict[ChatModel, _Anew] = field(default_factory=dict)

    def scored(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case; `score` makes those that are not there."""
        if self.keeper is None:
            return list(score(cases))
        return self.keeper.scored(metric, cases, keys, score)

    def replies(self, judge: ChatModel) -> Replies:
        """Return the replies that a judge gave before, which also keeps those it gives now."""
        if self.keeper is not None:
            return _Said(self.said, self.keeper.replies(judge))
        return _Said(self.said, self._anew.setdefault(judge, _Anew()))


class _Anew:
    """Replies of this process alone."""

    def __init__(self) -> None:
        self.unheard = Unheard()
        self._replies: dict[bytes, tuple[str, ...]] = {}

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        return _known(self._replies, prompts)

    def put(self, prompt: str, replies: Sequence[Reply]) -> None:
        self._replies[key_of(prompt)] = tuple(each.text for each in replies)

    def count(self, replies: Sequence[Reply]) -> None:
        """Nothing is spent by a limit here."""


@dataclass(frozen=True)
class _Said:
    """Replies by prompt: a run's first, then those that are kept."""

    said: Mapping[bytes, tuple[str, ...]]
    kept: Replies

    @property
    def unheard(self) -> Unheard:
        return self.kept.unheard

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        own = _known(self.said, prompts)
        rest = [each for each in prompts if each not in own]
        return {**self.kept.get(rest), **own}

    def put(self, prompt: str, replies: Sequence[Reply]) -> None:
        self.kept.put(prompt, replies)

    def count(self, replies: Sequence[Reply]) -> None:
        self.kept.count(replies)


def _known(
    replies: Mapping[bytes, tuple[str, ...]], prompts: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    keys = {prompt: key_of(prompt) for prompt in prompts}
    return {prompt: replies[key] for prompt, key in keys.items() if key in replies}
