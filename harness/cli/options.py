"""Options that several verbs take, and how a verb prints data and notes."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from harness.errors import HarnessError
from harness.text.escaping import make_printable

RUN, JUDGE, COMPARE = "Run", "Judge", "Compare"
DATA, PEOPLE, MACHINE = "Data", "People", "Machine"
_PANELS = (RUN, JUDGE, COMPARE, DATA, PEOPLE, MACHINE, "Commands")
"""The groups of commands in `--help`, in their order."""


class CommandGroup(typer.core.TyperGroup):
    """Commands that `--help` lists by what they are for, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section a group of commands."""
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in _PANELS}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None)
            text = command.get_short_help_str(limit=1_000)
            rows[panel if panel in _PANELS else _PANELS[-1]].append((name, text))
        for panel, lines in rows.items():
            if lines:
                with formatter.section(panel):
                    formatter.write_dl(lines)


def config_file(path: Path | None) -> Path | None:
    """Return the file of a configuration; of a folder the `config.yaml` in it."""
    inside = None if path is None else path / "config.yaml"
    return inside if inside is not None and inside.is_file() else path


Config = Annotated[
    Path,
    typer.Argument(
        help="the configuration, a YAML file, or a folder with a config.yaml",
        callback=config_file,
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")]
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


def print_json(value: Any) -> None:
    """Print plain data and dataclasses as JSON."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False, default=asdict))


def print_notes(notes: Iterable[str]) -> None:
    """Print each note on one line of stderr, whatever somebody's names hold."""
    for note in notes:
        print(f"note: {make_printable(note)}", file=sys.stderr)
