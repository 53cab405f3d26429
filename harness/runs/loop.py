"""The loop of a run: answers questions, several at once, and yields what became of them in order.

A cell, a system of the user's own and the oracle all run through it. Failures, budgets and Ctrl-C
are handled here and nowhere else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from harness.config.prices import Prices
from harness.errors import RunError
from harness.files.batches import batched
from harness.models.concurrency import CallResult, Calls
from harness.records import Failure, Question
from harness.store import expenses
from harness.text import numbers

K = TypeVar("K")
V = TypeVar("V")
O_co = TypeVar("O_co", covariant=True)
BATCH_QUESTIONS = 256
"""How many questions are retrieved and scored together; each answer is kept at once."""
_MAX_OPEN_BATCHES = 4
"""How many batches may be open, so that one slow answer does not hold up all."""
_CALLS_AHEAD = 4
"""How many calls wait for each that runs: they begin while a batch is retrieved or scored."""

Report = Callable[[str, Failure | None], None]
"""Receives each question that has ended, by its id; what it raises ends the loop."""


@dataclass
class Asked(Generic[K, V]):
    """A question, what is asked because of it, and the replies so far."""

    question: Question
    requests: Sequence[K] = ()
    """Without a request, the question has ended."""
    replies: dict[K, CallResult[K, V]] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def ended(self) -> bool:
        """Whether every request has its reply."""
        return len(self.replies) == len(self.requests)


A = TypeVar("A", bound=Asked)  # type: ignore[type-arg]


class Subject(Protocol[A, K, V, O_co]):
    """What is asked questions: a cell, a system or a generator of the oracle.

    Only `answer_one` is called in other threads.
    """

    stage: str
    """What the seconds spent waiting for answers are counted as."""

    @property
    def at_once(self) -> int:
        """How many requests it may be asked at once; from 1."""
        ...

    def prepare(self, questions: Sequence[Question]) -> Sequence[A]:
        """Do what comes before the first request, for a batch of questions."""
        ...

    def known(self, requests: Sequence[K]) -> Mapping[K, CallResult[K, V]]:
        """Return the replies of earlier runs that are used in place of new ones."""
        ...

    def answer_one(self, request: K) -> V:
        """Answer one request.

        Raises:
            StageError: it gave up on this question.
        """
        ...

    def keep(self, result: CallResult[K, V]) -> None:
        """Keep a new reply, so that a run that is broken off goes on behind it.

        Raises:
            RunError: it was more than may be spent.
        """
        ...

    def end(self, asked: A) -> None:
        """Note what became of a question whose replies are there; `failure` where it failed."""
        ...

    def score(self, batch: Sequence[A]) -> Iterable[O_co]:
        """Score questions that have ended; the outcomes are in their order."""
        ...


def outcomes(
    subject: Subject[A, K, V, O_co],
    questions: Iterable[Question],
    timed: Callable[[str], AbstractContextManager[None]],
    report: Report,
    asks_judge: bool,
) -> Iterator[O_co]:
    """Yield the outcome of each question, in order.

    A `StageError` becomes the failure of its question. Any other error, an interrupt and what
    `report` raises end the run, once what was answered by then has been yielded; where scoring
    `asks_judge`, it is not, as verdicts would take time, and more of a budget that is spent.
    """
    with closing(_ended_batches(subject, questions, timed, report, asks_judge)) as batches:
        for batch in batches:
            yield from subject.score(batch)


def _ended_batches(
    subject: Subject[A, K, V, O_co],
    questions: Iterable[Question],
    timed: Callable[[str], AbstractContextManager[None]],
    report: Report,
    asks_judge: bool,
) -> Generator[Sequence[A], None, None]:
    """Yield the questions in batches, in order, each once all of it has ended.

    While the last answers of a batch are awaited, those of the next are asked for.
    """
    remaining = batched(questions, BATCH_QUESTIONS)
    batches: deque[Sequence[A]] = deque()
    owners: dict[K, list[A]] = {}  # of each request that has no reply yet
    unasked: deque[K] = deque()
    ended: deque[A] = deque()  # and not reported yet
    most_open = subject.at_once * (1 + _CALLS_AHEAD) if subject.at_once > 1 else 1

    def deliver(result: CallResult[K, V]) -> None:
        for asked in owners.pop(result.key):
            asked.replies[result.key] = result
            if asked.ended:
                subject.end(asked)
                ended.append(asked)

    def keep(result: CallResult[K, V]) -> None:
        deliver(result)
        if result.failure is None:
            subject.keep(result)

    def prepare(batch: Sequence[Question]) -> None:
        batches.append(subject.prepare(batch))
        new: list[K] = []
        for asked in batches[-1]:
            new += [key for key in asked.requests if key not in owners]
            for key in asked.requests:
                owners.setdefault(key, []).append(asked)
            if asked.ended:
                ended.append(asked)
        known = subject.known(new)
        for result in known.values():
            deliver(result)
        unasked.extend(key for key in new if key not in known)

    try:
        with Calls(subject.at_once, keep) as calls:
            while True:
                while ended:
                    asked = ended.popleft()
                    report(asked.question.id, asked.failure)
                while unasked and calls.open < most_open:
                    key = unasked.popleft()
                    calls.begin(key, partial(subject.answer_one, key))
                if batches and all(asked.ended for asked in batches[0]):
                    yield batches.popleft()
                elif (
                    calls.open < most_open
                    and len(batches) < _MAX_OPEN_BATCHES
                    and (batch := next(remaining, None)) is not None
                ):
                    prepare(batch)
                elif batches:
                    with timed(subject.stage):
                        calls.take()
                else:
                    return
    except (KeyboardInterrupt, Exception):
        if not asks_judge:
            yield from ([asked for asked in batch if asked.ended] for batch in batches)
        raise


class Spending:
    """What a run spends on calls that it makes itself; more than it may ends it, once.

    `max_money` is by `prices`; `tokens` are those sent and got, of all chat models together. None
    is no limit.
    """

    def __init__(
        self, prices: Prices | None, max_money: float | None = None, tokens: int | None = None
    ) -> None:
        self._prices = prices
        self._max_money = max_money
        self._tokens = tokens
        self._spent = 0.0
        self._taken = 0
        self._ended = False

    def __call__(self, model: str, tokens_in: int | None, tokens_out: int | None) -> None:
        """Count one call.

        Raises:
            RunError: the calls made so far took more than they may, or what one took is not known.
        """
        over = [*self._money(model, tokens_in, tokens_out), *self._budget(tokens_in, tokens_out)]
        if self._ended or not over:
            return
        self._ended = True
        key, limit, spent = over[0]
        if spent is None:
            raise RunError(
                f"{model!r} does not tell how many tokens a call took, so `{key}` ({limit}) "
                f"cannot be held\n  leave {key} out; what was done is kept"
            )
        raise RunError(
            f"the run has spent {spent}, more than `{key}` allows ({limit})\n"
            f"  what was done is kept; with a higher {key} the same command continues from there"
        )

    def _money(
        self, model: str, tokens_in: int | None, tokens_out: int | None
    ) -> Iterator[_ExceededLimit]:
        if self._prices is None or self._max_money is None:
            return
        cost = expenses.tokens_cost(self._prices.price_of(model), tokens_in, tokens_out)
        self._spent += cost or 0.0
        if cost is None or self._spent > self._max_money:
            currency = self._prices.line.currency
            limit, spent = (
                numbers.money(amount, currency) for amount in (self._max_money, self._spent)
            )
            yield _ExceededLimit("max_cost", limit, None if cost is None else spent)

    def _budget(self, tokens_in: int | None, tokens_out: int | None) -> Iterator[_ExceededLimit]:
        if self._tokens is None:
            return
        counted = tokens_in is not None and tokens_out is not None
        self._taken += (tokens_in or 0) + (tokens_out or 0)
        if not counted or self._taken > self._tokens:
            limit, spent = f"{self._tokens:,}", f"{self._taken:,} tokens"
            yield _ExceededLimit("token_budget", limit, spent if counted else None)


class _ExceededLimit(NamedTuple):
    """A limit that is not kept: its key, and in words the limit and what was spent, if known."""

    key: str
    limit: str
    spent: str | None
