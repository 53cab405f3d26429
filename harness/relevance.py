"""From gold labels to grades: what is relevant in a ranking, and how much of it there is.

METRICS.md, section 1, "Where relevance comes from". The inventory is exact: the harness made the
chunks, so it can look at every one of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from harness import spans
from harness.records import Chunk, Hit, Judged, Label, Question, Span


class Relevance:
    """Judges rankings of one set of chunks."""

    def __init__(self, chunks: Sequence[Chunk], min_overlap: float = 0.5) -> None:
        self._min_overlap = min_overlap
        self._chunks = chunks
        self._by_document: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            self._by_document[chunk.span.doc].append(chunk)
        self._folded: list[str] = []
        self._holding: dict[str, list[int]] = {}
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
            grades = self._relevant(kind, question)
            if grades is not None:
                judged[kind] = self._judged(grades, hits)
        return judged

    def keywords(self, question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
        """Judge a ranking by each of the question's keywords alone."""
        return tuple(
            self._judged(self._with_any((keyword,)), hits) for keyword in question.keywords
        )

    def touching(self, question: Question) -> tuple[Span, ...]:
        """Return the chunks that share a character with a gold passage, or stand next to one."""
        found = {
            chunk.span
            for passage in question.passages
            for chunk in self._by_document[passage.span.doc]
            if chunk.span.start <= passage.span.end and passage.span.start <= chunk.span.end
        }
        return tuple(sorted(found))

    def _judged(self, grades: Mapping[int, int], hits: Sequence[Hit]) -> Judged:
        """Judge by rule: every chunk of the index that has no grade is irrelevant."""
        ranking = tuple(grades.get(index, 0) for index in distinct(hits))
        inventory = tuple(sorted(grades.values(), reverse=True))
        return Judged(ranking, inventory, irrelevant=len(self._chunks) - len(grades))

    def _relevant(self, kind: Label, question: Question) -> dict[int, int] | None:
        """Return the grade of every relevant chunk; None without a label of this kind."""
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
            for chunk in self._by_document[passage.span.doc]:
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
        if not self._folded:
            self._folded = [folded(chunk.text) for chunk in self._chunks]
        grades: dict[int, int] = {}
        for each in wanted:
            if each not in self._holding:
                pairs = zip(self._chunks, self._folded, strict=True)
                self._holding[each] = [chunk.index for chunk, text in pairs if occurs(each, text)]
            grades |= dict.fromkeys(self._holding[each], 1)
        return grades


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
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def occurs(wanted: str, text: str) -> bool:
    """Return whether `wanted` stands in `text`, which is folded, at word boundaries."""
    return bool(wanted.strip()) and _pattern(wanted).search(text) is not None


@lru_cache(maxsize=4096)
def _pattern(wanted: str) -> re.Pattern[str]:
    word = folded(wanted)
    left = r"(?<!\w)" if word[:1].isalnum() else ""
    right = r"(?!\w)" if word[-1:].isalnum() else ""
    return re.compile(left + re.escape(word) + right)
