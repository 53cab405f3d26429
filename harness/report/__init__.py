"""Reports: a stored run, rendered; they read the run's folder and nothing else."""

from __future__ import annotations

from pathlib import Path

from harness.report import html, markdown
from harness.report.sections import parts
from harness.report.view import View
from harness.store import atomically, load


def write(folder: Path) -> tuple[Path, Path]:
    """Write `report.html` and `report.md` into a stored run's folder; returns their paths.

    Raises:
        DataError: the folder holds no run, or a damaged one.
    """
    view = View(load(folder))
    rendered = parts(view)
    page, text = folder / "report.html", folder / "report.md"
    atomically(page, html.render(view, rendered))
    atomically(text, markdown.render(view, rendered))
    return page, text
