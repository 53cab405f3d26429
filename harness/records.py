"""The records that flow through a run: frozen, typed and free of behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Literal

Label = Literal["evidence", "documents", "answer", "keywords"]
"""The four kinds of gold label that can say whether something retrieved is relevant."""

State = Literal["scored", "not_scored", "failed", "judge_failed"]
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
    start: int
    end: int


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
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A test question with what a perfect system would find and say.

    `documents` maps the id of each judged document to its grade; None means that nobody judged
    any, which is not the same as an empty judgement.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    documents: Mapping[str, int] | None = None
    keywords: tuple[str, ...] = ()
    category: str | None = None
    difficulty: str | None = None
    answerable: bool = True


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


@dataclass(frozen=True, slots=True)
class Judged:
    """One ranking as one kind of label sees it.

    `grades` holds the grade of each distinct item, best rank first; None marks an item nobody
    judged. `inventory` holds the grades above 0 of every relevant item there is, retrieved or
    not, highest first; None where it cannot be known. `irrelevant` counts the items judged 0,
    retrieved or not; those judged below 0 lie outside the pool.
    """

    grades: tuple[int | None, ...]
    inventory: tuple[int, ...] | None
    irrelevant: int = 0
    graded: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    """Rank (from 1) and grade of each retrieved item with a grade above 0, best rank first."""
    ranks: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The ranks alone."""

    def __post_init__(self) -> None:
        grades = self.grades
        ranks = compress(range(1, len(grades) + 1), grades)
        graded = [(rank, grade) for rank in ranks if (grade := grades[rank - 1] or 0) > 0]
        object.__setattr__(self, "graded", tuple(graded))
        object.__setattr__(self, "ranks", tuple([rank for rank, _ in graded]))


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
    value: int | None
    reason: str
    replies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's verdict on one case; `value` is None unless the state is `scored`.

    A metric of the whole set gives `counts` in the place of a value: what this case adds. One that
    asks a judge gives the judge's `verdicts`.
    """

    value: float | None
    reason: str = ""
    state: State = "scored"
    counts: tuple[float, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    def __post_init__(self) -> None:
        has_value = self.value is not None or bool(self.counts)
        assert has_value == (self.state == "scored"), "only a scored case has a value or counts"


def not_scored(reason: str) -> Score:
    """Return the score of a case to which a metric does not apply."""
    return Score(None, reason, "not_scored")


@dataclass(frozen=True, slots=True)
class Sample:
    """One of several answers to one question, and its scores."""

    answer: Answer | None
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class PassageFacts:
    """What is known of a group of passages on its way to the generator; None: not known, or never.

    `pieces` is over how many chunks its best passage is spread, and `largest` the greatest share of
    it in a single one, 0 to 1. At rank `exact_rank` the group is whole under exact search, at
    `rank` as retrieved, at `reranked` after reranking. `cut_at` is the token at which the context
    ended before the group was whole.
    """

    pieces: int | None = None
    largest: float | None = None
    exact_rank: int | None = None
    rank: int | None = None
    reranked: int | None = None
    cut_at: int | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of a group of passages: `stage` lost it; None: it arrived."""

    group: str
    stage: Loss | None
    facts: PassageFacts


@dataclass(frozen=True, slots=True)
class Missed:
    """A relevant chunk that was not retrieved; `rank` is its true one, None if beyond the trace."""

    chunk: Chunk
    grade: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where the answer to a question was lost: None where that is not known, or there is no answer.

    `traced_to` is how many chunks deep exact search was looked at; None: it was not. `held_in` is
    the sentence of the context that held the answer; None: none did.
    """

    lost_at: LostAt | None = None
    passages: tuple[Arrival, ...] = ()
    missed: tuple[Missed, ...] = ()
    traced_to: int | None = None
    held_in: Span | None = None

    @property
    def without_evidence(self) -> bool:
        """Whether the answer was right though a group of passages did not arrive."""
        return self.lost_at == "none" and any(each.stage for each in self.passages)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question in one cell, from start to end: what `pipeline` yields and `store` keeps.

    `candidates` is what the retriever returned where a reranker changed it, else empty. Where the
    question was asked several times, `samples` holds each answer, `case` the first of them, and
    `scores` the means. `searched` is what was searched for in place of the question, if anything.
    """

    cell: str
    case: Case
    scores: Mapping[str, Score]
    candidates: tuple[Hit, ...] = ()
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    searched: tuple[str, ...] = ()
    attribution: Attribution = Attribution()
