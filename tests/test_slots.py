"""Slots: how many requests a server is sent at once, learnt from what it refuses."""

import threading
from contextlib import suppress

import pytest

from harness import slots
from harness.slots import Limit, Slots
from tests.busy_servers import MEAN, QUESTIONS, Bucket, Minutes, Places, ask


class Requests:
    """Requests of one limit that are in flight, each until it is ended; the clock is ours."""

    def __init__(self, most: float, limit: Limit | None = None, now: float = 0.0) -> None:
        self.limit, self.most, self.now = limit or Limit(), most, now

    def begin(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += 1_000.0  # longer than any pause between two
            assert self.limit.pause(self.most, self.now) == 0.0
            self.limit.begin(self.now)

    def end(self, times: int = 1, seconds: float = 1.0) -> None:
        for _ in range(times):
            self.limit.answered(self.most, self.now, seconds)

    def refuse(self, times: int = 1, after: float | None = None) -> None:
        for _ in range(times):
            self.limit.refused(self.now, after)

    @property
    def full(self) -> bool:
        return self.limit.pause(self.most, self.now + 1_000.0) == float("inf")


def test_a_server_that_bears_it_is_sent_as_many_as_each_caller_allows_itself():
    few = Requests(2)
    few.begin(2)
    assert few.full
    many = Requests(5, few.limit, few.now)
    many.begin(3)
    assert many.full


def test_of_a_burst_that_was_partly_refused_the_limit_is_what_was_taken():
    requests = Requests(16)
    requests.begin(16)
    requests.refuse(8)
    assert requests.limit.limit == 8
    requests.end(8)
    requests.begin(8)
    assert requests.full


def test_where_one_alone_is_too_much_the_limit_becomes_a_share_of_the_time():
    requests = Requests(4)
    requests.begin()
    requests.end(seconds=2.0)
    requests.begin()
    requests.refuse()
    assert requests.limit.limit == pytest.approx(0.9)
    requests.begin()
    requests.refuse()
    assert requests.limit.limit == pytest.approx(0.9 * 0.81)
    assert requests.limit.pause(4, requests.now) == pytest.approx(2 / (0.9 * 0.81))


def test_a_server_that_refuses_all_for_long_is_still_tried_every_ten_seconds():
    requests = Requests(4)
    requests.begin()
    requests.end()
    for _ in range(200):
        requests.begin()
        requests.refuse()
    assert requests.limit.pause(4, requests.now) == pytest.approx(10)


def test_a_refusal_never_makes_room_for_more_however_long_an_answer_takes():
    requests = Requests(4)
    requests.begin()
    requests.end(seconds=60.0)
    for _ in range(2):
        requests.begin()
        requests.refuse()
        assert requests.limit.limit == 1.0


def test_after_refusals_of_all_the_ceiling_is_halfway_to_what_its_caller_allows():
    requests = Requests(16)
    for _ in range(50):
        requests.begin()
        requests.refuse()
    assert requests.limit.limit == pytest.approx(0.01)  # one each ten seconds
    limits = []
    for _ in range(9):
        requests.begin()
        requests.end()
        limits.append(requests.limit.limit)
    assert limits[:3] == pytest.approx([1.01, 2.01, 3.01])
    assert limits[7] == pytest.approx((16 + 0.01) / 2)


def test_below_the_limit_that_was_borne_each_answer_makes_room_for_one_more():
    requests = Requests(16)
    requests.begin(8)
    requests.refuse()
    requests.end()  # seven were borne
    requests.refuse(6)
    assert requests.limit.limit == 0.9
    limits = []
    for _ in range(5):
        requests.begin()
        requests.end()
        limits.append(requests.limit.limit)
    assert limits[:3] == [1.9, 2.9, 3.9]
    assert limits[3] == (7 + 0.9) / 2  # the ceiling: between what was borne before and now
    assert limits[3] < limits[4] < 4  # and from there it rises slowly


def test_a_known_ceiling_is_tried_after_some_rounds_and_left_behind_where_it_has_gone():
    requests = Requests(64)
    requests.begin(9)
    requests.refuse()
    rounds = {}
    for round_ in range(1, 40):
        requests.end(requests.limit.running)
        requests.begin(int(requests.limit.limit))
        rounds[int(requests.limit.limit)] = round_
    assert rounds[8] == 5  # 8 x (1 + 0.001 x 5**3) is 9
    assert max(rounds) == 64
    assert next(round_ for borne, round_ in rounds.items() if borne >= 32) < 20


def test_begins_are_spread_over_the_time_that_an_answer_takes():
    requests = Requests(16)
    requests.begin(4)
    requests.refuse(2)
    requests.end(2, seconds=0.6)
    assert requests.limit.limit == pytest.approx(2, abs=0.001)
    now = requests.now
    assert requests.limit.pause(16, now) == pytest.approx(0.6 / (2 * 1.5), abs=0.001)
    assert requests.limit.pause(16, now + 0.25) == 0


def test_a_server_that_asks_for_time_is_sent_one_for_each_that_it_answers_meanwhile():
    requests = Requests(3)
    requests.begin(3)
    requests.refuse(1, after=1e6)
    limit, now = requests.limit, requests.now + 1_000
    assert limit.running == 2
    limit.answered(3, now, 1.0)
    assert limit.pause(3, now) == 0
    limit.begin(now)
    limit.refused(now, 1e6)
    limit.failed()
    assert limit.running == 0
    assert limit.pause(3, now) == pytest.approx(1e6)


def test_a_server_that_asks_for_time_and_answers_nobody_is_sent_nothing_meanwhile():
    limits = Slots()
    with suppress(ValueError), limits.one(4) as slot:
        slot.refuse(0.2)
        raise ValueError("busy")
    begun = threading.Event()

    def one():
        with limits.one(4):
            begun.set()

    thread = threading.Thread(target=one)
    thread.start()
    assert not begun.wait(0.05)
    thread.join()
    assert begun.is_set()


def test_an_error_that_says_nothing_of_the_load_leaves_the_limit_as_it_is():
    limits = Slots()
    with pytest.raises(ValueError, match="broken"), limits.one(1):
        raise ValueError("broken")
    with limits.one(1):
        pass


def test_who_asks_the_same_server_and_model_shares_one_limit():
    assert slots.of("http://a", "m") is slots.of("http://a", "m")
    assert slots.of("http://a", "m") is not slots.of("http://a", "n")
    assert slots.of("http://a") is not slots.of("http://b")


HALVED = Places(16, later=8, between=(10, 30))
"""20 s of 8 places, and 16 for the rest."""
SERVERS = {
    "no limit but ours": (Places(999), 16, QUESTIONS * MEAN / 16),
    "1 place": (Places(1), 16, QUESTIONS * MEAN),
    "2 places": (Places(2), 16, QUESTIONS * MEAN / 2),
    "8 places": (Places(8), 16, QUESTIONS * MEAN / 8),
    "8 places, and asks for a second": (Places(8, 1.0), 16, QUESTIONS * MEAN / 8),
    "16 places": (Places(16), 64, QUESTIONS * MEAN / 16),
    "2 a second": (Bucket(2, 2), 16, QUESTIONS / 2),
    "5 a second": (Bucket(5, 5), 16, QUESTIONS / 5),
    "20 a second": (Bucket(20, 20), 16, QUESTIONS / 20),
    "20 a second, and asks for time": (Bucket(20, 20, tells=True), 16, QUESTIONS / 20),
    "40 a second, far more at once allowed": (Bucket(40, 40), 64, QUESTIONS / 40),
    "16 places, for 20 s only 8": (HALVED, 16, 20 + (QUESTIONS - 20 * 8 / MEAN) * MEAN / 16),
    "900 tokens a minute": (Bucket(15, 300, tells=True), 16, (QUESTIONS - 300) / 15),
    "1,200 in each minute": (Minutes(1_200, tells=True), 16, 120 + 600 * MEAN / 16),
    "1,200 in each minute, silent": (Minutes(1_200, tells=False), 16, 120 + 600 * MEAN / 16),
}
"""Of each: how many at once its caller allows, and the seconds that it takes at least."""


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_used_for_what_it_bears_and_hardly_ever_asked_in_vain(name):
    server, most, ideal = SERVERS[name]
    found = ask(server, most)
    assert found.seconds <= 1.2 * ideal
    assert found.lost == 0
    assert found.refused <= 0.08 * found.sent
    assert found.most <= most


@pytest.mark.parametrize("since", [0, 10])
@pytest.mark.parametrize("seconds", [0.5, 2, 5, 30])
def test_a_server_that_refuses_all_for_a_while_is_soon_used_for_what_it_bears(since, seconds):
    server = Places(999, later=0, between=(since, since + seconds))
    found = ask(server, 16, retries=20)
    assert found.seconds <= 1.25 * (QUESTIONS * MEAN / 16 + seconds)
    assert found.lost == 0
    assert found.refused <= 0.01 * found.sent


def test_what_counts_each_request_alone_is_slow_but_loses_no_question():
    found = ask(Bucket(20, 1), 16, questions=500)
    assert found.lost == 0
    assert found.refused <= 0.08 * found.sent
