"""What better retrieval could buy, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import numbers
from harness.report.charts.cells import short
from harness.report.potential import Potential, Row
from harness.report.potentialsides import RIGHT
from harness.report.view import View


def sentences(view: View, each: Potential, several: bool = False) -> Iterator[str]:
    """Yield what the first measure of one generator says; `several`: name the generator."""
    if not each.rows:
        return
    row = each.rows[0]
    whom = f"With {each.generator}, perfect" if several else "Perfect"
    yield f"{whom} retrieval, the gold passages alone, {_gain(view, row)}; {_alone(view, row)}."
    if each.asked < each.askable:
        yield f"Only {asked(each)} were asked with their gold passages: the run was ended early."
    if each.declined:
        floor = " It only copies sentences: it is a floor." if each.cell.copies else ""
        yield f"Even with them it declined {each.declined:,} of {asked(each)}.{floor}"
    if row.retrieved is not None and not row.retrieved.better:
        more = numbers.difference(row.retrieved.difference, digits(view, row))
        span = _span(view, row.retrieved.low, row.retrieved.high, row)
        yield f"What is retrieved is not shown to raise {named(row)} either ({more}, {span})."


def headline(view: View, found: Sequence[Potential]) -> str:
    """Return in a few words what there is to see, of the first generator."""
    first = next((each for each in found if each.rows), None)
    if first is None:
        return "What better retrieval could buy"
    row = first.rows[0]
    whom = f" with {short(first.generator)}" if len(found) > 1 else ""
    if row.gain.better:
        gain = numbers.score(row.gain.difference, digits(view, row))
        return f"Perfect retrieval would raise {named(row)} by {gain}{whom}"
    return f"Perfect retrieval is not shown to raise {named(row)}{whom}"


def line(view: View, each: Potential) -> str:
    """Return the same as one line for a terminal."""
    row = each.rows[0]
    place = digits(view, row)
    means = [numbers.score(mean, place) for mean in (row.nothing.mean, *row.finished)]
    early = f"; {asked(each)} were asked" if each.asked < each.askable else ""
    gain = numbers.difference(row.gain.difference, place)
    return (
        f"{short(each.generator)}: {row.name} {means[0]} without retrieval, {means[1]} as "
        f"retrieved, {means[2]} with the gold passages alone ({gain}, "
        f"{_span(view, row.gain.low, row.gain.high, row)}; n = {row.gain.n:,}{early})"
    )


def named(row: Row) -> str:
    """Return a measure as it stands in a sentence."""
    return f"the share {RIGHT}" if row.name == RIGHT else row.name


def digits(view: View, row: Row) -> int:
    """Return with how many digits a measure is written."""
    return view.digits(row.name) if row.name in view.metrics else 2


def _gain(view: View, row: Row) -> str:
    place = digits(view, row)
    here, there = (numbers.score(mean, place) for mean in row.finished)
    gain = numbers.difference(row.gain.difference, place)
    span = _span(view, row.gain.low, row.gain.high, row)
    if row.gain.better:
        return f"would raise {named(row)} from {here} to {there} ({gain}, {span})"
    if row.gain.worse:
        return (
            f"would lower {named(row)}, from {here} to {there} ({gain}, {span}): what is retrieved "
            "holds more than the gold passages do"
        )
    return (
        f"is not shown to raise {named(row)}: {there} with it, {here} as retrieved ({gain}, {span})"
    )


def asked(each: Potential) -> str:
    """Return how many questions were asked with their evidence; of how many, if not all were."""
    of = f"{each.asked:,} of " if each.asked < each.askable else ""
    return f"{of}{numbers.count(each.askable, 'question')}"


def _alone(view: View, row: Row) -> str:
    if row.nothing.mean is None:
        return "what the model reaches alone was not measured"
    reached = numbers.score(row.nothing.mean, digits(view, row))
    return f"the model alone, without any context, reaches {reached}"


def _span(view: View, low: float | None, high: float | None, row: Row) -> str:
    if low is None or high is None:
        return "no interval"
    return numbers.between(low, high, digits(view, row))
