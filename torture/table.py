"""The long part of the tests: faults by the thousand, and what they broke; status 1 if anything.

python -m torture.table                 # every ordeal, and the table in docs/reliability.md
python -m torture.table kills faults    # some of them, and no file is written
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from torture.ordeal import HEAD, Ordeal, timed

ORDEALS: dict[str, str] = {
    "kills": "kills:runs",
    "kills-verbs": "kills:verbs",
    "signals": "kills:signals",
    "chroma-kills": "chroma_server:builds",
    "damage-cache": "damage:cache",
    "damage-run": "damage:run",
    "disk": "machine:disk",
    "handles": "machine:handles",
    "clock": "machine:clock",
    "faults": "faults:chat",
    "faults-http": "faults:http",
    "faults-kills": "faults:killed",
    "security-secrets": "security:secrets",
    "security-offline": "security:offline",
    "determinism": "determinism:determinism",
    "together": "together:together",
    "fuzz-text": "fuzz:text",
    "atheris-text": "atheris_text:text",
    "fuzz-documents": "fuzz_documents:text",
    "atheris-documents": "atheris_documents:text",
    "fuzz-runs": "fuzz_runs:text",
    "shared-kills": "shared:kills",
    "shared-harms": "shared:harms",
    "cluster": "cluster:cluster",
    "cluster-alone": "cluster:alone",
}
"""The function of each ordeal, as module:name below this package; it returns an `Ordeal`."""
PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def main(names: Sequence[str]) -> int:
    """Go through the ordeals that are named, or all; return the exit status."""
    unknown = sorted(set(names) - set(ORDEALS))
    if unknown:
        print(f"no such ordeal: {', '.join(unknown)}\n  choose from: {', '.join(ORDEALS)}")
        return 2
    print(*HEAD, sep="\n", flush=True)
    found = []
    for name in names or ORDEALS:
        found.append(timed(name, partial(_ordeal, name)))
        print(found[-1].line(), flush=True)
    if not names:
        _write(found)
    return int(any(each.broken for each in found))


def _ordeal(name: str) -> Ordeal:
    module, function = ORDEALS[name].split(":")
    found: Ordeal = getattr(importlib.import_module(f"torture.{module}"), function)()
    return found


def _write(found: Sequence[Ordeal]) -> None:
    """Put the table, and the day, into its place on the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    day = f"`make torture`, {datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}:"
    lines = (BEGIN, day, "", *HEAD, *(each.line() for each in found), END)
    PAGE.write_text(before + "\n".join(lines) + after, "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
