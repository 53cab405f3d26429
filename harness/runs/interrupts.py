"""Handles SIGINT and SIGTERM: during imports, in the middle of a step, and at exit."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

EXIT_STATUS = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_exit_codes: list[int] = []


def end_at_once() -> None:
    """Have both end the process where it is, without a traceback: there is nothing to store.

    Who started the process may have it ignore one of them, which stays so.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _exit_now)


def end_in_order() -> NoReturn:
    """End the process as interrupted, after all that is to be done at its end."""
    _exit_codes.append(EXIT_STATUS)
    sys.exit(EXIT_STATUS)


def install() -> None:
    """Do what must come before anything is loaded: what is registered first is done last."""
    atexit.register(_exit_interrupted)
    end_at_once()


def raise_interrupts() -> None:
    """Have both raise `KeyboardInterrupt`, so that what was done is kept."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


@contextmanager
def defer() -> Iterator[None]:
    """Let both wait until a step is whole; only the main thread is ever interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    received: list[int] = []
    try:
        for signum, handler in before.items():
            if callable(handler):
                signal.signal(signum, lambda number, _: received.append(number))
        yield
    finally:
        for signum, handler in before.items():
            if callable(handler):
                signal.signal(signum, handler)
        if received:
            signal.raise_signal(received[0])


def _exit_interrupted() -> None:
    # Python would end by the signal where that fell into code made from a text, as dataclasses are.
    if _exit_codes:
        os._exit(EXIT_STATUS)


def _exit_now(_number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(EXIT_STATUS)
