"""Glossary: definition, formula and example of every metric and term of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from harness.metrics import Metric
from harness.metrics.ndcg import dcg
from harness.records import LostAt
from harness.registry import description, full_label, summary
from harness.report import phrases
from harness.report.charts import losses_chart
from harness.report.document import Block, Fold, GlossaryEntry, TableBlock
from harness.report.run_view import View
from harness.report.sections import section
from harness.stats import intervals, max_t
from harness.store.run_file import MetricDescription

_LOST_AT: Mapping[LostAt, str] = {
    "chunking": "no passage of the group is whole in any single chunk, nor in those retrieved",
    "index": "exact search would have retrieved it, the approximate index did not",
    "retrieval": "it was not retrieved",
    "reranking": "it was retrieved, and the reranker did not leave it among the first",
    "context": "it was among the first, and did not fit into the prompt",
    "generation": "all groups were in the prompt, and the question was not answered",
    "none": "it was answered; without a generator, all groups were delivered",
}
_RANKS = range(1, 21)


@section("glossary", 80, "Glossary")
def blocks(view: View) -> Sequence[Block]:
    """Return an entry for each metric, whatever it is cut at, and for each other term."""
    lines = view.run.provenance.metrics
    built_metrics = {name: view.build_metric(name) for name in lines}
    entries: dict[str, list[str]] = {}
    for name, metric in built_metrics.items():
        entries.setdefault(metric.name, []).append(name)
    return [
        *(
            _entry({name: (built_metrics[name], lines[name]) for name in names})
            for names in entries.values()
        ),
        *_terms(view, built_metrics),
        Fold("Discounts by rank", [_discounts()]),
    ]


def _entry(variants: Mapping[str, tuple[Metric, MetricDescription]]) -> GlossaryEntry:
    """Return the entry of a metric that a run has under one name or several."""
    metric, line = next(iter(variants.values()))
    cls, facts = type(metric), getattr(metric, "facts", None)
    about = description(cls).removeprefix(summary(cls)).replace("`", "").strip()
    scale = phrases.band_scale(metric.name)
    changed = sorted({key for variant, _ in variants.values() for key in _unusual_options(variant)})
    changes = f"of its usual form; {', '.join(changed)} of this run changes it" if changed else ""
    return GlossaryEntry(
        metric.name,
        summary(cls).replace("`", ""),
        facts.formula if facts else "",
        facts.example.text if facts else "",
        [
            *([("Formula", changes)] if changes else []),
            *(facts.rows() if facts else ()),
            *([("In words", describe_scale(scale))] if scale else []),
            *([("Also", about)] if about else []),
            ("Version", str(line.version)),
            *((name, _full_label(*variant)) for name, variant in variants.items()),
        ],
    )


def _full_label(metric: Metric, line: MetricDescription) -> str:
    text = full_label(metric)
    return f"{text}, judged by {line.labels}" if line.labels else text


def _unusual_options(metric: Metric) -> list[str]:
    """Return the options that change what a metric computes, where they are not the usual ones."""
    usual = {field.name: field.default for field in fields(metric)}  # type: ignore[arg-type]
    return [
        name
        for name in ("denominator", "gain", "ideal", "match", "abutting", "tokens")
        if name in usual and getattr(metric, name) != usual[name]
    ]


def _terms(view: View, built: Mapping[str, Metric]) -> Iterator[GlossaryEntry]:
    """Yield the entries that this run needs; `built` holds its metrics by their names."""
    run, resolved = view.run, view.run.config.get("resolved", {})
    yield GlossaryEntry(
        "n",
        "How many questions a mean is over: those that were scored and those that failed.",
        "n = scored + failed",
        rows=[
            ("Failed", "the system gave up on the question: it counts 0, as the user got nothing"),
            ("Not scored", "the metric does not apply, or its label is missing: not in the mean"),
            ("Metric failed", "the metric raised, or its judge gave no verdict: not in the mean"),
        ],
    )
    drawn = "Questions that share evidence count as one; n is the number of clusters."
    yield GlossaryEntry(
        "Interval",
        "Where the mean would lie with other questions like these, with 95 % confidence.",
        "Student’s t, with half a score at 0 and half a one at 1 added to the n there are; Wilson "
        "where the scores are only 0 and 1; [0.025^(1/n), 1] where all are 1",
        "20 questions that all score 1: from 0.025^(1/20) = 0.832 to 1.",
        [
            ("None", f"under {intervals.MIN_SAMPLE_SIZE} questions"),
            ("Two that overlap", "may still differ: differences are tested question by question"),
            *([("Clusters", drawn)] if resolved.get("clusters") else []),
        ],
    )
    if len(run.cells) > 1:
        yield _test_entry(run.baseline is not None)
    if losses_chart.has_losses(view):
        tested = resolved.get("answer_test") or {}
        text = "; ".join(f"{key} {value}" for key, value in tested.items())
        yield GlossaryEntry(
            "Lost at",
            "The first stage that lost a passage the answer needs; of several, the earliest.",
            rows=[*_LOST_AT.items(), *([("Answered", text)] if text else [])],
        )
    if any(line.labels == "documents" for line in run.provenance.metrics.values()):
        yield GlossaryEntry(
            "Judged share",
            "How much of what a metric of documents reads anybody judged; the rest counts as not "
            "relevant. Where it is low, precision, hit rate and MRR are lower bounds; recall, F1, "
            "AP and nDCG may be too high or too low.",
            "judged among those read / read",
            "3 of the 5 documents read are judged: 3 / 5 = 0.6.",
        )
    by_scale: dict[str, list[str]] = {}
    for name in dict.fromkeys(metric.name for metric in built.values()):
        if phrases.band_scale(name):
            by_scale.setdefault(describe_scale(phrases.band_scale(name)), []).append(name)
    if by_scale:
        yield GlossaryEntry(
            "Bands",
            "Words for a mean, for reading alone: nothing is gated by them.",
            rows=[(", ".join(group), words) for words, group in by_scale.items()],
        )
    if run.targets:
        yield GlossaryEntry(
            "Target",
            "Met when the whole interval lies at or above it, missed when below, else undecided; "
            "out of reach above what any ranking could get.",
            rows=[(name, f"{target:g}") for name, target in run.targets.items()],
        )
    if any(hasattr(metric, "k") for metric in built.values()):
        yield _k_entry(resolved)
    yield GlossaryEntry(
        "Discount",
        "What a relevant result counts in DCG at a rank, against one at rank 1.",
        "1 / log₂(rank + 1)",
        "At rank 3: 1 / log₂(3 + 1) = 0.5.",
    )


def _test_entry(baseline: bool) -> GlossaryEntry:
    marks = "+ is significantly better than the baseline, − significantly worse: p < 0.05"
    return GlossaryEntry(
        "Test and superscript",
        "Whether a difference between two configurations could be chance, question by question.",
        "p = (1 + draws in which any difference of the table is as large) / (draws + 1)",
        "8 questions right in one configuration alone and none in the other alone: of 2^8 ways to "
        "flip, 2 are as far apart: 2 / 2^8 = 0.0078.",
        [
            *([("Superscript", marks)] if baseline else []),
            ("Draw", f"the sign of each question is flipped at random, {max_t.DRAWS:,} times"),
            ("Few differences", "where up to 13 questions differ, every flip is tried"),
            ("Max-T", "a draw flips all differences of a table alike; its largest counts"),
            (
                "Interval of a difference",
                "excludes 0 exactly where p ≤ 0.05; all of a table at once",
            ),
            ("Not significant", "is not equal: beside it stands what this n could have shown"),
        ],
    )


def _k_entry(resolved: Mapping[str, Any]) -> GlossaryEntry:
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
        text = f"at most {context['chunks']:,} chunks or {context['tokens']:,} tokens"
        rows.append(("Sent to the generator", text))
    return GlossaryEntry(
        "k",
        "How many results a metric reads, best first; @1000t reads 1,000 tokens in place of them.",
        rows=rows,
    )


def _discounts() -> TableBlock:
    """Return the table of discounts for the first ranks."""
    rows = [[str(rank), f"{dcg([(rank, 1)]):.4f}"] for rank in _RANKS]
    return TableBlock(["Rank", "1 / log₂(rank + 1)"], rows)


def describe_scale(scale: Sequence[phrases.Band]) -> str:
    """Return the words of a scale, each with the least mean that it is for."""
    *first, (_, last) = scale
    parts = [f"{word} from {least:.2g}" for least, word in first]
    return f"{', '.join(parts)}, below {last}"
