"""Command line: the only place that prints or exits."""

from __future__ import annotations

import errno
import gc
import io
import sys
from traceback import format_exception
from types import TracebackType
from typing import Annotated

import typer

from harness.cli import (
    about_verbs,
    baseline_verbs,
    cache_verbs,
    compare_verb,
    data_verbs,
    draft_verbs,
    gate_verb,
    history_verb,
    judge_verbs,
    machine_faults,
    people_verbs,
    run_verbs,
)
from harness.errors import HarnessError, RunError
from harness.files import streams
from harness.fingerprint import __version__
from harness.runs import interrupts
from harness.text.secrets import redact

app = typer.Typer(
    help="Evaluate retrieval-augmented generation: which configuration to ship, and how sure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verbs in (
    run_verbs,
    compare_verb,
    gate_verb,
    history_verb,
    data_verbs,
    people_verbs,
    about_verbs,
):
    app.add_typer(verbs.commands)
groups = {
    "baseline": baseline_verbs,
    "judge": judge_verbs,
    "draft": draft_verbs,
    "cache": cache_verbs,
}
for name, group in groups.items():
    app.add_typer(group.commands, name=name)


def _show_without_secrets(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    print(redact("".join(format_exception(kind, error, trace))), end="", file=sys.stderr)


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
        interrupts.raise_interrupts()
        machine_faults.raise_file_limit()
        machine_faults.check_thread_limit()
        try:
            app()
        finally:
            streams.flush()
    except HarnessError as error:
        print(error, file=sys.stderr)
        sys.exit(error.status)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(interrupts.EXIT_STATUS)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            print(f"{error.filename!r} cannot be used: {error.strerror}", file=sys.stderr)
            sys.exit(HarnessError.status)
        message = machine_faults.describe(error)
        if message is None:
            sys.excepthook = _show_without_secrets  # typer has put its own there
            raise
        print(message, file=sys.stderr)
        sys.exit(RunError.status)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
