"""Refuses every connection but those to this machine, and notes who tried one.

It is imported by each Python process whose PYTHONPATH holds this folder.
"""

import os
import socket
import sys

_HERE = ("127.", "::1", "localhost", "0.0.0.0")
_FILE = os.environ.get("HARNESS_TEST_TRIED")


def _is_here(host):
    return host is None or host in ("", b"") or str(host).startswith(_HERE)


def _refuse(what, host):
    if _FILE:
        with open(_FILE, "a", encoding="utf-8") as file:
            file.write(f"{what} {host!r}\n")
    raise OSError(f"no network in this test: {what} {host!r}")


def _noted(event, given):
    """Refuse, as an audit hook, which nothing in the process can take away."""
    if event in ("socket.connect", "socket.sendto") and given[0].family != socket.AF_UNIX:
        if not _is_here(given[1][0]):
            _refuse(event, given[1])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname") and not _is_here(given[0]):
        _refuse(event, given[0])


sys.addaudithook(_noted)
