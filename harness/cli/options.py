"""Options that several verbs take."""

from __future__ import annotations

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
Outside = Annotated[
    bool,
    typer.Option("--allow-outside", help="let the configuration's paths lead out of its project"),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="a metric; may be given several times")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", help="also write what the gate says as JUnit's XML")
]
Force = Annotated[bool, typer.Option("--force", help="replace what is there already")]
CacheFolder = Annotated[
    Path | None, typer.Option("--cache", help="the cache; else HARNESS_CACHE, else .harness")
]


def cache_folder(named: Path | None) -> Path:
    """Return the folder of the cache; one that was named must be there."""
    from harness.settings import Settings

    given = named or os.environ.get("HARNESS_CACHE")
    if given and not Path(given).exists():
        raise HarnessError(f"cache {str(given)!r} is not there\n  a run makes it; or name another")
    return Path(given or Settings.model_fields["cache"].default)
