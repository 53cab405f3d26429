"""From passages to drafts: a few at a time are asked for, doubted, and kept or dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from harness import context
from harness.chat import ChatModel
from harness.drafting import doubts, replies
from harness.drafting.categories import Category, spread
from harness.drafting.deck import Deck
from harness.drafting.drafts import Draft, Drafts, Reason
from harness.drafting.replies import Said
from harness.embedders import Vectors
from harness.errors import RunError, StageError
from harness.fingerprint import fingerprint
from harness.records import Chunk, Document, Passage, Question
from harness.rephrasing import Wanted
from harness.retrievers import Retriever, Searchable
from harness.squad import normalised

T = TypeVar("T")
TRIES = 3
"""Passages that are tried for one question."""
_TOGETHER = 8
"""Drafts that are asked for at a time; what decides between them must not depend on the pace."""
_TWIN = 0.92
_CHUNKS, _TOKENS = 6, 1200
"""What is read of the corpus to see whether a question has no answer there."""


class Asks(Protocol):
    """What asks chat models: replies are kept."""

    def ask(self, chat: ChatModel, wanted: Sequence[Wanted[T]]) -> list[T | StageError]:
        """Return what is read of the reply to each prompt, or why there is nothing."""
        ...


@dataclass(frozen=True)
class _Try:
    """One question that is to be drafted, for the first time or again."""

    number: int
    category: Category
    attempt: int = 1
    passages: tuple[Chunk, ...] = ()
    said: Said = field(default_factory=lambda: Said(""))
    evidence: tuple[Passage, ...] = ()


class Drafter:
    """Drafts questions; `drafts` has what there is at any time."""

    def __init__(
        self,
        chat: ChatModel,
        asks: Asks,
        deck: Deck,
        searched: Searchable,
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
        self._normal = {tuple(normalised(each)) for each in questions}
        self._vectors: Vectors = searched.embed_questions(list(dict.fromkeys(questions)))

    def draft(
        self, n: int, categories: Sequence[Category], told: Callable[[int, int], None]
    ) -> None:
        """Draft `n` questions, or as many as passages and tries allow; `told` how far it is.

        Raises:
            RunError: the model gave no usable reply to any of the prompts sent together.
        """
        self.drafts = Drafts(n)
        waiting = [_Try(number, each) for number, each in enumerate(spread(n, categories))]
        while waiting:
            batch, waiting = waiting[:_TOGETHER], waiting[_TOGETHER:]
            drawn = [
                replace(each, passages=passages)
                for each in batch
                if (passages := self._deck.draw(each.category)) is not None
            ]
            kept = {each.number for each in self._kept(drawn)}
            again = [each for each in drawn if each.number not in kept and each.attempt < TRIES]
            waiting += [_Try(each.number, each.category, each.attempt + 1) for each in again]
            told(n - len(waiting), n)

    def _kept(self, batch: Sequence[_Try]) -> list[_Try]:
        """Return those of a batch that came to something; the others are counted."""
        self.drafts.tried += len(batch)
        sound = [each for each in self._said(batch) if self._passes(each)]
        apart = [each for each in map(self._placed, sound) if each is not None]
        new = [each for each in apart if self._is_new(each)]
        kept = self._unknown(self._supported([each for each in new if each.category.answerable]))
        kept += self._unanswered([each for each in new if not each.category.answerable])
        for each in kept:
            self.drafts.made[each.number] = Draft(_question(each), each.passages)
        return kept

    def _said(self, batch: Sequence[_Try]) -> list[_Try]:
        """Return those that the model wrote something readable for; it is asked twice."""
        found: list[_Try] = []
        silent: list[StageError] = []
        left = list(batch)
        for again in (False, True):
            wanted = [
                replies.draft(each.category, each.passages, self._titles(each), again)
                for each in left
            ]
            said: list[Said | StageError | None] = self._asks.ask(self._chat, wanted)
            made = list(zip(left, said, strict=True))
            found += [replace(each, said=said) for each, said in made if isinstance(said, Said)]
            silent += [said for _, said in made if isinstance(said, StageError)]
            left = [each for each, said in made if said is None]
        self._drop("silent", len(silent))
        self._drop("unread", len(left))
        # One that fails alone may be the fault of its passages.
        alone = len(batch) < _TOGETHER and self.drafts.made
        if silent and len(silent) == len(batch) and not alone:
            raise RunError(f"no draft was made: {silent[0]}\n  what the model said before is kept")
        return sorted(found, key=lambda each: each.number)

    def _titles(self, each: _Try) -> list[str]:
        documents = [self._documents[chunk.span.doc] for chunk in each.passages]
        return [document.title or document.id for document in documents]

    def _passes(self, each: _Try) -> bool:
        if doubts.refers(each.said.question):
            return self._drop("refers")
        if each.category.answerable and doubts.leaks(each.said):
            return self._drop("leaks")
        return True

    def _placed(self, each: _Try) -> _Try | None:
        if not each.category.answerable:
            return each
        evidence = doubts.placed(each.said, each.passages)
        if evidence is None:
            self._drop("quote")
            return None
        several = each.category.passages > 1
        if several and len({passage.span.doc for passage in evidence}) < 2:
            self._drop("alone")
            return None
        return replace(each, evidence=tuple(evidence))

    def _is_new(self, each: _Try) -> bool:
        normal = tuple(normalised(each.said.question))
        vector = self._searched.embed_questions([each.said.question])
        nearest = (self._vectors @ vector[0]).max(initial=-1.0)
        if normal in self._normal or nearest >= _TWIN:
            return self._drop("twin")
        self._normal.add(normal)
        self._vectors = np.concatenate([self._vectors, vector])
        return True

    def _supported(self, batch: Sequence[_Try]) -> list[_Try]:
        texts = {each.number: [passage.text for passage in each.evidence] for each in batch}
        unsure = [each for each in batch if not doubts.stands_in(each.said, texts[each.number])]
        wanted = [replies.supported(each.said, texts[each.number]) for each in unsure]
        said = self._asked(unsure, wanted)
        self._drop("unsupported", sum(not found for found in said.values()))
        return [each for each in batch if each not in unsure or said.get(each.number)]

    def _unknown(self, batch: Sequence[_Try]) -> list[_Try]:
        said = self._asked(batch, [replies.closed(each.said.question) for each in batch])
        kept = [
            each
            for each in batch
            if each.number in said and not doubts.known(each.said, said[each.number])
        ]
        self._drop("known", len(said) - len(kept))
        return kept

    def _unanswered(self, batch: Sequence[_Try]) -> list[_Try]:
        texts = [each.said.question for each in batch]
        found = self._retriever.retrieve(texts, self._searched, _CHUNKS) if texts else []
        read = [context.assemble(hits, _CHUNKS, _TOKENS) for hits in found]
        wanted = [replies.answered(text, each) for text, each in zip(texts, read, strict=True)]
        said = self._asked(batch, wanted)
        self._drop("there", sum(said.values()))
        return [each for each in batch if said.get(each.number) is False]

    def _asked(self, batch: Sequence[_Try], wanted: Sequence[Wanted[T]]) -> dict[int, T]:
        """Return what the model says about each by number; where it says nothing, it is dropped."""
        found = self._asks.ask(self._chat, wanted)
        said = {
            each.number: answer
            for each, answer in zip(batch, found, strict=True)
            if not isinstance(answer, StageError)
        }
        self._drop("silent", len(batch) - len(said))
        return said

    def _drop(self, reason: Reason, times: int = 1) -> bool:
        """Count what is dropped; False, for whoever asks whether to keep it."""
        if times:
            self.drafts.dropped[reason] += times
        return False


def _question(each: _Try) -> Question:
    said, answerable = each.said, each.category.answerable
    return Question(
        id=f"draft-{fingerprint(said.question)[:8]}",
        text=said.question,
        answers=(said.answer,) if answerable else (),
        passages=each.evidence,
        category=each.category.name,
        difficulty=doubts.difficulty(said.question, each.evidence) if answerable else None,
        answerable=answerable,
    )
