"""Fitting a report into so many bytes: each section in order, what is too long cut short."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

_BEHIND = 0.15
"""The part of the room that the appendix has however long the other sections are."""
REST = "*What is left out of this section is in [report.html](report.html).*"


@dataclass(frozen=True)
class Piece:
    """Lines that stand or go together, and behind them `rows`, of which the last may go."""

    lines: Sequence[str]
    rows: Sequence[str] = ()
    of: int = 0
    """How many rows there are in all, if `rows` are not all of them."""

    def shown(self, rows: int | None = None) -> str:
        """Return the text with the first `rows`, all by default, and how many there are."""
        kept = list(self.rows[:rows])
        every = max(self.of, len(self.rows))
        tail = ["", f"*{len(kept)} of {every} shown.*"] if len(kept) < every else []
        return "\n".join([*self.lines, *kept, *tail])


def fitted(
    sections: Sequence[Sequence[Piece]], room: int, appendix: Collection[int] = ()
) -> list[list[str]]:
    """Return the texts of each section's pieces, together at most `room` bytes.

    Sections that need less than their share leave the rest to the others. Those of the `appendix`,
    given by their numbers, have a small part of the room for certain, and what the others leave.
    Where a section is cut short its last text says so.
    """
    needed = [sum(_size(piece.shown()) for piece in pieces) for pieces in sections]
    behind = min(sum(needed[at] for at in appendix), int(room * _BEHIND))
    first = [0 if at in appendix else need for at, need in enumerate(needed)]
    rooms = _shares(first, room - behind)
    last = [need if at in appendix else 0 for at, need in enumerate(needed)]
    for at, more in enumerate(_shares(last, room - sum(rooms))):
        rooms[at] += more
    return [_within(pieces, has) for pieces, has in zip(sections, rooms, strict=True)]


def _shares(needed: Sequence[int], room: int) -> list[int]:
    shares = [0] * len(needed)
    smallest_first = sorted(range(len(needed)), key=needed.__getitem__)
    for done, at in enumerate(smallest_first):
        shares[at] = min(needed[at], room // (len(needed) - done))
        room -= shares[at]
    return shares


def _within(pieces: Sequence[Piece], room: int) -> list[str]:
    """Return the first pieces that fit, in order; one that does not may lose its last rows."""
    whole = [piece.shown() for piece in pieces]
    if sum(map(_size, whole)) <= room:
        return whole
    room -= _size(REST)
    kept = []
    for piece in pieces:
        text = _cut(piece, room)
        if text is not None:
            kept.append(text)
            room -= _size(text)
    return [*kept, REST]


def _cut(piece: Piece, room: int) -> str | None:
    """Return as much of a piece as fits; None where not even its first row does."""
    for rows in range(len(piece.rows), 0 if piece.rows else -1, -1):
        text = piece.shown(rows)
        if _size(text) <= room:
            return text
    return None


def _size(text: str) -> int:
    return len(text.encode()) + 2  # and the empty line behind it
