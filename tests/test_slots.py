"""Slots: how many requests a server is sent at once, halved when it is too busy, and raised."""

import threading

from harness import slots
from harness.slots import Slots


class Requests:
    """Requests of one limit that are in flight, each until it is ended."""

    def __init__(self, limits: Slots, most: float) -> None:
        self.limits, self.most, self.open = limits, most, []

    def begin(self, times: int = 1) -> None:
        for _ in range(times):
            request = self.limits.one(self.most)
            self.open.append((request, request.__enter__()))

    def end(self, times: int = 1) -> None:
        for _ in range(times):
            self.open.pop(0)[0].__exit__(None, None, None)

    def fail(self, times: int = 1) -> None:
        for _ in range(times):
            request, number = self.open.pop(0)
            self.limits.halve(number)
            assert not request.__exit__(ValueError, ValueError("busy"), None)

    def waits(self) -> bool:
        """Return whether one more request would have to wait."""
        begun = threading.Event()

        def one():
            with self.limits.one(self.most):
                begun.set()

        thread = threading.Thread(target=one, daemon=True)
        thread.start()
        return not begun.wait(0.05)


def test_a_server_that_bears_it_is_sent_as_many_as_each_caller_allows_itself():
    limits = Slots()
    few, many = Requests(limits, 2), Requests(limits, 5)
    few.begin(2)
    assert few.waits()
    many.begin(3)
    assert many.waits()


def test_requests_that_were_too_much_together_halve_the_limit_once():
    limits = Slots()
    requests = Requests(limits, 8)
    requests.begin(8)
    requests.fail(8)
    requests.begin(4)
    assert requests.waits()


def test_each_further_round_of_too_much_halves_again_and_one_is_always_allowed():
    limits = Slots()
    requests = Requests(limits, 8)
    for size in (8, 4, 2, 1, 1):
        requests.begin(size)
        assert requests.waits()
        requests.fail(size)


def test_a_round_of_answers_raises_the_limit_by_one_up_to_what_is_allowed():
    limits = Slots()
    requests = Requests(limits, 4)
    requests.begin(4)
    requests.fail(4)
    requests.begin(2)
    requests.end(2)  # 2 + 1/2 = 2.5, and 2.5 + 1/2.5 = 2.9
    requests.begin(2)
    assert requests.waits()
    requests.end(1)  # 2.9 + 1/2.9 = 3.24
    requests.begin(2)
    assert requests.waits()
    requests.end(3)  # 3.55, 3.83, and then no more than 4
    requests.begin(2)
    requests.end(2)
    requests.begin(4)
    assert requests.waits()


def test_a_server_that_asks_for_time_is_sent_nothing_meanwhile():
    limits = Slots()
    limits.hold(0.2)
    assert Requests(limits, 4).waits()


def test_an_answer_leaves_room_for_the_next_at_once():
    limits = Slots()
    requests = Requests(limits, 1)
    requests.begin()
    assert requests.waits()
    requests.end()
    assert not requests.waits()


def test_who_asks_the_same_server_and_model_shares_one_limit():
    assert slots.of("http://a", "m") is slots.of("http://a", "m")
    assert slots.of("http://a", "m") is not slots.of("http://a", "n")
    assert slots.of("http://a") is not slots.of("http://b")
