"""Chunks that are longer than a cross-encoder reads beside a question."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from harness.chunking import ChunkSet
from harness.errors import ModelError
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.models import token_counter
from harness.numbers import are
from harness.rerankers.cross_encoder import CrossEncoder
from harness.runtime import pairs

_LOOKED_AT = 2_000
"""Chunks, and questions, that are tokenised, at most: a sample where there are more."""


@checks.register
@dataclass(frozen=True)
class Pairs:
    """Chunks longer than a cross-encoder reads together with a question of the usual length."""

    name: ClassVar[str] = "pairs"
    order: ClassVar[int] = 15
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "rerankers", "questions", "settings")

    def dear(self, look: Look) -> bool:
        """Return False: to score one pair takes as long as to tokenise a hundred chunks."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield a warning for each chunker and cross-encoder that do not fit."""
        cells = look.prepared.config.cells
        for chunker, reranker in dict.fromkeys((each.chunker, each.reranker) for each in cells):
            if isinstance(reranker, CrossEncoder):
                names = look.chunkers[chunker], look.rerankers[reranker]
                yield from _said(look, look.handed(chunker), reranker, *names)


def _said(
    look: Look, chunks: ChunkSet, reranker: CrossEncoder, chunker: str, name: str
) -> Iterator[Finding]:
    model = pairs.load(reranker.model, reranker.max_length)
    limit = model.max_seq_length
    try:
        count = token_counter(reranker.model)
    except ModelError:
        return  # a tokenizer of the old kind: what it counts is not known here
    if limit is None:
        return
    chance = random.Random(look.prepared.config.settings.seed)
    texts = [each.text for each in look.questions]
    asked = median(map(count, chance.sample(texts, min(len(texts), _LOOKED_AT))))
    room = limit - asked - model.tokenizer.num_special_tokens_to_add(pair=True)
    size = min(len(chunks), _LOOKED_AT)
    numbers = sorted(chance.sample(range(len(chunks)), size))
    long = [number for number in numbers if count(chunks[number].indexed_text) > room]
    if long:
        of = f"{size:,}" if size == len(chunks) else f"a sample of {size:,} of the {len(chunks):,}"
        yield Finding(
            "pairs",
            "warning",
            f"{len(long):,} of {of} chunks ({100 * len(long) / size:.1f} %) of {chunker} "
            f"{are(len(long))} longer than {name} reads beside a question: it reads {limit} tokens "
            "of both",
            "make chunks smaller, or name a model that reads more",
            tuple(dict.fromkeys(chunks[number].span.doc for number in long))[:EXAMPLES],
        )
