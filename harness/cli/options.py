"""Options that several verbs take."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError

Config = Annotated[Path, typer.Argument(help="the configuration, a YAML file")]
Override = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="override a key; the value is read as YAML"),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="a metric; may be given several times")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", help="also write what the gate says as JUnit's XML")
]
Format = Annotated[
    str | None, typer.Option("--format", help="print the tables alone: latex, markdown or csv")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="print the traceback of a metric that fails to stderr")
]
Force = Annotated[bool, typer.Option("--force", help="replace what is there already")]
CacheFolder = Annotated[
    Path | None, typer.Option("--cache", help="the cache; else HARNESS_CACHE, else .harness")
]


def print_tracebacks(debug: bool) -> None:
    """Print what metrics raise to stderr, where that is asked for."""
    if debug:
        logging.getLogger("harness").addHandler(logging.StreamHandler())
        logging.getLogger("harness").setLevel(logging.DEBUG)


def cache_folder(option: Path | None) -> Path:
    """Return the folder of the cache; one that was named must be there."""
    from harness.config.settings import Settings

    path = option or os.environ.get("HARNESS_CACHE")
    if path and not Path(path).exists():
        raise HarnessError(f"cache {str(path)!r} is not there\n  a run makes it; or name another")
    return Path(path or Settings.model_fields["cache"].default)
