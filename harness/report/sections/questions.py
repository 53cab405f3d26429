"""Questions: all of them to search and filter, and ten to read where there is no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.records import Loss
from harness.report.blocks import Block, Browser, Fold, Passage, Text
from harness.report.data.indexed import going_on
from harness.report.data.prompts import held
from harness.report.data.ten import to_read
from harness.report.sections import sections
from harness.report.view import View
from harness.stored import ArrivalLine, HitLine, RecordLine

_HITS = 3
_LONGEST = 240
"""Characters of a text that is quoted."""


@sections.register
@dataclass(frozen=True)
class Questions:
    """Every question in every cell; where there is no script, ten to read."""

    name: ClassVar[str] = "questions"
    order: ClassVar[int] = 60
    title: ClassVar[str] = "Questions"
    short: ClassVar[str] = "Questions"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the browser, with a fold for each of the ten to read."""
        records = to_read(view)
        if not view.stored.records:
            return []
        if not records:
            return [Browser([])]
        names = {cell.name: view.name(cell) for cell in view.cells}
        count = numbers.count(len(records), "question")
        said = Text(
            f"{count} to read with {names[records[0].cell]}: of each kind of loss in turn "
            f"that with the lowest {view.by}, then the lowest mean of the other quality metrics.",
            "note",
        )
        return [Browser([said, *(_fold(view, record) for record in records)])]


def _fold(view: View, record: RecordLine) -> Fold:
    question = view.question(record)
    value = numbers.score(record.scores[view.by].value)
    labels = ", ".join(filter(None, [question.category, question.difficulty]))
    about = f" ({labels})" if labels else ""
    blocks: list[Text | Passage] = [*_outcome(view, record)]
    wanted = "\n".join(question.answers) or "no reference answer"
    blocks.append(Passage("Reference", _cut(wanted)))
    if record.answers:
        blocks.append(Passage("Declined" if record.declined else "Answer", _cut(record.answer)))
    blocks += [
        Passage(f"Evidence {each.group}: {each.doc} {each.start}–{each.end}", _cut(each.text))
        for each in question.passages[:_HITS]
    ]
    level = view.run.config.get("resolved", {}).get("relevance_level", 1)
    before = {(hit.doc, hit.start, hit.end): at for at, hit in enumerate(record.candidates, 1)}
    for rank, hit in enumerate(record.hits[:_HITS], start=1):
        place = (hit.doc, hit.start, hit.end)
        text = view.stored.texts[place]
        blocks.append(_hit(rank, hit, _cut(text), before.get(place), level))
    scores = [
        f"{name} {numbers.score(score.value)}"
        for name, score in record.scores.items()
        if score.value is not None
    ]
    blocks.append(Text(", ".join(scores) or "none", "note", "Scores"))
    return Fold(f"{question.id}: {_cut(question.text)}{about}; {view.by} {value}", blocks)


def _outcome(view: View, record: RecordLine) -> Iterator[Text | Passage]:
    """Yield where the question failed, or was lost, and what is known of that."""
    if record.error is not None:
        said = f"{record.error.stage}: {_cut(record.error.reason)}"
        yield Text(said, "warning", "Failed at")
    elif record.lost_at == "generation":
        yield Text("generation: all evidence was in the prompt", label="Lost at")
        found = held(record)
        if found is not None:
            at, start, end = found
            hit = record.hits[at]
            text = view.stored.texts[(hit.doc, hit.start, hit.end)][start:end]
            yield Passage(f"Held the answer, at rank {at + 1}", _cut(text))
    elif record.lost_at not in (None, "none"):
        groups = [each for each in record.passages if each.stage == record.lost_at]
        cell = next(cell for cell in view.cells if cell.name == record.cell)
        first = going_on(view, cell)
        facts = [_facts(each.stage, each, record.traced_to, first) for each in groups if each.stage]
        yield Text(f"{record.lost_at}: {'; '.join(facts)}", label="Lost at")


def _facts(stage: Loss, arrival: ArrivalLine, traced_to: int | None, first: int | None) -> str:
    """Return what is known of a group of passages that was lost at `stage`.

    Args:
        stage: That lost it.
        arrival: What became of it.
        traced_to: How deep exact search was looked at.
        first: How many of what was retrieved go on.
    """
    facts = arrival.facts
    if stage == "chunking":
        over = numbers.count(facts.pieces, "chunk") if facts.pieces else "several chunks"
        share = "" if facts.largest is None else f", at most {numbers.percentage(facts.largest)}"
        return f"spread over {over}{share} of it in one"
    if stage == "reranking":
        after = f"{facts.reranked:,}" if facts.reranked else "dropped"
        return f"rank {facts.rank:,} before reranking, {after} after"
    if stage == "context":
        cut = facts.cut_at
        ended = "" if cut is None else f", but the context ended at token {cut:,}"
        return f"rank {facts.reranked or facts.rank}{ended}"
    there = ""
    if facts.rank is not None and first is not None:
        there = f"whole at rank {facts.rank:,}, below the first {first:,} that go on"
    if stage == "retrieval" and there:
        return there
    return "; ".join(filter(None, [there, _true_rank(facts.exact_rank, traced_to)]))


def _true_rank(rank: int | None, traced_to: int | None) -> str:
    if rank is not None:
        return f"rank {rank:,} under exact search"
    if traced_to is None:
        return "its true rank is not known"
    return f"not within the first {traced_to:,} under exact search"


def _hit(rank: int, hit: HitLine, text: str, before: int | None, level: int) -> Passage:
    relevant = hit.grade is not None and hit.grade >= level
    grade = "not judged" if hit.grade is None else f"grade {hit.grade}"
    moved = "" if before is None else f" ({before} before reranking)"
    place = f"Rank {rank}{moved}: {hit.doc} {hit.start}–{hit.end}"
    return Passage(f"{place}, score {hit.score:.4f}, {grade}", text, relevant)


def _cut(text: str | None) -> str:
    if not text:
        return numbers.MISSING
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
