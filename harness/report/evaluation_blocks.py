"""Turns evaluations into tables of means, several runs with their tests against the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.comparison.compare_runs import ComparedRuns
from harness.report import phrases
from harness.report.comparison import row_data
from harness.report.comparison_blocks import change_cells, method
from harness.report.document import Block, Cell, Items, Measure, Paragraph, TableBlock
from harness.runs.evaluation import Evaluation
from harness.text import numbers

_DIGITS = 4
"""As trec_eval and papers print."""
_MAX_MISSING = 10


def scores(evaluation: Evaluation) -> Iterator[Block]:
    """Yield the mean of each metric, and the questions that the system has nothing for."""
    rows: list[list[Cell]] = []
    for (name, text, _, counts), line in zip(
        evaluation.rows(), evaluation.means.values(), strict=True
    ):
        rows.append([name, Measure(text, line.mean, line.low, line.high, digits=_DIGITS), counts])
    judged_by = f"judged by {evaluation.judged_by}, " if evaluation.judged_by else ""
    head = ["metric", "mean", "it rests on"]
    yield TableBlock(head, rows, f"{judged_by}95 % interval", numeric=False)
    if evaluation.missing:
        text = _list_missing(evaluation.missing)
        yield Paragraph(text, label="missing, counted as 0:")


def several(evaluations: Mapping[str, Evaluation], compared: ComparedRuns) -> list[Block]:
    """Return a row of means for each run, then each difference from the first run."""
    first = next(iter(evaluations))
    result: list[Block] = [
        _means(evaluations, compared),
        Paragraph(
            f"+ and {numbers.MINUS}: shown to be better or worse than {first}, after correction.",
            "note",
        ),
        _differences(first, compared),
        Paragraph(method(compared), "note"),
    ]
    missing = list(_describe_missing(evaluations))
    return [*result, *([Items(missing, "warning")] if missing else [])]


def several_as_dict(
    evaluations: Mapping[str, Evaluation], compared: ComparedRuns
) -> dict[str, Any]:
    """Return both as plain data, fit for JSON: `runs` by name, and `differences` from the first."""
    return {
        "runs": {name: evaluation.as_dict() for name, evaluation in evaluations.items()},
        "differences": {
            pair.pairing.run: {row.metric: row_data(row) for row in pair.rows}
            for pair in compared.pairs
        },
    }


def _means(evaluations: Mapping[str, Evaluation], compared: ComparedRuns) -> TableBlock:
    metrics = list(next(iter(evaluations.values())).means)
    shown = {
        (pair.pairing.run, row.metric): row.difference
        for pair in compared.pairs
        for row in pair.rows
    }
    rows: list[list[Cell]] = []
    for name, evaluation in evaluations.items():
        cells: list[Cell] = [name]
        for metric in metrics:
            mean = evaluation.means[metric].mean
            others = [other.means[metric].mean for other in evaluations.values()]
            mark = phrases.format_mark(shown.get((name, metric)))
            best = mean is not None and mean == max(x for x in others if x is not None)
            text = numbers.score(mean, _DIGITS)
            cells.append(Measure(text, mean, best=best, beats=mark, digits=_DIGITS))
        rows.append(cells)
    judged_by = next(iter(evaluations.values())).judged_by
    return TableBlock(["run", *metrics], rows, f"Means, judged by {judged_by}" if judged_by else "")


def _differences(first: str, compared: ComparedRuns) -> TableBlock:
    rows: list[list[Cell]] = []
    for pair in compared.pairs:
        for row in pair.rows:
            change, p, outcome = change_cells(row, 1.0, _DIGITS)
            n = numbers.whole(row.difference.n)
            rows.append([pair.pairing.run, row.metric, change, p, n, outcome])
    head = ["run", "metric", "difference", "p, corrected", "n", "verdict"]
    caption = f"Difference from {first}, with its 95 % interval, on the questions that both have"
    return TableBlock(head, rows, caption)


def _describe_missing(evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    for name, evaluation in evaluations.items():
        if evaluation.missing:
            missing = _list_missing(evaluation.missing)
            yield f"{name}: missing, counted as 0 in the means: {missing}"


def _list_missing(ids: Sequence[str]) -> str:
    names = ", ".join([*ids[:_MAX_MISSING], *["…"] * (len(ids) > _MAX_MISSING)])
    return f"{numbers.count(len(ids), 'question')}: {names}"
