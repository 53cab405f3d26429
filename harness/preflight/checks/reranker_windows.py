"""Finds chunks longer than a cross-encoder reads together with a question."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from harness.corpus.chunk_set import ChunkSet
from harness.errors import ModelError
from harness.models.model_files import token_counter
from harness.models.runtime import pair_models
from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.rerankers.cross_encoder import CrossEncoder
from harness.text.numbers import are, percent

_MAX_SAMPLE = 2_000
"""Chunks, and questions, that are tokenised, at most: a sample where there are more."""


@checks.register
@dataclass(frozen=True)
class RerankerWindows:
    """Chunks longer than a cross-encoder reads together with a question of the usual length."""

    name: ClassVar[str] = "pairs"
    order: ClassVar[int] = 15
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "rerankers", "questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: to score one pair takes as long as to tokenise a hundred chunks."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield a warning for each chunker and cross-encoder that do not fit."""
        cells = run.prepared.config.cells
        for chunker, reranker in dict.fromkeys((cell.chunker, cell.reranker) for cell in cells):
            if isinstance(reranker, CrossEncoder):
                names = run.chunkers[chunker], run.rerankers[reranker]
                yield from _find_truncated(run, run.chunks_of_hits(chunker), reranker, *names)


def _find_truncated(
    run: CheckInput, chunks: ChunkSet, reranker: CrossEncoder, chunker: str, name: str
) -> Iterator[Finding]:
    model = pair_models.load(reranker.model, reranker.max_length)
    limit = model.max_seq_length
    try:
        count = token_counter(reranker.model)
    except ModelError:
        return  # a tokenizer of the old kind: what it counts is not known here
    if limit is None:
        return
    chance = random.Random(run.prepared.config.settings.seed)
    texts = [question.text for question in run.questions]
    question_tokens = median(map(count, chance.sample(texts, min(len(texts), _MAX_SAMPLE))))
    room = limit - question_tokens - model.tokenizer.num_special_tokens_to_add(pair=True)
    size = min(len(chunks), _MAX_SAMPLE)
    numbers = sorted(chance.sample(range(len(chunks)), size))
    long = [number for number in numbers if count(chunks[number].indexed_text) > room]
    if long:
        of = f"{size:,}" if size == len(chunks) else f"a sample of {size:,} of the {len(chunks):,}"
        yield Finding(
            "pairs",
            "warning",
            f"{len(long):,} of {of} chunks ({percent(len(long) / size)}) of {chunker} "
            f"{are(len(long))} longer than {name} reads beside a question: it reads {limit} tokens "
            "of both",
            "make chunks smaller, or name a model that reads more",
            tuple(dict.fromkeys(chunks[number].span.doc for number in reversed(long)))[
                :MAX_EXAMPLES
            ],
        )
