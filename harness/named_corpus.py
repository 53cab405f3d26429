"""The corpus that a command names: a path, or what a configuration would say, in YAML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from harness import paths, yamlfile
from harness.errors import SpecError


def spec(given: str) -> Any:
    """Return `PATH` as it is, and `{format: ...}` read.

    Raises:
        SpecError: it is not YAML.
    """
    if not given.lstrip().startswith("{"):
        return given
    try:
        return yamlfile.value(given)
    except ValueError as error:
        raise SpecError(f"the corpus: {error}", "write it like {beir: FOLDER}") from None


def find(path: str) -> str:
    """Return where a path leads, from the working directory; `SpecError` if it is not there."""
    return paths.found(path, Path(), True, os.environ)
