"""Packs texts of similar length into batches whose shape depends on no other text.

The last bits of a vector depend on how far its text was padded (in bfloat16 two digits do). So a
text is padded to a length that it alone decides, beside a number of others that this length
decides; a batch that is not full is filled up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

_LENGTH_STEP = 16
_MAX_TOKENS = 1024
_MAX_ROWS = 32
_COLUMN_MULTIPLE = 8
"""What the matrix units of a card take a multiple of."""


@dataclass(frozen=True)
class TokenBatch:
    """Texts, by number, and the rows and columns that they are padded to."""

    texts: tuple[int, ...]
    rows: int
    columns: int


def pack(lengths: Sequence[int]) -> list[TokenBatch]:
    """Return batches that hold each text once, the longest first."""
    like: dict[int, list[int]] = defaultdict(list)
    for number, length in enumerate(lengths):
        like[max(1, -(-length // _LENGTH_STEP)) * _LENGTH_STEP].append(number)
    batches = []
    for columns, numbers in sorted(like.items(), reverse=True):
        rows = max(1, min(_MAX_ROWS, _MAX_TOKENS // columns))
        for start in range(0, len(numbers), rows):
            batches.append(TokenBatch(tuple(numbers[start : start + rows]), rows, columns))
    return batches


def fill_batches(
    batches: Sequence[TokenBatch], ids: Sequence[Sequence[int]], pad: int
) -> Iterator[tuple[Ids, Ids]]:
    """Yield the token ids and the mask of each batch; rows left over repeat the first text."""
    for batch in batches:
        tokens = np.full((batch.rows, batch.columns), pad, dtype=np.int64)
        mask = np.zeros_like(tokens)
        spare = (batch.texts[0],) * (batch.rows - len(batch.texts))
        for row, number in enumerate(batch.texts + spare):
            tokens[row, : len(ids[number])] = ids[number]
            mask[row, : len(ids[number])] = 1
        yield tokens, mask


def pad_right(ids: Sequence[Sequence[int]], pad: int) -> dict[str, Ids]:
    """Return the token ids and the mask of a batch, padded on the right to its longest text."""
    columns = max(1, -(-max(map(len, ids)) // _COLUMN_MULTIPLE)) * _COLUMN_MULTIPLE
    ((tokens, mask),) = fill_batches(
        [TokenBatch(tuple(range(len(ids))), len(ids), columns)], ids, pad
    )
    return {"input_ids": tokens, "attention_mask": mask}
