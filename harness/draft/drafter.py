"""Drafts questions in batches: asks a chat model for them, checks them, and keeps or drops them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from harness.draft import draft_checks, draft_prompts
from harness.draft.categories import DraftCategory, spread_categories
from harness.draft.draft_prompts import DraftReply
from harness.draft.drafts import Drafts, QuestionDraft, Reason
from harness.draft.passage_order import Deck
from harness.errors import RunError, StageError
from harness.fingerprint import fingerprint
from harness.models.chat import ChatModel
from harness.models.rephrasing import PromptRequest
from harness.protocols import Vectors
from harness.ranking import context
from harness.records import Chunk, Document, Passage, Question
from harness.retrievers import Retriever, SearchContext
from harness.text.words import normalise_answer

T = TypeVar("T")
MAX_TRIES = 3
"""Passages that are tried for one question."""
_BATCH_SIZE = 8
"""Drafts that are asked for at a time; what decides between them must not depend on the pace."""
_MIN_TWIN_SIMILARITY = 0.92
_MAX_CONTEXT_CHUNKS, _MAX_CONTEXT_TOKENS = 6, 1200
"""What is read of the corpus to see whether a question has no answer there."""


class Asks(Protocol):
    """What asks chat models: replies are kept."""

    def ask(self, chat: ChatModel, requests: Sequence[PromptRequest[T]], /) -> list[T | StageError]:
        """Return what is read of the reply to each prompt, or why there is nothing."""
        ...


@dataclass(frozen=True)
class _Attempt:
    """One question that is to be drafted, for the first time or again."""

    number: int
    category: DraftCategory
    tries: int = 1
    passages: tuple[Chunk, ...] = ()
    reply: DraftReply = field(default_factory=lambda: DraftReply(""))
    evidence: tuple[Passage, ...] = ()


class Drafter:
    """Drafts questions; `drafts` has what there is at any time."""

    def __init__(
        self,
        chat: ChatModel,
        asks: Asks,
        deck: Deck,
        searched: SearchContext,
        retriever: Retriever,
        documents: Mapping[str, Document],
        questions: Sequence[str],
    ) -> None:
        self.drafts = Drafts(0)
        self._chat = chat
        self._asks = asks
        self._deck = deck
        self._searched = searched
        self._retriever = retriever
        self._documents = documents
        self._normal = {tuple(normalise_answer(question)) for question in questions}
        self._vectors: Vectors = searched.embed_questions(list(dict.fromkeys(questions)))

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
            _Attempt(number, category)
            for number, category in enumerate(spread_categories(n, categories))
        ]
        while waiting:
            batch, waiting = waiting[:_BATCH_SIZE], waiting[_BATCH_SIZE:]
            ready = [
                replace(attempt, passages=passages)
                for attempt in batch
                if (passages := self._deck.draw(attempt.category)) is not None
            ]
            kept_numbers = {attempt.number for attempt in self._accept(ready)}
            again = [
                attempt
                for attempt in ready
                if attempt.number not in kept_numbers and attempt.tries < MAX_TRIES
            ]
            waiting += [
                _Attempt(attempt.number, attempt.category, attempt.tries + 1) for attempt in again
            ]
            on_progress(n - len(waiting), n)

    def _accept(self, batch: Sequence[_Attempt]) -> list[_Attempt]:
        """Return those of a batch that came to something; the others are counted."""
        self.drafts.tried += len(batch)
        sound = [attempt for attempt in self._write(batch) if self._is_sound(attempt)]
        apart = [attempt for attempt in map(self._place_evidence, sound) if attempt is not None]
        new = [attempt for attempt in apart if self._is_new(attempt)]
        accepted = self._filter_unknown(
            self._filter_supported([attempt for attempt in new if attempt.category.answerable])
        )
        accepted += self._filter_unanswered(
            [attempt for attempt in new if not attempt.category.answerable]
        )
        for attempt in accepted:
            self.drafts.by_number[attempt.number] = QuestionDraft(
                _question(attempt), attempt.passages
            )
        return accepted

    def _write(self, batch: Sequence[_Attempt]) -> list[_Attempt]:
        """Return those that the model wrote something readable for; it is asked twice."""
        written: list[_Attempt] = []
        silent: list[StageError] = []
        unread = list(batch)
        for again in (False, True):
            requests = [
                draft_prompts.question_request(
                    attempt.category, attempt.passages, self._titles(attempt), again
                )
                for attempt in unread
            ]
            replies: list[DraftReply | StageError | None] = self._asks.ask(self._chat, requests)
            answered = list(zip(unread, replies, strict=True))
            written += [
                replace(attempt, reply=reply)
                for attempt, reply in answered
                if isinstance(reply, DraftReply)
            ]
            silent += [reply for _, reply in answered if isinstance(reply, StageError)]
            unread = [attempt for attempt, reply in answered if reply is None]
        self._drop("silent", len(silent))
        self._drop("unread", len(unread))
        # One that fails alone may be the fault of its passages.
        alone = len(batch) < _BATCH_SIZE and self.drafts.by_number
        if silent and len(silent) == len(batch) and not alone:
            raise RunError(f"no draft was made: {silent[0]}\n  what the model said before is kept")
        return sorted(written, key=lambda attempt: attempt.number)

    def _titles(self, attempt: _Attempt) -> list[str]:
        documents = [self._documents[chunk.span.doc] for chunk in attempt.passages]
        return [document.title or document.id for document in documents]

    def _is_sound(self, attempt: _Attempt) -> bool:
        if draft_checks.refers_to_text(attempt.reply.question):
            return self._drop("refers")
        if attempt.category.answerable and draft_checks.leaks_answer(attempt.reply):
            return self._drop("leaks")
        return True

    def _place_evidence(self, attempt: _Attempt) -> _Attempt | None:
        if not attempt.category.answerable:
            return attempt
        evidence = draft_checks.locate_quotes(attempt.reply, attempt.passages)
        if evidence is None:
            self._drop("quote")
            return None
        several = attempt.category.passages > 1
        if several and len({passage.span.doc for passage in evidence}) < 2:
            self._drop("alone")
            return None
        return replace(attempt, evidence=tuple(evidence))

    def _is_new(self, attempt: _Attempt) -> bool:
        normal = tuple(normalise_answer(attempt.reply.question))
        vector = self._searched.embed_questions([attempt.reply.question])
        nearest = (self._vectors @ vector[0]).max(initial=-1.0)
        if normal in self._normal or nearest >= _MIN_TWIN_SIMILARITY:
            return self._drop("twin")
        self._normal.add(normal)
        self._vectors = np.concatenate([self._vectors, vector])
        return True

    def _filter_supported(self, batch: Sequence[_Attempt]) -> list[_Attempt]:
        texts = {
            attempt.number: [passage.text for passage in attempt.evidence] for attempt in batch
        }
        unsure = [
            attempt
            for attempt in batch
            if not draft_checks.is_in_evidence(attempt.reply, texts[attempt.number])
        ]
        requests = [
            draft_prompts.support_request(attempt.reply, texts[attempt.number])
            for attempt in unsure
        ]
        is_supported = self._ask(unsure, requests)
        self._drop("unsupported", sum(not supported for supported in is_supported.values()))
        return [
            attempt
            for attempt in batch
            if attempt not in unsure or is_supported.get(attempt.number)
        ]

    def _filter_unknown(self, batch: Sequence[_Attempt]) -> list[_Attempt]:
        guesses = self._ask(
            batch, [draft_prompts.closed_book_request(attempt.reply.question) for attempt in batch]
        )
        unknown = [
            attempt
            for attempt in batch
            if attempt.number in guesses
            and not draft_checks.is_known(attempt.reply, guesses[attempt.number])
        ]
        self._drop("known", len(guesses) - len(unknown))
        return unknown

    def _filter_unanswered(self, batch: Sequence[_Attempt]) -> list[_Attempt]:
        texts = [attempt.reply.question for attempt in batch]
        hit_lists = (
            self._retriever.retrieve(texts, self._searched, _MAX_CONTEXT_CHUNKS) if texts else []
        )
        read = [
            context.assemble_context(hits, _MAX_CONTEXT_CHUNKS, _MAX_CONTEXT_TOKENS)
            for hits in hit_lists
        ]
        requests = [
            draft_prompts.answerable_request(question, passages)
            for question, passages in zip(texts, read, strict=True)
        ]
        is_answered = self._ask(batch, requests)
        self._drop("there", sum(is_answered.values()))
        return [attempt for attempt in batch if is_answered.get(attempt.number) is False]

    def _ask(self, batch: Sequence[_Attempt], requests: Sequence[PromptRequest[T]]) -> dict[int, T]:
        """Return what the model says about each by number; where it says nothing, it is dropped."""
        replies = self._asks.ask(self._chat, requests)
        by_number = {
            attempt.number: answer
            for attempt, answer in zip(batch, replies, strict=True)
            if not isinstance(answer, StageError)
        }
        self._drop("silent", len(batch) - len(by_number))
        return by_number

    def _drop(self, reason: Reason, times: int = 1) -> bool:
        """Count what is dropped; False, for whoever asks whether to keep it."""
        if times:
            self.drafts.dropped[reason] += times
        return False


def _question(attempt: _Attempt) -> Question:
    reply, answerable = attempt.reply, attempt.category.answerable
    return Question(
        id=f"draft-{fingerprint(reply.question)[:8]}",
        text=reply.question,
        answers=(reply.answer,) if answerable else (),
        passages=attempt.evidence,
        category=attempt.category.name,
        difficulty=draft_checks.rate_difficulty(reply.question, attempt.evidence)
        if answerable
        else None,
        answerable=answerable,
    )
