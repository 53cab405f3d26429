"""Sentences on what better retrieval could gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.report.charts.chart_cells import short_name
from harness.report.potential import MeasureRow, Potential
from harness.report.potential_scores import RIGHT
from harness.report.run_view import View
from harness.text import numbers


def sentences(view: View, potential: Potential, several: bool = False) -> Iterator[str]:
    """Yield what the first measure of one generator says; `several`: name the generator."""
    if not potential.rows:
        return
    row = potential.rows[0]
    whom = f"With {potential.generator}, perfect" if several else "Perfect"
    gain, alone = _gain_clause(view, row), _alone_clause(view, row)
    yield f"{whom} retrieval, the gold passages alone, {gain}; {alone}."
    asked = describe_asked(potential)
    if potential.asked < potential.askable:
        yield f"Only {asked} were asked with their gold passages: the run was ended early."
    if potential.declined:
        floor = " It only copies sentences: it is a floor." if potential.cell.copies else ""
        yield f"Even with them it declined {potential.declined:,} of {asked}.{floor}"
    if row.retrieved is not None and not row.retrieved.better:
        more = numbers.difference(row.retrieved.difference, digits(view, row))
        span = _format_interval(view, row.retrieved.low, row.retrieved.high, row)
        name = measure_name(row)
        yield f"What is retrieved is not shown to raise {name} either ({more}, {span})."


def headline(view: View, potentials: Sequence[Potential]) -> str:
    """Return in a few words what there is to see, of the first generator."""
    first = next((potential for potential in potentials if potential.rows), None)
    if first is None:
        return "What better retrieval could buy"
    row = first.rows[0]
    whom = f" with {short_name(first.generator)}" if len(potentials) > 1 else ""
    if row.gain.better:
        gain = numbers.score(row.gain.difference, digits(view, row))
        return f"Perfect retrieval would raise {measure_name(row)} by {gain}{whom}"
    return f"Perfect retrieval is not shown to raise {measure_name(row)}{whom}"


def summary_line(view: View, potential: Potential) -> str:
    """Return the same as one line for a terminal."""
    row = potential.rows[0]
    digit_count = digits(view, row)
    means = [numbers.score(mean, digit_count) for mean in (row.nothing.mean, *row.finished)]
    early = (
        f"; {describe_asked(potential)} were asked" if potential.asked < potential.askable else ""
    )
    gain = numbers.difference(row.gain.difference, digit_count)
    return (
        f"{short_name(potential.generator)}: {row.name} {means[0]} without retrieval, {means[1]} "
        f"as retrieved, {means[2]} with the gold passages alone ({gain}, "
        f"{_format_interval(view, row.gain.low, row.gain.high, row)}; n = {row.gain.n:,}{early})"
    )


def measure_name(row: MeasureRow) -> str:
    """Return a measure as it stands in a sentence."""
    return f"the share {RIGHT}" if row.name == RIGHT else row.name


def digits(view: View, row: MeasureRow) -> int:
    """Return with how many digits a measure is written."""
    return view.digits(row.name) if row.name in view.metrics else 2


def _gain_clause(view: View, row: MeasureRow) -> str:
    digit_count = digits(view, row)
    before, after = (numbers.score(mean, digit_count) for mean in row.finished)
    gain = numbers.difference(row.gain.difference, digit_count)
    span = _format_interval(view, row.gain.low, row.gain.high, row)
    if row.gain.better:
        return f"would raise {measure_name(row)} from {before} to {after} ({gain}, {span})"
    if row.gain.worse:
        return (
            f"would lower {measure_name(row)}, from {before} to {after} ({gain}, {span}): what is "
            "retrieved holds more than the gold passages do"
        )
    return (
        f"is not shown to raise {measure_name(row)}: {after} with it, {before} as retrieved "
        f"({gain}, {span})"
    )


def describe_asked(potential: Potential) -> str:
    """Return how many questions were asked with their evidence; of how many, if not all were."""
    of = f"{potential.asked:,} of " if potential.asked < potential.askable else ""
    return f"{of}{numbers.count(potential.askable, 'question')}"


def _alone_clause(view: View, row: MeasureRow) -> str:
    if row.nothing.mean is None:
        return "what the model reaches alone was not measured"
    reached = numbers.score(row.nothing.mean, digits(view, row))
    return f"the model alone, without any context, reaches {reached}"


def _format_interval(view: View, low: float | None, high: float | None, row: MeasureRow) -> str:
    if low is None or high is None:
        return "no interval"
    return numbers.between(low, high, digits(view, row))
