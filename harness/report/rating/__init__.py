"""Rating forms: a page that people rate answers in, and the key that says whose they are."""

from __future__ import annotations

import json
from pathlib import Path

from harness import stamped
from harness.newfiles import put
from harness.report.rating.choosing import Chosen, Wishes, choose
from harness.report.rating.page import render
from harness.store import StoredRun

__all__ = ["Chosen", "Wishes", "choose", "form_path", "write"]


def form_path(stored: StoredRun, chosen: Chosen) -> Path:
    """Return where a form lies unless the user says otherwise."""
    return stored.folder / f"rate-{chosen.key.id}.html"


def write(stored: StoredRun, chosen: Chosen, path: Path) -> Path:
    """Write the key into the run's folder and the form to `path`; return the key's path.

    Raises:
        HarnessError: one of them cannot be written.
    """
    key = stored.folder / "forms" / f"{chosen.key.id}.json"
    said = stamped.stamped(chosen.key.model_dump(mode="json", by_alias=True))
    put(key, json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    put(path, render(stored, chosen.key))
    return key
