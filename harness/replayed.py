"""What a stored run's judge said, by the prompt it was sent: whoever scores again need not ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.chat import ChatModel, Reply
from harness.judging import ByJudge, Replies
from harness.metrics import Metric
from harness.paths import portable
from harness.records import Case, Score
from harness.scoring import Keeper, Named
from harness.store import StoredRun
from harness.stored import RecordLine, SampleLine, ScoreLine

Judged = tuple[Mapping[str, ScoreLine], Case]
"""The scores of one answer of a run, and the case that they were given to."""


def answers_of(
    records: Sequence[RecordLine], sampled: Sequence[Sequence[Case]]
) -> Iterator[Judged]:
    """Yield the scores of each answer in the records, whose cases `sampled` holds."""
    for record, some in zip(records, sampled, strict=True):
        lines: Sequence[RecordLine | SampleLine] = record.samples or [record]
        yield from zip((line.scores for line in lines), some, strict=True)


def replies_of(
    stored: StoredRun, named: Sequence[Named], judged: Sequence[Judged]
) -> dict[str, tuple[str, ...]]:
    """Return the replies to each prompt that gave one of a run's verdicts, in order.

    Those of a metric whose judge or prompt is not that of the run are left out.
    """
    found: dict[str, tuple[str, ...]] = {}
    for each in named:
        if not isinstance(each.metric, ByJudge) or not _same(stored, each.metric):
            continue
        for scores, case in judged:
            score = scores.get(each.name)
            items = each.metric.items(case) if score is not None and score.verdicts else []
            if score is None or isinstance(items, Score):
                continue
            if [item.of for item in items] == [verdict.of for verdict in score.verdicts]:
                for item, verdict in zip(items, score.verdicts, strict=True):
                    if verdict.value is not None:
                        found[item.prompt] = tuple(verdict.replies)
    return found


def _same(stored: StoredRun, metric: ByJudge) -> bool:
    about = portable({"used_by": metric.name, **metric.identity()})
    return about in stored.run.provenance.models


@dataclass(frozen=True)
class Replayed:
    """Gives out what a run's judge said, and for the rest asks `keeper`, if there is one."""

    said: Mapping[str, tuple[str, ...]]
    keeper: Keeper | None

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
        return _Said(self.said, None if self.keeper is None else self.keeper.replies(judge))


@dataclass(frozen=True)
class _Said:
    """Replies by prompt: a run's first, then those of the cache."""

    said: Mapping[str, tuple[str, ...]]
    kept: Replies | None

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        own = {each: self.said[each] for each in prompts if each in self.said}
        rest = [each for each in prompts if each not in own]
        return own if self.kept is None else {**self.kept.get(rest), **own}

    def put(self, prompt: str, replies: Sequence[Reply]) -> None:
        if self.kept is not None:
            self.kept.put(prompt, replies)
