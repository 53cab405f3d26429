"""Turns baselines into documents and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from harness.comparison.baselines.baseline_file import BaselineCell, BaselineFile
from harness.comparison.baselines.baseline_reader import FOLDER, Baseline
from harness.errors import HarnessError
from harness.report.document import Block, Cell, Heading, Items, Measure, Paragraph, TableBlock
from harness.text import numbers

_PICKED = (
    "A night picked because it was good alarms too often: where nothing changed, in 2.6 % of "
    "nights against one picked blind, in 9.6 % against the best of three, in 16.4 % against the "
    "best of ten; name several runs, and the means of each question are the baseline."
)
_REUSED = (
    "Runs that used the replies to earlier runs say nothing new of chance: ask again for each, by "
    "--set reuse=false or --fresh."
)
_PICKED_OF_SEVERAL = "Take the runs as they came: means of the good ones alone alarm too often."


def promotion_blocks(baseline: Baseline) -> list[Block]:
    """Return that runs were promoted, and what to mind."""
    file = baseline.held
    cells = numbers.count(len(file.cells), "cell")
    blocks: list[Block] = [
        Paragraph(f"Baseline {file.name} is {_describe_runs(file)}, {cells}."),
        Paragraph(str(baseline.path), "path"),
    ]
    if file.forced:
        blocks.append(Paragraph("Forced: it has failures, did not finish, or did not ask all."))
    picked = _PICKED if len(file.runs) == 1 else _PICKED_OF_SEVERAL
    blocks.append(Paragraph(picked))
    if baseline.reused:
        blocks += [Paragraph(_REUSED), Items(baseline.reused)]
    return [*blocks, Paragraph("Put the file under version control.")]


def blocks(baseline: Baseline) -> list[Block]:
    """Return who promoted which runs, when and why, and a table of the means of each cell."""
    file, about = baseline.held, baseline.held.provenance
    testset, corpus = about.testset, about.corpus
    questions = numbers.count(len(file.questions), "question")
    facts = {
        "Started:": ", ".join(run.started for run in file.runs),
        "Promoted:": _describe_promotion(file),
        "Why:": file.why,
        "Test set:": f"{testset.get('path')} ({testset.get('hash')}), {questions}",
        "Corpus:": f"{corpus.get('path')} ({corpus.get('hash')})",
        "Harness:": about.harness,
    }
    return [
        Heading(f"Baseline {file.name}: {_describe_runs(file)}", 1),
        *(Paragraph(text, label=label) for label, text in facts.items() if text),
        *(_means(cell) for cell in file.cells),
    ]


def list_blocks(baselines: Iterable[tuple[str, Baseline | HarnessError]]) -> list[Block]:
    """Return a row for each baseline; for one that cannot be read, why."""
    rows = []
    for name, baseline in baselines:
        if isinstance(baseline, HarnessError):
            rows.append([name, str(baseline)])
        else:
            file = baseline.held
            promoted = f"{_describe_runs(file)}, promoted {_describe_promotion(file)}"
            rows.append([name, promoted])
    if not rows:
        return [
            Paragraph(f"No baselines in {FOLDER}/: python -m harness baseline set RUN --name main")
        ]
    return [TableBlock(["Baseline", "What it is"], rows, numeric=False)]


def list_as_data(baselines: Iterable[tuple[str, Baseline | HarnessError]]) -> list[dict[str, Any]]:
    """Return the head of each baseline, fit for JSON; of one that cannot be read, why."""
    return [
        {"name": name, "error": str(baseline)}
        if isinstance(baseline, HarnessError)
        else _head(baseline)
        for name, baseline in baselines
    ]


def as_dict(baseline: Baseline) -> dict[str, Any]:
    """Return a baseline's head and its means, fit for JSON, without the questions."""
    cells = [
        {
            **cell.model_dump(mode="json", include={"name", "asked", "failed"}),
            "scores": {
                name: {key: value for key, value in asdict(scores).items() if key != "values"}
                for name, scores in cell.scores.items()
            },
        }
        for cell in baseline.held.cells
    ]
    return {**_head(baseline), "cells": cells}


def _head(baseline: Baseline) -> dict[str, Any]:
    fields = {"name", "by", "on", "why", "forced", "runs"}
    return {"file": str(baseline.path), **baseline.held.model_dump(mode="json", include=fields)}


def _means(cell: BaselineCell) -> TableBlock:
    rows: list[list[Cell]] = [
        [
            name,
            Measure(numbers.score(scores.mean), scores.mean, scores.low, scores.high),
            numbers.whole(scores.n),
        ]
        for name, scores in cell.scores.items()
    ]
    caption = f"{cell.name}: {cell.asked} asked, {cell.failed} failed"
    return TableBlock(["Metric", "Mean, 95 % interval", "n"], rows, caption)


def _describe_runs(file: BaselineFile) -> str:
    ids = ", ".join(run.id for run in file.runs)
    return f"run {ids}" if len(file.runs) == 1 else f"the means of {len(file.runs)} runs: {ids}"


def _describe_promotion(file: BaselineFile) -> str:
    author = f" by {file.by}" if file.by else ""
    return f"{file.on}{author}{', forced' if file.forced else ''}"
