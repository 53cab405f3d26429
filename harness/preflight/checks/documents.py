"""Checks of the corpus: documents and chunks that are alike, empty, or begin with the same line."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from harness.corpus.chunk_set import ChunkSet
from harness.fingerprint import digest
from harness.preflight.checks.check_input import (
    MAX_EXAMPLES,
    CheckInput,
    Finding,
    describe_share,
    level_of_share,
)
from harness.preflight.near_duplicates import MIN_JACCARD, find_groups
from harness.records import Question
from harness.text import numbers, spans

_MAX_EDGE_LINES = 3
"""So many lines from either end are looked at, but for headings and lines without a word."""
_MIN_LINE_SHARE, _MIN_LINE_DOCUMENTS = 0.3, 5
"""The share of documents, and how many, from which a line is one that repeats."""
_MAX_LINE_CHARS, _MAX_EDGE_CHARS = 200, 4_096
"""Characters of a line that are compared, and from either end of a document that are read."""
_MIN_CHUNK_CHARS = 20
"""Visible characters under which a chunk is tiny."""
_CHUNK_WARNING_SHARE = 0.05
"""The share of chunks from which tiny or repeated ones are a warning."""
_MAX_QUICK_CHARS = 10_000_000
"""Characters up to which a run without an embedding model reads the documents before it begins."""
_MAX_COMPARED_CHARS, _MAX_COMPARED_CHARS_BESIDE_MODELS = 500_000, 20_000_000
"""Characters up to which a run compares documents: alone, and where a model embeds them."""
_WORD = re.compile(r"\w{2}")


def takes_long_to_read(run: CheckInput) -> bool:
    """Return whether there is much to read, and no model that takes longer."""
    return not run.embeds and run.prepared.corpus.characters > _MAX_QUICK_CHARS


def find_repeated_lines(run: CheckInput) -> Iterator[Finding]:
    """Yield each line at the head or foot of over 30 % of the documents, most frequent first."""
    documents = run.prepared.corpus.documents
    if len(documents) < _MIN_LINE_DOCUMENTS:
        return
    times = Counter(line for document in documents.values() for line in _edge_lines(document.text))
    for line, count in times.most_common(MAX_EXAMPLES):
        if count < max(_MIN_LINE_DOCUMENTS, _MIN_LINE_SHARE * len(documents) + 1e-9):
            return
        yield Finding(
            "boilerplate",
            "note",
            f"{count:,} of {len(documents):,} documents "
            f"({100 * count / len(documents):.0f} %) begin or end with the line "
            f"{_shorten(line, 60)!r}",
            "leave such lines out of the corpus: they make chunks alike",
        )


def _edge_lines(text: str) -> set[str]:
    """Return the first and the last lines that hold a word; headings are alike by intent."""
    head, foot = (
        [line for line in part.splitlines() if _WORD.search(line) and line.lstrip()[0] != "#"]
        for part in (text[:_MAX_EDGE_CHARS], text[-_MAX_EDGE_CHARS:])
    )
    lines = (*head[:_MAX_EDGE_LINES], *foot[-_MAX_EDGE_LINES:])
    return {" ".join(line.split())[:_MAX_LINE_CHARS] for line in lines}


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def has_many_chunks(run: CheckInput) -> bool:
    """Return whether there are many chunks to read, and no model that takes longer."""
    return not run.embeds and run.has_many_chunks


def find_poor_chunks(run: CheckInput) -> Iterator[Finding]:
    """Yield the chunks of each chunker that are empty, tiny, or repeat the text of another."""
    for chunker, name in run.chunkers.items():
        yield from _find_poor_chunks(run.artefacts.chunks(chunker), name)


def _find_poor_chunks(chunks: ChunkSet, name: str) -> Iterator[Finding]:
    total = len(chunks)
    empty, tiny = list[str](), list[str]()  # the documents of such chunks
    texts, indices = array("Q"), array("Q")  # a hash of each text that is not empty, its chunk
    for chunk in chain.from_iterable(map(chunks.in_document, chunks.documents)):
        visible = spans.count_visible(chunk.text)
        if not visible:
            empty.append(chunk.span.doc)
            continue
        if visible < _MIN_CHUNK_CHARS:
            tiny.append(chunk.span.doc)
        texts.append(int.from_bytes(digest(" ".join(chunk.text.split()))[:8], "little"))
        indices.append(chunk.index)
    if empty:
        text = f"{describe_share(len(empty), total, 'chunk')} of {name}: no visible character"
        remedy = "they can be retrieved, and take the place of one that says something"
        yield Finding("chunks", "warning", text, remedy, _first(empty))
    if tiny:
        share = describe_share(len(tiny), total, "chunk")
        text = f"{share} of {name}: fewer than {_MIN_CHUNK_CHARS} visible characters"
        level = level_of_share(len(tiny), total, _CHUNK_WARNING_SHARE)
        yield Finding("chunks", level, text, "join them with others", _first(tiny))
    _, firsts, times = np.unique(
        np.array(texts, dtype=np.uint64), return_index=True, return_counts=True
    )
    if n_repeated := len(texts) - len(firsts):
        index = np.lexsort((firsts, -times))[0]  # the most frequent, of those the first
        most = " ".join(chunks[indices[int(firsts[index])]].text.split())
        yield Finding(
            "chunks",
            level_of_share(n_repeated, total, _CHUNK_WARNING_SHARE),
            f"{describe_share(n_repeated, total, 'chunk')} of {name}: the text of another; most "
            f"often {_shorten(most, 40)!r}, {int(times[index]):,} times",
            "take repeated text out of the documents: each copy takes a place in the ranking",
        )


def _first(documents: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(documents))[:MAX_EXAMPLES]


def takes_long_to_compare(run: CheckInput) -> bool:
    """Return whether the corpus is so large that the run would be held up."""
    limit = _MAX_COMPARED_CHARS_BESIDE_MODELS if run.embeds else _MAX_COMPARED_CHARS
    return run.prepared.corpus.characters > limit


def find_duplicates(run: CheckInput) -> Iterator[Finding]:
    """Yield the documents that are the same word for word, then those nearly the same."""
    documents = run.prepared.corpus.documents
    same: dict[bytes, list[str]] = {}
    for document in documents.values():
        if words := document.text.split():
            same.setdefault(digest(" ".join(words)), []).append(document.id)
    labelled = [_labelled_documents(question, run) for question in run.questions]
    total = len(documents)
    yield from _report_duplicates(same.values(), total, "the same, word for word, as", labelled)
    firsts = [group[0] for group in same.values()]
    near = find_groups(
        firsts,
        lambda id_: documents[id_].text,
        run.seed,
        lambda done: run.progress("comparing documents", done, len(firsts)),
    )
    how = f"nearly the same ({numbers.percentage(MIN_JACCARD)} of runs of five words) as"
    yield from _report_duplicates(near, total, how, labelled)


def _labelled_documents(question: Question, run: CheckInput) -> set[str]:
    """Return the documents that hold what a question is judged by."""
    kinds, level = run.prepared.plan.kinds, run.prepared.config.settings.relevance_level
    documents: set[str] = set()
    if "evidence" in kinds:
        documents |= {passage.span.doc for passage in question.passages}
    if "documents" in kinds:
        documents |= {doc for doc, grade in (question.documents or {}).items() if grade >= level}
    return documents


def _report_duplicates(
    groups: Iterable[Sequence[str]], total: int, how: str, labelled: Sequence[set[str]]
) -> Iterator[Finding]:
    """Yield how many documents have a twin, and whether that makes a ranking look wrong."""
    twins = {id_: {*group} - {id_} for group in groups if len(group) > 1 for id_ in group}
    if not twins:
        return
    unlabelled = [
        [doc for doc in sorted(documents) if twins.get(doc, set()) - documents]
        for documents in labelled
    ]
    text = f"{describe_share(len(twins), total, 'document')} are {how} another"
    if n_affected := sum(map(bool, unlabelled)):
        verb = "has its" if n_affected == 1 else "have their"
        text += (
            f"; {numbers.count(n_affected, 'question')} {verb} gold in one whose twin is not "
            "labelled: retrieved in its place, the twin counts as wrong"
        )
    affected = Counter(doc for docs in unlabelled for doc in docs)
    examples = dict.fromkeys([*(id_ for id_, _ in affected.most_common(MAX_EXAMPLES)), *twins])
    yield Finding(
        "duplicates",
        "warning" if n_affected else "note",
        text,
        "take the copies out of the corpus, or label them too" if n_affected else "",
        tuple(examples)[:MAX_EXAMPLES],
    )
