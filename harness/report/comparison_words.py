"""Describes a comparison in words: what is shown, how sure it is, and what could be detected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.comparison.compare_runs import ComparedCells, ComparedRuns, MetricRow
from harness.text import numbers

TESTS = {
    "sign-flip": "sign-flip",
    "mcnemar": "McNemar",
    "swap": "swap",
    "wilcoxon": "Wilcoxon",
    "t": "paired t",
}
CORRECTIONS = {
    "max-t": "max-T",
    "holm": "Holm's correction",
    "bh": "Benjamini and Hochberg's correction",
}


def digits(row: MetricRow) -> int:
    """Return with how many digits a row is written: three where both values are tiny."""
    return 3 if max(row.baseline or 0.0, row.run or 0.0) < 0.1 else 2


def outcome(row: MetricRow) -> str:
    """Return what is shown of one row: identical, better, worse, or no difference."""
    difference = row.difference
    if difference.difference is None:
        return "not compared"
    if row.identical:
        return "identical"
    return "better" if difference.better else "worse" if difference.worse else "not shown"


def title(pair: ComparedCells) -> str:
    """Return the names of a pair of cells, once if they are the same."""
    names = pair.pairing
    return names.run if names.run == names.baseline else f"{names.baseline} → {names.run}"


def headline(comparison: ComparedRuns) -> str:
    """Return the verdict in one sentence."""
    if comparison.identical:
        return "Identical in every score."
    if len(comparison.pairs) == 1:
        return _single_pair_headline(comparison, comparison.pairs[0])
    worse = sum(bool(pair.worse) for pair in comparison.pairs)
    better = sum(bool(pair.better) for pair in comparison.pairs)
    counts = (("worse", worse), ("better", better))
    parts = [f"{count} of {len(comparison.pairs)} cells {word}" for word, count in counts if count]
    if not parts:
        return "No difference could be shown."
    return f"Shown by some metric: {', '.join(parts)}."


def _single_pair_headline(comparison: ComparedRuns, pair: ComparedCells) -> str:
    others = {row.metric: row for row in (*pair.worse, *pair.better)}
    by = others.pop(comparison.by, None)
    if by is not None:
        outcome_word = "Worse" if by.difference.worse else "Better"
        verb = "fell" if by.difference.worse else "rose"
        size = numbers.score(abs(by.difference.difference or 0.0), digits(by))
        note = _worse_metrics_note(by, pair.worse)
        return f"{outcome_word}: {comparison.by} {verb} by {size}{note}."
    worse, better = len(pair.worse), len(pair.better)
    parts = [f"{count} {word}" for count, word in ((worse, "worse"), (better, "better")) if count]
    if parts:
        others_text = numbers.count(worse + better, "other metric")
        return f"{comparison.by} is not shown to differ; of {others_text}: {', '.join(parts)}."
    return "No difference could be shown."


def _worse_metrics_note(by: MetricRow, worse: Sequence[MetricRow]) -> str:
    """Return which other metrics are worse, where the deciding one is better."""
    if by.difference.worse or not worse:
        return ""
    if len(worse) == 1:
        return f"; {worse[0].metric} is worse"
    return f"; {len(worse)} other metrics are worse, {worse[0].metric} the first of them"


def sentences(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[str]:
    """Yield what the deciding metric says of one pair, how sure that is, and what people say."""
    yield from _deciding_sentences(comparison, pair)
    if pair.people is not None and pair.people.said:
        yield pair.people.said


def _deciding_sentences(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[str]:
    row = next((row for row in pair.rows if row.metric == comparison.by), None)
    if row is None or row.difference.difference is None:
        reason = pair.untested.get(comparison.by) or (row.difference.reason if row else "")
        yield f"{comparison.by} is not compared: {reason}."
        return
    estimate = row.difference
    before, after = (numbers.score(value, digits(row)) for value in (row.baseline, row.run))
    change = numbers.difference(estimate.difference, digits(row))
    yield f"{comparison.by} {before} → {after}: {change} ({evidence(comparison, row)})."
    if row.identical:
        yield "No question tells the two apart."
    elif not (estimate.better or estimate.worse):
        yield _undetected_sentence(row)
    if estimate.unpaired:
        yield f"{numbers.count(estimate.unpaired, 'question')} could not be paired."


def evidence(comparison: ComparedRuns, row: MetricRow) -> str:
    """Return interval, corrected p and n of one row."""
    difference = row.difference
    ends = numbers.between(difference.low, difference.high, digits(row))
    interval = (
        f"95 % interval {ends}"
        if difference.low is not None
        else f"no interval: {difference.reason}"
    )
    p = numbers.probability(difference.corrected)
    rule = CORRECTIONS[comparison.options.method]
    many = f" by {rule} over {difference.family} tests" if difference.family > 1 else ""
    return f"{interval}, p {p if p.startswith('<') else f'= {p}'}{many}, n = {difference.n:,}"


def _undetected_sentence(row: MetricRow) -> str:
    difference = row.difference
    if difference.visible is None:
        if difference.too_few and difference.test != "wilcoxon":
            clustered = difference.units != difference.n
            unit_name = "clusters of questions" if clustered else "questions"
            return f"With this few {unit_name} no difference, however large, could be shown."
        return "Not shown is not equal."
    size = numbers.score(difference.visible, digits(row))
    sentence = (
        f"With n = {difference.n:,}, a difference of {size} would be found four times in five, a "
        "smaller one less often: not shown is not equal."
    )
    if difference.questions is not None and difference.questions > difference.n:
        sentence += f" About {difference.questions:,} questions would show the one seen."
    return sentence


def list_left_out(comparison: ComparedRuns) -> Iterator[str]:
    """Yield what is not compared, and why: questions, metrics and cells of one side alone."""
    for ids, description in (
        (comparison.only_baseline, f"asked by {comparison.baseline.id} alone"),
        (comparison.only_run, f"asked by {comparison.run.id} alone"),
        (comparison.changed, "whose text or gold changed, left out"),
    ):
        if ids:
            yield f"{numbers.count(len(ids), 'question')} {description}: {list_names(ids)}"
    for name, reason in comparison.left_out.items():
        yield f"{name} is left out: {reason}"


def list_names(ids: Sequence[str], max_names: int = 20) -> str:
    """Return the first of many names, and how many more there are."""
    more = f", and {len(ids) - max_names:,} more" if len(ids) > max_names else ""
    return ", ".join(ids[:max_names]) + more


def method(comparison: ComparedRuns) -> str:
    """Return how it was tested."""
    tests = dict.fromkeys(
        TESTS[row.difference.test]
        for pair in comparison.pairs
        for row in pair.rows
        if row.difference.test is not None
    )
    rule = CORRECTIONS[comparison.options.method]
    pairing = f"Paired by question, {comparison.run.id} less {comparison.baseline.id}"
    if comparison.within:
        pairing = "Paired by question, the second less the first"
    count = comparison.segment_family
    segments = f", and over the {count} of the segments" if count else ""
    return (
        f"{pairing}; tests: {', '.join(tests) or 'none'}; "
        f"{rule} over the {comparison.family} tests of the metrics{segments}; "
        f"seed {comparison.run.provenance.seed}."
    )
