"""Writes the reports of a stored run; they read nothing but the run's folder."""

from __future__ import annotations

from pathlib import Path

from harness.files.atomic import delete_abandoned, write_atomically
from harness.report import html, markdown, run_index
from harness.report.run_view import ChartCache, View
from harness.report.sections import parts
from harness.store.reader import load


def write(folder: Path, drawn: ChartCache | None = None) -> list[Path]:
    """Write the reports of the run in `folder`, as `write_reports` does; return the paths.

    `drawn` keeps charts, so that the same need not be drawn again.

    Raises:
        DataError: the folder holds no run, or a damaged one.
        OSError: a file cannot be written.
    """
    return write_reports(View(load(folder), drawn))


def write_reports(view: View) -> list[Path]:
    """Write the reports of a stored run into its folder; return the paths of those for people.

    `report.html`; `report.md` with its charts; and beside the folder, where runs lie, `index.html`
    of all runs, which is made from the `report.json` of each.

    Raises:
        OSError: a file cannot be written.
    """
    stored, folder = view.stored, view.stored.folder
    rendered = parts(view)
    page, text = folder / "report.html", folder / "report.md"
    write_atomically(page, html.render(view, rendered))
    markdown.write_charts(folder, rendered)
    write_atomically(text, markdown.render(view, rendered))
    write_atomically(
        folder / run_index.DIGEST_NAME, run_index.digest_as_json(run_index.digest(view))
    )
    output = stored.run.config.get("resolved", {}).get("output", "")
    index = run_index.write(folder, str(output))
    for name in (page.name, text.name, run_index.DIGEST_NAME):
        delete_abandoned(folder, name)
    delete_abandoned(folder / markdown.CHARTS, "*.svg")
    if index is not None:
        delete_abandoned(index.parent, index.name)
    return [page, text] if index is None else [page, text, index]
