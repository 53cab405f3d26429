"""Worst: the questions to read first, with what was retrieved and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.report.blocks import Block, Fold, Items, Passage, Table, Text
from harness.report.sections import sections
from harness.report.view import View
from harness.stored import HitLine, RecordLine

_SHOWN = 10
_HITS = 4
_LONGEST = 320


@sections.register
@dataclass(frozen=True)
class Worst:
    """The questions on which the best cell does worst by the deciding metric."""

    name: ClassVar[str] = "worst"
    order: ClassVar[int] = 60
    title: ClassVar[str] = "Worst questions"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return one fold a question, worst first; failed ones before scored ones."""
        if view.best is None:
            return []
        records = [r for r in view.records(view.best) if r.scores[view.by].state != "not_scored"]
        worst = sorted(records, key=lambda record: _goodness(view, record))[:_SHOWN]
        said: list[Block] = [
            Text(
                f"Where {view.name(view.best)} does worst by {view.by}, then by the mean of its "
                "other quality metrics.",
                "note",
            )
        ]
        return [*said, *(_fold(view, record) for record in worst)]


def _goodness(view: View, record: RecordLine) -> tuple[float, float]:
    decided = record.scores[view.by].value
    values = [
        score.value
        for name, score in record.scores.items()
        if score.value is not None and view.run.provenance.metrics[name].kind == "quality"
    ]
    others = sum(values) / len(values) if values else 0.0
    return (-1.0 if decided is None else decided), others


def _fold(view: View, record: RecordLine) -> Fold:
    question = view.question(record)
    value = numbers.score(record.scores[view.by].value)
    blocks: list[Text | Items | Table | Passage] = []
    if record.error is not None:
        blocks.append(Text(f"Failed at {record.error.stage}: {record.error.reason}", "warning"))
    wanted = question.answers or ["no reference answer"]
    blocks.append(Passage("Reference", "\n".join(wanted)))
    blocks.append(Passage("Answer" if not record.declined else "Declined", record.answer or "–"))
    for passage in question.passages:
        place = f"Evidence {passage.group}: {passage.doc} {passage.start}–{passage.end}"
        blocks.append(Passage(place, passage.text))
    for rank, hit in enumerate(record.hits[:_HITS], start=1):
        blocks.append(_hit(view, rank, hit))
    rows = [
        [
            name,
            numbers.score(score.value),
            score.reason
            if score.state == "scored"
            else f"{score.state.replace('_', ' ')}: {score.reason}",
        ]
        for name, score in record.scores.items()
    ]
    blocks.append(Table(["Metric", "Score", "Reason"], rows, numeric=False))
    about = ", ".join(filter(None, [question.category, question.difficulty]))
    return Fold(f"{question.id}: {question.text} ({about or 'no category'}; {value})", blocks)


def _hit(view: View, rank: int, hit: HitLine) -> Passage:
    text = view.stored.texts[(hit.doc, hit.start, hit.end)]
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    relevant = hit.grade is not None and hit.grade > 0
    grade = "not judged" if hit.grade is None else f"grade {hit.grade}"
    return Passage(
        f"Rank {rank}: {hit.doc} {hit.start}–{hit.end}, score {hit.score:.4f}, {grade}",
        cut,
        relevant,
    )
