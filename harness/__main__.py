"""`python -m harness`."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def _leave_the_folder() -> None:
    """Take the working directory from where modules are looked for, unless we lie there ourselves.

    `python -m` puts it first, and files of strangers may lie in it.
    """
    ours = Path(__file__).parent.parent
    if not sys.flags.safe_path and sys.path[0] == os.getcwd() and not ours.samefile(os.getcwd()):
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_folder()
    from harness.cli import main

    main()
