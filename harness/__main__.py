"""`python -m harness`, and the script of that name: what comes before anything heavy is loaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harness.files import streams
from harness.runs import interrupts


def start() -> None:
    """Run the command line in a process that is all its own."""
    _working_directory()
    interrupts.install()
    streams.repair_streams()
    from harness.cli import main

    try:
        main()
    except KeyboardInterrupt:  # one more, while the first was being said
        interrupts.end_in_order()
    except SystemExit as end:
        if end.code != interrupts.EXIT_STATUS:
            raise
        interrupts.end_in_order()
    finally:
        interrupts.end_at_once()


def _leave_the_folder() -> None:
    """Take the working directory from where modules are looked for, unless we lie there ourselves.

    `python -m` puts it first, and files of strangers may lie in it.
    """
    ours = Path(__file__).parent.parent
    folder = _working_directory()
    if not sys.flags.safe_path and sys.path[0] == folder and not ours.samefile(folder):
        del sys.path[0]


def _working_directory() -> str:
    """Return the working directory; where it was deleted, say so and end with status 2."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        sys.stderr.write("the working directory was deleted: go to another, and try again\n")
        sys.exit(2)


if __name__ == "__main__":
    _leave_the_folder()
    start()
