"""Finds documents that duplicate another, exactly or nearly."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.fingerprint import digest
from harness.preflight.checks import (
    MAX_EXAMPLES,
    CheckInput,
    Finding,
    Level,
    Part,
    checks,
    near_duplicates,
)
from harness.records import Question
from harness.text import numbers

_MAX_QUICK_CHARS, _MAX_CHARS_BESIDE_MODELS = 500_000, 20_000_000
"""Characters up to which a run looks for near-duplicates: alone, and where a model embeds them."""
_MAX_CHARS_COMPARED = 200_000_000
"""Characters that are compared, at most: a sample of the documents where there are more."""


@checks.register
@dataclass(frozen=True)
class Duplicates:
    """Documents that are the same as another or nearly so, and the questions they bear on."""

    name: ClassVar[str] = "duplicates"
    order: ClassVar[int] = 40
    reads: ClassVar[tuple[Part, ...] | None] = ("documents", "questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return whether the corpus is so large that the run would be held up."""
        limit = _MAX_CHARS_BESIDE_MODELS if run.embeds else _MAX_QUICK_CHARS
        return run.prepared.corpus.characters > limit

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what is the same word for word, then what is nearly the same."""
        documents = run.prepared.corpus.documents
        same: dict[bytes, list[str]] = {}
        for document in documents.values():
            if words := document.text.split():
                same.setdefault(digest(" ".join(words)), []).append(document.id)
        copies = _partners([group for group in same.values() if len(group) > 1])
        labelled = {question.id: _labelled_documents(question, run) for question in run.questions}
        yield from _report_duplicates(
            copies, len(documents), "the same, word for word, as", labelled
        )
        firsts = [group[0] for group in same.values()]
        compared, sample_note = _sample_documents(run, firsts)
        near = near_duplicates.find_groups(
            compared,
            lambda id_: documents[id_].text,
            run.prepared.config.settings.seed,
            lambda done: run.progress("comparing documents", done, len(compared)),
        )
        total = len(compared) if sample_note else len(documents)
        least = numbers.percentage(near_duplicates.MIN_JACCARD)
        share = f"nearly the same ({least} of runs of five words) as"
        yield from _report_duplicates(_partners(near), total, share, labelled, sample_note)


def _partners(groups: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    return {id_: {*group} - {id_} for group in groups for id_ in group}


def _sample_documents(run: CheckInput, ids: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the documents that are compared, and in words of what they are a sample, if so."""
    corpus = run.prepared.corpus
    if corpus.characters <= _MAX_CHARS_COMPARED:
        return ids, ""
    chosen = random.Random(run.prepared.config.settings.seed).sample(ids, len(ids))
    chars_left, sampled = _MAX_CHARS_COMPARED, set[str]()
    for id_ in chosen:
        chars_left -= len(corpus.documents[id_].text)
        if chars_left < 0:
            break
        sampled.add(id_)
    return [id_ for id_ in ids if id_ in sampled], f", a sample of the {len(ids):,}"


def _report_duplicates(
    partners: Mapping[str, set[str]],
    total: int,
    how: str,
    labelled: Mapping[str, set[str]],
    sample_note: str = "",
) -> Iterator[Finding]:
    if not partners:
        return
    wrong = [
        [doc for doc in sorted(documents) if partners.get(doc, set()) - documents]
        for documents in labelled.values()
    ]
    bearing = Counter(doc for docs in wrong for doc in docs)
    n_affected = sum(map(bool, wrong))
    text = (
        f"{len(partners):,} of {total:,} documents{sample_note} "
        f"({numbers.percent(len(partners) / total)}) are {how} another"
    )
    if n_affected:
        verb = "has its" if n_affected == 1 else "have their"
        text += (
            f"; {numbers.count(n_affected, 'question')} {verb} gold in one whose twin is not "
            "labelled: retrieved in its place, the twin counts as wrong"
        )
    first = [id_ for id_, _ in bearing.most_common(MAX_EXAMPLES)]
    examples = dict.fromkeys([*first, *partners])
    remedy = "take the copies out of the corpus, or label them too" if n_affected else ""
    level: Level = "warning" if n_affected else "note"
    yield Finding("duplicates", level, text, remedy, tuple(examples)[:MAX_EXAMPLES])


def _labelled_documents(question: Question, run: CheckInput) -> set[str]:
    """Return the documents that hold what a question is judged by."""
    kinds, level = run.prepared.plan.kinds, run.prepared.config.settings.relevance_level
    documents: set[str] = set()
    if "evidence" in kinds:
        documents |= {passage.span.doc for passage in question.passages}
    if "documents" in kinds:
        documents |= {doc for doc, grade in (question.documents or {}).items() if grade >= level}
    return documents
