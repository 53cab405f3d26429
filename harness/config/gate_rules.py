"""The `gate` key: its rules, and the checks of these rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Strict

from harness import limits
from harness.errors import Problem, suggest
from harness.files.paths import PathText
from harness.metrics.named_metrics import MetricName, Renamed
from harness.store.cell_labels import Parts, find_cells

_Float = Annotated[float, Strict()]
_Share = Annotated[_Float, Ge(0), Le(1)]
SegmentKey = tuple[str | None, str | None]
"""The category and the difficulty of a question."""


@dataclass(frozen=True)
class QuestionSegment:
    """The questions of one category, of one difficulty, or of both."""

    category: str | None = None
    difficulty: str | None = None

    def __post_init__(self) -> None:
        if self.category is None and self.difficulty is None:
            raise ValueError("name the segment: {category: NAME} or {difficulty: NAME}")

    def holds(self, category: str | None, difficulty: str | None) -> bool:
        """Return whether a question of this category and difficulty is in it."""
        return self.category in (None, category) and self.difficulty in (None, difficulty)

    def __str__(self) -> str:
        parts = {"category": self.category, "difficulty": self.difficulty}
        return ", ".join(f"{way} {name}" for way, name in parts.items() if name is not None)


@dataclass(frozen=True)
class JudgeFloor:
    """What a judge must be shown to be worth: its card's interval lies above these."""

    balanced_accuracy: Annotated[_Float, Ge(0), Lt(1)] = 0.5


@dataclass(frozen=True)
class Drop:
    """A metric may not drop by more than `drop_more_than` from the baseline's.

    At `confidence` the one-sided test must show that it dropped at all. `strict` asks that the
    interval rules a greater drop out. `cannot_tell` says what becomes of a run where neither can be
    said: it passes unless the rule is strict. `judge` is the floor of a metric that asks one.
    """

    metric: MetricName
    drop_more_than: _Share
    confidence: Annotated[_Float, Gt(0.5), Lt(1)] = 0.95
    segment: QuestionSegment | None = None
    strict: Annotated[bool, Strict()] = False
    cannot_tell: Literal["pass", "fail"] | None = None
    judge: JudgeFloor | None = None

    def __post_init__(self) -> None:
        if self.confidence > _max_confidence(1):
            raise ValueError(
                f"confidence {self.confidence} asks for more than a million draws of the test: "
                f"at most {_max_confidence(1):g}"
            )
        if self.cannot_tell is None:
            object.__setattr__(self, "cannot_tell", "fail" if self.strict else "pass")

    def __str__(self) -> str:
        among = "" if self.segment is None else f" ({self.segment})"
        text = f"{self.metric}{among}: no drop of more than {self.drop_more_than:g}"
        text += "" if self.confidence == 0.95 else f", confidence {self.confidence:g}"
        text += ", strict" if self.strict else ""
        default = "fail" if self.strict else "pass"
        return text if self.cannot_tell == default else f"{text}, cannot tell: {self.cannot_tell}"


def _max_confidence(family: int) -> float:
    """Return the highest confidence that `MAX_DRAWS` can show in a family of so many tests."""
    return round(1 - 2 * family / limits.MAX_GATE_DRAWS, 6)


@dataclass(frozen=True)
class Limits:
    """What a cell may take at most.

    `seconds` is the median of a question, `tokens` and `money` the mean; `failures` a share of the
    questions, or a count from 1. Money is that of the run's price file.
    """

    seconds: Annotated[_Float, Gt(0)] | None = None
    tokens: Annotated[_Float, Gt(0)] | None = None
    money: Annotated[_Float, Gt(0)] | None = None
    failures: Annotated[_Float, Ge(0)] | None = None


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, Mapping) else value


_Drops = Annotated[list[Drop], BeforeValidator(_as_list, json_schema_input_type=Drop | list[Drop])]


@dataclass(frozen=True)
class Gate:
    """When a run fails: by a drop from `baseline`, a mean under `min`, or what is over `max`.

    `cell` names the one cell that is judged; else those that the baseline has too, or without drop
    rules all but floors. `pool` is over how many days samples of the test set are judged together.
    `judge` is the floor of the judge of every rule on a metric that asks one.
    """

    baseline: PathText = "main"
    cell: str | None = None
    fail_if: _Drops = field(default_factory=list)
    min: Annotated[dict[str, _Share], Renamed] = field(default_factory=dict)
    max: Limits = Limits()
    pool: Annotated[int, Strict(), Ge(1), Le(366)] = 7
    judge: JudgeFloor | None = None

    def __post_init__(self) -> None:
        if not self.fail_if and not self.min and self.max == Limits():
            raise ValueError("the gate has no rule: give it fail_if, min or max")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that rules are about."""
        return tuple(dict.fromkeys([*(rule.metric for rule in self.fail_if), *self.min]))

    def with_full_name(self, cells: Mapping[str, Parts]) -> Gate:
        """Return the gate with the full name of its cell, which may be named by its label."""
        names = [] if self.cell is None else find_cells(self.cell, cells)
        return replace(self, cell=names[0]) if len(names) == 1 else self


def is_path(baseline: str) -> bool:
    """Return whether a gate names its baseline by a file, and not by its name."""
    return baseline.endswith(".json") or "/" in baseline or "\\" in baseline


def find_rule_problems(
    gate: Gate,
    kinds: Mapping[str, str],
    cells: Mapping[str, Parts],
    where: Callable[..., str],
    complete: bool = True,
) -> Iterator[Problem]:
    """Yield what rules name that is not there, or may not be judged.

    `kinds` holds the kind of each metric of the run, `cells` the components of each cell. Without
    `complete` a metric that is looked for may be one that did not build, which was said already; so
    may a cell, where there are none.
    """
    for metric, place in _list_metrics(gate):
        if metric not in kinds and complete:
            message = f"{metric!r} is not among the metrics"
            yield Problem(where("gate", *place), message, suggest(metric, kinds))
        elif kinds.get(metric) == "descriptive":
            message = f"{metric!r} is descriptive: it says nothing of quality"
            suitable = [name for name, kind in kinds.items() if kind != "descriptive"]
            yield Problem(where("gate", *place), message, f"choose from: {', '.join(suitable)}")
    for index, rule in enumerate(gate.fail_if):
        if rule in gate.fail_if[:index]:
            message = f"the rule is there twice: {rule}"
            yield Problem(where("gate", "fail_if", index), message, "take one of them out")
    family = len(gate.fail_if) * (1 if gate.cell is not None else max(1, len(cells)))
    for index, rule in enumerate(gate.fail_if):
        if rule.confidence > _max_confidence(family):
            message = (
                f"confidence {rule.confidence}, corrected for {family} tests, asks for more than "
                "a million draws of the test"
            )
            hint = f"at most {_max_confidence(family):g}, or fewer rules"
            yield Problem(where("gate", "fail_if", index, "confidence"), message, hint)
    if gate.cell is not None and cells:
        names = find_cells(gate.cell, cells)
        if not names:
            message = f"no cell has the name {gate.cell!r}"
            yield Problem(where("gate", "cell"), message, suggest(gate.cell, cells))
        elif len(names) > 1:
            message = f"{gate.cell!r} may be any of {len(names)} cells"
            yield Problem(where("gate", "cell"), message, f"say which: {'; '.join(names)}")


def find_data_problems(
    gate: Gate,
    within_chunker: Collection[str],
    chunkers: int,
    segments: Iterable[SegmentKey],
    where: Callable[..., str],
) -> Iterator[Problem]:
    """Yield what rules ask for that the data do not have.

    `within_chunker` names the metrics that say nothing between cells of different chunkers, of
    which there are `chunkers`; `segments` are of each question.
    """
    for metric in gate.min:
        if metric in within_chunker and chunkers > 1 and gate.cell is None:
            message = (
                f"{metric!r} counts each index's own chunks, and this grid has several chunkers: "
                "one limit does not fit all"
            )
            hint = "name the cell that is judged, `cell: NAME`, or use passage_recall, hit_rate"
            yield Problem(where("gate", "min", metric), message, hint)
    labels = list(segments)
    for index, rule in enumerate(gate.fail_if):
        if rule.segment is not None and not any(rule.segment.holds(*label) for label in labels):
            yield Problem(
                where("gate", "fail_if", index, "segment"),
                f"no question of the test set has {rule.segment}",
                _suggest_segment(rule.segment, labels),
            )


def _suggest_segment(segment: QuestionSegment, labels: Sequence[SegmentKey]) -> str:
    for index, name in enumerate((segment.category, segment.difficulty)):
        names = {value for question in labels if (value := question[index]) is not None}
        if name is not None and name not in names:
            return suggest(name, names) if names else "the questions have none"
    return "each is there, and no question has both"


def _list_metrics(gate: Gate) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    for index, rule in enumerate(gate.fail_if):
        yield rule.metric, ("fail_if", index, "metric")
    for metric in gate.min:
        yield metric, ("min", metric)
