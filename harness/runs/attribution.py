"""Attributes a lost answer to a stage (METRICS.md, section 5). Pure: it only compares lists.

A group of passages arrives when one of them is whole. Each is followed from all chunks there are to
the text of the prompt, and lost at the first stage that it does not come out of whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from harness.ranking.coverage import covered_share, passage_groups
from harness.ranking.relevance import fold, occurs
from harness.records import (
    Arrival,
    Case,
    Chunk,
    Loss,
    LostAt,
    Passage,
    PassageFacts,
    Question,
    Span,
)
from harness.text import spans
from harness.text.sentences import find_sentences
from harness.text.words import normalise_answer

MIN_WHOLE_SHARE = 0.95
"""The share of its visible characters that makes a passage whole."""
MAX_MISSED = 20
"""How many missed chunks a question has on record, at most."""
_ORDER: Sequence[Loss] = ("chunking", "index", "retrieval", "reranking", "context")


@dataclass(frozen=True)
class SpanLists:
    """The chunks of one question in one cell, as spans, best first.

    `retrieved` is what was returned, `ranked` the same after reranking (None: nothing is reranked),
    and `prompt` what of their text was sent. Of what was retrieved the first `counted` count, of
    what was ranked the first `chunks`; None: all. `near` are all chunks that share a character with
    a passage, retrieved or not, and `exact` those of them that exact search finds, with their
    ranks; None where that is not known. The text ended at `budget` tokens, if it was cut.
    """

    retrieved: Sequence[Span]
    prompt: Sequence[Span]
    ranked: Sequence[Span] | None = None
    near: Sequence[Span] | None = None
    exact: Sequence[tuple[int, Span]] | None = None
    counted: int | None = None
    chunks: int | None = None
    budget: int | None = None


def attribute(
    case: Case, lists: SpanLists, answered: bool | None, generates: bool
) -> tuple[LostAt | None, tuple[Arrival, ...]]:
    """Return where the answer to a question was lost, and what became of each group of passages.

    There is nothing to follow where a stage failed, and where the question is not answerable or has
    no passages.

    Args:
        case: the question, and what became of it.
        lists: what was found for it.
        answered: whether its answer is right; None where nothing says what would be.
        generates: whether there is a generator; else the chain ends at the context.
    """
    question = case.question
    if case.failure is not None or not question.answerable or not question.passages:
        return None, ()
    arrivals = tuple(
        _trace_group(name, group, lists) for name, group in passage_groups(case).items()
    )
    lost_stages = {arrival.stage for arrival in arrivals}
    first = next((stage for stage in _ORDER if stage in lost_stages), None)
    if generates and answered:
        return "none", arrivals
    if first is not None or not generates:
        return first or "none", arrivals
    return None if answered is None else "generation", arrivals


def is_all_whole(case: Case, read: Sequence[Span]) -> bool:
    """Return whether each group of passages is whole in what was read."""
    places = list(enumerate(read, start=1))
    return all(
        _first_whole_rank(group, places) is not None for group in passage_groups(case).values()
    )


def list_missed(
    relevant: Iterable[tuple[int, Sequence[Chunk]]], ranks: Mapping[int, int]
) -> list[tuple[int, Chunk]]:
    """Return what was missed, best rank first and what has none last, at most `MAX_MISSED` of it.

    `relevant` has grades, each with the chunks of which the first to come counts; `ranks` are those
    under exact search, by the number of the chunk.
    """

    def rank(chunk: Chunk) -> float:
        return ranks.get(chunk.index, inf)

    best = [(grade, min(chunks, key=rank)) for grade, chunks in relevant]
    best.sort(key=lambda item: (rank(item[1]), -item[0], item[1].index))
    return best[:MAX_MISSED]


def _trace_group(name: str, group: Sequence[Passage], lists: SpanLists) -> Arrival:
    rank = _first_whole_rank(group, enumerate(lists.retrieved, start=1))
    reranked = (
        None if lists.ranked is None else _first_whole_rank(group, enumerate(lists.ranked, start=1))
    )
    exact = _first_whole_rank(group, lists.exact or ())
    pieces, largest = (None, None) if lists.near is None else _measure_cut(group, lists.near)
    stage: Loss | None
    if _first_whole_rank(group, enumerate(lists.prompt, start=1)) is not None:
        stage = None
    elif not _is_within(rank, lists.counted):
        if largest is not None and largest < MIN_WHOLE_SHARE:
            stage = "chunking"
        else:
            stage = "index" if _is_within(exact, lists.counted) else "retrieval"
    else:
        pushed = lists.ranked is not None and not _is_within(reranked, lists.chunks)
        stage = "reranking" if pushed else "context"
    cut_at = lists.budget if stage == "context" else None
    return Arrival(name, stage, PassageFacts(pieces, largest, exact, rank, reranked, cut_at))


def _is_within(rank: int | None, limit: int | None) -> bool:
    return rank is not None and (limit is None or rank <= limit)


def _first_whole_rank(group: Sequence[Passage], places: Iterable[tuple[int, Span]]) -> int | None:
    """Return the rank at which a passage of `group` first is whole; None: at none."""
    read: list[Span] = []
    ends = [(member.span.doc, member.span.start, member.span.end) for member in group]
    for rank, span in places:
        if not any(span.doc == d and span.start < e and s < span.end for d, s, e in ends):
            continue
        read = spans.union([*read, span])
        if any(covered_share(passage, read) >= MIN_WHOLE_SHARE for passage in group):
            return rank
    return None


def _measure_cut(group: Sequence[Passage], chunks: Sequence[Span]) -> tuple[int, float]:
    """Return into how many pieces the best passage is cut, and the share of the largest of them.

    The best is the one of which a single chunk holds most, and of equals that in fewest pieces.
    """
    candidates: list[tuple[float, int]] = []
    for passage in group:
        parts = sorted(spans.intersect(passage.span, chunks))
        largest = max((covered_share(passage, [part]) for part in parts), default=0.0)
        candidates.append(
            (largest, -1 if largest >= MIN_WHOLE_SHARE else -_count_pieces(passage, parts))
        )
    largest, pieces = max(candidates)
    return -pieces, largest


def _count_pieces(passage: Passage, parts: Sequence[Span]) -> int:
    """Return the fewest of its `parts`, sorted, that hold as much of a passage as all of them."""
    text, first = passage.text, passage.span.start
    count, index, end, reach = 0, 0, first, first
    while True:
        while end < passage.span.end and text[end - first].isspace():
            end += 1
        while index < len(parts) and parts[index].start <= end:
            reach, index = max(reach, parts[index].end), index + 1
        if end >= passage.span.end:
            return count
        if reach > end:
            count, end = count + 1, reach
        elif index < len(parts):
            end = parts[index].start
        else:
            return count


MIN_WORD_SHARE = 0.5


"""The share of a gold answer's words that a sentence must have to hold it."""


_CACHED_TEXTS = 4_096


"""Stretches of text that are kept as they were read: the cells of a grid retrieve the same."""


_NOWHERE = (0.0, 0, 0)


def find_evidence_sentence(
    question: Question, parts: Iterable[tuple[Span, str]], by_keywords: bool = True
) -> Span | None:
    """Return the sentence of a context that held the answer, as a stretch of its document.

    Each part is cut into sentences by itself, as it was sent. With keywords it is the sentence in
    which most of the question's keywords stand, at word boundaries. Without, it is the one that has
    the largest share of the words of a gold answer, the one it has most of: words as `token_f1`
    normalises them, each as often as the answer has it, and a share of at least
    `MIN_WORD_SHARE`. Of equals it is the first. None: no sentence has any keyword, or enough words;
    or the question is not answerable.

    Args:
        question: whose answer is looked for.
        parts: the places of what was sent, each with its text, in their order.
        by_keywords: whether the answer test looks at keywords where a question has them.
    """
    if not question.answerable:
        return None
    if by_keywords and question.keywords:
        texts, best_of = question.keywords, _most_keywords
    else:
        texts, best_of = question.answers, _most_words
    best: Span | None = None
    best_share = 0.0
    for place, text in parts:
        share, start, end = best_of(texts, text)
        if share > best_share:
            best, best_share = Span(place.doc, place.start + start, place.start + end), share
    return best


RatedSentence = tuple[float, int, int]


"""The best sentence of a text: its share of what is wanted, and its ends."""


@lru_cache(maxsize=_CACHED_TEXTS)
def _most_keywords(keywords: tuple[str, ...], text: str) -> RatedSentence:
    whole = _folded(text)
    # Most texts have none of them, and need not be cut into sentences.
    present = [keyword for keyword in keywords if occurs(keyword, whole)]
    best = _NOWHERE
    for start, end in find_sentences(text) if present else ():
        sentence = fold(text[start:end])
        count = sum(occurs(keyword, sentence) for keyword in present)
        if count > best[0]:
            best = (float(count), start, end)
        if count == len(present):
            break
    return best


@lru_cache(maxsize=_CACHED_TEXTS)
def _most_words(answers: tuple[str, ...], text: str) -> RatedSentence:
    counts = [
        Counter(answer_list) for answer in answers if (answer_list := normalise_answer(answer))
    ]
    best = _NOWHERE
    for start, end, words in _sentence_words(text) if counts else ():
        share = max(_word_recall(answer_words, words) for answer_words in counts)
        if share >= MIN_WORD_SHARE and share > best[0]:
            best = (share, start, end)
    return best


def _word_recall(answer: Counter[str], words: Counter[str]) -> float:
    return sum(min(answer[word], words[word]) for word in answer if word in words) / answer.total()


@lru_cache(maxsize=_CACHED_TEXTS)
def _folded(text: str) -> str:
    return fold(text)


@lru_cache(maxsize=_CACHED_TEXTS // 4)
def _sentence_words(text: str) -> tuple[tuple[int, int, Counter[str]], ...]:
    ends = find_sentences(text)
    return tuple((start, end, Counter(normalise_answer(text[start:end]))) for start, end in ends)
