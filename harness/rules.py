"""The rules of a gate: the `gate` of a configuration, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Strict

from harness.errors import Problem, suggest

_Float = Annotated[float, Strict()]
_Share = Annotated[_Float, Ge(0), Le(1)]
Segmented = tuple[str | None, str | None]
"""The category and the difficulty of a question."""
MOST_DRAWS = 1_000_000
"""Draws of a sign-flip test; each of a family needs about 2 times its size / (1 - confidence)."""


@dataclass(frozen=True)
class Segment:
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
class Drop:
    """A metric may not drop by more than `drop_more_than` from the baseline's.

    At `confidence` the one-sided test must show that it dropped at all. `strict` asks that the
    interval rules a greater drop out. `cannot_tell` says what becomes of a run where neither can be
    said: it passes unless the rule is strict.
    """

    metric: str
    drop_more_than: _Share
    confidence: Annotated[_Float, Gt(0.5), Lt(1)] = 0.95
    segment: Segment | None = None
    strict: Annotated[bool, Strict()] = False
    cannot_tell: Literal["pass", "fail"] | None = None

    def __post_init__(self) -> None:
        if self.confidence > _surest(1):
            raise ValueError(
                f"confidence {self.confidence} asks for more than a million draws of the test: "
                f"at most {_surest(1):g}"
            )
        if self.cannot_tell is None:
            object.__setattr__(self, "cannot_tell", "fail" if self.strict else "pass")

    def __str__(self) -> str:
        among = "" if self.segment is None else f" ({self.segment})"
        said = f"{self.metric}{among}: no drop of more than {self.drop_more_than:g}"
        said += "" if self.confidence == 0.95 else f", confidence {self.confidence:g}"
        said += ", strict" if self.strict else ""
        usual = "fail" if self.strict else "pass"
        return said if self.cannot_tell == usual else f"{said}, cannot tell: {self.cannot_tell}"


def _surest(family: int) -> float:
    """Return the highest confidence that `MOST_DRAWS` can show in a family of so many tests."""
    return round(1 - 2 * family / MOST_DRAWS, 6)


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


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, Mapping) else value


_Drops = Annotated[list[Drop], BeforeValidator(_listed, json_schema_input_type=Drop | list[Drop])]


@dataclass(frozen=True)
class Gate:
    """When a run fails: by a drop from `baseline`, a mean under `min`, or what is over `max`.

    `cell` names the one cell that is judged; else those that the baseline has too, or without drop
    rules all but floors. `pool` is over how many days samples of the test set are judged together.
    """

    baseline: str = "main"
    cell: str | None = None
    fail_if: _Drops = field(default_factory=list)
    min: dict[str, _Share] = field(default_factory=dict)
    max: Limits = Limits()
    pool: Annotated[int, Strict(), Ge(1), Le(366)] = 7

    def __post_init__(self) -> None:
        if not self.fail_if and not self.min and self.max == Limits():
            raise ValueError("the gate has no rule: give it fail_if, min or max")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that rules are about."""
        return tuple(dict.fromkeys([*(rule.metric for rule in self.fail_if), *self.min]))


def is_path(baseline: str) -> bool:
    """Return whether a gate names its baseline by a file, and not by its name."""
    return baseline.endswith(".json") or "/" in baseline or "\\" in baseline


def misfits(
    gate: Gate,
    kinds: Mapping[str, str],
    cells: Collection[str],
    where: Callable[..., str],
    complete: bool = True,
) -> Iterator[Problem]:
    """Yield what rules name that is not there, or may not be judged.

    `kinds` holds the kind of each metric of the run. Without `complete` a metric that is looked for
    may be one that did not build, which was said already; so may a cell, where there are none.
    """
    for metric, place in _named(gate):
        if metric not in kinds and complete:
            what = f"{metric!r} is not among the metrics"
            yield Problem(where("gate", *place), what, suggest(metric, kinds))
        elif kinds.get(metric) == "descriptive":
            what = f"{metric!r} is descriptive: it says nothing of quality"
            good = [name for name, kind in kinds.items() if kind != "descriptive"]
            yield Problem(where("gate", *place), what, f"choose from: {', '.join(good)}")
    for at, rule in enumerate(gate.fail_if):
        if rule in gate.fail_if[:at]:
            what = f"the rule is there twice: {rule}"
            yield Problem(where("gate", "fail_if", at), what, "take one of them out")
    family = len(gate.fail_if) * (1 if gate.cell is not None else max(1, len(cells)))
    for at, rule in enumerate(gate.fail_if):
        if rule.confidence > _surest(family):
            what = (
                f"confidence {rule.confidence}, corrected for {family} tests, asks for more than "
                "a million draws of the test"
            )
            hint = f"at most {_surest(family):g}, or fewer rules"
            yield Problem(where("gate", "fail_if", at, "confidence"), what, hint)
    if gate.cell is not None and cells and gate.cell not in cells:
        what = f"no cell has the name {gate.cell!r}"
        yield Problem(where("gate", "cell"), what, suggest(gate.cell, cells))


def unjudged(
    gate: Gate,
    within_chunker: Collection[str],
    chunkers: int,
    segments: Iterable[Segmented],
    where: Callable[..., str],
) -> Iterator[Problem]:
    """Yield what rules ask for that the data do not have.

    `within_chunker` names the metrics that say nothing between cells of different chunkers, of
    which there are `chunkers`; `segments` are of each question.
    """
    for metric in gate.min:
        if metric in within_chunker and chunkers > 1 and gate.cell is None:
            what = (
                f"{metric!r} counts each index's own chunks, and this grid has several chunkers: "
                "one limit does not fit all"
            )
            hint = "name the cell that is judged, `cell: NAME`, or use passage_recall, hit_rate"
            yield Problem(where("gate", "min", metric), what, hint)
    known = list(segments)
    for at, rule in enumerate(gate.fail_if):
        if rule.segment is not None and not any(rule.segment.holds(*each) for each in known):
            yield Problem(
                where("gate", "fail_if", at, "segment"),
                f"no question of the test set has {rule.segment}",
                _there(rule.segment, known),
            )


def _there(segment: Segment, known: Sequence[Segmented]) -> str:
    for at, name in enumerate((segment.category, segment.difficulty)):
        there = {each for question in known if (each := question[at]) is not None}
        if name is not None and name not in there:
            return suggest(name, there) if there else "the questions have none"
    return "each is there, and no question has both"


def _named(gate: Gate) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    for at, rule in enumerate(gate.fail_if):
        yield rule.metric, ("fail_if", at, "metric")
    for metric in gate.min:
        yield metric, ("min", metric)
