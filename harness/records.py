"""The records that flow through a run: in memory, in the cache and in its files.

They are frozen, typed and free of behaviour. A type such as `Whole` bounds what is read from a
file; nothing checks it where a record is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

from annotated_types import Interval

Whole = Annotated[int, Interval(ge=-(2**53), le=2**53)]
"""A whole number that a float holds exactly: means and money are made of them."""

Number = Annotated[float, Interval(ge=-1e100, le=1e100)]
"""A number that can be squared and summed with others, and still is one."""

Label = Literal["evidence", "documents", "answer", "keywords"]
"""The four kinds of gold label that can say whether something retrieved is relevant."""

State = Literal["scored", "not_scored", "failed", "metric_failed"]
"""What became of one metric on one question; only `scored` has a value."""

Stage = Literal["retrieval", "generation"]
"""A stage of the system under test that can fail for one question."""


Loss = Literal["chunking", "index", "retrieval", "reranking", "context"]
"""Where evidence can be lost on its way to the generator, in this order."""

LostAt = Literal["chunking", "index", "retrieval", "reranking", "context", "generation", "none"]
"""Where an answer was lost: METRICS.md, section 5."""

Scalar = str | int | float | bool
"""What the metadata of a document may hold."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a corpus; `text` is normalised once, on reading (NFC, line feeds).

    `metadata` is what filters look at: nothing else reads it.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The characters `start` up to, not including, `end` of one document."""

    doc: str
    start: Whole
    end: Whole


SpanKey = tuple[str, int, int]
"""Document, start and end of a span."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document; `text` is exactly the document's text at `span`.

    `header` is what is embedded and indexed in front of the text (a title, say); it is never
    scored. `index` is the chunk's place among all chunks of its corpus.
    """

    index: int
    span: Span
    text: str
    header: str = ""

    @property
    def indexed_text(self) -> str:
        """The text that is embedded and indexed: header and text."""
        return f"{self.header} {self.text}" if self.header else self.text


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk and the score the retriever gave it; higher is better."""

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document that answers a question.

    Passages of one question with the same `group` say the same: any one of them will do.
    """

    span: Span
    text: str
    group: str
    grade: Whole = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A test question with what a perfect system would find and say.

    `documents` maps the id of each judged document to its grade; None means that nobody judged
    any, which is not the same as an empty judgement. `cluster` names the questions that a stored
    run drew together for its intervals.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    documents: Mapping[str, Whole] | None = None
    keywords: tuple[str, ...] = ()
    category: str | None = None
    difficulty: str | None = None
    answerable: bool = True
    cluster: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a generator said, whether it declined to answer, and what that took.

    `prompt` is what a model was sent, to the letter.
    """

    text: str
    declined: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    finish: str | None = None
    prompt: str | None = None


@dataclass(frozen=True)
class Judged:
    """One ranking as one kind of label sees it: all that a ranking metric needs.

    `grades` holds the grade of each distinct item, best rank first; None marks an item nobody
    judged. `inventory` holds the grades above 0 of every relevant item there is, retrieved or
    not, highest first; None where it cannot be known. `irrelevant` counts the items judged 0,
    retrieved or not; those judged below 0 lie outside the pool.
    """

    grades: tuple[Whole | None, ...]
    inventory: tuple[Whole, ...] | None
    irrelevant: Whole = 0

    @cached_property
    def graded(self) -> tuple[tuple[int, int], ...]:
        """Rank (from 1) and grade of each retrieved item with a grade above 0, best rank first."""
        ranked = enumerate(self.grades, start=1)
        return tuple([(rank, grade) for rank, grade in ranked if grade is not None and grade > 0])

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of those items alone."""
        return tuple([rank for rank, _ in self.graded])


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the system under test gave up on a question, and at which stage."""

    stage: Stage
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """All that a metric may look at: one question, what was retrieved and what was answered.

    `judged` has an entry for each kind of label the question carries, `keywords` one for each of
    its keywords. `touching` are the index's chunks that share a character with one of the
    question's passages, or stand next to it; None where the index is not known. `ranked` is False
    where the system under test does not tell what it retrieved, `answers` where it gives none.
    """

    question: Question
    hits: tuple[Hit, ...] = ()
    judged: Mapping[Label, Judged] = field(default_factory=dict)
    context: str | None = None
    answer: Answer | None = None
    failure: Failure | None = None
    keywords: tuple[Judged, ...] = ()
    touching: tuple[Span, ...] | None = ()
    ranked: bool = True
    answers: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of one thing: `of` names it.

    `value` is None where no reply could be read, and `reason` then says so. `replies` are all that
    the judge said, to the letter.
    """

    of: str
    value: Whole | None
    reason: str
    replies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's verdict on one case; `value` is None unless the state is `scored`.

    A metric of the whole set gives `counts` in the place of a value: what this case adds. One that
    asks a judge gives the judge's `verdicts`.
    """

    value: Number | None
    reason: str = ""
    state: State = "scored"
    counts: tuple[Number, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    def __post_init__(self) -> None:
        has_value = self.value is not None or bool(self.counts)
        if has_value != (self.state == "scored"):
            raise ValueError(f"it is {self.state}, which does not go with its value")


def not_scored(reason: str) -> Score:
    """Return the score of a case to which a metric does not apply."""
    return Score(None, reason, "not_scored")


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took: tokens, the model as its server names it, why it ended."""

    tokens_in: Whole | None = None
    tokens_out: Whole | None = None
    model: str | None = None
    finish: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerSample:
    """One of several answers to one question, and its scores; without a text it failed."""

    answer: str | None = None
    declined: bool | None = None
    usage: Usage | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PassageFacts:
    """What is known of a group of passages on its way to the generator; None: not known, or never.

    `pieces` is over how many chunks its best passage is spread, and `largest` the greatest share of
    it in a single one, 0 to 1. At rank `exact_rank` the group is whole under exact search, at
    `rank` as retrieved, at `reranked` after reranking. `cut_at` is the token at which the context
    ended before the group was whole.
    """

    pieces: Whole | None = None
    largest: Number | None = None
    exact_rank: Whole | None = None
    rank: Whole | None = None
    reranked: Whole | None = None
    cut_at: Whole | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of a group of passages: `stage` lost it; None: it arrived."""

    group: str
    stage: Loss | None
    facts: PassageFacts


@dataclass(frozen=True, slots=True)
class Missed(Span):
    """A relevant chunk that was not retrieved; under `documents` the first of a document.

    `rank` is its true one under exact search, None if beyond what was traced.
    """

    grade: Whole
    rank: Whole | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where the answer to a question was lost: None where that is not known, or there is no answer.

    `missed` are at most 20, best rank first, and `missed_chunks` the same with their texts.
    `traced_to` is how many chunks deep exact search was looked at; None: it was not. `held_in` is
    the sentence of the context that held the answer; None: none did.
    """

    lost_at: LostAt | None = None
    passages: tuple[Arrival, ...] = ()
    missed: tuple[Missed, ...] = ()
    missed_chunks: tuple[Chunk, ...] = ()
    traced_to: int | None = None
    held_in: Span | None = None


@dataclass(frozen=True, slots=True)
class StoredHit(Span):
    """A hit as it is stored: a span, the retriever's score, its grade under the run's labels.

    The grade is None where nobody judged it, or the question has no label.
    """

    score: Number
    grade: Whole | None = None


@dataclass(frozen=True, slots=True)
class ChunkText(Span):
    """The text of a span that some hit of a run has."""

    text: str


@dataclass(frozen=True, slots=True)
class ContextCut:
    """A context as the hits it is made of: the first `hits`, the last cut to `characters`."""

    hits: Whole
    characters: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question in one cell, from start to end: a line of `records.jsonl`.

    Its texts are elsewhere: those of hits in the run's texts, the question's in its questions. What
    has a default here is left out of a line where it is that.

    `hits` is the final ranking; `candidates` what the retriever returned where a reranker changed
    it, else empty. `searched` is what was searched for in place of the question, if anything.
    `ranked` is False where a system does not tell what it retrieved, `answers` where it gives no
    answers. `context` is a text where it is not made of hits. `prompt` is what the model was sent,
    split at the context. Where the question was asked several times, `samples` holds each answer,
    `answer` is the first of them, and `scores` the means. `judged` and `keywords` are the ranking
    as each kind of label and as each keyword sees it. `touching` are the chunks that share a
    character with a gold passage, or stand next to one; None: the index is not known. What
    follows `scores` is where the answer was lost (`Attribution`); `without_evidence`: it was right
    though a group of passages did not arrive. `error`: the system gave up on it.
    """

    cell: str
    question: str
    hits: tuple[StoredHit, ...]
    candidates: tuple[StoredHit, ...] = ()
    searched: tuple[str, ...] = ()
    ranked: bool = True
    answers: bool = True
    context: ContextCut | str | None = None
    prompt: tuple[str, ...] = ()
    answer: str | None
    declined: bool | None
    usage: Usage | None = None
    samples: tuple[AnswerSample, ...] = ()
    seconds: Mapping[Stage, Number] = field(default_factory=dict)
    judged: Mapping[Label, Judged] = field(default_factory=dict)
    keywords: tuple[Judged, ...] = ()
    touching: tuple[tuple[str, Whole, Whole], ...] | None = ()
    scores: Mapping[str, Score]
    lost_at: LostAt | None
    without_evidence: bool = False
    passages: tuple[Arrival, ...] = ()
    missed: tuple[Missed, ...] = ()
    traced_to: Whole | None = None
    held_in: Span | None = None
    error: Failure | None
