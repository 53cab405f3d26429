"""The questions of one cell that were not answered, as advice looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.report.blocks import Advice
from harness.stored import ArrivalLine, CellLine, RecordLine

_UNSEEN: Mapping[str, Any] = {
    "hits": [],
    "candidates": [],
    "context": None,
    "prompt": None,
    "samples": [],
    "judged": {},
    "keywords": [],
    "scores": {},
}
_NEAR = 4
"""Evidence within so many times what is looked at is just below the cut."""


def slim(records: Iterable[RecordLine]) -> list[RecordLine]:
    """Return records without what advice does not look at, which is most of them."""
    return [record.model_copy(update=_UNSEEN) for record in records]


@dataclass(frozen=True)
class Lost:
    """Questions of one cell that were not answered, and the settings they were asked under."""

    cell: CellLine
    settings: Mapping[str, Any]
    records: Sequence[RecordLine]
    of: int

    @property
    def sent(self) -> int:
        """How many chunks the context has."""
        return int(self.settings["context"]["chunks"])

    @property
    def reranks(self) -> bool:
        """Whether the cell has a reranker."""
        return self.cell.reranker != "none"

    @property
    def retrieve(self) -> int:
        """How many the retriever is asked for."""
        return int(self.settings["retrieve"])

    @property
    def depth(self) -> int:
        """How many of what is retrieved could reach the prompt."""
        return self.retrieve if self.reranks else self.sent

    @property
    def near(self) -> int:
        """How deep evidence may lie so that it is just below the cut."""
        return max(_NEAR * self.depth, self.retrieve)

    def context(self, chunks: int) -> str:
        """Return settings with so many chunks in the context, and tokens in proportion."""
        tokens = int(self.settings["context"]["tokens"])
        return f"context: {{chunks: {chunks}, tokens: {-(-tokens * chunks // self.sent)}}}"

    def at(self, stage: str) -> Lost:
        """Return those that a stage lost."""
        return self.those(lambda record: record.lost_at == stage)

    def those(self, wanted: Callable[[RecordLine], bool]) -> Lost:
        """Return those that are wanted; `of` stays."""
        return replace(self, records=[record for record in self.records if wanted(record)])

    def arrivals(self, stage: str) -> list[ArrivalLine]:
        """Return the groups of passages that a stage lost."""
        return [each for record in self.records for each in record.passages if each.stage == stage]

    def advice(self, title: str, text: str, stage: str, setting: str = "") -> Advice:
        """Return advice that could mend all of them."""
        ids = [record.question for record in self.records]
        return Advice(len(ids), self.of, title, text, stage, setting, ids)
