"""From gold labels to grades: what is relevant in a ranking, and how much of it there is.

METRICS.md, section 1, "Where relevance comes from". The inventory is exact: the harness made the
chunks, so it can look at every one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from harness import spans
from harness.normalform import normal
from harness.records import Chunk, Hit, Judged, Label, Question, Span

_WORD = re.compile(r"\w+")


class Chunks(Protocol):
    """All chunks of an index: how many, each of them, and those of one document."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Chunk]: ...

    def of(self, doc: str) -> Sequence[Chunk]:
        """Return the chunks of one document, in order."""
        ...


class Relevance:
    """Judges rankings of one set of chunks.

    `strings` are keywords and answers that will be asked for: the first time that one is, all are
    looked for in one reading of the chunks.
    """

    def __init__(
        self, chunks: Chunks, min_overlap: float = 0.5, strings: Iterable[str] = ()
    ) -> None:
        self._min_overlap = min_overlap
        self._chunks = chunks
        self._strings = strings
        self._holding: dict[str, list[int]] = {}
        self._near: dict[str, tuple[Chunk, ...]] = {}
        self._known: dict[tuple[Label, str], dict[int, int]] = {}

    def judge(
        self, question: Question, hits: Sequence[Hit], kinds: Iterable[Label]
    ) -> dict[Label, Judged]:
        """Judge a ranking under each of `kinds` that the question carries a label of."""
        judged: dict[Label, Judged] = {}
        for kind in kinds:
            if kind == "documents":
                if question.documents is not None:
                    judged[kind] = judge_documents(question.documents, hits)
                continue
            grades = self.relevant(kind, question)
            if grades is not None:
                judged[kind] = self._judged(grades, hits)
        return judged

    def keywords(self, question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
        """Judge a ranking by each of the question's keywords alone."""
        return tuple(
            self._judged(self._with_any((keyword,)), hits) for keyword in question.keywords
        )

    def touching(self, question: Question) -> tuple[Span, ...]:
        """Return where the chunks of `near` stand."""
        return tuple(sorted({chunk.span for chunk in self.near(question)}))

    def near(self, question: Question) -> tuple[Chunk, ...]:
        """Return the chunks that share a character with a gold passage, or stand next to one."""
        if question.id not in self._near:
            found = {
                chunk.index: chunk
                for passage in question.passages
                for chunk in self._chunks.of(passage.span.doc)
                if chunk.span.start <= passage.span.end and passage.span.start <= chunk.span.end
            }
            self._near[question.id] = tuple(found.values())
        return self._near[question.id]

    def _judged(self, grades: Mapping[int, int], hits: Sequence[Hit]) -> Judged:
        """Judge by rule: every chunk of the index that has no grade is irrelevant."""
        ranking = tuple(grades.get(index, 0) for index in distinct(hits))
        inventory = tuple(sorted(grades.values(), reverse=True))
        return Judged(ranking, inventory, irrelevant=len(self._chunks) - len(grades))

    def relevant(self, kind: Label, question: Question) -> Mapping[int, int] | None:
        """Return the grade of every relevant chunk by number; None without a label of this kind.

        Under `documents` it is documents that are relevant, so None.
        """
        key = (kind, question.id)
        if key not in self._known:
            if kind == "evidence" and question.passages:
                self._known[key] = self._with_evidence(question)
            elif kind == "keywords" and question.keywords:
                self._known[key] = self._with_any(question.keywords)
            elif kind == "answer" and question.answers:
                self._known[key] = self._with_any(question.answers)
            else:
                return None
        return self._known[key]

    def _with_evidence(self, question: Question) -> dict[int, int]:
        grades: dict[int, int] = {}
        for passage in question.passages:
            wanted = spans.visible(passage.text)
            for chunk in self._chunks.of(passage.span.doc):
                both = spans.shared(chunk.span, [passage.span])
                if not both:
                    continue
                start = both[0].start - chunk.span.start
                common = spans.visible(chunk.text[start : start + spans.size(both)])
                shorter = min(wanted, spans.visible(chunk.text))
                if common and common / shorter >= self._min_overlap:
                    grades[chunk.index] = max(grades.get(chunk.index, 0), passage.grade)
        return grades

    def _with_any(self, wanted: Sequence[str]) -> dict[int, int]:
        grades: dict[int, int] = {}
        self._look_for(wanted)
        for each in wanted:
            grades |= dict.fromkeys(self._holding[each], 1)
        return grades

    def _look_for(self, wanted: Sequence[str]) -> None:
        if all(each in self._holding for each in wanted):
            return
        new = {each for each in (*self._strings, *wanted) if each not in self._holding}
        self._holding |= {each: [] for each in new}
        sought = Sought(new)
        for chunk in self._chunks:
            for each in sought.standing_in(folded(chunk.text)):
                self._holding[each].append(chunk.index)


def judge_documents(grades: Mapping[str, int], hits: Sequence[Hit]) -> Judged:
    """Judge a ranking by documents: chunks collapse to the first chunk of each document."""
    documents = list(dict.fromkeys(hit.chunk.span.doc for hit in hits))
    inventory = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    irrelevant = sum(grade == 0 for grade in grades.values())
    return Judged(tuple(grades.get(doc) for doc in documents), tuple(inventory), irrelevant)


def distinct(hits: Sequence[Hit]) -> list[int]:
    """Return the chunk numbers of a ranking, each once, at its first rank."""
    return list(dict.fromkeys(hit.chunk.index for hit in hits))


def folded(text: str) -> str:
    """Return `text` in the form strings are matched in: NFKC, casefold, white space folded."""
    return " ".join(normal("NFKC", text).casefold().split())


def occurs(wanted: str, text: str) -> bool:
    """Return whether `wanted` stands in `text`, which is folded, at word boundaries."""
    if not wanted.strip():
        return False
    word, pattern = _pattern(wanted)
    return word in text and pattern.search(text) is not None  # the first alone is much faster


class Sought:
    """Strings that are looked for in many texts: of each text only those that share a word.

    Each is filed under its longest whole word; one without any is tried everywhere.
    """

    def __init__(self, strings: Iterable[str]) -> None:
        self._by_word: dict[str, list[str]] = {}
        for each in strings:
            word = max(_whole_words(folded(each)), key=len, default="")
            self._by_word.setdefault(word, []).append(each)

    def standing_in(self, text: str) -> Iterator[str]:
        """Yield those that `occurs` finds in a folded text."""
        for word in {"", *_WORD.findall(text)} & self._by_word.keys():
            yield from (each for each in self._by_word[word] if occurs(each, text))


def _whole_words(string: str) -> Iterator[str]:
    """Yield the words of a folded string that are whole words of every text that it stands in."""
    for found in _WORD.finditer(string):
        begins = found.start() > 0 or string[0].isalnum()
        if begins and (found.end() < len(string) or string[-1].isalnum()):
            yield found.group()


@lru_cache(maxsize=1 << 16)
def _pattern(wanted: str) -> tuple[str, re.Pattern[str]]:
    word = folded(wanted)
    left = r"(?<!\w)" if word[:1].isalnum() else ""
    right = r"(?!\w)" if word[-1:].isalnum() else ""
    return word, re.compile(left + re.escape(word) + right)
