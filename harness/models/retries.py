"""Retries: which errors are worth another try, after how long, and when to give up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import HarnessError

if TYPE_CHECKING:
    from tenacity import RetryCallState, Retrying

T = TypeVar("T")

DEFAULT_PATIENCE_SECONDS = 300.0
"""Seconds that one question may take with all its repetitions, where nobody says otherwise."""
LONG_PATIENCE_SECONDS = 3600.0
"""The same for work that the whole run waits for: a Chroma server, an embedding model."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_REPEATED_STATUSES = frozenset({408, 409, 425, 429})
"""The refusals that may pass; so may every error of a server's own, which are those from 500."""
_LASTING_ERRORS = (
    *(ArithmeticError, AttributeError, ImportError, LookupError),
    *(NotImplementedError, TypeError, ValueError),
)
"""What another try would meet again, where no server refused anything."""


def retrying(retries: int, patience: float = LONG_PATIENCE_SECONDS) -> Retrying:
    """Return what makes a call, and makes it again where that may help, `retries` times at most.

    It waits as long as the server asks (Retry-After), else for a time drawn below a bound that
    doubles from half a second to a minute. A wait that would end `patience` seconds after the first
    call began, or later, is not started. The last error is raised.
    """
    from tenacity import (
        Retrying,
        retry_if_exception,
        stop_after_attempt,
        stop_before_delay,
        wait_random_exponential,
    )

    drawn = wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)

    def pause(state: RetryCallState) -> float:
        assert state.outcome is not None
        asked = _asked_to_wait(state.outcome.exception())
        return drawn(state) if asked is None else asked

    return Retrying(
        stop=stop_after_attempt(retries + 1) | stop_before_delay(patience),
        wait=pause,
        retry=retry_if_exception(_may_pass),
        reraise=True,
    )


def describe_wait(error: BaseException) -> str:
    """Return how long a server asked to wait, ready to stand behind what went wrong; or nothing."""
    seconds = _asked_to_wait(error)
    return f"; it asks to wait {seconds:,.0f} s" if seconds and seconds >= 1 else ""


def _may_pass(error: BaseException) -> bool:
    """Return whether another try may go better: a dropped connection, a refusal for now."""
    if isinstance(error, HarnessError) or not isinstance(error, Exception):
        return False
    refusal = _refusal(error)
    if refusal is None:
        return not isinstance(error, _LASTING_ERRORS)
    status, headers = refusal
    # OpenAI's servers tell a quota that is used up from a rate that is too high.
    lasting = headers.get("x-should-retry") == "false"
    return not lasting and (status in _REPEATED_STATUSES or status >= 500)


def _refusal(error: BaseException | None) -> tuple[int, Mapping[str, str]] | None:
    """Return the status and headers that a server refused with; None where an error has none.

    Providers have errors of their own: both are looked for in the error, and in those that it was
    raised from.
    """
    while error is not None:
        reply: Any = getattr(error, "response", None)
        codes = (getattr(error, "status_code", None), getattr(reply, "status_code", None))
        for status in (*codes, getattr(error, "code", None)):
            if isinstance(status, int) and 100 <= status < 600:
                headers: Any = getattr(reply, "headers", None) or getattr(error, "headers", None)
                return status, headers if hasattr(headers, "get") else {}
        error = error.__cause__ or error.__context__
    return None


def _asked_to_wait(error: BaseException | None) -> float | None:
    """Return the seconds that a server asks to wait: as milliseconds, seconds, or a date."""
    refusal = _refusal(error)
    headers: Mapping[str, str] = {} if refusal is None else refusal[1]
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
