"""Glossary entries of what is no metric: how means, marks and losses are to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import bands
from harness.dcg import dcg
from harness.metrics import Metric
from harness.records import LostAt
from harness.report.blocks import Entry, Table
from harness.report.charts import losses
from harness.report.view import View
from harness.statistics import intervals, signflip

_LOST: Mapping[LostAt, str] = {
    "chunking": "no passage of the group is whole in any single chunk, nor in those retrieved",
    "index": "exact search would have retrieved it, the approximate index did not",
    "retrieval": "it was not retrieved",
    "reranking": "it was retrieved, and the reranker did not leave it among the first",
    "context": "it was among the first, and did not fit into the prompt",
    "generation": "all groups were in the prompt, and the question was not answered",
    "none": "it was answered; without a generator, all groups were delivered",
}
_RANKS = range(1, 21)


def terms(view: View, built: Mapping[str, Metric]) -> Iterator[Entry]:
    """Yield the entries that this run needs; `built` holds its metrics by their names."""
    resolved = view.run.config.get("resolved", {})
    yield _n()
    yield _interval(bool(resolved.get("clusters")))
    if len(view.run.cells) > 1:
        yield _test(view.run.baseline is not None)
    if losses.known(view):
        yield _lost(resolved)
    if any(line.labels == "documents" for line in view.run.provenance.metrics.values()):
        yield _judged()
    names = dict.fromkeys(metric.name for metric in built.values())
    if banded := [name for name in names if bands.scale(name)]:
        yield _bands(banded)
    if view.run.targets:
        yield _targets(view.run.targets)
    if any(hasattr(metric, "k") for metric in built.values()):
        yield _k(resolved)
    yield Entry(
        "Discount",
        "What a relevant result counts in DCG at a rank, against one at rank 1.",
        "1 / log₂(rank + 1)",
        "At rank 3: 1 / log₂(3 + 1) = 0.5.",
    )


def discounts() -> Table:
    """Return the table of discounts for the first ranks."""
    rows = [[str(rank), f"{dcg([(rank, 1)]):.4f}"] for rank in _RANKS]
    return Table(["Rank", "1 / log₂(rank + 1)"], rows)


def worded(scale: Sequence[bands.Band]) -> str:
    """Return the words of a scale, each with the least mean that it is for."""
    *first, (_, last) = scale
    said = [f"{word} from {least:.2g}" for least, word in first]
    return f"{', '.join(said)}, below {last}"


def _n() -> Entry:
    return Entry(
        "n",
        "How many questions a mean is over: those that were scored and those that failed.",
        "n = scored + failed",
        rows=[
            ("Failed", "the system gave up on the question: it counts 0, as the user got nothing"),
            ("Not scored", "the metric does not apply, or its label is missing: not in the mean"),
            ("Judge failed", "no verdict could be read: not in the mean"),
        ],
    )


def _interval(clusters: bool) -> Entry:
    drawn = "Questions that share evidence are drawn together."
    return Entry(
        "Interval",
        "Where the mean would lie with other questions like these, with 95 % confidence.",
        f"BCa bootstrap over questions, {intervals.DRAWS:,} draws; Wilson where the scores are "
        "only 0 and 1, or 90 % of them are one value; [0.025^(1/n), 1] where all are 1",
        "20 questions that all score 1: from 0.025^(1/20) = 0.832 to 1.",
        [
            ("None", f"under {intervals.FEWEST} questions, or where all have one other score"),
            ("Two that overlap", "may still differ: differences are tested question by question"),
            *([("Clusters", drawn)] if clusters else []),
        ],
    )


def _test(baseline: bool) -> Entry:
    marks = "+ is significantly better than the baseline, − significantly worse: p < 0.05"
    return Entry(
        "Test and superscript",
        "Whether a difference between two configurations could be chance, question by question.",
        "p = (1 + sign flips with as large a difference) / (draws + 1), then Holm's correction",
        "8 questions right in one configuration alone and none in the other alone: of 2^8 ways to "
        "flip, 2 are as far apart: 2 / 2^8 = 0.0078.",
        [
            *([("Superscript", marks)] if baseline else []),
            ("Draws", f"{signflip.LEAST_DRAWS:,}, or 40 for each test of the table if more"),
            ("Few differences", "every flip is tried; scores of 0 and 1: McNemar's exact test"),
            ("Holm", "the smallest p × the number of tests, the next × one less, and so on"),
            ("Not significant", "is not equal: beside it stands what this n could have shown"),
        ],
    )


def _lost(resolved: Mapping[str, Any]) -> Entry:
    tested = resolved.get("answer_test")
    said = "; ".join(f"{key} {value}" for key, value in tested.items()) if tested else ""
    return Entry(
        "Lost at",
        "The first stage that lost a passage the answer needs; of several, the earliest.",
        rows=[*_LOST.items(), *([("Answered", said)] if said else [])],
    )


def _judged() -> Entry:
    return Entry(
        "Judged share",
        "How much of what a metric of documents reads anybody judged; the rest counts as not "
        "relevant. Where it is low, precision, hit rate and MRR are lower bounds; recall, F1, AP "
        "and nDCG may be too high or too low.",
        "judged among those read / read",
        "3 of the 5 documents read are judged: 3 / 5 = 0.6.",
    )


def _bands(names: Sequence[str]) -> Entry:
    by_scale: dict[str, list[str]] = {}
    for name in names:
        by_scale.setdefault(worded(bands.scale(name)), []).append(name)
    return Entry(
        "Bands",
        "Words for a mean, for reading alone: nothing is gated by them.",
        rows=[(", ".join(some), words) for words, some in by_scale.items()],
    )


def _targets(targets: Mapping[str, float]) -> Entry:
    return Entry(
        "Target",
        "Met when the whole interval lies at or above it, missed when below, else undecided; out "
        "of reach above what any ranking could get.",
        rows=[(name, f"{target:g}") for name, target in targets.items()],
    )


def _k(resolved: Mapping[str, Any]) -> Entry:
    rows = [
        (
            "A higher k buys",
            "more of what is relevant: in their usual form recall, hit rate, MRR and AP never fall",
        ),
        ("It costs", "precision, which usually falls, and time and tokens to read it all"),
    ]
    if not resolved.get("system") and "retrieve" in resolved:
        rows.append(("Retrieved", f"{resolved['retrieve']:,} a question, and no k reads further"))
    if not resolved.get("system") and "context" in resolved:
        context = resolved["context"]
        said = f"at most {context['chunks']:,} chunks or {context['tokens']:,} tokens"
        rows.append(("Sent to the generator", said))
    return Entry(
        "k",
        "How many results a metric reads, best first; @1000t reads 1,000 tokens in place of them.",
        rows=rows,
    )
