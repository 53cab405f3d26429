"""What better retrieval could gain: scores with perfect retrieval, and with none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from urllib.parse import quote

from harness.metrics import named_metrics
from harness.records import Case, Chunk, Hit, Outcome, Span
from harness.report.charts import potential_chart as chart
from harness.report.charts.theme import short_name
from harness.report.document import Block, Cell, Links, Paragraph, TableBlock
from harness.report.phrases import measure
from harness.report.run_view import View
from harness.report.sections import section
from harness.runs import scoring
from harness.runs.oracle.potential import RIGHT, MeasureRow, Potential
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.stats.difference_estimate import DifferenceEstimate
from harness.store.cell_results import CellResult
from harness.text import numbers

_MAX_NAMED = 10
"""Questions that are named where links cannot be followed."""


@section("oracle", 48, "What better retrieval could buy", "Potential", attrgetter("has_oracle"))
def blocks(view: View) -> Sequence[Block]:
    """Return the results of the oracle; nothing where it was not run."""
    all_potentials = view.potentials
    if not view.has_oracle:
        return []
    several = len(all_potentials) > 1
    result: list[Block] = []
    for potential in all_potentials:
        result += [Paragraph(text) for text in sentences(view, potential, several)]
        result += _unasked_blocks(view, potential)
    figure = (
        chart.figure(view, all_potentials, headline(view, all_potentials))
        if all_potentials
        else None
    )
    result += [figure] if figure is not None else []
    for potential in all_potentials:
        result += _table(view, potential)
        result += _remembered_blocks(potential, several)
    if all_potentials and all_potentials[0].asked:
        result.append(Paragraph(_explanation(view, all_potentials[0]), "note"))
    return [*result, *chunker_limits(view)]


def _unasked_blocks(view: View, potential: Potential) -> Iterator[Block]:
    """Yield what nothing gave, where no question was asked with its evidence."""
    if potential.asked:
        return
    why = (
        f"none of {numbers.count(potential.askable, 'question')} was asked before the run was ended"
        if potential.askable
        else "no question that can be answered has gold passages"
    )
    yield Paragraph(f"{potential.generator} was asked nothing with perfect retrieval: {why}.")
    for line in view.run.oracle:
        if line.generator == potential.generator and line.given == "nothing":
            rows: list[list[Cell]] = [
                [name, numbers.whole(score.n), replace(measure(score), drawn=False)]
                for name, score in line.scores.items()
                if score.n
            ]
            if line.right is not None:
                share = line.right / line.tested
                rows.append([RIGHT, numbers.whole(line.tested), numbers.score(share, 2)])
            if rows:
                caption = f"{potential.generator}, without retrieval"
                yield TableBlock(["Measure", "n", chart.NOTHING], rows, caption, cards=True)


def _table(view: View, potential: Potential) -> Iterator[Block]:
    if not potential.rows:
        return
    best = potential.best
    head = ["Measure", "n", chart.NOTHING, chart.RETRIEVED, chart.EVIDENCE, "Gain", "p, corrected"]
    tests = f"{potential.family} tests"
    notes = ["", "", "", view.name(potential.cell), "", "95 % interval", tests]
    if best is not None:
        head.insert(4, chart.HIGHEST)
        notes.insert(4, view.name(best))
    rows = [_row(view, row) for row in potential.rows]
    caption = f"{potential.generator}, without retrieval and with a perfect one"
    yield TableBlock(head, rows, caption, notes, cards=True)


def _row(view: View, row: MeasureRow) -> list[Cell]:
    digits = view.digits(row.name) if row.name in view.metrics else 2
    gain = row.gain
    written = numbers.difference(gain.difference, digits)
    span = numbers.between(gain.low, gain.high, digits)
    sides = [row.nothing, row.cell, *([row.best] if row.best else []), row.evidence]
    return [
        row.name,
        numbers.whole(row.evidence.n),
        *(replace(measure(side, digits=digits), drawn=False) for side in sides),
        written if gain.low is None else f"{written} ({span})",
        numbers.probability(gain.corrected),
    ]


def _remembered_blocks(potential: Potential, several: bool) -> Iterator[Block]:
    """Yield which questions are answered right from nothing."""
    if not potential.remembered:
        return
    ids, first = potential.remembered, ", ".join(potential.remembered[:_MAX_NAMED])
    more = f" and {len(ids) - _MAX_NAMED} more" if ids[_MAX_NAMED:] else ""
    count = numbers.count(len(ids), "question")
    by = f" by {potential.generator}" if several else ""
    yield Paragraph(
        f"{count} {numbers.are(len(ids))} answered right{by} from nothing: they measure the "
        f"model's memory, not retrieval ({first}{more})."
    )
    show = "Show the question" if len(ids) == 1 else f"Show the {count}"
    yield Links([(show, f"questions?ids={','.join(quote(id_, safe='') for id_ in ids)}")])


def _explanation(view: View, potential: Potential) -> str:
    tokens = view.run.config["resolved"]["context"]["tokens"]
    unpaired = max((row.gain.unpaired for row in potential.rows), default=0)
    unpaired_note = (
        f" {numbers.count(unpaired, 'question')} without a score on one side is in no gain."
        if unpaired
        else ""
    )
    return (
        f"Over the {describe_asked(potential)} that can be answered and have gold passages: "
        "of each group the first passage, in the order of the documents, cut at "
        f"{tokens:,} tokens like any context. The generator and its settings are the same, and its "
        "first answer counts. It is no bound: text beside the gold passages can help a model too, "
        "or distract it. A failed question counts as 0; a gain is over what both finished."
        f"{unpaired_note}"
    )


def chunker_limits(view: View) -> Iterator[Block]:
    """Yield what the best chunks of each chunker would hold, and what was found of it."""
    order = [cell.chunker for cell in view.cells]
    limits = sorted(
        (limit for limit in view.run.ceilings if limit.evidence_recall.mean is not None),
        key=lambda limit: order.index(limit.chunker),
    )
    if not limits:
        return
    k = limits[0].k
    recalls = {
        limit.chunker: _evidence_recall(view, view.cells[order.index(limit.chunker)], k)
        for limit in limits
    }
    focus = None if view.focus is None else view.focus.chunker
    first = next((limit for limit in limits if limit.chunker == focus), limits[0])
    yield Paragraph(
        f"With {first.chunker}, {numbers.count(k, 'chunk')} could hold "
        f"{numbers.score(first.evidence_recall.mean, 2)} of the evidence; what is retrieved holds "
        f"{numbers.score(recalls[first.chunker].mean, 2)}."
    )
    head = ["Chunker", "n", f"Any {numbers.count(k, 'chunk')}", "As retrieved", "Chunk ceiling"]
    notes = ["", "", f"evidence_ceiling@{k}", f"evidence_recall@{k} of the best cell", ""]
    rows: list[list[Cell]] = [
        [
            limit.chunker,
            numbers.whole(limit.evidence_recall.n),
            *map(measure, (limit.evidence_recall, recalls[limit.chunker], limit.chunk_ceiling)),
        ]
        for limit in limits
    ]
    caption = "What each chunker allows: share of the evidence's characters, and precision"
    yield TableBlock(head, rows, caption, notes, cards=True)
    yield Paragraph(
        f"Any {numbers.count(k, 'chunk')}: the most of a question's evidence that so many could "
        "hold, whichever they are. Chunk ceiling: the precision of a retriever that finds all "
        "evidence. A chunker with a parent is measured by the chunks that are given.",
        "note",
    )


def _evidence_recall(view: View, cell: CellResult, k: int) -> Aggregate:
    """Return the evidence_recall of what a cell retrieved, as the cell's metrics are scored."""
    metric = named_metrics.build_metric(f"evidence_recall@{k}")
    records = view.records(cell)
    clusters = view.stored.clusters
    groups = None if clusters is None else [clusters[record.question] for record in records]
    scored = scoring.score_all([metric], [_case(view, record) for record in records])
    return aggregate([scores[metric.name] for scores in scored], clusters=groups)


def _case(view: View, record: Outcome) -> Case:
    hits = tuple(
        Hit(Chunk(rank, Span(hit.doc, hit.start, hit.end), ""), hit.score)
        for rank, hit in enumerate(record.hits)
    )
    return Case(view.question(record), hits, failure=record.error)


def sentences(view: View, potential: Potential, several: bool = False) -> Iterator[str]:
    """Yield what the first measure of one generator says; `several`: name the generator."""
    if not potential.rows:
        return
    row = potential.rows[0]
    whom = f"With {potential.generator}, perfect" if several else "Perfect"
    alone = "what the model reaches alone was not measured"
    if row.nothing.mean is not None:
        reached = numbers.score(row.nothing.mean, _digits(view, row))
        alone = f"the model alone, without any context, reaches {reached}"
    yield f"{whom} retrieval, the gold passages alone, {_gain_clause(view, row)}; {alone}."
    asked = describe_asked(potential)
    if potential.asked < potential.askable:
        yield f"Only {asked} were asked with their gold passages: the run was ended early."
    if potential.declined:
        floor = " It only copies sentences: it is a floor." if potential.cell.copies else ""
        yield f"Even with them it declined {potential.declined:,} of {asked}.{floor}"
    if row.retrieved is not None and not row.retrieved.better:
        name, change = _measure_name(row), _change(view, row, row.retrieved)
        yield f"What is retrieved is not shown to raise {name} either ({change})."


def _gain_clause(view: View, row: MeasureRow) -> str:
    name, change = _measure_name(row), _change(view, row, row.gain)
    before, after = (numbers.score(mean, _digits(view, row)) for mean in row.finished)
    if row.gain.better:
        return f"would raise {name} from {before} to {after} ({change})"
    if row.gain.worse:
        return (
            f"would lower {name}, from {before} to {after} ({change}): what is retrieved holds "
            "more than the gold passages do"
        )
    return f"is not shown to raise {name}: {after} with it, {before} as retrieved ({change})"


def headline(view: View, potentials: Sequence[Potential]) -> str:
    """Return in a few words what there is to see, of the first generator."""
    first = next((potential for potential in potentials if potential.rows), None)
    if first is None:
        return "What better retrieval could buy"
    row = first.rows[0]
    whom = f" with {short_name(first.generator)}" if len(potentials) > 1 else ""
    if row.gain.better:
        gain = numbers.score(row.gain.difference, _digits(view, row))
        return f"Perfect retrieval would raise {_measure_name(row)} by {gain}{whom}"
    return f"Perfect retrieval is not shown to raise {_measure_name(row)}{whom}"


def summary_line(view: View, potential: Potential) -> str:
    """Return the same as one line for a terminal."""
    row = potential.rows[0]
    nothing, retrieved, gold = (
        numbers.score(mean, _digits(view, row)) for mean in (row.nothing.mean, *row.finished)
    )
    early = ""
    if potential.asked < potential.askable:
        early = f"; {describe_asked(potential)} were asked"
    return (
        f"{short_name(potential.generator)}: {row.name} {nothing} without retrieval, {retrieved} "
        f"as retrieved, {gold} with the gold passages alone ({_change(view, row, row.gain)}; "
        f"n = {row.gain.n:,}{early})"
    )


def describe_asked(potential: Potential) -> str:
    """Return how many questions were asked with their evidence; of how many, if not all were."""
    of = f"{potential.asked:,} of " if potential.asked < potential.askable else ""
    return f"{of}{numbers.count(potential.askable, 'question')}"


def _measure_name(row: MeasureRow) -> str:
    return f"the share {RIGHT}" if row.name == RIGHT else row.name


def _digits(view: View, row: MeasureRow) -> int:
    return view.digits(row.name) if row.name in view.metrics else 2


def _change(view: View, row: MeasureRow, seen: DifferenceEstimate) -> str:
    """Return a difference and its interval."""
    digits = _digits(view, row)
    span = "no interval" if seen.low is None else numbers.between(seen.low, seen.high, digits)
    return f"{numbers.difference(seen.difference, digits)}, {span}"
