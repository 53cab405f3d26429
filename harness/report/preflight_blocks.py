"""Blocks on what is known before a run: the configuration, the machine, and what checks found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.comparison.gate.detectable_drop import DetectableDrops
from harness.preflight.checks import Finding
from harness.preflight.machine import Fact
from harness.report.document import Block, Fold, Items, Paragraph, TableBlock
from harness.runs.run_inputs import RunInputs
from harness.text import numbers
from harness.text.escaping import shorten

_MAX_UNLIKE, _MAX_QUESTION = 20, 70


def checked(prepared: RunInputs) -> Iterator[Block]:
    """Yield what a checked configuration will do."""
    questions, documents = prepared.whole.questions, len(prepared.corpus.documents)
    declined = sum(not question.answerable for question in questions)
    names = [cell.name for cell in prepared.config.cells]
    names += [cell.name for cell in prepared.config.systems]
    count, judged_by = numbers.count(len(questions), "question"), prepared.plan.labels
    yield Paragraph(f"{prepared.config.shown} is valid")
    yield Paragraph(numbers.count(documents, "document"), label="corpus:")
    yield Paragraph(f"{count}, {declined:,} unanswerable; judged by {judged_by}", label="test set:")
    if prepared.sample is not None:
        line = prepared.sample.line
        whose = "the same every day" if line.day is None else f"today, {line.day}; others tomorrow"
        yield Paragraph(f"{line.size:,} of them, {whose}", label="sample:")
    grid = f"grid: {numbers.count(len(names), 'cell')}"
    yield Fold(grid, [Items(names)])
    for skipped in prepared.corpus.skipped:
        yield Paragraph(f"{skipped.where}: {skipped.what}", label="skipped:")
    for note in (*prepared.corpus.notes, *prepared.testset.notes):
        yield Paragraph(note, label="note:")


def detectable_drops(drops: DetectableDrops | None) -> Iterator[Block]:
    """Yield the smallest drop that each rule of a gate catches."""
    if drops is None:
        return
    rules = numbers.count(drops.rules, "drop rule")
    yield Paragraph(f"{rules}, {numbers.count(drops.limits, 'limit')}", label="gate:")
    for note in drops.notes:
        yield Paragraph(note, label="note:")
    if drops.caught:
        tests = numbers.count(drops.tests, "one-sided test")
        caption = f"caught four times in five, of {tests} corrected together"
        yield TableBlock(["rule", "drop"], drops.caught, caption, numeric=False)
        yield Paragraph(drops.assumed, "note", label="assumed:")


def findings(found: Sequence[Finding]) -> Iterator[Block]:
    """Yield findings, those of one level together."""
    counts = Counter(finding.level for finding in found)
    totals = ", ".join(numbers.count(number, level) for level, number in counts.items())
    yield Paragraph(totals or "nothing found", label="checks:")
    for level, number in counts.items():
        rows: list[list[str]] = []
        for finding in found:
            if finding.level == level:
                rows.append([finding.check, finding.text])
                rows += [["", f"in: {', '.join(finding.examples)}"]] if finding.examples else []
                rows += [["", f"→ {finding.remedy}"]] if finding.remedy else []
        yield TableBlock(["check", level if number == 1 else f"{level}s"], rows, numeric=False)


def unlike_questions(far: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Yield at most 20 of the real questions that no test question is near."""
    if far:
        part = f"{len(far)}"
        if len(far) > _MAX_UNLIKE:
            part = f"{_MAX_UNLIKE} of {len(far):,}; all: --unlike FILE"
        rows = [
            [
                shorten(question["question"], _MAX_QUESTION),
                f"{question['times']:,}",
                f"{question['line']:,}",
            ]
            for question in far[:_MAX_UNLIKE]
        ]
        caption = f"asked, and no test question is near ({part})"
        yield TableBlock(["question", "times", "line"], rows, caption)


def machine(facts: Sequence[tuple[str, Fact]]) -> list[Block]:
    """Return a row a fact, with its remedy, and the number of problems."""
    rows: list[list[str]] = []
    last = ""
    for check, fact in facts:
        rows.append(["" if check == last else check, fact.status, fact.text])
        rows += [["", "", f"→ {fact.remedy}"]] if fact.remedy else []
        last = check
    count = Counter(fact.status for _, fact in facts)
    summary = [numbers.count(count["problem"], "problem")] if count["problem"] else ["no problem"]
    summary += [numbers.count(count["warning"], "warning")] if count["warning"] else []
    table = TableBlock(["check", "status", "what was seen"], rows, numeric=False)
    return [table, Paragraph(", ".join(summary))]
