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
    compare_verbs,
    data_verbs,
    judge_verbs,
    machine_faults,
    people_verbs,
    run_verbs,
)
from harness.cli.options import COMPARE, DATA, JUDGE, MACHINE, CommandGroup
from harness.errors import HarnessError, RunError
from harness.files import streams
from harness.fingerprint import __version__
from harness.runs import interrupts
from harness.text.secrets import redact

app = typer.Typer(
    cls=CommandGroup,
    help="Evaluate retrieval-augmented generation: which configuration to ship, and how sure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verbs in (run_verbs, compare_verbs, data_verbs, people_verbs, about_verbs):
    app.add_typer(verbs.commands)
app.add_typer(judge_verbs.commands, name="judge", rich_help_panel=JUDGE)
app.add_typer(compare_verbs.baseline_commands, name="baseline", rich_help_panel=COMPARE)
app.add_typer(people_verbs.draft_commands, name="draft", rich_help_panel=DATA)
app.add_typer(about_verbs.cache_commands, name="cache", rich_help_panel=MACHINE)


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
