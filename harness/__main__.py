"""`python -m harness`, and the script of that name: what comes before anything heavy is loaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harness import interrupts, streams


def start() -> None:
    """Run the command line in a process that is all its own."""
    interrupts.begin()
    streams.have()
    from harness.cli import main

    try:
        main()
    except KeyboardInterrupt:  # one more, while the first was being said
        interrupts.end_in_order()
    except SystemExit as end:
        if end.code != interrupts.STATUS:
            raise
        interrupts.end_in_order()
    finally:
        interrupts.end_at_once()


def _leave_the_folder() -> None:
    """Take the working directory from where modules are looked for, unless we lie there ourselves.

    `python -m` puts it first, and files of strangers may lie in it.
    """
    ours = Path(__file__).parent.parent
    if not sys.flags.safe_path and sys.path[0] == os.getcwd() and not ours.samefile(os.getcwd()):
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_folder()
    start()
