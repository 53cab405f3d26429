"""What a gate came to: one verdict a rule and cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.frames import table
from harness.statistics.difference import Difference

if TYPE_CHECKING:
    from harness.frames import DataFrame

Outcome = Literal["pass", "regression", "missed", "cannot tell", "not judged"]

_FIGURES = ("before", "after", "difference", "low", "high", "p", "corrected", "caught")
_COLUMNS = {
    **dict.fromkeys(("rule", "cell", "outcome"), "str"),
    "failed": "bool",
    **dict.fromkeys(_FIGURES, "Float64"),
    "n": "Int64",
    "said": "str",
}


@dataclass(frozen=True)
class Seen:
    """What a drop rule saw: the two means on the questions that both finished, and the test.

    `p` is that of "no drop" against "a drop", and `corrected` the same by Holm over the rules;
    `caught` is the smallest drop that the rule would have caught four times in five, None where
    there is none. `clusters` counts those of the questions, where whole ones are drawn.
    """

    baseline: float
    run: float
    difference: Difference
    p: float
    corrected: float
    caught: float | None
    clusters: int | None = None


@dataclass(frozen=True)
class Verdict:
    """What one rule says of one cell; `said` has the figures in words.

    `missed` is of a limit. `failed` says whether the run fails by it.
    """

    rule: str
    cell: str
    outcome: Outcome
    failed: bool
    said: str
    seen: Seen | None = None


@dataclass(frozen=True)
class Judged:
    """What a gate came to. `family` counts the tests that were corrected together.

    `faults` say why nothing was judged, where too much failed for that; `notes` what else to know.
    """

    run: str
    baseline: str | None
    verdicts: tuple[Verdict, ...] = ()
    family: int = 0
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 a rule failed, 3 it could not be judged."""
        if self.faults:
            return 3
        if any(each.failed for each in self.verdicts):
            return 1
        return 3 if any(each.outcome == "not judged" for each in self.verdicts) else 0

    @property
    def passed(self) -> bool:
        """Whether every rule was judged, and none failed."""
        return self.status == 0

    @property
    def headline(self) -> str:
        """What came of it, in one sentence."""
        failed = sum(each.failed for each in self.verdicts)
        if self.faults:
            return "The gate was not judged: too much failed."
        if failed:
            return f"The gate failed: {failed} of {len(self.verdicts)} checks."
        if self.status:
            return "The gate was not judged in full."
        unsure = sum(each.outcome == "cannot tell" for each in self.verdicts)
        passed = f"The gate passed: {len(self.verdicts)} checks"
        return f"{passed}, {unsure} of which cannot tell." if unsure else f"{passed}."

    def frame(self) -> DataFrame:
        """Return one row a rule and cell; figures are missing where none were tested.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        return table(
            (
                [each.rule, each.cell, each.outcome, each.failed, *_figures(each.seen), each.said]
                for each in self.verdicts
            ),
            _COLUMNS,
        )

    def __str__(self) -> str:
        from harness.gate.report import text

        return text(self)


def _figures(seen: Seen | None) -> list[float | None]:
    if seen is None:
        return [None] * (len(_FIGURES) + 1)
    found = seen.difference
    means = [seen.baseline, seen.run, found.difference, found.low, found.high]
    return [*means, seen.p, seen.corrected, seen.caught, found.n]
