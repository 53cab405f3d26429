"""Turns what a gate came to into a document, JSON and a frame."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from harness.comparison.gate.gate_verdicts import (
    DropReason,
    GateResult,
    RuleVerdict,
    SeenDrop,
    SeenLimit,
)
from harness.report import terminal
from harness.report.document import Block, Heading, Items, Paragraph, TableBlock
from harness.store.dataframes import table
from harness.text import numbers

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

_FIGURES = ("before", "after", "difference", "low", "high", "p", "corrected", "caught")
_COLUMNS = {
    **dict.fromkeys(("rule", "cell", "outcome"), "str"),
    "failed": "bool",
    **dict.fromkeys(_FIGURES, "Float64"),
    "n": "Int64",
    "said": "str",
}


@dataclass(frozen=True)
class JudgedGate(GateResult):
    """What a gate came to, as library users get it: with its frame, its JSON and its text."""

    @property
    def headline(self) -> str:
        """What came of it, in one sentence."""
        return headline(self)

    def frame(self) -> DataFrame:
        """Return one row a rule and cell; figures are missing where none were tested.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        return table(
            (
                [
                    *(verdict.rule, verdict.cell, verdict.outcome, verdict.failed),
                    *_figures(verdict),
                    describe(verdict),
                ]
                for verdict in self.verdicts
            ),
            _COLUMNS,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, fit for JSON: what `gate --json` prints."""
        return as_dict(self)

    def __str__(self) -> str:
        return terminal.render(blocks(self))


def blocks(result: GateResult) -> list[Block]:
    """Return what came of it: a table of the rules, cells that fail first."""
    parts: list[Block] = [Heading(headline(result), 1), Paragraph(describe_baseline(result))]
    return [*parts, *rule_tables(result), *remarks(result)]


def describe_baseline(result: GateResult) -> str:
    """Return which run was judged, and what it was held against."""
    about = f"Run {result.run}"
    if result.baseline is not None:
        about += f" against {name_baseline(result)}"
        tests = numbers.count(result.family, "one-sided test")
        about += "" if result.faults else f": {tests}, corrected together by Holm"
    return f"{about}."


def name_baseline(result: GateResult) -> str:
    """Return what a run was held against and of which day that is; "" for nothing."""
    day = f" of {result.started[:10]}" if result.started else ""
    return f"{result.baseline}{day}" if result.baseline is not None else ""


def rule_tables(result: GateResult) -> list[TableBlock]:
    """Return a table of the rules for each cell, cells that fail first."""
    tables = []
    failing = failing_cells(result)
    cells = dict.fromkeys(verdict.cell for verdict in result.verdicts)
    for cell in sorted(cells, key=lambda cell: cell not in failing):
        verdicts = [verdict for verdict in result.verdicts if verdict.cell == cell]
        rows = [[_label(verdict), verdict.rule, describe(verdict)] for verdict in verdicts]
        caption = result.labels.get(cell, cell) if len(cells) > 1 else ""
        head = ["Outcome", "Rule", "What was seen"]
        tables.append(TableBlock(head, rows, caption, numeric=False, cards=True))
    return tables


def failing_cells(result: GateResult) -> set[str]:
    """Return the cells that fail by a rule, or that a rule could not be applied to."""
    return {verdict.cell for verdict in result.verdicts if verdict.failed or not verdict.measured}


def remarks(result: GateResult) -> list[Items]:
    """Return why nothing was judged, and what else to know."""
    problem = [line.strip() for line in result.problem.split("\n") if line.strip()]
    faults = [*problem, *result.faults]
    notes = [Items(result.notes, "note")] if result.notes else []
    return [Items(faults, "warning"), *notes] if faults else notes


def blocks_not_judged(run: str, error: str) -> list[Block]:
    """Return that a run could not be judged, and why."""
    return blocks(GateResult(run, None, problem=error))


def outcome(result: GateResult) -> str:
    """Return what came of it, in a word or two."""
    if result.status == 3:
        return "not judged"
    unsure = any(verdict.outcome == "cannot tell" for verdict in result.verdicts)
    return "failed" if result.status else "cannot tell" if unsure else "passed"


def as_dict(result: GateResult) -> dict[str, Any]:
    """Return it as plain data, fit for JSON; `said` has the figures of a verdict in words."""
    verdicts = [{**asdict(verdict), "said": describe(verdict)} for verdict in result.verdicts]
    fields = {**asdict(result), "verdicts": verdicts}
    return {"status": result.status, "headline": headline(result), **fields}


def headline(result: GateResult) -> str:
    """Return what came of it, in one sentence."""
    failed = sum(verdict.failed for verdict in result.verdicts)
    checks = numbers.count(len(result.verdicts), "check")
    if result.problem:
        return "The gate was not judged."
    if result.faults:
        return "The gate was not judged: too much failed."
    if failed:
        return f"The gate failed: {failed} of {checks}."
    if result.status:
        return "The gate was not judged in full."
    unsure = sum(verdict.outcome == "cannot tell" for verdict in result.verdicts)
    passed = f"The gate passed: {checks}"
    return f"{passed}, {unsure} of which cannot tell." if unsure else f"{passed}."


def describe(verdict: RuleVerdict) -> str:
    """Return what one rule saw of one cell, and what follows."""
    if isinstance(verdict.seen, SeenDrop):
        return _describe_drop(verdict.seen, verdict.failed)
    if isinstance(verdict.seen, SeenLimit):
        return _describe_limit(verdict.seen)
    return verdict.problem


def _describe_drop(drop: SeenDrop, failed: bool) -> str:
    estimate = drop.difference
    digits = 3
    change = (
        f"{numbers.score(drop.baseline)} to {numbers.score(drop.run)}, "
        f"{numbers.difference(estimate.difference, digits)}"
    )
    ends = (
        f" ({numbers.between(estimate.low, estimate.high, digits)})"
        if estimate.low is not None
        else ""
    )
    n = f"n = {estimate.n}"
    if estimate.unpaired:
        n += f", {estimate.unpaired} scored on one side alone"
    tested = (
        f"one-sided p = {numbers.probability(drop.corrected)}, "
        f"corrected in a family of {estimate.family}"
    ).replace("= <", "<")
    limit = f"{numbers.MINUS}{drop.limit:g}" if drop.limit else "0"
    most = f"{drop.limit:g}"
    detectable = _describe_detectable_drop(drop)
    reasons: dict[DropReason, str] = {
        "shown": f"it fell by more than {most}, and that it fell is shown: {tested}",
        "identical": "identical question by question",
        "interval": f"the interval lies above {limit}",
        "not seen": f"no drop seen of more than {most}; {detectable}",
        "strict": f"the interval does not lie above {limit}, as a strict rule asks"
        f"{'' if failed else '; by `cannot_tell: pass` it may'}",
        "by chance": f"it fell by more than {most}, which may be chance: {tested}; {detectable}",
        "small": f"that it fell is shown ({tested}), but not that it fell by more than {most}",
    }
    return f"{change}{ends}, {n}: {reasons[drop.reason]}"


def _describe_detectable_drop(drop: SeenDrop) -> str:
    n = f"n = {drop.difference.n}"
    if drop.caught is not None:
        return f"the smallest that {n} would have caught is {numbers.score(drop.caught)}"
    among = "" if drop.clusters is None else f" in {numbers.count(drop.clusters, 'cluster')}"
    return f"{n}{among} is too few to catch any drop"


def _describe_limit(seen: SeenLimit) -> str:
    """Return how a figure stands to its limit; the interval is said, and decides nothing."""
    kind, value, limit = seen.kind, seen.value, seen.limit
    if kind == "failures":
        return f"{value} of {numbers.count(seen.of or 0, 'question')} failed"
    if kind == "mean":
        if value is None:
            return "no question was scored"
        ends = "" if seen.low is None else f" ({numbers.interval(seen.low, seen.high)})"
        side = "below" if value < limit - 1e-9 else "at or above"
        sentence = f"the mean, {numbers.score(value)}{ends}, is {side} {limit:g}"
        if seen.low is not None and seen.high is not None and seen.low < limit <= seen.high:
            sentence += ", which the interval holds"
        return sentence
    if value is None:
        return f"{kind} {'is' if kind == 'money' else 'are'} not known of every question"
    amount = numbers.seconds(value) if kind == "seconds" else f"{value:,.0f} tokens"
    if kind == "money":
        amount = numbers.money(value, "").strip()
    which = "the median" if kind == "seconds" else "the mean"
    return f"{which} of a question, {amount}, is {'over' if value > limit else 'within'} {limit:g}"


def _label(verdict: RuleVerdict) -> str:
    if verdict.outcome == "missed":
        return "FAIL"
    raised = verdict.failed or not verdict.measured
    return verdict.outcome.upper() if raised else verdict.outcome


def _figures(verdict: RuleVerdict) -> list[float | None]:
    drop = verdict.seen
    if not isinstance(drop, SeenDrop):
        return [None] * (len(_FIGURES) + 1)
    estimate = drop.difference
    means = [drop.baseline, drop.run, estimate.difference, estimate.low, estimate.high]
    return [*means, drop.p, drop.corrected, drop.caught, estimate.n]
