"""Rating forms: the page on which people rate answers, and the key that maps items to cells."""

from __future__ import annotations

import json
from pathlib import Path

from harness.files import self_checksum
from harness.files.new_files import write_file
from harness.people.forms.rating_items import Chosen, FormRequest, choose_items
from harness.people.rating_records import FORM_KEYS
from harness.store.reader import StoredRun

__all__ = ["Chosen", "FormRequest", "choose_items", "form_path", "write"]


def form_path(stored: StoredRun, chosen: Chosen) -> Path:
    """Return where a form lies unless the user says otherwise."""
    return stored.folder / f"rate-{chosen.key.id}.html"


def write(stored: StoredRun, chosen: Chosen, page: str, path: Path) -> Path:
    """Write the key into the run's folder and the form, `page`, to `path`; return the key's path.

    Raises:
        HarnessError: one of them cannot be written.
    """
    key = stored.folder / "forms" / f"{chosen.key.id}.json"
    data = self_checksum.add_checksum(FORM_KEYS.data(chosen.key))
    write_file(key, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    write_file(path, page)
    return key
