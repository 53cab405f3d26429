"""`gate`: whether a stored run passes its rules; and what `run` does with them at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from harness.cli.options import Json, Junit, Outside

if TYPE_CHECKING:
    from harness.gate.verdicts import Judged
    from harness.rules import Gate

commands = typer.Typer()


@commands.command()
def gate(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    baseline: Annotated[
        str | None, typer.Option(help="a baseline's name or file; else the one the gate names")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="a configuration whose gate is used; else the run's own")
    ] = None,
    outside: Outside = False,
    junit: Junit = None,
    json: Json = False,
) -> None:
    """Judge a stored run by the rules of its gate: exit 0 passed, 1 failed, 3 cannot be judged."""
    from harness.config import load
    from harness.gate import gating
    from harness.gate import report as gate_report

    rules = None if config is None else gating.needed(load(config, allow_outside=outside))
    show = gate_report.as_json if json else gate_report.text
    judged(lambda: gating.judged(folder, rules, baseline), folder, junit, lambda x: print(show(x)))


def at_the_end(folder: Path, rules: Gate, junit: Path | None, out: TextIO) -> None:
    """Judge a run that has just ended, and end with the exit status of its gate."""
    from harness.gate import gating
    from harness.gate import report as gate_report

    def show(found: Judged) -> None:
        print(f"\n{gate_report.text(found)}", file=out)

    judged(lambda: gating.at_the_end(folder, rules), folder, junit, show)


def judged(
    judge: Callable[[], Judged], folder: Path, junit: Path | None, show: Callable[[Judged], None]
) -> None:
    """Show what a gate came to, write it for CI servers, and end with its exit status."""
    from harness.gate import junit as form
    from harness.gate import report as gate_report
    from harness.gate import steps

    with refusals_told(folder.absolute().name, junit):
        found = judge()
    show(found)
    unwritten = _written(junit, form.xml(found))
    steps.summarise(gate_report.markdown(found), partial(print, file=sys.stderr))
    if found.status or unwritten:
        raise typer.Exit(found.status or unwritten)


@contextmanager
def refusals_told(name: str, junit: Path | None) -> Iterator[None]:
    """Also write for CI servers that a run could not be judged, where an error says so."""
    from harness.errors import HarnessError
    from harness.gate import junit as form
    from harness.gate import report as gate_report
    from harness.gate import steps

    try:
        yield
    except HarnessError as error:
        _written(junit, form.refused(name, str(error)))
        steps.summarise(gate_report.not_judged(name, str(error)), partial(print, file=sys.stderr))
        raise


def _written(junit: Path | None, text: str) -> int:
    """Write the file for CI servers; where it cannot be, say so and return that exit status."""
    from harness import newfiles
    from harness.errors import HarnessError

    try:
        if junit is not None:
            newfiles.put(junit, text)
    except HarnessError as error:
        print(f"--junit: {error}", file=sys.stderr)
        return error.status
    return 0
