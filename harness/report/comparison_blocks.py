"""Says what a comparison came to as blocks: for the terminal, for the page, and tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.comparison.compare_runs import ComparedCells, ComparedRuns, MetricRow
from harness.comparison.operand import Operand
from harness.report import comparison_words as words
from harness.report import loss_tables
from harness.report.compared_questions import question_blocks
from harness.report.document import (
    Block,
    Cell,
    Fold,
    Heading,
    Items,
    Measure,
    Paragraph,
    Part,
    TableBlock,
)
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text import numbers
from harness.text.escaping import shorten

_MAX_NAME, _MAX_VALUE = 80, 300
_MAX_TITLE = 200
_MAX_FULL_PAIRS = 3
"""Of more pairs the terminal shows the deciding metric, and what is shown to differ."""
_MAX_CHANGES = 40
_MAX_BRIEF_CHANGES = 12
_MAX_UNPAIRED = 200
_MIN_REACH = 0.05
"""How far the bars of a table reach to each side at least."""
_DIGITS = 3


def blocks(comparison: ComparedRuns) -> list[Block]:
    """Return what the terminal shows: the verdict, a table a pair of cells, and what changed."""
    result = _verdict(comparison)
    for pair in comparison.pairs:
        result += [Heading(words.title(pair)), *_pair(comparison, pair)]
    if left_out := list(words.list_left_out(comparison)):
        result.append(Items(left_out, "note"))
    if comparison.changes:
        changed = numbers.count(len(comparison.changes), "thing")
        result += [Heading(f"Changed: {changed}"), *_changes(comparison, _MAX_BRIEF_CHANGES)]
    return [*result, Paragraph(words.method(comparison), "note")]


def tables(comparison: ComparedRuns, digits: int = 4) -> list[Block]:
    """Return the tables of each pair alone, for a paper or a spreadsheet."""
    result: list[Block] = []
    for pair in comparison.pairs:
        title = words.title(pair)
        for rows, first in ((pair.rows, "Metric"), (pair.segments, "Segment")):
            result += [_table(rows, first, title, True, digits)] if rows else []
    return result


def parts(comparison: ComparedRuns) -> list[Part]:
    """Return the sections of the page: all that is known of both, question by question."""
    result = [Part("verdict", "Verdict", _verdict(comparison), "Verdict")]
    if not comparison.within:
        same = "Nothing: configuration, data, models, metrics, code and libraries are the same."
        changes = list(_changes(comparison, _MAX_CHANGES)) or [Paragraph(same)]
        result.append(Part("changed", "What changed", changes, "What changed"))
    for number, pair in enumerate(comparison.pairs, start=1):
        title = shorten(words.title(pair), _MAX_TITLE)
        contents = [*_pair(comparison, pair, in_full=True), *_details(comparison, pair)]
        short = "Cells" if number == 1 else ""
        result.append(Part(f"pair-{number}", title, contents, short))
    left_out = list(words.list_left_out(comparison))
    method = (
        f"{words.method(comparison)} “Not shown” is not “equal”. Before and after are means over "
        "the questions that have a value on both sides."
    )
    how: list[Block] = [Paragraph(method), *([Items(left_out)] if left_out else [])]
    return [*result, Part("method", "How it was compared", how, "Method")]


def _verdict(comparison: ComparedRuns) -> list[Block]:
    """Return the verdict, what is compared, and a row a pair where there are several."""
    before, after = comparison.baseline, comparison.run
    result: list[Block] = [Heading(shorten(words.headline(comparison), _MAX_TITLE), 1)]
    if comparison.within:
        result.append(Paragraph(f"Cells of {shorten(after.id, _MAX_NAME)}, side by side."))
    else:
        asked = numbers.count(len(comparison.shared), "question")
        result += [
            Paragraph(_describe_side(before), label="Before."),
            Paragraph(_describe_side(after), label="After."),
            Paragraph(f"{asked} that both asked."),
        ]
    if len(comparison.pairs) > 1:
        result.append(_overview(comparison))
    return result


def _describe_side(side: Operand) -> str:
    day = side.started[:16].replace("T", " ")
    return f"{shorten(side.id, _MAX_NAME)}, {f'{day} UTC' if day else 'no date'}"


def _overview(comparison: ComparedRuns) -> TableBlock:
    """Return the deciding metric of each pair, and how many metrics are worse and better."""
    rows: list[list[Cell]] = []
    deciding = [
        next((row for row in pair.rows if row.metric == comparison.by), None)
        for pair in comparison.pairs
    ]
    reach = _bar_reach([row for row in deciding if row is not None])
    for pair, row in zip(comparison.pairs, deciding, strict=True):
        figures: list[Cell] = [numbers.MISSING] * 4
        if row is not None:
            figures = [*_figures(row, reach)][:4]
        counts = [f"{len(pair.worse)}", f"{len(pair.better)}"]
        rows.append([shorten(words.title(pair), 2 * _MAX_NAME), *figures, *counts])
    head = ["Cell", "Before", "After", "Change", "p, corrected", "Worse", "Better"]
    notes = ["", "", "", "95 % interval", "", "metrics", "metrics"]
    return TableBlock(head, rows, shorten(comparison.by, _MAX_NAME), notes, cards=True)


def _pair(comparison: ComparedRuns, pair: ComparedCells, in_full: bool = False) -> Iterator[Block]:
    """Yield the sentences and the tables of one pair; in full also what is not shown to differ."""
    yield Paragraph(" ".join(words.sentences(comparison, pair)))
    rows, segments = [*pair.rows], [*pair.segments]
    if not in_full:
        segments = [row for row in segments if row.difference.better or row.difference.worse]
        if len(comparison.pairs) > _MAX_FULL_PAIRS:
            rows = [row for row in rows if _is_notable(comparison, row)]
    family = f"By metric, one family of {numbers.count(comparison.family, 'test')}"
    tables: list[Block] = [_table(rows, "Metric", family, in_full)] if rows else []
    if segments:
        count = numbers.count(comparison.segment_family, "test")
        caption = f"By segment, a family of its own: {count}"
        tables.append(_table(segments, "Segment", caption, in_full))
    if in_full and pair.identical:
        yield Fold("Identical in every score: the tables", tables)
    else:
        yield from tables
    if len(rows) < len(pair.rows):
        more = numbers.count(len(pair.rows) - len(rows), "more metric")
        yield Paragraph(f"{more} on the page: none is shown to differ")
    lost, won = (numbers.count(len(gaps), "question") for gaps in (pair.lost, pair.won))
    yield Paragraph(f"By {shorten(comparison.by, _MAX_NAME)}: {lost} lost, {won} won.")
    if in_full or len(comparison.pairs) <= _MAX_FULL_PAIRS:
        yield from _expenses(comparison, pair)
        yield from _losses(comparison, pair)
    failed = pair.finished
    if not failed.identical and failed.baseline is not None and failed.run is not None:
        yield Paragraph(
            f"{_percent(1 - failed.baseline)} → {_percent(1 - failed.run)} of the questions: "
            f"{words.outcome(failed)} (of the share that finished: "
            f"{words.evidence(comparison, failed)}).",
            label="Failed.",
        )


def _sides(comparison: ComparedRuns, pair: ComparedCells) -> list[tuple[str, Operand, str]]:
    return [
        ("Before", comparison.baseline, pair.pairing.baseline),
        ("After", comparison.run, pair.pairing.run),
    ]


def _expenses(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[TableBlock]:
    """Yield what a question took on both sides, and how large and exact the indexes are."""
    columns = [list(_describe_expenses(side, cell)) for _, side, cell in _sides(comparison, pair)]
    names = ["Seconds, median", "Tokens, mean", "Money, mean"]
    names += ["Retrieval, mean", "Generation, mean", "Chunks", "Index recall"]
    rows = [
        [name, *texts]
        for name, *texts in zip(names, *columns, strict=True)
        if set(texts) != {numbers.MISSING}
    ]
    if rows:
        yield TableBlock(["What a question took", "Before", "After"], rows)


def _describe_expenses(side: Operand, name: str) -> Iterator[str]:
    cell = side.cells[name]
    tokens = cell.mean_cost("tokens")
    prices = None if side.stored is None else side.stored.run.prices
    yield numbers.seconds(cell.median_seconds())
    yield numbers.MISSING if tokens is None else f"{tokens:,.0f}"
    yield numbers.money(cell.mean_cost("money"), "" if prices is None else prices.currency).strip()
    stored = _stored_cell(side, name)
    if stored is None:
        yield from [numbers.MISSING] * 4
        return
    yield from (numbers.seconds(stored.seconds.get(stage)) for stage in ("retrieval", "generation"))
    yield f"{stored.chunks:,}" if stored.chunks else numbers.MISSING
    recall = stored.index_recall
    yield numbers.MISSING if recall is None else f"{numbers.score(recall.mean)} @{recall.k}"


def _losses(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[Block]:
    """Yield where both sides lost their questions, where both are stored and can tell."""
    sides = [
        (label, View(side.stored), cell)
        for label, side, name in _sides(comparison, pair)
        if side.stored is not None and (cell := _stored_cell(side, name)) is not None
    ]
    if len(sides) == 2:
        yield from loss_tables.by_side(sides)


def _stored_cell(side: Operand, name: str) -> CellResult | None:
    cells = () if side.stored is None else side.stored.run.cells
    return next((cell for cell in cells if cell.name == name), None)


def _is_notable(comparison: ComparedRuns, row: MetricRow) -> bool:
    return row.metric == comparison.by or row.difference.better or row.difference.worse


def _details(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[Block]:
    """Yield what the page has of a pair beside its tables: questions, and what is not compared."""
    yield from question_blocks(comparison, pair)
    if pair.untested:
        reasons = [f"{shorten(name, _MAX_NAME)}: {why}" for name, why in pair.untested.items()]
        yield Fold(f"{numbers.count(len(reasons), 'metric')} not compared", [Items(reasons)])
    if pair.unpaired:
        lines = [
            f"{shorten(one.question, _MAX_NAME)}, {shorten(one.metric, _MAX_NAME)}: "
            f"the {one.missing} has no value, {shorten(one.reason, _MAX_VALUE)}"
            for one in pair.unpaired[:_MAX_UNPAIRED]
        ]
        more = len(pair.unpaired) - len(lines)
        lines += [f"{more:,} more"] if more else []
        count = numbers.count(len({one.question for one in pair.unpaired}), "question")
        yield Fold(f"{count} that could not be paired by some metric", [Items(lines)])
    if pair.differs:
        yield Heading("How the two cells differ", 3)
        yield Items(
            [
                f"{shorten(change.what, _MAX_NAME)}: {shorten(change.before, _MAX_VALUE)} → "
                f"{shorten(change.after, _MAX_VALUE)}"
                for change in pair.differs
            ]
        )


def _changes(comparison: ComparedRuns, limit: int) -> Iterator[Block]:
    rows = [
        [
            shorten(f"{change.about} {change.what}", 2 * _MAX_NAME),
            shorten(change.before, _MAX_VALUE),
            shorten(change.after, _MAX_VALUE),
        ]
        for change in comparison.changes[:limit]
    ]
    if rows:
        yield TableBlock(["What", "Before", "After"], rows, numeric=False, cards=True)
    if len(comparison.changes) > limit:
        yield Paragraph(f"{len(comparison.changes) - limit} more.")


def _table(
    rows: Sequence[MetricRow], first: str, caption: str, in_full: bool, digits: int = _DIGITS
) -> TableBlock:
    reach = _bar_reach(rows)
    head = [first, "Before", "After", "Change", "p, corrected", "Verdict"]
    more = ["Won · tied · lost", "Effect, d_z", "n"] if in_full else []
    body: list[list[Cell]] = []
    for row in rows:
        name = f"{row.segment}: {row.metric}" if row.segment else row.metric
        cells: list[Cell] = [shorten(name, _MAX_NAME), *_figures(row, reach, digits)]
        if in_full:
            seen = row.difference
            counts = " · ".join(f"{n}" for n in (seen.wins, seen.ties, seen.losses))
            counts = numbers.MISSING if seen.wins is None else counts
            cells += [counts, numbers.difference(seen.effect), f"{seen.n:,}"]
        body.append(cells)
    unpaired = [row.difference.unpaired for row in rows]
    return TableBlock(
        [*head, *more],
        body,
        caption,
        ["", "", "", "95 % interval", "", "", *([""] * len(more))],
        cards=True,
        remarks=[f"{count:,} unpaired" if count else "" for count in unpaired] if in_full else (),
    )


def _figures(row: MetricRow, reach: float, digits: int = _DIGITS) -> Iterator[Cell]:
    """Yield both values, the change, p and the verdict of a row."""
    seen, outcome = row.difference, words.outcome(row)
    for value in (row.baseline, row.run):
        yield Measure(numbers.score(value, digits), value)
    change = numbers.difference(seen.difference, digits)
    ends = (seen.low, seen.high)
    yield Measure(
        change,
        seen.difference,
        *ends,
        reason="" if row.identical else seen.reason,
        reach=reach,
        digits=digits,
    )
    yield numbers.probability(seen.corrected)
    yield Measure(outcome, best=seen.better or seen.worse)


def _bar_reach(rows: Sequence[MetricRow]) -> float:
    ends = [
        abs(end)
        for row in rows
        for end in (row.difference.low, row.difference.high, row.difference.difference)
        if end is not None
    ]
    return max([_MIN_REACH, *ends])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
