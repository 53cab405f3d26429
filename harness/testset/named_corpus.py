"""Parse the corpus that a command names: a path, or a spec in YAML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from harness.errors import SpecError
from harness.files import paths, yaml_lines


def parse_spec(text: str) -> Any:
    """Return `PATH` as it is, and `{format: ...}` read.

    Raises:
        SpecError: it is not YAML.
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        return yaml_lines.parse_value(text)
    except ValueError as error:
        raise SpecError(f"the corpus: {error}", "write it like {beir: FOLDER}") from None


def find(path: str) -> str:
    """Return where a path leads, from the working directory; `SpecError` if it is not there."""
    return paths.find(path, Path(), True, os.environ)
