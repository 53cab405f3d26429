"""Documents that say the same as another, word for word or nearly."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.findings import EXAMPLES, Finding, Level, Look, Part, alike, checks
from harness.records import Question
from harness.rows import key_of

_QUICK, _BESIDE_MODELS = 500_000, 20_000_000
"""Characters up to which a run looks for near-duplicates: alone, and where a model embeds them."""
_MOST = 200_000_000
"""Characters that are compared, at most: a sample of the documents where there are more."""


@checks.register
@dataclass(frozen=True)
class Duplicates:
    """Documents that are the same as another or nearly so, and the questions they bear on."""

    name: ClassVar[str] = "duplicates"
    order: ClassVar[int] = 40
    reads: ClassVar[tuple[Part, ...] | None] = ("documents", "questions", "settings")

    def dear(self, look: Look) -> bool:
        """Return whether the corpus is so large that the run would be held up."""
        most = _BESIDE_MODELS if look.embeds else _QUICK
        return look.prepared.corpus.characters > most

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what is the same word for word, then what is nearly the same."""
        documents = look.prepared.corpus.documents
        same: dict[bytes, list[str]] = {}
        for document in documents.values():
            if words := document.text.split():
                same.setdefault(key_of(" ".join(words)), []).append(document.id)
        copies = _partners([group for group in same.values() if len(group) > 1])
        labelled = {each.id: _labelled(each, look) for each in look.questions}
        yield from _said(copies, len(documents), "the same, word for word, as", labelled)
        firsts = [group[0] for group in same.values()]
        compared, of = _within(look, firsts)
        near = alike.groups(
            compared,
            lambda id_: documents[id_].text,
            look.prepared.config.settings.seed,
            lambda done: look.progress("comparing documents", done, len(compared)),
        )
        total = len(compared) if of else len(documents)
        share = f"nearly the same ({numbers.percentage(alike.NEAR)} of runs of five words) as"
        yield from _said(_partners(near), total, share, labelled, of)


def _partners(groups: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    return {id_: {*group} - {id_} for group in groups for id_ in group}


def _within(look: Look, ids: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the documents that are compared, and in words of what they are a sample, if so."""
    corpus = look.prepared.corpus
    if corpus.characters <= _MOST:
        return ids, ""
    chosen = random.Random(look.prepared.config.settings.seed).sample(ids, len(ids))
    left, kept = _MOST, set[str]()
    for id_ in chosen:
        left -= len(corpus.documents[id_].text)
        if left < 0:
            break
        kept.add(id_)
    return [id_ for id_ in ids if id_ in kept], f", a sample of the {len(ids):,}"


def _said(
    partners: Mapping[str, set[str]],
    total: int,
    how: str,
    labelled: Mapping[str, set[str]],
    of: str = "",
) -> Iterator[Finding]:
    if not partners:
        return
    wrong = [
        [doc for doc in sorted(of_one) if partners.get(doc, set()) - of_one]
        for of_one in labelled.values()
    ]
    bearing = Counter(doc for docs in wrong for doc in docs)
    hit = sum(map(bool, wrong))
    text = (
        f"{len(partners):,} of {total:,} documents{of} ({100 * len(partners) / total:.1f} %) are "
        f"{how} another"
    )
    if hit:
        verb = "has its" if hit == 1 else "have their"
        text += (
            f"; {numbers.count(hit, 'question')} {verb} gold in one whose twin is not labelled: "
            "retrieved in its place, the twin counts as wrong"
        )
    first = [id_ for id_, _ in bearing.most_common(EXAMPLES)]
    named = dict.fromkeys([*first, *partners])
    remedy = "take the copies out of the corpus, or label them too" if hit else ""
    level: Level = "warning" if hit else "note"
    yield Finding("duplicates", level, text, remedy, tuple(named)[:EXAMPLES])


def _labelled(question: Question, look: Look) -> set[str]:
    """Return the documents that hold what a question is judged by."""
    kinds, level = look.prepared.plan.kinds, look.prepared.config.settings.relevance_level
    found: set[str] = set()
    if "evidence" in kinds:
        found |= {passage.span.doc for passage in question.passages}
    if "documents" in kinds:
        found |= {doc for doc, grade in (question.documents or {}).items() if grade >= level}
    return found
