"""Rankings, answers and scores to rows of the cache, and back: what has been done once is kept.

A failure is never kept: whoever asks again gets another try.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.cache import Cache
from harness.chat import ChatModel, Reply
from harness.fingerprint import identity_of, source_id, versions
from harness.metrics import Metric
from harness.records import Answer, Case, Chunk, Hit, Question, Score
from harness.registry import label
from harness.rows import Rows, key_of
from harness.unheard import Unheard

_VERSION = 1
_SCORING = ("bert-score", "nltk", "rouge-score", "sacrebleu")
_KEPT_STATES = ("scored", "not_scored")


@dataclass(frozen=True)
class Ranked:
    """A ranking, and how long it took when it was made.

    `searched` is what was searched for in place of the question, where it was reworded.
    """

    hits: tuple[Hit, ...]
    seconds: float
    searched: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answered:
    """An answer (None from a generator that gives none), and how long it took when it was made."""

    answer: Answer | None
    seconds: float


class Rankings:
    """The rankings that one retriever, or reranker, gives of one set of chunks, by question."""

    def __init__(
        self, cache: Cache, kind: str, about: Mapping[str, Any], chunk: Callable[[int], Chunk]
    ) -> None:
        self._cache = cache
        self._kind = kind
        self._chunk = chunk
        self._about = {"version": _VERSION, **about}
        self._rows = cache.rows(kind, self._about)

    def get(self, questions: Sequence[Question]) -> dict[str, Ranked]:
        """Return the rankings that are there, by question id."""
        found = self._rows.get([key_of(each.text) for each in questions])
        ranked: dict[str, Ranked] = {}
        for question in questions:
            raw = found.get(key_of(question.text))
            if raw is not None:
                hits, seconds, *searched = json.loads(raw)
                chosen = tuple(Hit(self._chunk(index), score) for index, score in hits)
                ranked[question.id] = Ranked(chosen, seconds, tuple(searched))
        self._cache.count(self._kind, reused=len(ranked))
        return ranked

    def there(self, questions: Sequence[Question]) -> set[str]:
        """Return the ids of the questions whose rankings are there, without reading those."""
        found = self._rows.get([key_of(each.text) for each in questions])
        return {each.id for each in questions if key_of(each.text) in found}

    def put(self, made: Sequence[tuple[Question, Ranked]]) -> None:
        """Keep rankings."""
        self._cache.count(self._kind, made=len(made))
        self._rows.put(
            (
                key_of(question.text),
                _raw(
                    [
                        [(hit.chunk.index, hit.score) for hit in each.hits],
                        each.seconds,
                        *each.searched,
                    ]
                ),
            )
            for question, each in made
        )

    def close(self) -> None:
        """Let go of the file: these rankings will not be needed again."""
        self._cache.release(self._kind, self._about)


Asked = tuple[str, str, int]
"""A question, its context, and the number of the sample, from 0."""


class Answers:
    """The answers that one generator gave, by question, context and number of the sample."""

    def __init__(self, cache: Cache, generator: Any) -> None:
        about = {"version": _VERSION, "generator": identity_of(generator)}
        asks = getattr(generator, "asked_model", None)
        self._model: str | None = None if asks is None else asks().shown
        self._cache = cache
        self._rows = cache.rows("answers", about)

    def get(self, asked: Sequence[Asked]) -> dict[Asked, Answered]:
        """Return the answers that are there."""
        keys = {each: _answer_key(*each) for each in asked}
        found = self._rows.get(list(keys.values()))
        answers: dict[Asked, Answered] = {}
        for each, key in keys.items():
            if key in found:
                answer, seconds = json.loads(found[key])
                answers[each] = Answered(None if answer is None else Answer(**answer), seconds)
        self._cache.count("answers", reused=len(answers))
        return answers

    def some(self, most: int) -> list[Answered]:
        """Return at most so many answers that are there, to any questions."""
        found = [json.loads(raw) for raw in self._rows.some(most)]
        return [Answered(None if each is None else Answer(**each), took) for each, took in found]

    def put(self, asked: Asked, made: Answered) -> None:
        """Keep one answer; it survives a kill as soon as this returns."""
        self._cache.count("answers", made=1)
        answer = None if made.answer is None else asdict(made.answer)
        self._rows.put([(_answer_key(*asked), _raw([answer, made.seconds]))])
        if made.answer is not None and self._model is not None:
            self._cache.spend(self._model, made.answer.tokens_in, made.answer.tokens_out)


def _answer_key(question: str, context: str, sample: int) -> bytes:
    return key_of(question, context, str(sample)) if sample else key_of(question, context)


@dataclass(frozen=True)
class IndexRecall:
    """How much of the exact `k` nearest an index finds: mean share over `questions` questions."""

    k: int
    mean: float
    questions: int


@dataclass(frozen=True)
class Measured:
    """What one index was found to be; `recall` is None where every vector is compared anyway."""

    truncated: int
    recall: IndexRecall | None


class Measures:
    """What indexes were found to be, for given questions."""

    def __init__(self, cache: Cache) -> None:
        self._rows = cache.rows("measures", {"version": _VERSION, "of": "what indexes lose"})

    def get(self, key: str) -> Measured | None:
        """Return what is known under `key`."""
        raw = self._rows.get([key_of(key)]).get(key_of(key))
        if raw is None:
            return None
        truncated, recall = json.loads(raw)
        return Measured(truncated, None if recall is None else IndexRecall(*recall))

    def put(self, key: str, found: Measured) -> None:
        """Keep what was found."""
        recall = found.recall
        values = None if recall is None else [recall.k, recall.mean, recall.questions]
        self._rows.put([(key_of(key), _raw([found.truncated, values]))])


class Judgements:
    """The replies that one judge gave, by prompt: all that it took to get one that can be read.

    They are named by the judge alone, not by the code that reads them, since they may cost money.
    """

    def __init__(self, cache: Cache, judge: ChatModel, allowed: float = 0.0) -> None:
        self.unheard = Unheard(allowed)
        self._cache = cache
        self._model = judge.shown
        self._rows = cache.rows("judgements", {"version": _VERSION, "judge": judge.identity()})

    def get(self, prompts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the replies that are there, by prompt."""
        keys = {prompt: key_of(prompt) for prompt in prompts}
        raw = self._rows.get(list(keys.values()))
        found = {
            prompt: tuple(each["text"] for each in json.loads(raw[key]))
            for prompt, key in keys.items()
            if key in raw
        }
        self._cache.count("judgements", reused=len(found))
        return found

    def some(self, most: int) -> list[Reply]:
        """Return the replies to at most so many prompts, any of them."""
        return [Reply(**each) for raw in self._rows.some(most) for each in json.loads(raw)]

    def put(self, prompt: str, replies: Sequence[Reply]) -> None:
        """Keep the replies to one prompt; they survive a kill as soon as this returns."""
        self._cache.count("judgements", made=1)
        self._rows.put([(key_of(prompt), _raw([asdict(each) for each in replies]))])
        self.count(replies)

    def count(self, replies: Sequence[Reply]) -> None:
        """Count what replies took, be they kept or not."""
        for each in replies:
            self._cache.spend(self._model, each.tokens_in, each.tokens_out)


class Scores:
    """The scores of any metric, by what of a case the metric is shown.

    `allowed` are the prompts in a row that a judge may fail on, where they are many.
    """

    def __init__(self, cache: Cache, allowed: float = 0.0) -> None:
        self._cache = cache
        self._allowed = allowed
        self._rows: dict[Metric, Rows] = {}
        self._judges: dict[ChatModel, Judgements] = {}

    def replies(self, judge: ChatModel) -> Judgements:
        """Return the replies that a judge gave before; it keeps those it gives now."""
        if judge not in self._judges:
            self._judges[judge] = Judgements(self._cache, judge, self._allowed)
        return self._judges[judge]

    def scored(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[str],
        score: Callable[[Sequence[Case]], Sequence[Score]],
    ) -> list[Score]:
        """Return the score of each case; `score` makes those that are not there.

        `keys` must differ for cases that differ to the metric.
        """
        if metric not in self._rows:
            what = {"name": label(metric), "version": metric.version, "of": identity_of(metric)}
            # Metrics share code whose changes their versions may not show, and cost little.
            code = {"harness": source_id(), **versions(*_SCORING)}
            about = {"version": _VERSION, "metric": what, "code": code}
            self._rows[metric] = self._cache.rows("scores", about)
        rows = self._rows[metric]
        named = [key_of(key) for key in keys]
        known = {key: _score(raw) for key, raw in rows.get(named).items()}
        new = {key: case for key, case in zip(named, cases, strict=True) if key not in known}
        self._cache.count("scores", made=len(new), reused=len(named) - len(new))
        made = dict(zip(new, score(list(new.values())), strict=True)) if new else {}
        rows.put(
            (key, _raw([each.value, each.reason, each.state, each.counts]))
            for key, each in made.items()
            if each.state in _KEPT_STATES
        )
        known |= made
        return [known[key] for key in named]


def _score(raw: bytes) -> Score:
    value, reason, state, counts = json.loads(raw)
    return Score(value, reason, state, tuple(counts))


def _raw(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
