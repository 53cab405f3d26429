"""Sentences on what better retrieval could gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.report.charts.lettering import short_name
from harness.report.run_view import View
from harness.runs.oracle.potential import RIGHT, MeasureRow, Potential
from harness.stats.difference_estimate import DifferenceEstimate
from harness.text import numbers


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
