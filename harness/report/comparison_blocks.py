"""Says what a comparison came to: for the terminal, for the page, and tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from harness.comparison.compare_runs import ComparedCells, ComparedRuns, MetricRow
from harness.comparison.operand import Operand
from harness.comparison.paired_values import Gap
from harness.records import Outcome
from harness.report import loss_tables, phrases
from harness.report.document import (
    Block,
    Cell,
    ChartFigure,
    Fold,
    Heading,
    Items,
    Links,
    Measure,
    Paragraph,
    Part,
    Quotation,
    TableBlock,
)
from harness.report.run_view import View
from harness.report.sections import curves_section, oracle, unjudged_section
from harness.store.cell_results import CellResult
from harness.text import numbers
from harness.text.escaping import shorten

_TESTS = {
    "sign-flip": "sign-flip",
    "mcnemar": "McNemar",
    "swap": "swap",
    "wilcoxon": "Wilcoxon",
    "t": "paired t",
}
_CORRECTIONS = {
    "max-t": "max-T",
    "holm": "Holm's correction",
    "bh": "Benjamini and Hochberg's correction",
}
_MAX_NAME, _MAX_TITLE, _MAX_VALUE = 80, 200, 300
_MAX_QUESTIONS = 20
"""Questions lost, and won, that a page shows of a pair of cells."""
_MAX_FULL_PAIRS = 3
"""Of more pairs the terminal shows the deciding metric, and what is shown to differ."""
_MAX_CHANGES, _MAX_BRIEF_CHANGES = 40, 12
_MAX_UNPAIRED = 200
_MAX_HITS, _MAX_HIT, _MAX_QUESTION, _MAX_ANSWER = 5, 240, 400, 1_500
_MIN_REACH = 0.05
"""How far the bars of a table reach to each side at least."""


def blocks(comparison: ComparedRuns) -> list[Block]:
    """Return what the terminal shows: the verdict, a table a pair of cells, and what changed."""
    result = _verdict(comparison)
    for pair in comparison.pairs:
        result += [Heading(title(pair)), *_pair(comparison, pair)]
    if left_out := list(_left_out(comparison)):
        result.append(Items(left_out, "note"))
    if comparison.changes:
        changed = numbers.count(len(comparison.changes), "thing")
        result += [Heading(f"Changed: {changed}"), *_changes(comparison, _MAX_BRIEF_CHANGES)]
    return [*result, Paragraph(method(comparison), "note")]


def tables(comparison: ComparedRuns, digits: int = 4) -> list[Block]:
    """Return the tables of each pair alone, for a paper or a spreadsheet."""
    return [
        _table(rows, first, title(pair), True, digits)
        for pair in comparison.pairs
        for rows, first in ((pair.rows, "Metric"), (pair.segments, "Segment"))
        if rows
    ]


def parts(comparison: ComparedRuns, drawn: bool = True) -> list[Part]:
    """Return the sections of the page: all that is known of both, question by question.

    Not `drawn`: the tables behind charts stand in their place.
    """
    result = [Part("verdict", "Verdict", _verdict(comparison), "Verdict")]
    if not comparison.within:
        same = "Nothing: configuration, data, models, metrics, code and libraries are the same."
        changes = list(_changes(comparison, _MAX_CHANGES)) or [Paragraph(same)]
        result.append(Part("changed", "What changed", changes, "What changed"))
    for number, pair in enumerate(comparison.pairs, start=1):
        contents = [*_pair(comparison, pair, in_full=True), *_details(comparison, pair)]
        short = "Cells" if number == 1 else ""
        result.append(Part(f"pair-{number}", shorten(title(pair), _MAX_TITLE), contents, short))
    result += [] if comparison.within else _both_runs(comparison, drawn)
    reading = (
        f"{method(comparison)} “Not shown” is not “equal”. Before and after are means over "
        "the questions that have a value on both sides."
    )
    left_out = list(_left_out(comparison))
    how: list[Block] = [Paragraph(reading), *([Items(left_out)] if left_out else [])]
    return [*result, Part("method", "How it was compared", how, "Method")]


def _both_runs(comparison: ComparedRuns, drawn: bool) -> Iterator[Part]:
    """Yield what the report of a run shows and no table of differences: of both, one by one."""
    sides = [("Before", comparison.baseline.stored), ("After", comparison.run.stored)]
    views = [(label, View(stored)) for label, stored in sides if stored is not None]
    for name, heading, show in (
        ("curves", "Curves", curves_section.by_k),
        ("potential", "What better retrieval could buy", oracle.blocks),
        ("unjudged", "Results nobody judged", unjudged_section.blocks),
    ):
        contents: list[Block] = []
        for label, view in views:
            if blocks := [one for one in show(view) if not isinstance(one, Links)]:
                contents.append(Heading(label, 3))
            for block in blocks:
                if isinstance(block, ChartFigure):
                    named = replace(block, id=f"{block.id}-{label}")
                    contents.append(named if drawn else block.drawings[0].table)
                else:
                    contents.append(block)
        if contents:
            yield Part(name, heading, contents, heading if name == "curves" else "")


def title(pair: ComparedCells) -> str:
    """Return the names of a pair of cells, once if they are the same."""
    names = pair.pairing
    return names.run if names.run == names.baseline else f"{names.baseline} → {names.run}"


def headline(comparison: ComparedRuns) -> str:
    """Return the verdict in one sentence."""
    nothing = "No difference could be shown."
    if comparison.identical:
        return "Identical in every score."
    if len(comparison.pairs) > 1:
        worse = sum(bool(pair.worse) for pair in comparison.pairs)
        better = sum(bool(pair.better) for pair in comparison.pairs)
        shown = [
            f"{n} of {len(comparison.pairs)} cells {word}" for n, word in _named(worse, better)
        ]
        return f"Shown by some metric: {', '.join(shown)}." if shown else nothing
    pair, by = comparison.pairs[0], comparison.by
    if row := next((row for row in (*pair.worse, *pair.better) if row.metric == by), None):
        seen = row.difference
        size = numbers.score(abs(seen.difference or 0.0), _digits(row))
        if seen.worse:
            return f"Worse: {by} fell by {size}."
        names, note = [row.metric for row in pair.worse], ""
        if len(names) == 1:
            note = f"; {names[0]} is worse"
        elif names:
            note = f"; {len(names)} other metrics are worse, {names[0]} the first of them"
        return f"Better: {by} rose by {size}{note}."
    worse, better = len(pair.worse), len(pair.better)
    shown = [f"{n} {word}" for n, word in _named(worse, better)]
    others = numbers.count(worse + better, "other metric")
    return f"{by} is not shown to differ; of {others}: {', '.join(shown)}." if shown else nothing


def _named(worse: int, better: int) -> list[tuple[int, str]]:
    return [(count, word) for count, word in ((worse, "worse"), (better, "better")) if count]


def sentences(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[str]:
    """Yield what the deciding metric says of one pair, how sure that is, and what people say."""
    row = next((row for row in pair.rows if row.metric == comparison.by), None)
    if row is None or row.difference.difference is None:
        reason = pair.untested.get(comparison.by) or (row.difference.reason if row else "")
        yield f"{comparison.by} is not compared: {reason}."
    else:
        seen, digits = row.difference, _digits(row)
        before, after = (numbers.score(value, digits) for value in (row.baseline, row.run))
        change = numbers.difference(seen.difference, digits)
        yield f"{comparison.by} {before} → {after}: {change} ({_evidence(comparison, row)})."
        if row.identical:
            yield "No question tells the two apart."
        elif not (seen.better or seen.worse):
            yield _undetected(row)
        if seen.unpaired:
            yield f"{numbers.count(seen.unpaired, 'question')} could not be paired."
    if pair.people is not None and pair.people.said:
        yield pair.people.said


def _digits(row: MetricRow) -> int:
    """Return with how many digits a row is written: three where both values are tiny."""
    return 3 if max(row.baseline or 0.0, row.run or 0.0) < 0.1 else 2


def _evidence(comparison: ComparedRuns, row: MetricRow) -> str:
    family, rule = row.difference.family, _CORRECTIONS[comparison.options.method]
    many = f" by {rule} over {family} tests" if family > 1 else ""
    return phrases.describe_evidence(row.difference, _digits(row), many)


def _undetected(row: MetricRow) -> str:
    seen = row.difference
    if seen.visible is None:
        if seen.too_few and seen.test != "wilcoxon":
            return phrases.describe_too_few([seen])
        return "Not shown is not equal."
    sentence = phrases.describe_detectable(seen.n, seen.visible, _digits(row))
    if seen.questions is not None and seen.questions > seen.n:
        sentence += f" About {seen.questions:,} questions would show the one seen."
    return sentence


def _left_out(comparison: ComparedRuns) -> Iterator[str]:
    """Yield what is not compared, and why: questions, metrics and cells of one side alone."""
    for ids, description in (
        (comparison.only_baseline, f"asked by {comparison.baseline.id} alone"),
        (comparison.only_run, f"asked by {comparison.run.id} alone"),
        (comparison.changed, "whose text or gold changed, left out"),
    ):
        if ids:
            more = f", and {len(ids) - _MAX_QUESTIONS:,} more" if len(ids) > _MAX_QUESTIONS else ""
            names = ", ".join(ids[:_MAX_QUESTIONS]) + more
            yield f"{numbers.count(len(ids), 'question')} {description}: {names}"
    for name, reason in comparison.left_out.items():
        yield f"{name} is left out: {reason}"


def method(comparison: ComparedRuns) -> str:
    """Return how it was tested."""
    tests = dict.fromkeys(
        _TESTS[row.difference.test]
        for pair in comparison.pairs
        for row in pair.rows
        if row.difference.test is not None
    )
    sides = f"{comparison.run.id} less {comparison.baseline.id}"
    sides = "the second less the first" if comparison.within else sides
    count = comparison.segment_family
    segments = f", and over the {count} of the segments" if count else ""
    return (
        f"Paired by question, {sides}; tests: {', '.join(tests) or 'none'}; "
        f"{_CORRECTIONS[comparison.options.method]} over the {comparison.family} tests of the "
        f"metrics{segments}; seed {comparison.run.provenance.seed}."
    )


def _verdict(comparison: ComparedRuns) -> list[Block]:
    """Return the verdict, what is compared, and a row a pair where there are several."""
    result: list[Block] = [Heading(shorten(headline(comparison), _MAX_TITLE), 1)]
    if comparison.within:
        name = shorten(comparison.run.id, _MAX_NAME)
        result.append(Paragraph(f"Cells of {name}, side by side."))
    else:
        for label, side in (("Before.", comparison.baseline), ("After.", comparison.run)):
            day = side.started[:16].replace("T", " ")
            day = f"{day} UTC" if day else "no date"
            result.append(Paragraph(f"{shorten(side.id, _MAX_NAME)}, {day}", label=label))
        asked = numbers.count(len(comparison.shared), "question")
        result.append(Paragraph(f"{asked} that both asked."))
    if len(comparison.pairs) > 1:
        result.append(_overview(comparison))
    return result


def _overview(comparison: ComparedRuns) -> TableBlock:
    """Return the deciding metric of each pair, and how many metrics are worse and better."""
    deciding = [
        next((row for row in pair.rows if row.metric == comparison.by), None)
        for pair in comparison.pairs
    ]
    reach = _bar_reach([row for row in deciding if row is not None])
    rows: list[list[Cell]] = []
    for pair, row in zip(comparison.pairs, deciding, strict=True):
        figures = [numbers.MISSING] * 4 if row is None else [*_figures(row, reach)][:4]
        counts = [f"{len(pair.worse)}", f"{len(pair.better)}"]
        rows.append([shorten(title(pair), 2 * _MAX_NAME), *figures, *counts])
    head = ["Cell", "Before", "After", "Change", "p, corrected", "Worse", "Better"]
    notes = ["", "", "", "95 % interval", "", "metrics", "metrics"]
    return TableBlock(head, rows, shorten(comparison.by, _MAX_NAME), notes, cards=True)


def _pair(comparison: ComparedRuns, pair: ComparedCells, in_full: bool = False) -> Iterator[Block]:
    """Yield the sentences and the tables of one pair; in full also what is not shown to differ."""
    yield Paragraph(" ".join(sentences(comparison, pair)))
    many_pairs = len(comparison.pairs) > _MAX_FULL_PAIRS and not in_full
    shown = {id(row) for row in (*pair.rows, *pair.segments) if phrases.format_mark(row.difference)}
    segments = [row for row in pair.segments if in_full or id(row) in shown]
    rows = [
        row
        for row in pair.rows
        if not many_pairs or row.metric == comparison.by or id(row) in shown
    ]
    found: list[Block] = []
    if rows:
        family = f"By metric, one family of {numbers.count(comparison.family, 'test')}"
        found.append(_table(rows, "Metric", family, in_full))
    if segments:
        count = numbers.count(comparison.segment_family, "test")
        caption = f"By segment, a family of its own: {count}"
        found.append(_table(segments, "Segment", caption, in_full))
    if in_full and pair.identical:
        yield Fold("Identical in every score: the tables", found)
    else:
        yield from found
    if len(rows) < len(pair.rows):
        more = numbers.count(len(pair.rows) - len(rows), "more metric")
        yield Paragraph(f"{more} on the page: none is shown to differ")
    lost, won = (numbers.count(len(gaps), "question") for gaps in (pair.lost, pair.won))
    yield Paragraph(f"By {shorten(comparison.by, _MAX_NAME)}: {lost} lost, {won} won.")
    if not many_pairs:
        yield from describe_sides(comparison, pair)
    failed = pair.finished
    if not failed.identical and failed.baseline is not None and failed.run is not None:
        yield Paragraph(
            f"{numbers.percent(1 - failed.baseline)} → {numbers.percent(1 - failed.run)} of the "
            f"questions: {phrases.describe_outcome(failed.difference)} (of the share that "
            f"finished: {_evidence(comparison, failed)}).",
            label="Failed.",
        )


def _details(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[Block]:
    """Yield what the page has of a pair beside its tables: questions, and what is not compared."""
    for gaps, outcome in ((pair.lost, "lost"), (pair.won, "won")):
        if gaps:
            yield Heading(f"{numbers.count(len(gaps), 'question')} {outcome}", 3)
        if len(gaps) > _MAX_QUESTIONS:
            by = shorten(comparison.by, _MAX_NAME)
            more = f"{len(gaps) - _MAX_QUESTIONS:,} more {outcome}"
            yield Paragraph(f"The {_MAX_QUESTIONS} greatest changes of {by}; {more}.", "note")
        for gap in gaps[:_MAX_QUESTIONS]:
            yield question_fold(comparison, pair, gap)
    if pair.untested:
        reasons = [f"{shorten(name, _MAX_NAME)}: {why}" for name, why in pair.untested.items()]
        yield Fold(f"{numbers.count(len(reasons), 'metric')} not compared", [Items(reasons)])
    if pair.unpaired:
        lines = [
            f"{shorten(one.question, _MAX_NAME)}, {shorten(one.metric, _MAX_NAME)}: "
            f"the {one.missing} has no value, {shorten(one.reason, _MAX_VALUE)}"
            for one in pair.unpaired[:_MAX_UNPAIRED]
        ]
        more_unpaired = len(pair.unpaired) - len(lines)
        lines += [f"{more_unpaired:,} more"] if more_unpaired else []
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
    rows: Sequence[MetricRow], first: str, caption: str, in_full: bool, digits: int = 3
) -> TableBlock:
    reach = _bar_reach(rows)
    head = [first, "Before", "After", "Change", "p, corrected", "Verdict"]
    head += ["Won · tied · lost", "Effect, d_z", "n"] if in_full else []
    body: list[list[Cell]] = []
    for row in rows:
        name, seen = f"{row.segment}: {row.metric}" if row.segment else row.metric, row.difference
        cells: list[Cell] = [shorten(name, _MAX_NAME), *_figures(row, reach, digits)]
        if in_full:
            counts = f"{seen.wins} · {seen.ties} · {seen.losses}"
            cells += [numbers.MISSING if seen.wins is None else counts]
            cells += [numbers.difference(seen.effect), numbers.whole(seen.n)]
        body.append(cells)
    notes = ["95 % interval" if name == "Change" else "" for name in head]
    unpaired = [row.difference.unpaired for row in rows]
    remarks = [f"{count:,} unpaired" if count else "" for count in unpaired] if in_full else []
    return TableBlock(head, body, caption, notes, cards=True, remarks=remarks)


def _figures(row: MetricRow, reach: float, digits: int = 3) -> Iterator[Cell]:
    """Yield both values, the change, p and the verdict of a row."""
    for value in (row.baseline, row.run):
        yield Measure(numbers.score(value, digits), value)
    yield from change_cells(row, reach, digits)


def change_cells(row: MetricRow, reach: float, digits: int) -> Iterator[Cell]:
    """Yield the change, p and the verdict of a row."""
    seen = row.difference
    yield Measure(
        numbers.difference(seen.difference, digits),
        seen.difference,
        seen.low,
        seen.high,
        reason="" if row.identical else seen.reason,
        reach=reach,
        digits=digits,
    )
    yield numbers.probability(seen.corrected)
    yield Measure(phrases.describe_outcome(seen), best=seen.better or seen.worse)


def _bar_reach(rows: Sequence[MetricRow]) -> float:
    seen = [row.difference for row in rows]
    ends = [end for one in seen for end in (one.low, one.high, one.difference) if end is not None]
    return max([_MIN_REACH, *map(abs, ends)])


def describe_sides(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[Block]:
    """Yield what a question took on both sides, and where both lost their questions."""
    sides = [
        ("Before", comparison.baseline, pair.pairing.baseline),
        ("After", comparison.run, pair.pairing.run),
    ]
    columns = [list(_expenses(side, name)) for _, side, name in sides]
    head = ["Seconds, median", "Tokens, mean", "Money, mean"]
    head += ["Retrieval, mean", "Generation, mean", "Chunks", "Index recall"]
    rows = [
        [name, *texts]
        for name, *texts in zip(head, *columns, strict=True)
        if set(texts) != {numbers.MISSING}
    ]
    if rows:
        yield TableBlock(["What a question took", "Before", "After"], rows)
    stored = [
        (label, View(side.stored), cell)
        for label, side, name in sides
        if side.stored is not None and (cell := _stored_cell(side, name)) is not None
    ]
    if len(stored) == 2:
        yield from loss_tables.by_side(stored)


def _expenses(side: Operand, name: str) -> Iterator[str]:
    """Yield what a question took on one side, and how large and exact its index is."""
    cell, stored = side.cells[name], _stored_cell(side, name)
    tokens = cell.cost("tokens")
    prices = None if side.stored is None else side.stored.run.prices
    yield numbers.seconds(cell.cost("seconds"))
    yield numbers.whole(tokens)
    yield numbers.money(cell.cost("money"), "" if prices is None else prices.currency).strip()
    for stage in ("retrieval", "generation"):
        yield numbers.seconds(None if stored is None else stored.seconds.get(stage))
    yield numbers.whole(stored.chunks) if stored is not None and stored.chunks else numbers.MISSING
    recall = None if stored is None else stored.index_recall
    yield numbers.MISSING if recall is None else f"{numbers.score(recall.mean)} @{recall.k}"


def _stored_cell(side: Operand, name: str) -> CellResult | None:
    cells = () if side.stored is None else side.stored.run.cells
    return next((cell for cell in cells if cell.name == name), None)


def question_fold(comparison: ComparedRuns, pair: ComparedCells, gap: Gap) -> Fold:
    """Return one question: what both sides answered, and their first hits side by side."""
    stored = comparison.run.stored or comparison.baseline.stored
    question = None if stored is None else stored.questions[gap.question]
    category = comparison.run.questions[gap.question].category or ""
    answers = (
        [] if question is None else [shorten(text, _MAX_QUESTION) for text in question.answers]
    )
    wanted = f"wanted: {' / '.join(answers)}" if answers else ""
    about = [shorten(gap.question, _MAX_NAME), shorten(category, _MAX_NAME), wanted]
    contents: list[Block] = [Paragraph(" · ".join(filter(None, about)), "note")]
    values = [numbers.score(value, 2) for value in (gap.baseline, gap.run)]
    hits = []
    for label, side, cell in (
        (f"Before {values[0]}", comparison.baseline, pair.pairing.baseline),
        (f"After {values[1]}", comparison.run, pair.pairing.run),
    ):
        record = None if side.stored is None else side.stored.record(cell, gap.question)
        if record is None:
            contents.append(Paragraph(f"{label}: ranking and answer are not stored.", "note"))
        elif record.answer is not None:
            contents.append(Quotation(label, shorten(record.answer, _MAX_ANSWER) or "(empty)"))
        hits.append([] if record is None else _hits(side, record))
    if any(hits):
        rows = [[f"{rank}", *both] for rank, both in enumerate(zip_longest(*hits, fillvalue=""), 1)]
        head = ["Rank", "Before", "After"]
        contents.append(TableBlock(head, rows, "✓ is relevant", numeric=False))
    text = shorten(gap.question if question is None else question.text, _MAX_QUESTION)
    return Fold(f"{values[0]} → {values[1]} · {text}", contents)


def _hits(side: Operand, record: Outcome) -> list[str]:
    """Return the first hits of a ranking: the document, and how its text begins."""
    assert side.stored is not None
    texts = side.stored.texts
    return [
        f"{'✓ ' if hit.grade else ''}{shorten(hit.doc, _MAX_NAME)}: "
        f"{shorten(texts[hit.doc, hit.start, hit.end], _MAX_HIT)}"
        for hit in (record.hits[:_MAX_HITS] if record.ranked else ())
    ]
