"""Provenance: what it takes to run this again and get the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from harness import yamlfile
from harness.paths import portable
from harness.report.blocks import Block, Columns, Fold, Passage, Table
from harness.report.sections import sections
from harness.report.view import View
from harness.statistics import intervals, signflip
from harness.stored import RunFile, SampledLine

_SHOWN = 10
"""Items of a list in one line of the table; a corpus may leave out thousands of files."""


@sections.register
@dataclass(frozen=True)
class Provenance:
    """Versions, data, models, statistics and the configuration in full."""

    name: ClassVar[str] = "provenance"
    order: ClassVar[int] = 90
    title: ClassVar[str] = "Provenance"
    short: ClassVar[str] = "Provenance"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a table beside the configuration as given, and the rest behind folds."""
        run = view.run
        config = portable(run.config)
        rows = [[what, which] for what, which in _rows(run, config.get("resolved", {})) if which]
        given = Passage("Configuration as given", yamlfile.dump(config.get("given", {})))
        said: list[Block] = [Columns([Table(["What", "Which"], rows, numeric=False)], [given])]
        if run.provenance.metrics:
            said.append(Fold("Metrics, with every option", [_metrics(view)]))
        if run.cells:
            cells = [[cell.name, cell.fingerprint] for cell in run.cells]
            table = Table(["Cell", "Fingerprint"], cells, numeric=False)
            said.append(Fold("Fingerprints of configurations", [table]))
        if run.ran:
            said.append(Fold("Where each stage ran", [_ran(run)]))
        if "resolved" in config:
            text = yamlfile.dump(config["resolved"])
            said.append(Fold("Configuration with every default", [Passage("", text)]))
        return said


def _rows(run: RunFile, resolved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    about = run.provenance
    yield "Run", f"{run.id}, {run.status}, {_lasted(run)}"
    yield "Started, ended", f"{run.started}, {run.ended}"
    yield "Harness", f"{about.harness}, {_commit(about.git_commit, about.git_dirty)}"
    yield "Python", f"{about.python}, {about.platform}"
    yield "Packages", _pairs(about.packages, ", ")
    yield "Corpus", _data(about.corpus, "documents", "characters")
    yield "Test set", _data(about.testset, "questions", "unanswerable")
    yield "Sample", _sample(run.sample)
    yield "Labels", _labels(about.labels, resolved)
    for model in portable(about.models):
        user = str(model.get("used_by", "?"))
        yield f"Model of {user}", _pairs({k: v for k, v in model.items() if v != user})
    if any(cell.embedder is not None for cell in run.cells):
        yield "Index", _pairs(resolved.get("index", {}))
    yield "Collection", _pairs(portable(about.collection or {}))
    yield "Statistics", _statistics(about.seed, bool(resolved.get("clusters")))
    yield "Cache", "; ".join(f"{kind}: {_pairs(each, ', ')}" for kind, each in run.cache.items())


def _ran(run: RunFile) -> Table:
    rows = [
        [each.stage, each.node, f"{each.tasks:,}", f"{each.seconds:,.1f}"]
        for each in sorted(run.ran, key=lambda line: (line.stage, line.node))
    ]
    return Table(["Stage", "Machine", "Pieces of work", "Seconds together"], rows)


def _sample(sample: SampledLine | None) -> str:
    if sample is None:
        return ""
    said = f"{sample.size:,} of {sample.of:,} questions, by seed {sample.seed}"
    return said if sample.day is None else f"{said}, those of {sample.day} (UTC)"


def _lasted(run: RunFile) -> str:
    """Return how long a run took, to the second."""
    try:
        took = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.started)
    except (ValueError, TypeError):  # no times, or of one the zone alone
        return "how long is not known"
    seconds = max(0, int(took.total_seconds()))  # a clock may be set back
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = [(hours, "h"), (minutes, "min"), (seconds % 60, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "under 1 s"


def _commit(commit: str | None, dirty: bool | None) -> str:
    if commit is None:
        return "not in git"
    return f"commit {commit}, {'with changes' if dirty else 'clean'}"


def _data(about: Mapping[str, Any], *counted: str) -> str:
    """Return what a corpus or a test set is: its path, its counts, its hash and what else."""
    counts = {key: f"{about[key]:,}" for key in counted if isinstance(about.get(key), int)}
    rest = {key: about[key] for key in about if key not in ("path", "format", "hash", *counted)}
    said = [
        f"{portable(about.get('path'))} ({about.get('format')})",
        *(f"{count} {key}" for key, count in counts.items()),
        f"hash {about.get('hash')}",
        _pairs(portable(rest)),
    ]
    return "; ".join(each for each in said if each)


def _labels(labels: str, resolved: Mapping[str, Any]) -> str:
    said = [labels]
    if labels == "evidence" and "min_overlap" in resolved:
        share = resolved["min_overlap"]
        said.append(f"relevant from {share:g} of the shorter of chunk and passage on (min_overlap)")
    if "relevance_level" in resolved:
        said.append(f"relevant from grade {resolved['relevance_level']} on")
    return "; ".join(said)


def _statistics(seed: int, clusters: bool) -> str:
    said = [
        f"seed {seed}",
        f"{intervals.DRAWS:,} bootstrap draws",
        f"{signflip.LEAST_DRAWS:,} sign-flip draws, or 40 for each test of a table if more",
        "Holm's correction within each table",
    ]
    return "; ".join([*said, "questions that share evidence drawn together"] if clusters else said)


def _metrics(view: View) -> Table:
    rows = [
        [name, str(line.version), line.kind, line.labels or "–", view.in_full(name)]
        for name, line in view.run.provenance.metrics.items()
    ]
    return Table(["Metric", "Version", "Kind", "Judged by", "In full"], rows, numeric=False)


def _pairs(values: Mapping[str, Any], between: str = "; ") -> str:
    """Return what is known of something; what is empty or not set is left out."""
    return between.join(
        f"{key} {_value(value)}"
        for key, value in values.items()
        if value is not None and value not in ("", [], {})
    )


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return f"({_pairs(value, ', ')})"
    if isinstance(value, list):
        shown = [_value(each) for each in value[:_SHOWN]]
        more = [f"{len(value) - _SHOWN:,} more"] if len(value) > _SHOWN else []
        return ", ".join([*shown, *more])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
