"""What better retrieval could buy: the scores with perfect retrieval, and with none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import quote

from harness import numbers
from harness.report import allowing
from harness.report.blocks import Block, Cell, Links, Table, Text
from harness.report.charts import potential as chart
from harness.report.phrases import measure
from harness.report.potential import Potential, Row, potentials
from harness.report.potentialsides import RIGHT
from harness.report.potentialwords import asked, headline, sentences
from harness.report.sections import sections
from harness.report.view import View

_NAMED = 10
"""Questions that are named where links cannot be followed."""


@sections.register
@dataclass(frozen=True)
class Oracle:
    """Each generator with its gold passages and with nothing, and what each chunker allows."""

    name: ClassVar[str] = "oracle"
    order: ClassVar[int] = 48
    title: ClassVar[str] = "What better retrieval could buy"
    short: ClassVar[str] = "Potential"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return what the oracle was told; nothing where it was not asked."""
        found = potentials(view)
        if not view.run.oracle and not view.run.ceilings:
            return []
        several = len(found) > 1
        said: list[Block] = []
        for each in found:
            said += [Text(text) for text in sentences(view, each, several)]
            said += _unasked(view, each)
        figure = chart.figure(view, found, headline(view, found)) if found else None
        said += [figure] if figure is not None else []
        for each in found:
            said += _table(view, each)
            said += _remembered(each, several)
        if found and found[0].asked:
            said.append(Text(_how(view, found[0]), "note"))
        return [*said, *allowing.blocks(view)]


def _unasked(view: View, each: Potential) -> Iterator[Block]:
    """Yield what nothing gave, where no question was asked with its evidence."""
    if each.asked:
        return
    why = (
        f"none of {numbers.count(each.askable, 'question')} was asked before the run was ended"
        if each.askable
        else "no question that can be answered has gold passages"
    )
    yield Text(f"{each.generator} was asked nothing with perfect retrieval: {why}.")
    for line in view.run.oracle:
        if line.generator == each.generator and line.given == "nothing":
            rows: list[list[Cell]] = [
                [name, f"{found.n:,}", replace(measure(found), drawn=False)]
                for name, found in line.scores.items()
                if found.n
            ]
            if line.right is not None:
                share = line.right / line.tested
                rows.append([RIGHT, f"{line.tested:,}", numbers.score(share, 2)])
            if rows:
                caption = f"{each.generator}, without retrieval"
                yield Table(["Measure", "n", chart.NOTHING], rows, caption, cards=True)


def _table(view: View, each: Potential) -> Iterator[Block]:
    if not each.rows:
        return
    head = ["Measure", "n", chart.NOTHING, chart.RETRIEVED, chart.EVIDENCE, "Gain", "p, corrected"]
    notes = ["", "", "", view.name(each.cell), "", "95 % interval", f"{each.family} tests"]
    if each.best is not None:
        head.insert(4, chart.HIGHEST)
        notes.insert(4, view.name(each.best))
    rows = [_row(view, row) for row in each.rows]
    caption = f"{each.generator}, without retrieval and with a perfect one"
    yield Table(head, rows, caption, notes, cards=True)


def _row(view: View, row: Row) -> list[Cell]:
    digits = view.digits(row.name) if row.name in view.metrics else 2
    gain = row.gain
    written = numbers.difference(gain.difference, digits)
    span = numbers.between(gain.low, gain.high, digits)
    sides = [row.nothing, row.cell, *([row.best] if row.best else []), row.evidence]
    return [
        row.name,
        f"{row.evidence.n:,}",
        *(replace(measure(each, digits=digits), drawn=False) for each in sides),
        written if gain.low is None else f"{written} ({span})",
        numbers.probability(gain.corrected),
    ]


def _remembered(each: Potential, several: bool) -> Iterator[Block]:
    """Yield which questions are answered right from nothing."""
    ids = each.remembered
    if not ids:
        return
    are = "question is" if len(ids) == 1 else "questions are"
    named = ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if ids[_NAMED:] else "")
    by = f" by {each.generator}" if several else ""
    yield Text(
        f"{len(ids):,} {are} answered right{by} from nothing: they measure the model's memory, not "
        f"retrieval ({named})."
    )
    shown = "Show the question" if len(ids) == 1 else f"Show the {len(ids):,} questions"
    chosen = ",".join(quote(id_, safe="") for id_ in ids)
    yield Links([(shown, f"questions?ids={chosen}")])


def _how(view: View, each: Potential) -> str:
    tokens = view.run.config["resolved"]["context"]["tokens"]
    unpaired = max((row.gain.unpaired for row in each.rows), default=0)
    left = f" {numbers.count(unpaired, 'question')} without a score on one side is in no gain."
    return (
        f"Over the {asked(each)} that can be answered and have gold passages: "
        "of each group the first passage, in the order of the documents, cut at "
        f"{tokens:,} tokens like any context. The generator and its settings are the same, and its "
        "first answer counts. It is no bound: text beside the gold passages can help a model too, "
        "or distract it. A failed question counts as 0; a gain is over what both finished."
        + (left if unpaired else "")
    )
