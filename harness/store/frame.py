"""The numbers of a run's outcomes, as NumPy columns: what is summed up, compared and drawn."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import stdev
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from harness.records import (
    AnswerSample,
    Arrival,
    Failure,
    Judged,
    Label,
    Loss,
    LostAt,
    Outcome,
    Score,
    SpanKey,
    Stage,
    State,
    Usage,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
STATES: Sequence[State] = get_args(State)
"""The states of a score, by their codes."""
LOST: Sequence[LostAt] = get_args(LostAt)
"""Where answers are lost, by their codes."""
GROUP_STAGES: Sequence[Loss] = get_args(Loss)
"""Where a group of passages can be lost, in this order: the columns of `groups`."""
STAGES: Sequence[Stage] = get_args(Stage)
"""The stages that take seconds: the columns of `seconds`."""
UNKNOWN = -1
"""The code of what is not among the names, or is not said."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What an outcome says of its hits, of what they were judged, and of what became of evidence.

    The fields are those of `Outcome`, without texts and scores. Equal parts are one object.
    """

    question: str
    hits: tuple[SpanKey, ...]
    judged: Mapping[Label, Judged]
    ranked: bool
    declined: bool | None
    lost_at: LostAt | None
    passages: tuple[Arrival, ...]
    traced_to: int | None
    error: Failure | None


@dataclass(frozen=True, eq=False)
class Frame:
    """Arrays of shape [outcomes], in their order.

    `cell` and `question` are numbers of the names that were given, `model` of those in `models`.
    `value`, `state` and `deviation` are by metric: the last is the standard deviation over the
    samples of a question. `counts` has those of metrics of the whole set, empty where there are
    none. `seconds` is [outcomes, stages]; `groups`, [outcomes, stages and 1], says how many groups
    of passages were lost at each stage, and last how many arrived. `calls` are the answers of a
    question, and `tokens_in` and `tokens_out` what they took together. `traces` are no numbers:
    they are here so that nobody need read the outcomes again for them. What is not there is nan,
    only in here.
    """

    cell: Codes
    question: Codes
    value: Mapping[str, Floats]
    state: Mapping[str, NDArray[np.uint8]]
    deviation: Mapping[str, Floats]
    counts: Mapping[str, Sequence[tuple[float, ...]]]
    lost: NDArray[np.int8]
    groups: NDArray[np.int32]
    without_evidence: Mask
    failed: Mask
    answered: Mask
    declined: Mask
    gives_answers: Mask
    seconds: Floats
    calls: Codes
    tokens_in: Floats
    tokens_out: Floats
    model: Codes
    models: tuple[str, ...]
    traces: list[Trace]

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def total_seconds(self) -> Floats:
        """The seconds of a question over its stages; nan where none is known."""
        known = ~np.isnan(self.seconds)
        return np.where(known.any(axis=1), np.where(known, self.seconds, 0.0).sum(axis=1), np.nan)

    @property
    def answer_tokens_in(self) -> Floats:
        """The tokens that an answer read, a mean where a question has several."""
        return self.tokens_in / np.maximum(self.calls, 1)

    @property
    def answer_tokens_out(self) -> Floats:
        """The tokens that an answer has, a mean where a question has several."""
        return self.tokens_out / np.maximum(self.calls, 1)

    def scores(self, metric: str, places: Codes | slice = slice(None)) -> list[Score]:
        """Return the scores of some outcomes, without their reasons and verdicts."""
        values, states = self.value[metric][places].tolist(), self.state[metric][places].tolist()
        counts: Sequence[tuple[float, ...]] = [()] * len(values)
        if metric in self.counts:
            all_counts = self.counts[metric]
            counts = [all_counts[place] for place in np.arange(len(self))[places].tolist()]
        return [
            Score(None if value != value else value, "", STATES[state], count)
            for value, state, count in zip(values, states, counts, strict=True)
        ]

    def usages(self, places: Codes) -> list[Usage]:
        """Return what the answers of each question took together, where there were any."""
        asked = places[self.calls[places] > 0]
        columns = (self.tokens_in[asked].tolist(), self.tokens_out[asked].tolist())
        return [
            Usage(
                None if tokens_in != tokens_in else int(tokens_in),
                None if tokens_out != tokens_out else int(tokens_out),
                None if model == UNKNOWN else self.models[model],
            )
            for tokens_in, tokens_out, model in zip(
                *columns, self.model[asked].tolist(), strict=True
            )
        ]

    def at(self, places: Codes) -> Frame:
        """Return the same of some outcomes, in their order."""
        picked = {field.name: _pick(getattr(self, field.name), places) for field in fields(self)}
        return Frame(**picked)


def _pick(column: Any, places: Codes) -> Any:
    if isinstance(column, np.ndarray):
        return column[places]
    if isinstance(column, dict):
        return {name: _pick(part, places) for name, part in column.items()}
    if isinstance(column, list):
        return [column[place] for place in places.tolist()]
    return column


class FrameBuilder:
    """Builds a `Frame` from outcomes that are added one by one."""

    def __init__(
        self, cells: Iterable[str], questions: Iterable[str], metrics: Iterable[str]
    ) -> None:
        self._cells = {name: number for number, name in enumerate(cells)}
        self._questions = {id_: number for number, id_ in enumerate(questions)}
        self._metrics = list(metrics)
        self._models: dict[str, int] = {}
        self._codes = array("q")
        self._values = array("d")
        self._states = bytearray()
        self._deviations = array("d")
        self._counts: dict[str, list[tuple[float, ...]]] = {}
        self._lost = array("b")
        self._groups = array("i")
        self._flags = bytearray()
        self._measured = array("d")
        self._traces: list[Trace] = []
        self._same: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._lost)

    def add(self, outcome: Outcome) -> None:
        """Append what an outcome says."""
        cell = self._cells.get(outcome.cell, UNKNOWN)
        question = self._questions.get(outcome.question, UNKNOWN)
        usages = [part.usage for part in outcome.samples or (outcome,) if part.usage is not None]
        model = usages[0].model if usages else None
        number = UNKNOWN if model is None else self._models.setdefault(model, len(self._models))
        self._codes.extend((cell, question, len(usages), number))
        for name in self._metrics:
            self._add_score(name, outcome.scores[name], outcome.samples)
        self._lost.append(UNKNOWN if outcome.lost_at is None else _LOST_CODES[outcome.lost_at])
        stages = [arrival.stage for arrival in outcome.passages]
        self._groups.extend(map(stages.count, (*GROUP_STAGES, None)))
        self._flags.extend(
            (
                outcome.without_evidence,
                outcome.error is not None,
                outcome.answer is not None,
                bool(outcome.declined),
                outcome.answers,
            )
        )
        self._measured.extend(outcome.seconds.get(stage, np.nan) for stage in STAGES)
        self._measured.append(_total(usage.tokens_in for usage in usages))
        self._measured.append(_total(usage.tokens_out for usage in usages))
        once = self._same.setdefault
        self._traces.append(
            Trace(
                outcome.question,
                tuple([once(key := (hit.doc, hit.start, hit.end), key) for hit in outcome.hits]),
                {label: once(judged, judged) for label, judged in outcome.judged.items()},
                outcome.ranked,
                outcome.declined,
                outcome.lost_at,
                once(passages := tuple(outcome.passages), passages),
                outcome.traced_to,
                outcome.error,
            )
        )

    def _add_score(self, name: str, score: Score, samples: Sequence[AnswerSample]) -> None:
        if score.counts and name not in self._counts:
            self._counts[name] = [()] * len(self._lost)
        if name in self._counts:
            self._counts[name].append(score.counts)
        self._values.append(np.nan if score.value is None else score.value)
        self._states.append(_STATE_CODES[score.state])
        values = [sample.scores[name].value for sample in samples]
        known = [value for value in values if value is not None]
        self._deviations.append(stdev(known) if len(known) > 1 else np.nan)

    def frame(self, start: int = 0) -> Frame:
        """Return what was added, from the outcome with the number `start` on."""
        count, stages = len(self._lost) - start, len(STAGES) + 2
        shape, first = (count, len(self._metrics)), start * len(self._metrics)
        cell, question, calls, model = np.array(self._codes[4 * start :]).reshape(count, 4).T.copy()
        flags = np.array(self._flags[5 * start :], dtype=np.bool_).reshape(count, 5).T.copy()
        without_evidence, failed, answered, declined, gives_answers = flags
        measured = np.array(self._measured[stages * start :]).reshape(count, stages)
        groups = np.array(self._groups[(len(GROUP_STAGES) + 1) * start :], dtype=np.int32)
        by_metric = {
            "value": np.array(self._values[first:]).reshape(shape).T.copy(),
            "state": np.array(self._states[first:], dtype=np.uint8).reshape(shape).T.copy(),
            "deviation": np.array(self._deviations[first:]).reshape(shape).T.copy(),
        }
        named = {
            name: dict(zip(self._metrics, columns, strict=True))
            for name, columns in by_metric.items()
        }
        return Frame(
            cell=cell,
            question=question,
            **named,
            counts={name: counts[start:] for name, counts in self._counts.items()},
            lost=np.array(self._lost[start:], dtype=np.int8),
            groups=groups.reshape(count, len(GROUP_STAGES) + 1),
            without_evidence=without_evidence,
            failed=failed,
            answered=answered,
            declined=declined,
            gives_answers=gives_answers,
            seconds=measured[:, : len(STAGES)].copy(),
            calls=calls,
            tokens_in=measured[:, -2].copy(),
            tokens_out=measured[:, -1].copy(),
            model=model,
            models=tuple(self._models),
            traces=self._traces[start:],
        )


def _total(counts: Iterable[int | None]) -> float:
    """Return the sum; nan where one is not known, or there is none."""
    values = [np.nan if count is None else count for count in counts]
    return float(sum(values)) if values else np.nan


_STATE_CODES = {state: code for code, state in enumerate(STATES)}
_LOST_CODES = {stage: code for code, stage in enumerate(LOST)}
