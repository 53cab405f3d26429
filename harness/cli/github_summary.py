"""Appends Markdown to the job summary of GitHub Actions, which is shown on the job's page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

VARIABLE = "GITHUB_STEP_SUMMARY"
_MAX_SUMMARY_BYTES = 1_000_000
"""Bytes; GitHub takes no summary of over 1 MiB from one step."""


def append_summary(
    markdown: str, note: Callable[[str], None], environment: Mapping[str, str] | None = None
) -> None:
    """Append Markdown to the file that `GITHUB_STEP_SUMMARY` names, if it names one.

    Where it cannot be written that is noted: it changes nothing of what was found.
    """
    name = (os.environ if environment is None else environment).get(VARIABLE)
    if not name:
        return
    data = markdown.encode("utf-8", "replace")
    if len(data) > _MAX_SUMMARY_BYTES:
        start = data[:_MAX_SUMMARY_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
        data = f"{start}\n\n(cut: it is longer than a summary may be)\n".encode()
    try:
        with Path(name).open("ab") as file:
            file.write(data + b"\n")
    except (OSError, ValueError) as error:
        note(f"{VARIABLE} cannot be written: {error}")
