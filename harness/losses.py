"""Losses: where the answers of some questions were lost, counted over questions and groups.

A group is the passages of a question that say the same: any one of them will do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Protocol, get_args

from harness.records import Loss, LostAt
from harness.statistics.intervals import wilson
from harness.stored import CellLine, LossesLine, RecordLine, ShareLine

STAGES: Sequence[LostAt] = (
    "chunking", "index", "retrieval", "reranking", "context", "generation",
)  # fmt: skip
"""Where a question can be lost, in this order."""
GROUPS: Sequence[Loss] = get_args(Loss)
"""Where a group can be lost, in this order."""


class Asked(Protocol):
    """What is looked at of a question."""

    @property
    def answerable(self) -> bool:
        """Whether anything in the corpus answers it."""
        ...

    @property
    def passages(self) -> Sized:
        """Its evidence."""
        ...


def losses(records: Iterable[RecordLine], questions: Mapping[str, Asked]) -> LossesLine | None:
    """Return where the answers of these records were lost; None where none has evidence.

    Each record is counted once: among those attributed, or as one of the reasons why it is not.
    """
    lost: Counter[LostAt] = Counter()
    groups: Counter[Loss | None] = Counter()
    beside: Counter[str] = Counter()
    for record in records:
        question = questions[record.question]
        if not question.answerable:
            beside["unanswerable"] += 1
        elif not question.passages:
            beside["unlabelled"] += 1
        elif record.error is not None:
            beside["failed"] += 1
        elif record.lost_at is None:
            beside["unknown" if record.passages else "untold"] += 1
        else:
            lost[record.lost_at] += 1
            groups.update(each.stage for each in record.passages)
            beside["without_evidence"] += record.without_evidence
    if not lost and not beside["failed"] + beside["unknown"] + beside["untold"]:
        return None
    return LossesLine(
        questions={stage: share(lost[stage], lost.total()) for stage in (*STAGES, "none")},
        groups={stage: share(groups[stage], groups.total()) for stage in GROUPS},
        without_evidence=beside["without_evidence"],
        unknown=beside["unknown"],
        failed=beside["failed"],
        unanswerable=beside["unanswerable"],
        unlabelled=beside["unlabelled"],
        untold=beside["untold"],
    )


def share(count: int, of: int) -> ShareLine:
    """Return how many of how many, with the 95 % Wilson interval of the share."""
    if not of:
        return ShareLine(count=count, of=of, low=None, high=None)
    ends = wilson(count / of, of)
    return ShareLine(count=count, of=of, low=ends.low, high=ends.high)


def answers(cell: CellLine, records: Iterable[RecordLine]) -> bool:
    """Return whether a cell, whose records these are, gives answers.

    A system of the user's own has no parts that are known: its records say so.
    """
    whole = cell.retriever == "none"
    return (whole or cell.generator != "none") and any(each.answers for each in records)


def separable(cell: CellLine, lost: LossesLine, answering: bool) -> list[LostAt]:
    """Return the stages that a cell has and that can be told from their neighbours.

    Of a system of the user's own neither chunks nor index are known. A search that compares all
    vectors, or has none, loses nothing to an index; a stage that lost something is always there.
    `answering`: it gives answers, which can be lost at generation.
    """
    own = cell.retriever == "none"
    there = {
        "chunking": not own,
        "index": cell.index_recall is not None,
        "reranking": cell.reranker != "none",
        "generation": answering,
    }
    counted = (*lost.questions.items(), *lost.groups.items())
    seen = {stage for stage, line in counted if line.count}
    return [stage for stage in STAGES if there.get(stage, True) or stage in seen]
