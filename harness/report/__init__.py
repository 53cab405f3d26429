"""Reports: a stored run, rendered; they read the run's folder and nothing else."""

from __future__ import annotations

from pathlib import Path

from harness.report import digest, html, listing, markdown, pictures
from harness.report.charts.svg import Drawn
from harness.report.sections import parts
from harness.report.view import View
from harness.store import load
from harness.writing import atomically, sweep


def write(folder: Path, drawn: Drawn | None = None) -> list[Path]:
    """Write the reports of the run in `folder`, as `put` does; return the paths.

    `drawn` keeps charts, so that the same need not be drawn again.

    Raises:
        DataError: the folder holds no run, or a damaged one.
        OSError: a file cannot be written.
    """
    return put(View(load(folder), drawn))


def put(view: View) -> list[Path]:
    """Write the reports of a stored run into its folder; return the paths of those for people.

    `report.html`; `report.md` with its charts; and beside the folder, where runs lie, `index.html`
    of all runs, which is made from the `report.json` of each.

    Raises:
        OSError: a file cannot be written.
    """
    stored, folder = view.stored, view.stored.folder
    rendered = parts(view)
    page, text = folder / "report.html", folder / "report.md"
    atomically(page, html.render(view, rendered))
    pictures.write(folder, rendered)
    atomically(text, markdown.render(view, rendered))
    atomically(folder / digest.NAME, digest.as_json(digest.digest(view)))
    output = stored.run.config.get("resolved", {}).get("output", "")
    index = listing.write(folder, str(output))
    for name in (page.name, text.name, digest.NAME):
        sweep(folder, name)
    sweep(folder / pictures.FOLDER, "*.svg")
    if index is not None:
        sweep(index.parent, index.name)
    return [page, text] if index is None else [page, text, index]
