"""Drafts questions in batches: asks a chat model for them, checks them, and keeps or drops them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from harness.draft import draft_checks, draft_prompts
from harness.draft.draft_prompts import DraftCategory, DraftReply, spread_categories
from harness.draft.passage_order import Deck
from harness.errors import RunError, StageError
from harness.fingerprint import fingerprint
from harness.models.chat import ChatModel
from harness.models.rephrasing import PromptRequest
from harness.ranking import context
from harness.records import Chunk, Document, Passage, Question
from harness.retrievers import Retriever, SearchContext
from harness.runs.artefacts import Artefacts
from harness.text.words import normalise_answer

T = TypeVar("T")
MAX_TRIES = 3
"""Passages that are tried for one question."""
_BATCH_SIZE = 8
"""Drafts that are asked for at a time; what decides between them must not depend on the pace."""
_MIN_TWIN_SIMILARITY = 0.92
_MAX_CONTEXT_CHUNKS, _MAX_CONTEXT_TOKENS = 6, 1200
"""What is read of the corpus to see whether a question has no answer there."""

Reason = Literal[
    "silent", "unread", "refers", "leaks", "quote", "alone", "twin", "unsupported", "known", "there"
]
REASONS: dict[Reason, str] = {
    "silent": "the model gave no usable reply",
    "unread": "the reply could not be read, twice",
    "refers": "the question speaks of a passage or a text",
    "leaks": "the question gives its answer away",
    "quote": "the evidence is not in the passages",
    "alone": "the evidence is of one document, where several were asked for",
    "twin": "the question is nearly the same as another",
    "unsupported": "the evidence does not support the answer",
    "known": "the model knows the answer without the evidence",
    "there": "the corpus answers it, and it was to be unanswerable",
}


@dataclass(frozen=True)
class QuestionDraft:
    """A question that is to be drafted, or that was and no person has accepted."""

    number: int
    category: DraftCategory
    tries: int = 1
    passages: tuple[Chunk, ...] = ()
    reply: DraftReply = field(default_factory=lambda: DraftReply(""))
    evidence: tuple[Passage, ...] = ()

    @property
    def question(self) -> Question:
        """The question as a test set has it."""
        reply, answerable = self.reply, self.category.answerable
        difficulty = draft_checks.rate_difficulty(reply.question, self.evidence)
        return Question(
            id=f"draft-{fingerprint(reply.question)[:8]}",
            text=reply.question,
            answers=(reply.answer,) if answerable else (),
            passages=self.evidence,
            category=self.category.name,
            difficulty=difficulty if answerable else None,
            answerable=answerable,
        )


@dataclass
class Drafts:
    """What has come of drafting so far: drafts by the number of the question, and the dropped."""

    target: int
    by_number: dict[int, QuestionDraft] = field(default_factory=dict)
    tried: int = 0
    dropped: Counter[Reason] = field(default_factory=Counter)

    def in_order(self) -> list[QuestionDraft]:
        """Return the drafts by number."""
        return [self.by_number[number] for number in sorted(self.by_number)]


@dataclass
class Drafter:
    """Drafts questions; `drafts` has what there is at any time.

    None is nearly the same as one of `questions`.
    """

    chat: ChatModel
    artefacts: Artefacts
    deck: Deck
    searched: SearchContext
    retriever: Retriever
    documents: Mapping[str, Document]
    questions: Sequence[str]
    drafts: Drafts = field(default_factory=lambda: Drafts(0))

    def __post_init__(self) -> None:
        self._normal = {tuple(normalise_answer(question)) for question in self.questions}
        self._vectors = self.searched.embed_questions(list(dict.fromkeys(self.questions)))

    def draft(
        self, n: int, categories: Sequence[DraftCategory], on_progress: Callable[[int, int], None]
    ) -> None:
        """Draft `n` questions, or as many as passages and tries allow.

        `on_progress` gets the number of questions done, and `n`.

        Raises:
            RunError: the model gave no usable reply to any of the prompts sent together.
        """
        self.drafts = Drafts(n)
        waiting = [
            QuestionDraft(number, category)
            for number, category in enumerate(spread_categories(n, categories))
        ]
        while waiting:
            batch, waiting = waiting[:_BATCH_SIZE], waiting[_BATCH_SIZE:]
            ready = [
                replace(draft, passages=passages)
                for draft in batch
                if (passages := self.deck.draw(draft.category)) is not None
            ]
            self._draft_batch(ready)
            waiting += [
                replace(draft, tries=draft.tries + 1)
                for draft in ready
                if draft.number not in self.drafts.by_number and draft.tries < MAX_TRIES
            ]
            on_progress(n - len(waiting), n)

    def _draft_batch(self, batch: Sequence[QuestionDraft]) -> None:
        """Add those of a batch that came to something; the others are counted."""
        self.drafts.tried += len(batch)
        drafts = self._keep(
            "refers",
            self._write(batch),
            lambda draft: not draft_checks.refers_to_text(draft.reply.question),
        )
        unanswerable = [draft for draft in drafts if not draft.category.answerable]
        answerable = [draft for draft in drafts if draft.category.answerable]
        answerable = self._keep(
            "leaks", answerable, lambda draft: not draft_checks.leaks_answer(draft.reply)
        )
        answerable = self._place_evidence(answerable)
        drafts = sorted([*unanswerable, *answerable], key=lambda draft: draft.number)
        new = self._keep("twin", drafts, self._is_new)
        accepted = self._check_answerable([draft for draft in new if draft.category.answerable])
        accepted += self._check_unanswerable(
            [draft for draft in new if not draft.category.answerable]
        )
        self.drafts.by_number |= {draft.number: draft for draft in accepted}

    def _write(self, batch: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Return those that the model wrote something readable for; it is asked twice."""
        written: list[QuestionDraft] = []
        silent: list[StageError] = []
        unread = list(batch)
        for again in (False, True):
            requests = [
                draft_prompts.question_request(
                    draft.category, draft.passages, self.documents, again
                )
                for draft in unread
            ]
            replies: list[DraftReply | StageError | None] = self.artefacts.ask(self.chat, requests)
            answered = list(zip(unread, replies, strict=True))
            written += [
                replace(draft, reply=reply)
                for draft, reply in answered
                if isinstance(reply, DraftReply)
            ]
            silent += [reply for _, reply in answered if isinstance(reply, StageError)]
            unread = [draft for draft, reply in answered if reply is None]
        self._drop("silent", len(silent))
        self._drop("unread", len(unread))
        # One that fails alone may be the fault of its passages.
        alone = len(batch) < _BATCH_SIZE and self.drafts.by_number
        if silent and len(silent) == len(batch) and not alone:
            raise RunError(f"no draft was made: {silent[0]}\n  what the model said before is kept")
        return sorted(written, key=lambda draft: draft.number)

    def _place_evidence(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        placed = [
            replace(draft, evidence=tuple(evidence))
            for draft in drafts
            if (evidence := draft_checks.locate_quotes(draft.reply, draft.passages)) is not None
        ]
        self._drop("quote", len(drafts) - len(placed))
        return self._keep(
            "alone",
            placed,
            lambda draft: (
                draft.category.passages == 1
                or len({passage.span.doc for passage in draft.evidence}) > 1
            ),
        )

    def _is_new(self, draft: QuestionDraft) -> bool:
        normal = tuple(normalise_answer(draft.reply.question))
        vector = self.searched.embed_questions([draft.reply.question])
        nearest = (self._vectors @ vector[0]).max(initial=-1.0)
        if normal in self._normal or nearest >= _MIN_TWIN_SIMILARITY:
            return False
        self._normal.add(normal)
        self._vectors = np.concatenate([self._vectors, vector])
        return True

    def _check_answerable(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Return those whose evidence supports the answer, which the model does not know alone."""
        supported: list[QuestionDraft] = []
        unsure: list[QuestionDraft] = []
        requests: list[PromptRequest[bool]] = []
        for draft in drafts:
            texts = [passage.text for passage in draft.evidence]
            if draft_checks.is_in_evidence(draft.reply, texts):
                supported.append(draft)
            else:
                unsure.append(draft)
                requests.append(draft_prompts.support_request(draft.reply, texts))
        supported += self._keep_by_model("unsupported", unsure, requests, lambda _, yes: yes)
        return self._keep_by_model(
            "known",
            supported,
            [draft_prompts.closed_book_request(draft.reply.question) for draft in supported],
            lambda draft, guess: not draft_checks.is_known(draft.reply, guess),
        )

    def _check_unanswerable(self, drafts: Sequence[QuestionDraft]) -> list[QuestionDraft]:
        """Return those that the corpus holds no answer to."""
        if not drafts:
            return []
        texts = [draft.reply.question for draft in drafts]
        hits = self.retriever.retrieve(texts, self.searched, _MAX_CONTEXT_CHUNKS)
        requests = [
            draft_prompts.answerable_request(
                text,
                context.assemble_context(text_hits, _MAX_CONTEXT_CHUNKS, _MAX_CONTEXT_TOKENS),
            )
            for text, text_hits in zip(texts, hits, strict=True)
        ]
        return self._keep_by_model("there", drafts, requests, lambda _, answered: not answered)

    def _keep(
        self,
        reason: Reason,
        drafts: Sequence[QuestionDraft],
        is_good: Callable[[QuestionDraft], bool],
    ) -> list[QuestionDraft]:
        """Return the good drafts; the others are counted as dropped."""
        kept = [draft for draft in drafts if is_good(draft)]
        self._drop(reason, len(drafts) - len(kept))
        return kept

    def _keep_by_model(
        self,
        reason: Reason,
        drafts: Sequence[QuestionDraft],
        requests: Sequence[PromptRequest[T]],
        is_good: Callable[[QuestionDraft, T], bool],
    ) -> list[QuestionDraft]:
        """Return the drafts that are good by what the model says about each."""
        replies = self.artefacts.ask(self.chat, requests)
        answered = [
            (draft, reply)
            for draft, reply in zip(drafts, replies, strict=True)
            if not isinstance(reply, StageError)
        ]
        kept = [draft for draft, reply in answered if is_good(draft, reply)]
        self._drop("silent", len(drafts) - len(answered))
        self._drop(reason, len(answered) - len(kept))
        return kept

    def _drop(self, reason: Reason, times: int) -> None:
        if times:
            self.drafts.dropped[reason] += times
