"""Provenance: versions, data, models and configuration needed to reproduce the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from harness.files import yaml_lines
from harness.files.paths import make_portable
from harness.report.document import Block, Fold, Quotation, TableBlock, TwoColumns
from harness.report.run_view import View
from harness.report.sections import section
from harness.stats import max_t
from harness.store.run_file import QuestionSample, RunFile

_MAX_ITEMS = 10
"""Items of a list in one line of the table; a corpus may leave out thousands of files."""


@section("provenance", 90, "Provenance")
def blocks(view: View) -> Sequence[Block]:
    """Return a table beside the configuration as given, and the rest behind folds."""
    run = view.run
    config = make_portable(run.config)
    rows = [[label, value] for label, value in _rows(run, config.get("resolved", {})) if value]
    given_config = Quotation("Configuration as given", yaml_lines.dump(config.get("given", {})))
    result: list[Block] = [
        TwoColumns([TableBlock(["What", "Which"], rows, numeric=False)], [given_config])
    ]
    if run.provenance.metrics:
        result.append(Fold("Metrics, with every option", [_metrics(view)]))
    if run.cells:
        cells = [[cell.name, cell.fingerprint] for cell in run.cells]
        table = TableBlock(["Cell", "Fingerprint"], cells, numeric=False)
        result.append(Fold("Fingerprints of configurations", [table]))
    if run.ran:
        machines = [
            [machine.stage, machine.node, f"{machine.tasks:,}", f"{machine.seconds:,.1f}"]
            for machine in sorted(run.ran, key=lambda line: (line.stage, line.node))
        ]
        head = ["Stage", "Machine", "Pieces of work", "Seconds together"]
        result.append(Fold("Where each stage ran", [TableBlock(head, machines)]))
    if "resolved" in config:
        text = yaml_lines.dump(config["resolved"])
        result.append(Fold("Configuration with every default", [Quotation("", text)]))
    return result


def _rows(run: RunFile, resolved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    about = run.provenance
    yield "Run", f"{run.id}, {run.status}, {_duration(run)}"
    yield "Started, ended", f"{run.started}, {run.ended}"
    commit = f"commit {about.git_commit}, {'with changes' if about.git_dirty else 'clean'}"
    yield "Harness", f"{about.harness}, {'not in git' if about.git_commit is None else commit}"
    yield "Python", f"{about.python}, {about.platform}"
    yield "Packages", _format_pairs(about.packages, ", ")
    yield "Corpus", _describe_data(about.corpus, "documents", "characters")
    yield "Test set", _describe_data(about.testset, "questions", "unanswerable")
    yield "Sample", _describe_sample(run.sample)
    yield "Labels", _describe_labels(about.labels, resolved)
    for model in make_portable(about.models):
        user = str(model.get("used_by", "?"))
        yield f"Model of {user}", _format_pairs({k: v for k, v in model.items() if v != user})
    if any(cell.embedder is not None for cell in run.cells):
        yield "Index", _format_pairs(resolved.get("index", {}))
    yield "Collection", _format_pairs(make_portable(about.collection or {}))
    statistics = f"seed {about.seed}; {max_t.DRAWS:,} sign-flip draws; max-T within each table"
    together = "; questions that share evidence drawn together"
    yield "Statistics", statistics + (together if resolved.get("clusters") else "")
    yield "Replies", run.describe_reused()
    yield "Vectors kept since", _format_pairs(run.vectors)
    cache = (f"{kind}: {_format_pairs(counts, ', ')}" for kind, counts in run.cache.items())
    yield "Cache", "; ".join(cache)


def _describe_sample(sample: QuestionSample | None) -> str:
    if sample is None:
        return ""
    text = f"{sample.size:,} of {sample.of:,} questions, by seed {sample.seed}"
    return text if sample.day is None else f"{text}, those of {sample.day} (UTC)"


def _duration(run: RunFile) -> str:
    """Return how long a run took, to the second."""
    try:
        duration = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.started)
    except (ValueError, TypeError):  # no times, or of one the zone alone
        return "how long is not known"
    seconds = max(0, int(duration.total_seconds()))  # a clock may be set back
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = [(hours, "h"), (minutes, "min"), (seconds % 60, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "under 1 s"


def _describe_data(about: Mapping[str, Any], *counted: str) -> str:
    """Return what a corpus or a test set is: its path, its counts, its hash and what else."""
    counts = {key: f"{about[key]:,}" for key in counted if isinstance(about.get(key), int)}
    rest = {key: about[key] for key in about if key not in ("path", "format", "hash", *counted)}
    parts = [
        f"{make_portable(about.get('path'))} ({about.get('format')})",
        *(f"{count} {key}" for key, count in counts.items()),
        f"hash {about.get('hash')}",
        _format_pairs(make_portable(rest)),
    ]
    return "; ".join(part for part in parts if part)


def _describe_labels(labels: str, resolved: Mapping[str, Any]) -> str:
    parts = [labels]
    if labels == "evidence" and "min_overlap" in resolved:
        share = f"{resolved['min_overlap']:g} of the shorter of chunk and passage"
        parts.append(f"relevant from {share} on (min_overlap)")
    if "relevance_level" in resolved:
        parts.append(f"relevant from grade {resolved['relevance_level']} on")
    return "; ".join(parts)


def _metrics(view: View) -> TableBlock:
    rows = [
        [name, str(line.version), line.kind, line.labels or "–", view.in_full(name)]
        for name, line in view.run.provenance.metrics.items()
    ]
    return TableBlock(["Metric", "Version", "Kind", "Judged by", "In full"], rows, numeric=False)


def _format_pairs(values: Mapping[str, Any], between: str = "; ") -> str:
    """Return what is known of something; what is empty or not set is left out."""
    return between.join(
        f"{key} {_format_value(value)}"
        for key, value in values.items()
        if value is not None and value not in ("", [], {})
    )


def _format_value(value: object) -> str:
    if isinstance(value, Mapping):
        return f"({_format_pairs(value, ', ')})"
    if isinstance(value, list):
        items = [_format_value(item) for item in value[:_MAX_ITEMS]]
        more = [f"{len(value) - _MAX_ITEMS:,} more"] if len(value) > _MAX_ITEMS else []
        return ", ".join([*items, *more])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
