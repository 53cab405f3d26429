"""Grades the chunks of a ranking by the gold labels, and counts all relevant chunks there are.

METRICS.md, section 1, "Where relevance comes from". The inventory is exact: the harness made the
chunks, so it can look at every one of them; of a system whose index is unknown it is None. Also:
which kinds of label a question carries, and by which a test set is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Protocol

from annotated_types import Gt

from harness.records import Case, Chunk, Hit, Judged, Label, Passage, Question, Span
from harness.text import spans, words
from harness.text.words import is_inside_word, normalise_to, tokenise

KINDS: tuple[Label, ...] = ("evidence", "documents", "keywords", "answer")
"""The kinds of label, in the order in which a test set is judged by them."""


def has_label(question: Question, kind: Label) -> bool:
    """Return whether a question carries a kind of label."""
    return {
        "evidence": bool(question.passages),
        "documents": question.documents is not None,
        "answer": bool(question.answers),
        "keywords": bool(question.keywords),
    }[kind]


def choose_labels(
    questions: Sequence[Question], has: Callable[[Question, Label], bool] = has_label
) -> Label | None:
    """Return the first kind that every answerable question has, else the one that most have.

    None where no answerable question has any (METRICS.md, section 1). `has` says whether a question
    has a kind of label.
    """
    answerable = [question for question in questions if question.answerable]
    if not answerable:
        return None
    counts: dict[Label, int] = {}
    for kind in KINDS:
        counts[kind] = sum(has(question, kind) for question in answerable)
        if counts[kind] == len(answerable):
            return kind
    best = max(KINDS, key=counts.__getitem__)
    return best if counts[best] else None


_YES_OR_NO = frozenset(
    {
        "yes",
        "no",
        "ja",
        "nein",
        "oui",
        "non",
        "sí",
        "是",
        "否",
        "不是",
        "हाँ",
        "हां",
        "नहीं",
        "نعم",
        "لا",
    }
)
_MAX_ANSWER_CHUNKS, _MAX_ANSWER_SHARE = 20, 0.05
"""An answer in more chunks than both, the latter of all chunks, says nothing of relevance."""


class ChunkList(Protocol):
    """All chunks of an index: how many, each of them, and those of one document."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Chunk]: ...

    def in_document(self, doc: str) -> Sequence[Chunk]:
        """Return the chunks of one document, in order."""
        ...


class Relevance:
    """Judges rankings of one set of chunks.

    `strings` are keywords and answers that will be asked for: the first time that one is, all are
    looked for in one reading of the chunks. `absent` are answers that occur nowhere in the corpus.
    Where the chunks are not all there are, as of a system whose index is unknown (`of_ranking`),
    how many are relevant is not known: the inventory is None, but for judgements of documents.
    """

    def __init__(
        self,
        chunks: ChunkList,
        min_overlap: float = 0.5,
        strings: Iterable[str] = (),
        absent: Collection[str] = (),
        is_complete: bool = True,
    ) -> None:
        self._min_overlap = min_overlap
        self._chunks = chunks
        self._strings = strings
        self._absent = absent
        self._is_complete = is_complete
        self._chunks_by_string: dict[str, list[int]] = {}
        self._near: dict[str, tuple[Chunk, ...]] = {}
        self._near_spans: dict[str, tuple[Span, ...]] = {}
        self._grades: dict[tuple[Label, str], dict[int, int]] = {}

    @classmethod
    def of_ranking(
        cls, hits: Sequence[Hit], min_overlap: float = 0.5, absent: Collection[str] = ()
    ) -> Relevance:
        """Return the judge of one ranking, whose chunks are the only ones that are known."""
        chunks = _RetrievedChunks([hit.chunk for hit in hits])
        return cls(chunks, min_overlap, absent=absent, is_complete=False)

    def judge(
        self, question: Question, hits: Sequence[Hit], kinds: Iterable[Label]
    ) -> dict[Label, Judged]:
        """Judge a ranking under each of `kinds` that the question carries a label of."""
        judged: dict[Label, Judged] = {}
        for kind in kinds:
            if kind == "documents":
                if question.documents is not None:
                    judged[kind] = judge_by_documents(question.documents, hits)
                continue
            grades = self.relevant_grades(kind, question)
            if grades is not None:
                judged[kind] = self._judge_by_grades(grades, hits)
        return judged

    def keywords(self, question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
        """Judge a ranking by each of the question's keywords alone."""
        return tuple(
            self._judge_by_grades(self._grade_by_strings((keyword,)), hits)
            for keyword in question.keywords
        )

    def spans_near_gold(self, question: Question) -> tuple[Span, ...]:
        """Return where the chunks of `chunks_near_gold` stand."""
        if question.id not in self._near_spans:
            near = {chunk.span for chunk in self.chunks_near_gold(question)}
            self._near_spans[question.id] = tuple(sorted(near))
        return self._near_spans[question.id]

    def chunks_near_gold(self, question: Question) -> tuple[Chunk, ...]:
        """Return the chunks that share a character with a gold passage, or stand next to one."""
        if question.id not in self._near:
            by_key = {
                chunk.index: chunk
                for passage in question.passages
                for chunk in self._chunks.in_document(passage.span.doc)
                if chunk.span.start <= passage.span.end and passage.span.start <= chunk.span.end
            }
            self._near[question.id] = tuple(by_key.values())
        return self._near[question.id]

    def _judge_by_grades(self, grades: Mapping[int, int], hits: Sequence[Hit]) -> Judged:
        """Judge by rule: every chunk of the index that has no grade is irrelevant."""
        ranking = tuple(grades.get(index, 0) for index in distinct_chunks(hits))
        if not self._is_complete:
            return Judged(ranking, None)
        inventory = tuple(sorted(grades.values(), reverse=True))
        return Judged(ranking, inventory, irrelevant=len(self._chunks) - len(grades))

    def relevant_grades(self, kind: Label, question: Question) -> Mapping[int, int] | None:
        """Return the grade of every relevant chunk by number; None without a label of this kind.

        Under `documents` it is documents that are relevant, so None. An answer that says nothing
        of relevance is no label: `why_no_label` tells why.
        """
        key = (kind, question.id)
        if key not in self._grades:
            if kind == "evidence" and question.passages:
                self._grades[key] = self._grade_by_evidence(question)
            elif kind == "keywords" and question.keywords:
                self._grades[key] = self._grade_by_strings(question.keywords)
            elif kind == "answer" and (answers := self._useful_answers(question)):
                self._grades[key] = self._grade_by_strings(answers)
            else:
                return None
        return self._grades[key]

    def why_no_label(self, answer: str) -> str:
        """Return why an answer cannot say which chunks are relevant; "" where it can."""
        if is_yes_or_no(answer):
            return "yes or no"
        if answer in self._absent:
            return "nowhere in the corpus"
        self._search_chunks([answer])
        found = len(self._chunks_by_string[answer])
        if found > max(_MAX_ANSWER_CHUNKS, _MAX_ANSWER_SHARE * len(self._chunks)):
            return f"in over {100 * _MAX_ANSWER_SHARE:.0f} % of the chunks"
        return ""

    def _useful_answers(self, question: Question) -> list[str]:
        return [answer for answer in question.answers if not self.why_no_label(answer)]

    def _grade_by_evidence(self, question: Question) -> dict[int, int]:
        grades: dict[int, int] = {}
        for passage in question.passages:
            passage_size = spans.count_visible(passage.text)
            for chunk in self._chunks.in_document(passage.span.doc):
                both = spans.intersect(chunk.span, [passage.span])
                if not both:
                    continue
                start = both[0].start - chunk.span.start
                common = spans.count_visible(
                    chunk.text[start : start + spans.count_characters(both)]
                )
                shorter = min(passage_size, spans.count_visible(chunk.text))
                if common and common / shorter >= self._min_overlap:
                    grades[chunk.index] = max(grades.get(chunk.index, 0), passage.grade)
        return grades

    def _grade_by_strings(self, strings: Sequence[str]) -> dict[int, int]:
        grades: dict[int, int] = {}
        self._search_chunks(strings)
        for string in strings:
            grades |= dict.fromkeys(self._chunks_by_string[string], 1)
        return grades

    def _search_chunks(self, strings: Sequence[str]) -> None:
        if all(string in self._chunks_by_string for string in strings):
            return
        new = {
            string for string in (*self._strings, *strings) if string not in self._chunks_by_string
        }
        self._chunks_by_string |= {string: [] for string in new}
        search = TextSearch(new)
        for chunk in self._chunks:
            for string in search.find_in(fold(chunk.text)):
                self._chunks_by_string[string].append(chunk.index)


@dataclass(frozen=True)
class _RetrievedChunks:
    """The chunks of one ranking, in the place of an index."""

    chunks: Sequence[Chunk]

    def __len__(self) -> int:
        return len(self.chunks)

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.chunks)

    def in_document(self, doc: str) -> Sequence[Chunk]:
        return [chunk for chunk in self.chunks if chunk.span.doc == doc]


def judge_by_documents(grades: Mapping[str, int], hits: Sequence[Hit]) -> Judged:
    """Judge a ranking by documents: chunks collapse to the first chunk of each document."""
    documents = list(dict.fromkeys(hit.chunk.span.doc for hit in hits))
    inventory = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    irrelevant = sum(grade == 0 for grade in grades.values())
    return Judged(tuple(grades.get(doc) for doc in documents), tuple(inventory), irrelevant)


def distinct_chunks(hits: Sequence[Hit]) -> list[int]:
    """Return the chunk numbers of a ranking, each once, at its first rank."""
    return list(dict.fromkeys(hit.chunk.index for hit in hits))


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer stands in too many texts by chance to say which is relevant."""
    return fold(answer).strip(" .!。！।") in _YES_OR_NO


def fold(text: str) -> str:
    """Return `text` in the form strings are matched in: NFKC, casefold, white space folded."""
    return " ".join(normalise_to("NFKC", text).casefold().split())


@lru_cache(maxsize=1 << 16)
def _fold_once(string: str) -> str:
    return fold(string)


def occurs(string: str, text: str) -> bool:
    """Return whether `string` stands in `text`, which is folded, at word boundaries."""
    string = _fold_once(string)
    start = text.find(string) if string else -1
    while start >= 0:
        if not (is_inside_word(text, start) or is_inside_word(text, start + len(string))):
            return True
        start = text.find(string, start + 1)
    return False


class TextSearch:
    """Strings that are looked for in many texts: of each text only those that share a word.

    Each is filed under its longest word; one without any is tried everywhere.
    """

    def __init__(self, strings: Iterable[str]) -> None:
        self._by_word: dict[str, list[str]] = {}
        for string in strings:
            word = max(tokenise(fold(string)), key=len, default="")
            self._by_word.setdefault(word, []).append(string)

    def find_in(self, text: str) -> Iterator[str]:
        """Yield those that `occurs` finds in a folded text."""
        for word in {"", *tokenise(text)} & self._by_word.keys():
            yield from (string for string in self._by_word[word] if occurs(string, text))


@dataclass(frozen=True)
class Cutoff:
    """Which part of the ranking is read: its first `k` chunks, or its first `budget` tokens.

    With a token budget the ranked text is read until the budget is spent and the last chunk is
    cut there, so that every chunker is given exactly as much.
    """

    k: Annotated[int, Gt(0)] | None = None
    budget: Annotated[int, Gt(0)] | None = None

    def __post_init__(self) -> None:
        if (self.k is None) == (self.budget is None):
            raise ValueError("a cut-off is needed: @5 (chunks) or @1000t (tokens)")

    def read(self, hits: Sequence[Hit]) -> tuple[list[Span], str]:
        """Return the span of each chunk that is read, best first, and a note where they ran out."""
        if self.budget is None:
            return [hit.chunk.span for hit in hits[: self.k]], ""
        read: list[Span] = []
        remaining = self.budget
        for hit in hits:
            if remaining == 0:
                return read, ""
            text, used = words.cut(hit.chunk.text, remaining)
            remaining -= used
            span = hit.chunk.span
            read.append(Span(span.doc, span.start, span.start + len(text)))
        return read, f"ran out at {self.budget - remaining} tokens" if remaining else ""


def passage_groups(case: Case) -> Mapping[str, list[Passage]]:
    """Return the question's passages by group: those of one group are alternatives."""
    by_group: dict[str, list[Passage]] = {}
    for passage in case.question.passages:
        by_group.setdefault(passage.group, []).append(passage)
    return by_group


def gold_spans(case: Case, read: Sequence[Span]) -> list[Span]:
    """Return the gold characters: of each group the alternative that `read` covers best.

    Of alternatives covered alike, the first one the test set names.
    """
    covered = spans.union(read)

    def share(passage: Passage) -> float:
        length = passage.span.end - passage.span.start
        return spans.count_characters(spans.intersect(passage.span, covered)) / length

    return spans.union(
        (max(group, key=share) if len(group) > 1 else group[0]).span
        for group in passage_groups(case).values()
    )


def covered_share(passage: Passage, covered: Sequence[Span]) -> float:
    """Return the share of a passage's visible characters that `covered` (disjoint) holds."""
    parts = spans.intersect(passage.span, covered)
    if not parts:
        return 0.0
    if parts[0] == passage.span:
        return float(bool(passage.text.strip()))
    start = passage.span.start
    visible = sum(
        spans.count_visible(passage.text[part.start - start : part.end - start]) for part in parts
    )
    return visible / spans.count_visible(passage.text) if visible else 0.0


def count_whole_groups(case: Case, read: Iterable[Span], share: float) -> int:
    """Return how many groups have a passage that is whole in `read`."""
    covered = spans.union(read)
    return sum(
        any(covered_share(p, covered) >= share for p in group)
        for group in passage_groups(case).values()
    )
