"""A comparison in words: what is shown, how sure, and what could have been seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import numbers
from harness.comparing.comparison import Compared, Comparison, Row
from harness.statistics import power
from harness.statistics.difference import ALARMS

TESTS = {
    "sign-flip": "sign-flip",
    "mcnemar": "McNemar",
    "swap": "swap",
    "wilcoxon": "Wilcoxon",
    "t": "paired t",
}
CORRECTIONS = {"holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction"}


def digits(row: Row) -> int:
    """Return with how many digits a row is written: three where both values are tiny."""
    return 3 if max(row.baseline or 0.0, row.run or 0.0) < 0.1 else 2


def outcome(row: Row) -> str:
    """Return what is shown of one row: identical, better, worse, or no difference."""
    seen = row.difference
    if seen.difference is None:
        return "not compared"
    if row.identical:
        return "identical"
    return "better" if seen.better else "worse" if seen.worse else "not shown"


def title(pair: Compared) -> str:
    """Return the names of a pair of cells, once if they are the same."""
    names = pair.pairing
    return names.run if names.run == names.baseline else f"{names.baseline} → {names.run}"


def against(found: Comparison) -> str:
    """Return what the run is held against; a baseline that was promoted is called one already."""
    name = found.baseline.id
    return name if name.startswith("baseline ") else f"baseline {name}"


def headline(found: Comparison) -> str:
    """Return the verdict in one sentence."""
    if found.identical:
        return "Identical in every score."
    if len(found.pairs) == 1:
        return _of_one(found, found.pairs[0])
    worse = sum(bool(pair.worse) for pair in found.pairs)
    better = sum(bool(pair.better) for pair in found.pairs)
    counts = (("worse", worse), ("better", better))
    shown = [f"{count} of {len(found.pairs)} cells {word}" for word, count in counts if count]
    if not shown:
        return "No difference could be shown."
    return f"Shown by some metric: {', '.join(shown)}."


def _of_one(found: Comparison, pair: Compared) -> str:
    others = {row.metric: row for row in (*pair.worse, *pair.better)}
    by = others.pop(found.by, None)
    if by is not None:
        said = "Worse" if by.difference.worse else "Better"
        verb = "fell" if by.difference.worse else "rose"
        size = numbers.score(abs(by.difference.difference or 0.0), digits(by))
        return f"{said}: {found.by} {verb} by {size}{_against_better(by, pair.worse)}."
    worse, better = len(pair.worse), len(pair.better)
    shown = [f"{count} {word}" for count, word in ((worse, "worse"), (better, "better")) if count]
    if shown:
        what = numbers.count(worse + better, "other metric")
        return f"{found.by} is not shown to differ; of {what}: {', '.join(shown)}."
    return "No difference could be shown."


def _against_better(by: Row, worse: Sequence[Row]) -> str:
    """Return which other metrics are worse, where the deciding one is better."""
    if by.difference.worse or not worse:
        return ""
    if len(worse) == 1:
        return f"; {worse[0].metric} is worse"
    return f"; {len(worse)} other metrics are worse, {worse[0].metric} the first of them"


def sentences(found: Comparison, pair: Compared) -> Iterator[str]:
    """Yield what the deciding metric says of one pair, how sure that is, and what people say."""
    yield from _deciding(found, pair)
    if pair.people is not None and pair.people.said:
        yield pair.people.said


def _deciding(found: Comparison, pair: Compared) -> Iterator[str]:
    row = next((row for row in pair.rows if row.metric == found.by), None)
    if row is None or row.difference.difference is None:
        reason = pair.untested.get(found.by) or (row.difference.reason if row else "")
        yield f"{found.by} is not compared: {reason}."
        return
    seen = row.difference
    before, after = (numbers.score(each, digits(row)) for each in (row.baseline, row.run))
    change = numbers.difference(seen.difference, digits(row))
    yield f"{found.by} {before} → {after}: {change} ({evidence(found, row)})."
    if row.identical:
        yield "No question tells the two apart."
    elif not (seen.better or seen.worse):
        yield _hidden(row, _units(found, row))
    if seen.unpaired:
        yield f"{numbers.count(seen.unpaired, 'question')} could not be paired."


def evidence(found: Comparison, row: Row) -> str:
    """Return interval, corrected p and n of one row."""
    seen = row.difference
    ends = numbers.between(seen.low, seen.high, digits(row))
    known = f"95 % interval {ends}" if seen.low is not None else f"no interval: {seen.reason}"
    p = numbers.probability(seen.corrected)
    rule = CORRECTIONS[found.options.correction]
    many = f" after {rule} for {seen.family} tests" if seen.family > 1 else ""
    return f"{known}, p {p if p.startswith('<') else f'= {p}'}{many}, n = {seen.n:,}"


def _units(found: Comparison, row: Row) -> int:
    """Return how many are drawn: the clusters of the questions, where whole ones are."""
    sides = [
        side
        for side in (found.run, found.baseline)
        if any(each.cluster for each in side.questions.values())
    ]
    if not sides:
        return row.difference.n
    asked = sides[0].questions
    return min(row.difference.n, len({asked[id_].cluster or id_ for id_ in found.shared}))


def _hidden(row: Row, units: int) -> str:
    seen = row.difference
    if seen.visible is None:
        if seen.test == "wilcoxon":
            return "Not shown is not equal."
        if power.too_few(units, ALARMS / max(seen.family, 1)):
            what = "questions" if units == seen.n else "clusters of questions"
            return f"With this few {what} no difference, however large, could be shown."
        return "Not shown is not equal."
    size = numbers.score(seen.visible, digits(row))
    said = (
        f"With n = {seen.n:,}, a difference of {size} would be found four times in five, a smaller "
        "one less often: not shown is not equal."
    )
    if seen.questions is not None and seen.questions > seen.n:
        said += f" About {seen.questions:,} questions would show the one seen."
    return said


def unshared(found: Comparison) -> Iterator[str]:
    """Yield what is not compared, and why: questions, metrics and cells of one side alone."""
    for ids, said in (
        (found.only_baseline, f"asked by {found.baseline.id} alone"),
        (found.only_run, f"asked by {found.run.id} alone"),
        (found.changed, "whose text or gold changed, left out"),
    ):
        if ids:
            yield f"{numbers.count(len(ids), 'question')} {said}: {named(ids)}"
    for name, why in found.left_out.items():
        yield f"{name} is left out: {why}"


def named(ids: Sequence[str], most: int = 20) -> str:
    """Return the first of many names, and how many more there are."""
    more = f", and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more


def method(found: Comparison) -> str:
    """Return how it was tested."""
    tests = dict.fromkeys(
        TESTS[row.difference.test]
        for pair in found.pairs
        for row in pair.rows
        if row.difference.test is not None
    )
    rule = CORRECTIONS[found.options.correction]
    said = f"Paired by question, {found.run.id} less {found.baseline.id}"
    if found.within:
        said = "Paired by question, the second cell less the first"
    return (
        f"{said}; tests: {', '.join(tests) or 'none'}; {rule} over the {found.family} tests of the "
        f"metrics, and over the {found.segment_family} of the segments; "
        f"seed {found.run.provenance.seed}."
    )
