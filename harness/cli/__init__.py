"""The verbs: the only place that prints or exits."""

from __future__ import annotations

import errno
import gc
import io
import sys
from typing import Annotated

import typer

from harness import __version__, interrupts, streams
from harness.cli import (
    about,
    baseline,
    cache,
    comparing,
    data,
    draft,
    gate,
    history,
    judge,
    machine,
    people,
    runs,
)
from harness.errors import HarnessError, RunError

app = typer.Typer(
    help="Evaluate retrieval-augmented generation: which configuration to ship, and how sure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verbs in (runs, comparing, gate, history, data, people, about):
    app.add_typer(verbs.commands)
groups = {"baseline": baseline, "judge": judge, "draft": draft, "cache": cache}
for name, group in groups.items():
    app.add_typer(group.commands, name=name)


def main() -> None:
    """Run the command line; a user's mistake prints its message, and no traceback."""
    # Records live until the end: looking through them for cycles again and again takes a quarter of
    # the time of a run that has nothing new to do.
    gc.set_threshold(100_000, 10, 10)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that has no dash or multiplication sign shows a question mark.
            stream.reconfigure(errors="replace")
    try:
        # What stops a job at a server ends it as Ctrl-C does: what was done is kept.
        interrupts.raise_them()
        machine.allow_files()
        machine.allow_threads()
        try:
            app()
        finally:
            streams.flush()
    except HarnessError as error:
        print(error, file=sys.stderr)
        sys.exit(error.status)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(interrupts.STATUS)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            print(f"{error.filename!r} cannot be used: {error.strerror}", file=sys.stderr)
            sys.exit(HarnessError.status)
        said = machine.said(error)
        if said is None:
            raise
        print(said, file=sys.stderr)
        sys.exit(RunError.status)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
