"""`gate`: whether a stored run passes its rules; and what `run` does with them at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from harness.cli.options import Json, Junit

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
    junit: Junit = None,
    json: Json = False,
) -> None:
    """Judge a stored run by the rules of its gate: exit 0 passed, 1 failed, 3 cannot be judged."""
    from harness.config import load
    from harness.gate import gating
    from harness.gate import report as gate_report

    rules = None if config is None else gating.needed(load(config))
    found = judged(lambda: gating.judged(folder, rules, baseline), folder, junit)
    print(gate_report.as_json(found) if json else gate_report.text(found))
    if found.status:
        raise typer.Exit(found.status)


def at_the_end(folder: Path, rules: Gate, junit: Path | None, out: TextIO) -> None:
    """Judge a run that has just ended, and end with the exit status of its gate."""
    from harness.gate import gating
    from harness.gate import report as gate_report

    found = judged(lambda: gating.at_the_end(folder, rules), folder, junit)
    print(f"\n{gate_report.text(found)}", file=out)
    if found.status:
        raise typer.Exit(found.status)


def judged(judge: Callable[[], Judged], folder: Path, junit: Path | None) -> Judged:
    """Return what a gate came to, also written for CI servers; so is that it came to nothing."""
    from harness import newfiles
    from harness.errors import HarnessError
    from harness.gate import junit as form
    from harness.gate import report as gate_report
    from harness.gate import steps

    run, note = folder.absolute().name, partial(print, file=sys.stderr)
    try:
        found = judge()
    except HarnessError as error:
        if junit is not None:
            newfiles.put(junit, form.refused(run, str(error)))
        steps.summarise(gate_report.not_judged(run, str(error)), note)
        raise
    if junit is not None:
        newfiles.put(junit, form.xml(found))
    steps.summarise(gate_report.markdown(found), note)
    return found
