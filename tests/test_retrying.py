"""Trying again: what is repeated, how often, after which pause, and when it is given up."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from harness.errors import ModelError, StageError
from harness.retrying import Fault, Passing, Tries, fault, refused, within
from harness.slots import Slots

NOW = Fault(after=0.0)


def failing(*errors):
    """Return a call that raises these one after the other, and then gives 5."""
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return 5

    return call


def of(status, **headers):
    request = httpx.Request("POST", "http://here/")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = httpx.Response(status, headers=named, request=request)
    return httpx.HTTPStatusError("no", request=request, response=reply)


def test_what_passes_is_repeated_as_often_as_allowed_and_then_raised():
    tries = Tries(2)
    assert tries(failing(Passing("a", NOW), Passing("b", NOW))) == 5
    assert tries.made == 3
    tries = Tries(2)
    with pytest.raises(Passing, match="c"):
        tries(failing(*(Passing(each, NOW) for each in "abcd")))
    assert (tries.made, tries.unmet) == (3, "")


def test_what_lasts_is_raised_at_once():
    tries = Tries(5)
    with pytest.raises(StageError, match="no such model"):
        tries(failing(StageError("no such model")))
    assert tries.made == 1


def test_a_pause_that_goes_beyond_the_patience_is_not_begun_and_what_was_asked_for_is_said():
    tries = Tries(9, patience=20)
    with pytest.raises(Passing, match="busy"):
        tries(failing(Passing("busy", Fault(after=3600.0, busy=True))))
    assert tries.made == 1
    assert tries.unmet == "; it asks to wait 3,600 s, and `patience` is 20 s, 0 s of them over"


def test_without_a_word_of_the_server_a_pause_beyond_the_patience_ends_it_in_silence():
    tries = Tries(1_000, patience=1e-9)
    with pytest.raises(Passing):
        tries(failing(*(Passing("down", Fault()) for _ in range(1_000))))
    assert tries.made < 1_000
    assert tries.unmet == ""


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_status_that_may_pass_is_known_however_deep_it_lies(status):
    plain, deep = of(status), RuntimeError("no")
    deep.__cause__ = ValueError("no")
    deep.__cause__.__context__ = plain
    named = ValueError("no")
    named.status_code = status
    coded = RuntimeError("no")
    coded.code = status
    for error in (plain, deep, named, coded):
        assert fault(error) == Fault(busy=status in (429, 503, 529))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 302])
def test_a_status_that_lasts_is_no_fault_that_passes(status):
    assert fault(of(status)) is None


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (httpx.ConnectError("refused"), Fault()),
        (httpx.ReadTimeout("slow"), Fault(busy=True)),
        (ConnectionResetError(), Fault()),
        (TimeoutError(), Fault(busy=True)),
        (RuntimeError("of some library"), Fault()),
        (ValueError("no JSON"), None),
        (NotImplementedError(), None),
        (ModelError("no such file"), None),
        (SystemExit(0), None),
        (KeyboardInterrupt(), None),
    ],
)
def test_an_error_without_a_status_passes_unless_the_same_would_come_of_it(error, found):
    assert fault(error) == found


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after": "-3"}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "1e999"}, None),
        ({"retry_after": ""}, None),
        ({"retry_after": "Fri, 20 Nov 2020 12:00:00 GMT"}, 0.0),
        ({"retry_after": "Fri, 99 Nov 2020 12:00:00 GMT"}, None),
        ({"retry_after": "7", "retry_after_ms": "250"}, 0.25),
        ({"retry_after": "7", "retry_after_ms": "no"}, 7.0),
    ],
)
def test_the_pause_is_what_the_server_asks_for(headers, seconds):
    assert fault(of(429, **headers)) == Fault(seconds, busy=True)


def test_a_date_is_waited_for():
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    found = fault(of(503, retry_after=date))
    assert 3_590 < found.after <= 3_600


def test_a_server_that_says_that_nothing_will_change_is_believed():
    assert refused(429, {"x-should-retry": "false"}) is None


def test_a_busy_server_holds_back_all_who_ask_it_and_a_broken_one_does_not():
    slots, begun = Slots(), threading.Event()

    def other():
        with slots.one(8):
            begun.set()

    with pytest.raises(Passing):
        Tries(0, slots=slots)(failing(Passing("broken", Fault(after=0.2))))
    with slots.one(8):
        pass
    with pytest.raises(Passing):
        Tries(0, slots=slots)(failing(Passing("busy", Fault(after=0.2, busy=True))))
    threading.Thread(target=other, daemon=True).start()
    assert not begun.wait(0.05)
    assert begun.wait(5)


def test_a_pause_holds_no_slot():
    slots = Slots()
    tries = Tries(1, slots=slots, most=1)
    waiting = threading.Event()
    calls = failing(Passing("down", Fault(after=0.2)))

    def call():
        waiting.set()
        return calls()

    thread = threading.Thread(target=tries, args=(call,), daemon=True)
    thread.start()
    waiting.wait(5)
    with slots.one(1):
        pass
    thread.join(5)
    assert tries.made == 2


def test_the_wait_for_a_slot_costs_no_patience():
    slots = Slots()
    with suppress(ValueError), slots.one(1) as slot:
        slot.refuse(0.15)
        raise ValueError("busy")
    tries = Tries(1, 0.1, slots)
    assert tries(failing(Passing("down", NOW))) == 5
    assert tries.made == 2


def test_a_call_that_takes_too_long_is_left_to_itself():
    ended = threading.Event()
    with pytest.raises(Passing, match=r"^timed out: no whole reply in 0.05 s$") as raised:
        within(0.05, lambda: ended.wait(5))
    ended.set()
    assert raised.value.fault == Fault(busy=True)


def test_what_a_call_gives_or_raises_in_time_is_its_result():
    assert within(1e30, lambda: 5) == 5
    with pytest.raises(KeyError):
        within(5, lambda: {}["no"])
    with pytest.raises(TimeoutError, match="its own"):
        within(5, failing(TimeoutError("its own")))
