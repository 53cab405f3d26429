"""Writes the generated tables of the documentation anew: `make docs`.

A table stands between `<!-- NAME: COMMAND -->` and `<!-- /NAME -->`; COMMAND makes it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = r"(<!-- {name}: (.+?) -->\n)(.*?)(\n<!-- /{name} -->)"


def components(command: str) -> str:
    """Return the table of all components: what the command prints."""
    return run(command)


def losses(command: str) -> str:
    """Return the table of losses over questions: the first one of that section of the report."""
    with tempfile.TemporaryDirectory() as folder:
        settings = f" --set output={folder}/reports --set cache={folder}/cache"
        run(command + settings)
        (report,) = Path(folder).glob("reports/*/report.md")
        text = report.read_text("utf-8")
    table = re.search(r"\*\*Questions by the first stage[^\n,]*\n\n(\|.*?)\n\n", text, re.DOTALL)
    assert table, "the report has no table of losses"
    return table[1]


def run(command: str) -> str:
    """Return what a command of the documentation prints."""
    words = [sys.executable, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def main() -> None:
    """Write each table into its page."""
    page = ROOT / "README.md"
    text = page.read_text("utf-8")
    for table in (components, losses):
        block = re.compile(BLOCK.format(name=table.__name__), re.DOTALL)
        text = block.sub(lambda match, table=table: match[1] + table(match[2]) + match[4], text)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
