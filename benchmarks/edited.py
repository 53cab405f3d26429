"""One document of a corpus edited: what is embedded again, and how long the run takes.

python benchmarks/table.py edited
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import cold, commands
from benchmarks.figures import Figure, ratio

BOUND = 0.15
RUNS = 5
_WORD = " Edited "


def edited() -> list[Figure]:
    """Return the chunks embedded beyond those that changed, and the ratio to a cold run."""
    pairs: list[tuple[float, float]] = []
    needless = changed = made = 0
    with tempfile.TemporaryDirectory() as name:
        project = cold.projects(Path(name), "auto")
        for number in range(RUNS):
            folder = Path(name) / f"run{number}"
            first = commands.run(project / "config.yaml", folder)
            document = project / "corpus" / "records" / f"record-{number:06}.md"
            before = document.read_text(encoding="utf-8")
            after = edit(before)
            document.write_text(after, encoding="utf-8")
            again = commands.run(project / "config.yaml", folder)
            new = len(set(pieces(after)) - set(pieces(before)))
            embedded = again.run["cache"]["vectors"]["made"]
            needless += abs(embedded - new)
            changed += new
            made += embedded
            pairs.append((again.seconds, first.seconds))
    what = "one document edited"
    return [
        Figure(f"{what}: chunks embedded needlessly", needless, 0, f"{made} of {changed}", RUNS),
        ratio(what, pairs, BOUND, "run again / cold run"),
    ]


def edit(text: str) -> str:
    """Return a text with a word put into its middle."""
    middle = text.index(" ", len(text) // 2)
    return text[:middle] + _WORD + text[middle + 1 :]


def pieces(text: str) -> list[str]:
    """Return the chunks of a text."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(chunk_size=800, chunk_overlap=100).split_text(text)
