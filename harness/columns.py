"""What the records of a run say in numbers: a column a field, so that many records take little."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from harness.records import LostAt, Score, State
from harness.stored import RecordLine, UsageLine

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
STATES: Sequence[State] = get_args(State)
"""The states of a score, by their codes."""
LOST: Sequence[LostAt] = get_args(LostAt)
"""Where answers are lost, by their codes."""
UNKNOWN = -1
"""The code of what is not among the names, or is not said."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Arrays of shape [records], in the order of the records.

    `cell` and `question` are numbers of the names that were given; `value` and `state` are by
    metric, a value that is not there is nan, only in here. `answered` says which have an answer.
    `seconds`, the sum of a question's stages, `tokens_in` and `tokens_out` are nan where they are
    not known.
    """

    cell: Codes
    question: Codes
    value: Mapping[str, Floats]
    state: Mapping[str, NDArray[np.uint8]]
    lost: NDArray[np.int8]
    failed: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    seconds: Floats
    tokens_in: Floats
    tokens_out: Floats

    def scores(self, metric: str, places: Codes) -> list[Score]:
        """Return the scores of some records, without their reasons, counts and verdicts.

        One that has counts in the place of a value is no score of its question.
        """
        values, states = self.value[metric][places].tolist(), self.state[metric][places].tolist()
        return [
            _score(None if value != value else value, STATES[state])
            for value, state in zip(values, states, strict=True)
        ]


def _score(value: float | None, state: State) -> Score:
    return Score(value, "", "not_scored" if value is None and state == "scored" else state)


class Gathered:
    """Columns in the making: one record is added after the other."""

    def __init__(
        self, cells: Iterable[str], questions: Iterable[str], metrics: Iterable[str]
    ) -> None:
        self._cells = {name: number for number, name in enumerate(cells)}
        self._questions = {id_: number for number, id_ in enumerate(questions)}
        self._metrics = list(metrics)
        self._codes = array("q")
        self._values = array("d")
        self._states = bytearray()
        self._lost = array("b")
        self._failed = bytearray()
        self._answered = bytearray()
        self._took = array("d")

    def add(self, record: RecordLine) -> None:
        """Append what a record says."""
        cell, question = self._cells.get(record.cell), self._questions.get(record.question)
        self._codes.extend(UNKNOWN if each is None else each for each in (cell, question))
        for name in self._metrics:
            score = record.scores[name]
            self._values.append(np.nan if score.value is None else score.value)
            self._states.append(_STATES[score.state])
        self._lost.append(UNKNOWN if record.lost_at is None else _LOST[record.lost_at])
        self._failed.append(record.error is not None)
        self._answered.append(record.answer is not None)
        usage = record.usage or _UNTOLD
        seconds = sum(record.seconds.values()) if record.seconds else None
        took = (seconds, usage.tokens_in, usage.tokens_out)
        self._took.extend(np.nan if each is None else each for each in took)

    def columns(self) -> Columns:
        """Return what was added."""
        count = len(self._lost)
        cell, question = np.array(self._codes, dtype=np.int64).reshape(count, 2).T.copy()
        seconds, tokens_in, tokens_out = np.array(self._took).reshape(count, 3).T.copy()
        shape = (count, len(self._metrics))
        values = np.array(self._values).reshape(shape).T.copy()
        states = np.frombuffer(self._states, dtype=np.uint8).reshape(shape).T.copy()
        return Columns(
            cell,
            question,
            dict(zip(self._metrics, values, strict=True)),
            dict(zip(self._metrics, states, strict=True)),
            np.array(self._lost, dtype=np.int8),
            np.frombuffer(self._failed, dtype=bool),
            np.frombuffer(self._answered, dtype=bool),
            seconds,
            tokens_in,
            tokens_out,
        )


_UNTOLD = UsageLine()
_STATES = {state: code for code, state in enumerate(STATES)}
_LOST = {stage: code for code, stage in enumerate(LOST)}
