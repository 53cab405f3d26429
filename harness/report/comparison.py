"""Turns a comparison into a document: for the terminal, and as pages in HTML and Markdown."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.comparison.compare_runs import ComparedCells, ComparedRuns, MetricRow
from harness.files.atomic import write_atomically
from harness.fingerprint import fingerprint
from harness.report import html, markdown, phrases, terminal
from harness.report.comparison_blocks import blocks, headline, parts, title
from harness.store.dataframes import table
from harness.text.escaping import shorten

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

_MAX_NAME = 80
_COLUMNS = {
    "cells": "str",
    "metric": "str",
    **dict.fromkeys(("before", "after", "difference", "low", "high", "p", "corrected"), "Float64"),
    **dict.fromkeys(("wins", "ties", "losses", "n"), "Int64"),
    "effect": "Float64",
    "verdict": "str",
}


@dataclass(frozen=True)
class Comparison(ComparedRuns):
    """What comparing two runs, or two cells of one, came to, as library users get it."""

    def frame(self) -> DataFrame:
        """Return one row a pair of cells and metric: values, difference, p, and what is shown.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        fields = ("difference", "low", "high", "p", "corrected", "wins", "ties", "losses", "n")
        return table(
            (
                [title(pair), row.metric, row.baseline, row.run]
                + [getattr(row.difference, name) for name in (*fields, "effect")]
                + [phrases.describe_outcome(row.difference)]
                for pair in self.pairs
                for row in pair.rows
            ),
            _COLUMNS,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return all but the texts as plain data, fit for JSON: what `compare --json` prints."""
        return as_dict(self)

    def __str__(self) -> str:
        return terminal.render(blocks(self))

    def _repr_html_(self) -> str:
        return html.fragment(blocks(self))


def write(comparison: ComparedRuns, folder: Path) -> list[Path]:
    """Write `compare-….html` and `.md` into `folder`, which is made; return their paths.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"compare-{_file_name(comparison.baseline.id)}"
    page, text = folder / f"{stem}.html", folder / f"{stem}.md"
    write_atomically(page, render_html(comparison))
    write_atomically(text, render_markdown(comparison, page.name))
    return [page, text]


def render_html(comparison: ComparedRuns) -> str:
    """Return the page: one file that needs no network and runs no script."""
    run, baseline = (shorten(side.id, _MAX_NAME) for side in (comparison.run, comparison.baseline))
    version = shorten(comparison.run.provenance.harness, _MAX_NAME)
    return html.render_parts(f"{run} against {baseline}", parts(comparison), version)


def render_markdown(comparison: ComparedRuns, page: str) -> str:
    """Return the page as Markdown, under 60 KB; `page` is the name of the HTML file."""
    return markdown.render_parts(parts(comparison, drawn=False), page)


def as_dict(comparison: ComparedRuns) -> dict[str, Any]:
    """Return all but the texts, fit for JSON: numbers, questions by id, and what changed."""
    return {
        "schema": 1,
        "baseline": comparison.baseline.id,
        "run": comparison.run.id,
        "headline": headline(comparison),
        "worse": comparison.worse,
        "better": comparison.better,
        "identical": comparison.identical,
        "by": comparison.by,
        "test": comparison.options.test,
        "correction": comparison.options.method,
        "allowed": sorted(comparison.options.allow),
        "family": comparison.family,
        "segment_family": comparison.segment_family,
        "questions": len(comparison.shared),
        "only_baseline": list(comparison.only_baseline),
        "only_run": list(comparison.only_run),
        "changed_questions": list(comparison.changed),
        "left_out": dict(comparison.left_out),
        "changes": [asdict(change) for change in comparison.changes],
        "cells": [_pair_data(pair) for pair in comparison.pairs],
    }


def _pair_data(pair: ComparedCells) -> dict[str, Any]:
    return {
        "baseline": pair.pairing.baseline,
        "run": pair.pairing.run,
        "metrics": [row_data(row) for row in pair.rows],
        "segments": [
            {"by": row.way, "segment": row.segment, **row_data(row)} for row in pair.segments
        ],
        "finished": row_data(pair.finished),
        "lost": [asdict(gap) for gap in pair.lost],
        "won": [asdict(gap) for gap in pair.won],
        "unpaired": [asdict(unpaired) for unpaired in pair.unpaired],
        "untested": dict(pair.untested),
        "differs": [asdict(change) for change in pair.differs],
        "people": None if pair.people is None else asdict(pair.people),
    }


def row_data(row: MetricRow) -> dict[str, Any]:
    """Return one row; `before` and `after` are the two values on the questions that both have."""
    return {
        "metric": row.metric,
        "before": row.baseline,
        "after": row.run,
        "outcome": phrases.describe_outcome(row.difference),
        **asdict(row.difference),
    }


def _file_name(id_: str) -> str:
    """Return an id as part of a file's name: letters, digits, dots and dashes of it."""
    plain = re.sub(r"[^\w.-]+", "-", id_, flags=re.ASCII).strip("-.")
    return plain[:80] or fingerprint(id_)
