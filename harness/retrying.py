"""Trying again: what is worth repeating, after how long, and when it is given up."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import TIMEOUT_MAX, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import HarnessError, StageError
from harness.slots import ABANDONED, Slots

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

PATIENCE = 300.0
"""Seconds that one piece of work may take with all its repetitions, where nobody says otherwise."""
LONG = 3600.0
"""The same for work that the whole run waits for: a Chroma server, an embedding model."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_REPEATED = frozenset({408, 409, 425, 429})
"""The refusals that may pass; so may every error of a server's own, which are those from 500."""
_TOO_BUSY = frozenset({429, 503, 529})
_LASTING = (
    *(ArithmeticError, AttributeError, ImportError, LookupError),
    *(NotImplementedError, TypeError, ValueError),
)
"""What another try would meet again, where no server refused anything."""
_CHANCE = random.Random()
"""Of its own: what a run draws from its seed is drawn from others."""


@dataclass(frozen=True)
class Fault:
    """Why something may go better next time.

    `after` are the seconds that the server asks to wait, `busy` says that it had too much to do.
    """

    after: float | None = None
    busy: bool = False


class Passing(StageError):
    """It went wrong in a way that may pass."""

    def __init__(self, what: str, fault: Fault) -> None:
        super().__init__(what)
        self.fault = fault


@dataclass
class Tries:
    """The tries at one piece of work: one, and at most `retries` more, in `patience` seconds.

    Between two of them lies what the server asked for, or else a pause drawn evenly between none
    and a bound that doubles from half a second to a minute ("full jitter", M. Brooker, "Exponential
    Backoff And Jitter", AWS Architecture Blog, 2015). A pause that would go beyond the patience is
    not begun. Each try takes one of at most `most` of the server's `slots`, a pause takes none. The
    wait for a slot is not counted, and what was abandoned is tried no more.
    """

    retries: int
    patience: float = PATIENCE
    slots: Slots = field(default_factory=Slots)
    most: float = math.inf
    made: int = 0
    """How many tries there were."""
    unmet: str = ""
    """What the server asked for and was not given, ready to stand behind an error; or nothing."""
    _waited: float = 0.0
    """Seconds that went by before there was a slot: others' trouble costs no patience."""

    def __call__(self, ask: Callable[[], T]) -> T:
        """Return what `ask` gives.

        Raises:
            Exception: what it raised in the last try.
        """
        from tenacity import Retrying, retry_if_exception

        pauses: dict[int, float] = {}

        def pause(state: RetryCallState) -> float:
            if state.attempt_number not in pauses:
                pauses[state.attempt_number] = self._pause(state)
            return pauses[state.attempt_number]

        def over(state: RetryCallState) -> bool:
            return self.made > self.retries or self._too_long(pause(state), state)

        repeated = Retrying(
            stop=over,
            wait=pause,
            retry=retry_if_exception(lambda error: fault(error) is not None),
            reraise=True,
        )
        found: T = repeated(self._once, ask)
        return found

    def _once(self, ask: Callable[[], T]) -> T:
        since = time.monotonic()
        with self.slots.one(self.most) as slot:
            self._waited += time.monotonic() - since
            if ABANDONED.get().is_set():
                raise StageError("nobody waits for it any more")
            self.made += 1
            try:
                return ask()
            except Exception as error:
                found = fault(error)
                if found is not None and found.busy:
                    patient = found.after is not None and found.after <= self.patience
                    slot.refuse(found.after if patient else None)
                raise

    def _pause(self, state: RetryCallState) -> float:
        found = _failed(state)
        if found.after is not None:
            return found.after
        bound = min(_FIRST_PAUSE * 2 ** min(state.attempt_number - 1, 30), _LONGEST_PAUSE)
        return _CHANCE.uniform(0.0, bound)

    def _too_long(self, pause: float, state: RetryCallState) -> bool:
        """Return whether a pause would go beyond the patience; note what the server asked for."""
        assert state.outcome_timestamp is not None
        spent = state.outcome_timestamp - state.start_time - self._waited
        longest = min(self.patience, TIMEOUT_MAX)
        if spent + pause <= longest:
            return False
        if _failed(state).after is not None:
            self.unmet = (
                f"; it asks to wait {pause:,.0f} s, and `patience` is {self.patience:g} s, "
                f"{spent:,.0f} s of them over"
            )
        return True


def _failed(state: RetryCallState) -> Fault:
    assert state.outcome is not None
    error = state.outcome.exception()
    return (error and fault(error)) or Fault()


def fault(error: BaseException) -> Fault | None:
    """Return what makes an error worth another try; None where the same would come of it.

    Providers have errors of their own: a status or a reply with one is looked for in the error,
    and in those that it was raised from.
    """
    if isinstance(error, Passing):
        return error.fault
    if isinstance(error, HarnessError) or not isinstance(error, Exception):
        return None
    for each in _raised_from(error):
        reply = getattr(each, "response", None)
        status = _status(each, reply)
        if status is not None:
            headers: Any = getattr(reply, "headers", None) or getattr(each, "headers", None)
            return refused(status, headers if hasattr(headers, "get") else {})
    if isinstance(error, _LASTING):
        return None
    names = (kind.__name__ for each in _raised_from(error) for kind in type(each).__mro__)
    return Fault(busy=any("timeout" in name.lower() for name in names))


def refused(status: int, headers: Mapping[str, str]) -> Fault | None:
    """Return what makes a reply of a status from 400 worth another try, if anything does."""
    # OpenAI's servers tell a quota that is used up from a rate that is too high.
    lasting = headers.get("x-should-retry") == "false"
    if lasting or not (status in _REPEATED or status >= 500):
        return None
    return Fault(_asked_to_wait(headers), status in _TOO_BUSY)


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return what `call` gives within so many seconds; after them it is left to itself.

    The time-outs of HTTP libraries are for each wait: a server that sends a byte a second meets
    none of them.

    Raises:
        Passing: it took longer.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
            future.set_exception(error)

    Thread(target=run, name="request", daemon=True).start()
    try:
        return future.result(min(seconds, TIMEOUT_MAX))
    except TimeoutError:
        if future.done():
            raise
        why = f"timed out: no whole reply in {seconds:g} s"
        raise Passing(why, Fault(busy=True)) from None


def _raised_from(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        seen.append(each)
        yield each
        each = each.__cause__ or each.__context__


def _status(error: BaseException, reply: Any) -> int | None:
    found = (getattr(error, "status_code", None), getattr(reply, "status_code", None))
    for status in (*found, getattr(error, "code", None)):
        if isinstance(status, int) and 100 <= status < 600:
            return int(status)
    return None


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a reply asks to wait: as milliseconds, seconds, or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name))
        if seconds is not None:
            return max(seconds * unit, 0.0)
    return None


def _seconds(header: str | None) -> float | None:
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) else None
