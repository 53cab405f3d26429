"""A report in a real browser: its first paint, and how long a filter and a question take.

python -m benchmarks.report_browser                # a run of 40 cells x 2,000 questions
python -m benchmarks.report_browser report.html    # a page that is there

Needs Chromium, by the environment variable CHROMIUM or on the path.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import commands, table
from benchmarks.figures import RUNS, Figure

_BOUNDS = {"first paint": 300.0, "category": 200.0, "lost at": 200.0, "score": 200.0}
"""Milliseconds; what has no bound here is only shown."""
_SHOWN = 10_000.0
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity"
_CHANGED = """async ([label, value]) => {
  const field = [...document.querySelectorAll("#browser .field")]
    .find((each) => each.textContent.trim().toLowerCase().startsWith(label));
  const input = field.querySelector("select, input");
  const start = performance.now();
  input.value = value ?? input.options[1].value;
  const kind = input.tagName === "SELECT" ? "change" : "input";
  input.dispatchEvent(new Event(kind, { bubbles: true }));
  const count = document.querySelector("#browser .count");
  await new Promise((done) => new MutationObserver(done).observe(
    count, { childList: true, subtree: true, characterData: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
_OPENED = """async () => {
  const start = performance.now();
  document.querySelector("tr.question button").click();
  while (!document.querySelector(".detail h3, .detail h4"))
    await new Promise((done) => setTimeout(done, 5));
  return performance.now() - start;
}"""


def report_browser(cells: int = 40, questions: int = 2000) -> list[Figure]:
    """Return the milliseconds of a page of so many cells and questions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        commands.python("-m", "benchmarks.report_size", "make", folder, cells, questions)
        commands.python("-m", "benchmarks.report_size", "render", folder)
        return in_browser(folder / "report.html")


def in_browser(page: Path) -> list[Figure]:
    """Return the milliseconds that a page takes, the median of five times that it is opened."""
    from playwright.sync_api import sync_playwright

    from tests.support.browser import ARGUMENTS, executable

    found: list[dict[str, float]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        for _ in range(RUNS):
            with browser.new_context(offline=True) as context:
                found.append(_once(context.new_page(), page))
        browser.close()
    return [
        Figure(
            f"page: {what}, ms", sorted(each[what] for each in found)[RUNS // 2], bound, "", RUNS
        )
        for what, bound in {**dict.fromkeys(found[0], _SHOWN), **_BOUNDS}.items()
    ]


def _once(page: Any, file: Path) -> dict[str, float]:
    page.goto(file.resolve().as_uri())
    page.wait_for_selector("tr.question")
    page.get_by_role("button", name=re.compile(r"^All [\d,]+$")).click()
    page.wait_for_timeout(500)
    return {
        "first paint": page.evaluate(_PAINT),
        "category": page.evaluate(_CHANGED, ["category", None]),
        "lost at": page.evaluate(_CHANGED, ["lost at", "retrieval"]),
        "score": page.evaluate(_CHANGED, ["score of", "1"]),
        "search, its pause with it": page.evaluate(_CHANGED, ["search", "the"]),
        "open a question": page.evaluate(_OPENED),
    }


if __name__ == "__main__":
    made = in_browser(Path(sys.argv[1])) if sys.argv[1:] else report_browser()
    sys.exit(table.show(made))
