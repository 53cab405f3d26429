"""Baselines as text for a terminal, and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable

from harness import numbers
from harness.baselines import reading
from harness.baselines.file import BaselineFile
from harness.baselines.reading import Baseline
from harness.errors import HarnessError
from harness.printable import printable

_WIDTH = 100
_NAME = 45


def promoted(found: Baseline) -> str:
    """Return that a run was promoted."""
    held = found.held
    cells = numbers.count(len(held.cells), "cell")
    lines = [f"{found.path}: baseline {held.name} is run {held.run.id}, {cells}"]
    lines += (
        ["  forced: it has failures, did not finish, or did not ask all"] if held.forced else []
    )
    return _plain([*lines, "  put it under version control"])


def shown(found: Baseline) -> str:
    """Return a baseline for the terminal, 100 columns wide."""
    held = found.held
    about = held.provenance
    lines = [
        f"baseline {held.name}: run {held.run.id} of {held.run.started}",
        f"  promoted {held.on}{f' by {held.by}' if held.by else ''}{_forced(held)}",
        *_wrapped(f"why: {held.why}" if held.why else ""),
        f"  test set {about.testset.get('path')} ({about.testset.get('hash')}), "
        f"{numbers.count(len(held.questions), 'question')}",
        f"  corpus {about.corpus.get('path')} ({about.corpus.get('hash')})",
        f"  harness {about.harness}",
    ]
    for cell in held.cells:
        lines += ["", cell.name, f"  {cell.asked} asked, {cell.failed} failed"]
        for name, each in cell.scores.items():
            short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
            ends = numbers.interval(each.low, each.high)
            lines.append(
                f"  {short:<{_NAME}} {numbers.score(each.mean):>6}  {ends:>13}  n = {each.n}"
            )
    return _plain(lines)


def listed() -> str:
    """Return a line for each baseline there is; of one that cannot be read, why."""
    lines = []
    for name in reading.names():
        try:
            held = reading.read(name).held
        except HarnessError as error:
            lines.append(f"{name}: {' '.join(str(error).split())}")
        else:
            lines.append(
                f"{name}: run {held.run.id}, promoted {held.on[:10]}{_by(held)}{_forced(held)}"
            )
    none = f"no baselines in {reading.FOLDER}/: python -m harness baseline set RUN --name main"
    return _plain(lines or [none])


def listed_as_json() -> str:
    """Return the head of each baseline as JSON; of one that cannot be read, why."""
    found = []
    for name in reading.names():
        try:
            found.append(_head(reading.read(name)))
        except HarnessError as error:
            found.append({"name": name, "error": str(error)})
    return json.dumps(found, indent=1, ensure_ascii=False)


def as_json(found: Baseline) -> str:
    """Return a baseline's head and its means as JSON, without the questions."""
    cells = [
        {
            **cell.model_dump(mode="json", include={"name", "asked", "failed"}),
            "scores": {
                name: each.model_dump(mode="json", exclude={"values"})
                for name, each in cell.scores.items()
            },
        }
        for cell in found.held.cells
    ]
    return json.dumps({**_head(found), "cells": cells}, indent=1, ensure_ascii=False)


def _head(found: Baseline) -> dict[str, object]:
    head = found.held.model_dump(mode="json", include={"name", "by", "on", "why", "forced", "run"})
    return {"file": str(found.path), **head}


def _by(held: BaselineFile) -> str:
    return f" by {held.by}" if held.by else ""


def _forced(held: BaselineFile) -> str:
    return ", forced" if held.forced else ""


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")


def _plain(lines: Iterable[str]) -> str:
    return "\n".join(printable(line) for line in lines)
