"""The questions that a comparison won and lost, with what both sides retrieved and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import numbers
from harness.comparing.comparison import Compared, Comparison, Gap
from harness.comparing.sides import Side
from harness.report.escaping import shortened
from harness.stored import HitLine

SHOWN = 20
"""Questions lost, and won, that a page shows of one pair of cells."""
_HITS = 5
_TEXT, _ANSWER, _QUESTION = 240, 1_500, 400


@dataclass(frozen=True)
class Found:
    """One hit: its document, the beginning of its text, and whether it is relevant."""

    doc: str
    text: str
    relevant: bool


@dataclass(frozen=True)
class Told:
    """What one side came to on a question; `hits` is None where its ranking is not known."""

    side: str
    value: str
    answer: str | None
    hits: Sequence[Found] | None


@dataclass(frozen=True)
class Shown:
    """A question with both sides, baseline first."""

    id: str
    text: str
    category: str
    gold: Sequence[str]
    sides: tuple[Told, Told]


class Questions:
    """Looks up what both sides of a comparison stored of a question."""

    def __init__(self, found: Comparison) -> None:
        self.found = found

    def shown(self, pair: Compared, gaps: Sequence[Gap], most: int = SHOWN) -> list[Shown]:
        """Return the first of the questions, as they are shown."""
        return [self._shown(pair, gap) for gap in gaps[:most]]

    def _shown(self, pair: Compared, gap: Gap) -> Shown:
        found = self.found
        names = (found.baseline.id, found.run.id)
        if found.within:
            names = (pair.pairing.baseline, pair.pairing.run)
        stored = found.run.stored or found.baseline.stored
        line = None if stored is None else stored.questions[gap.question]
        return Shown(
            id=gap.question,
            text=shortened(gap.question if line is None else line.text, _QUESTION),
            category=(found.run.questions[gap.question].category or ""),
            gold=[] if line is None else [shortened(each, _QUESTION) for each in line.answers],
            sides=(
                self._told(found.baseline, pair.pairing.baseline, gap, gap.baseline, names[0]),
                self._told(found.run, pair.pairing.run, gap, gap.run, names[1]),
            ),
        )

    def _told(self, side: Side, cell: str, gap: Gap, value: float, name: str) -> Told:
        record = None if side.stored is None else side.stored.record(cell, gap.question)
        if record is None:
            return Told(name, numbers.score(value, 2), None, None)
        return Told(
            name,
            numbers.score(value, 2),
            None if record.answer is None else shortened(record.answer, _ANSWER),
            [self._hit(side, hit) for hit in record.hits[:_HITS]] if record.ranked else None,
        )

    def _hit(self, side: Side, hit: HitLine) -> Found:
        assert side.stored is not None
        text = side.stored.texts[hit.doc, hit.start, hit.end]
        return Found(shortened(hit.doc, 80), shortened(text, _TEXT), bool(hit.grade))
