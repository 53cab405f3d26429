"""SIGINT and SIGTERM: while little is loaded, in the midst of a step, and at the very end."""

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

STATUS = 130
_BOTH = (signal.SIGINT, signal.SIGTERM)
_ended: list[int] = []


def end_at_once() -> None:
    """Have both end the process where it is, without a traceback: there is nothing to store.

    Who started the process may have it ignore one of them, which stays so.
    """
    for each in _BOTH:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, _end)


def end_in_order() -> NoReturn:
    """End the process as interrupted, after all that is to be done at its end."""
    _ended.append(STATUS)
    sys.exit(STATUS)


def begin() -> None:
    """Do what must come before anything is loaded: what is registered first is done last."""
    atexit.register(_as_interrupted)
    end_at_once()


def raise_them() -> None:
    """Have both raise `KeyboardInterrupt`, so that what was done is kept."""
    for each in _BOTH:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, signal.default_int_handler)


@contextmanager
def waiting() -> Iterator[None]:
    """Let both wait until a step is whole; only the main thread is ever interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in _BOTH}
    came: list[int] = []
    try:
        for each, handler in before.items():
            if callable(handler):
                signal.signal(each, lambda number, _: came.append(number))
        yield
    finally:
        for each, handler in before.items():
            if callable(handler):
                signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])


def _as_interrupted() -> None:
    # Python would end by the signal where that fell into code made from a text, as dataclasses are.
    if _ended:
        os._exit(STATUS)


def _end(_number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(STATUS)
