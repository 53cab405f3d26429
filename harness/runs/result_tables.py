"""Cache tables of rankings, answers, judgements and scores.

A failure is never kept: whoever asks again gets another try.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cache.folders import Cache
from harness.cache.tables import Asked, ReplyTable, Table
from harness.config.resolved import model_of
from harness.fingerprint import identity_of, source_id, versions
from harness.metrics import Metric
from harness.metrics.judge_replies import CircuitBreaker
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.records import Answer, Case, Chunk, Hit, Question, Score
from harness.registry import label
from harness.store.cell_results import IndexRecall
from harness.systems.reply import SystemReply

_SCORING_PACKAGES = ("bert-score", "nltk", "rouge-score", "sacrebleu")
_KEPT_STATES = ("scored", "not_scored")


@dataclass(frozen=True)
class TimedRanking:
    """A ranking, and how long it took when it was made.

    `searched` is what was searched for in place of the question, where it was reworded.
    """

    hits: tuple[Hit, ...]
    seconds: float
    searched: tuple[str, ...] = ()


@dataclass(frozen=True)
class _RankingRow:
    """A ranking as it is kept: chunks by their number."""

    chunks: tuple[int, ...]
    scores: tuple[float, ...]
    seconds: float
    searched: tuple[str, ...] = ()


@dataclass(frozen=True)
class TimedAnswer:
    """An answer (None from a generator that gives none), and how long it took when it was made."""

    answer: Answer | None
    seconds: float


SearchKey = str | tuple[str, ...]
"""A question, or it and what is searched for in its place."""
SearchKeys = Callable[[Sequence[str]], Mapping[str, SearchKey]]


class RankingTable:
    """The rankings that one retriever, or reranker, gives of one set of chunks, by question.

    `keys` tells what those of a question are kept under; one without a key has none.
    """

    def __init__(
        self,
        cache: Cache,
        kind: str,
        about: Mapping[str, Any],
        chunk: Callable[[int], Chunk],
        keys: SearchKeys,
    ) -> None:
        self._chunk = chunk
        self._keys = keys
        self._table = cache.table(kind, _RankingRow, about)
        self.close = self._table.close

    def get(self, questions: Sequence[Question]) -> dict[str, TimedRanking]:
        """Return the rankings that are there, by question id."""
        keys = self._keys([question.text for question in questions])
        rows = self._table.get(list(keys.values()))
        return {
            question.id: TimedRanking(
                tuple(map(Hit, map(self._chunk, row.chunks), row.scores)), row.seconds, row.searched
            )
            for question in questions
            if question.text in keys and (row := rows.get(keys[question.text])) is not None
        }

    def stored_ids(self, questions: Sequence[Question]) -> set[str]:
        """Return the ids of the questions whose rankings are there, without reading those."""
        keys = self._keys([question.text for question in questions])
        missing = set(self._table.missing(list(keys.values())))
        there = {text for text, key in keys.items() if key not in missing}
        return {question.id for question in questions if question.text in there}

    def put(self, rankings: Sequence[tuple[Question, TimedRanking]]) -> None:
        """Keep rankings."""
        keys = self._keys([question.text for question, _ in rankings])
        self._table.put(
            {
                keys[question.text]: _RankingRow(
                    tuple(hit.chunk.index for hit in ranking.hits),
                    tuple(hit.score for hit in ranking.hits),
                    ranking.seconds,
                    ranking.searched,
                )
                for question, ranking in rankings
                if question.text in keys
            }
        )


AnswerRequest = tuple[str, str, int]
"""A question, its context, and the number of the sample, from 0."""


def answer_table(cache: Cache, generator: Any) -> ReplyTable[TimedAnswer]:
    """Return the answers that one generator gave, by `AnswerRequest`."""
    model = model_of(generator)
    # One of the user's own may ask a server, or a module that has changed.
    own = type(generator).__module__.partition(".")[0] != "harness"
    kind: Asked = model.kind if model is not None else "model" if own else "file"
    return cache.reply_table("answers", TimedAnswer, {"generator": identity_of(generator)}, kind)


@dataclass(frozen=True)
class TimedReply:
    """A system's reply, and the seconds it took when it was asked."""

    reply: SystemReply
    seconds: float


@dataclass(frozen=True)
class IndexFacts:
    """What one index was found to be; `recall` is None where every vector is compared anyway."""

    truncated: int
    recall: IndexRecall | None


class JudgeReplyTable:
    """The replies that one judge gave, by prompt: all that it took to get one that can be read.

    They are named by the judge alone, not by the code that reads them, since they may cost money.
    """

    def __init__(self, cache: Cache, judge: ChatModel, allowed: float = 0.0) -> None:
        self.breaker = CircuitBreaker(allowed)
        self._cache = cache
        self._model = judge.shown
        about = {"judge": judge.identity()}
        self._table = cache.reply_table("judgements", tuple[ChatReply, ...], about, judge.kind)

    def get(self, prompts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the replies that are there, by prompt."""
        kept = self._table.get(prompts)
        return {prompt: tuple(reply.text for reply in kept[prompt]) for prompt in kept}

    def some(self, limit: int) -> list[ChatReply]:
        """Return the replies to at most so many prompts, any of them."""
        return [reply for replies in self._table.some(limit) for reply in replies]

    def put(self, prompt: str, replies: Sequence[ChatReply]) -> None:
        """Keep the replies to one prompt; they survive a kill as soon as this returns."""
        self._table.put({prompt: tuple(replies)})
        self.count(replies)

    def count(self, replies: Sequence[ChatReply]) -> None:
        """Count what replies took, be they kept or not."""
        for reply in replies:
            self._cache.spend(self._model, reply.tokens_in, reply.tokens_out)


class ScoreTable:
    """The scores of any metric, by what of a case the metric is shown.

    `allowed` are the prompts in a row that a judge may fail on, where they are many.
    """

    def __init__(self, cache: Cache, allowed: float = 0.0) -> None:
        self._cache = cache
        self._allowed = allowed
        self._tables: dict[Metric, Table[Score]] = {}
        self._judges: dict[ChatModel, JudgeReplyTable] = {}

    def replies(self, judge: ChatModel) -> JudgeReplyTable:
        """Return the replies that a judge gave before; it keeps those it gives now."""
        if judge not in self._judges:
            self._judges[judge] = JudgeReplyTable(self._cache, judge, self._allowed)
        return self._judges[judge]

    def get_or_score(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case; `score` makes those that are not there.

        `keys` must differ for cases that differ to the metric.
        """
        if metric not in self._tables:
            identity = {"name": label(metric), "version": metric.version, "of": identity_of(metric)}
            # Metrics share code whose changes their versions may not show, and cost little.
            code = {"harness": source_id(), **versions(*_SCORING_PACKAGES)}
            about = {"metric": identity, "code": code}
            self._tables[metric] = self._cache.table("scores", Score, about, counted=False)
        table = self._tables[metric]
        scores = table.get(keys)
        new = {key: case for key, case in zip(keys, cases, strict=True) if key not in scores}
        self._cache.count("scores", made=len(new), reused=len(keys) - len(new))
        new_scores = dict(zip(new, score(list(new.values())), strict=True)) if new else {}
        table.put({key: made for key, made in new_scores.items() if made.state in _KEPT_STATES})
        scores |= new_scores
        return [scores[key] for key in keys]
