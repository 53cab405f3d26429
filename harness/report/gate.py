"""Turns what a gate came to into a document, JSON, a frame and JUnit XML."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

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

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
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
        rows: list[list[object]] = []
        for verdict in self.verdicts:
            drop = verdict.seen
            figures: list[float | None] = [None] * (len(_FIGURES) + 1)
            if isinstance(drop, SeenDrop):
                seen = drop.difference
                figures = [drop.baseline, drop.run, seen.difference, seen.low, seen.high]
                figures += [drop.p, drop.corrected, drop.caught, seen.n]
            about = [verdict.rule, verdict.cell, verdict.outcome, verdict.failed]
            rows.append([*about, *figures, describe(verdict)])
        return table(rows, _COLUMNS)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, fit for JSON: what `gate --json` prints."""
        return as_dict(self)

    def __str__(self) -> str:
        return terminal.render(blocks(self))


def blocks(result: GateResult) -> list[Block]:
    """Return what came of it: a table of the rules, cells that fail first."""
    parts: list[Block] = [Heading(headline(result), 1), Paragraph(describe_baseline(result))]
    return [*parts, *rule_tables(result), *remarks(result)]


def blocks_not_judged(run: str, error: str) -> list[Block]:
    """Return that a run could not be judged, and why."""
    return blocks(GateResult(run, None, problem=error))


def as_dict(result: GateResult) -> dict[str, Any]:
    """Return it as plain data, fit for JSON; `said` has the figures of a verdict in words."""
    verdicts = [{**asdict(verdict), "said": describe(verdict)} for verdict in result.verdicts]
    fields = {**asdict(result), "verdicts": verdicts}
    return {"status": result.status, "headline": headline(result), **fields}


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
    rows: dict[str, list[list[str]]] = {}
    for verdict in result.verdicts:
        raised = verdict.failed or not verdict.measured
        outcome = "FAIL" if verdict.outcome == "missed" else verdict.outcome
        row = [outcome.upper() if raised else outcome, verdict.rule, describe(verdict)]
        rows.setdefault(verdict.cell, []).append(row)
    failing, head = failing_cells(result), ["Outcome", "Rule", "What was seen"]
    return [
        TableBlock(
            head,
            rows[cell],
            result.labels.get(cell, cell) if len(rows) > 1 else "",
            numeric=False,
            cards=True,
        )
        for cell in sorted(rows, key=lambda cell: cell not in failing)
    ]


def failing_cells(result: GateResult) -> set[str]:
    """Return the cells that fail by a rule, or that a rule could not be applied to."""
    return {verdict.cell for verdict in result.verdicts if verdict.failed or not verdict.measured}


def remarks(result: GateResult) -> list[Items]:
    """Return why nothing was judged, and what else to know."""
    problem = [line.strip() for line in result.problem.split("\n") if line.strip()]
    lists = [Items([*problem, *result.faults], "warning"), Items(result.notes, "note")]
    return [one for one in lists if one.items]


def outcome(result: GateResult) -> str:
    """Return what came of it, in a word or two."""
    if result.status == 3:
        return "not judged"
    unsure = any(verdict.outcome == "cannot tell" for verdict in result.verdicts)
    return "failed" if result.status else "cannot tell" if unsure else "passed"


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
    return f"The gate passed: {checks}{f', {unsure} of which cannot tell' if unsure else ''}."


def describe(verdict: RuleVerdict) -> str:
    """Return what one rule saw of one cell, and what follows."""
    if isinstance(verdict.seen, SeenDrop):
        return _describe_drop(verdict.seen, verdict.failed)
    return _describe_limit(verdict.seen) if verdict.seen is not None else verdict.problem


def _describe_drop(drop: SeenDrop, failed: bool) -> str:
    seen, n = drop.difference, f"n = {drop.difference.n}"
    change = f"{numbers.score(drop.baseline)} to {numbers.score(drop.run)}, "
    change += numbers.difference(seen.difference, 3)
    change += f" ({numbers.between(seen.low, seen.high, 3)})" if seen.low is not None else ""
    unpaired = f", {seen.unpaired} scored on one side alone" if seen.unpaired else ""
    p = f"p = {numbers.probability(drop.corrected)}".replace("= <", "<")
    tested = f"one-sided {p}, corrected in a family of {seen.family}"
    among = "" if drop.clusters is None else f" in {numbers.count(drop.clusters, 'cluster')}"
    detectable = f"{n}{among} is too few to catch any drop"
    if drop.caught is not None:
        detectable = f"the smallest that {n} would have caught is {numbers.score(drop.caught)}"
    most = f"{drop.limit:g}"
    limit = f"{numbers.MINUS}{most}" if drop.limit else "0"
    allowed = "" if failed else "; by `cannot_tell: pass` it may"
    reasons: dict[DropReason, str] = {
        "shown": f"it fell by more than {most}, and that it fell is shown: {tested}",
        "identical": "identical question by question",
        "interval": f"the interval lies above {limit}",
        "not seen": f"no drop seen of more than {most}; {detectable}",
        "strict": f"the interval does not lie above {limit}, as a strict rule asks{allowed}",
        "by chance": f"it fell by more than {most}, which may be chance: {tested}; {detectable}",
        "small": f"that it fell is shown ({tested}), but not that it fell by more than {most}",
    }
    return f"{change}, {n}{unpaired}: {reasons[drop.reason]}"


def _describe_limit(seen: SeenLimit) -> str:
    """Return how a figure stands to its limit; the interval is said, and decides nothing."""
    kind, value, limit = seen.kind, seen.value, seen.limit
    if kind == "failures":
        return f"{value} of {numbers.count(seen.of or 0, 'question')} failed"
    if value is None:
        unknown = f"{kind} {'is' if kind == 'money' else 'are'} not known of every question"
        return "no question was scored" if kind == "mean" else unknown
    if kind in ("mean", "corrected"):
        mean = "the mean" if kind == "mean" else "the mean corrected by people's labels"
        ends = "" if seen.low is None else f" ({numbers.interval(seen.low, seen.high)})"
        side = "below" if value < limit - 1e-9 else "at or above"
        sentence = f"{mean}, {numbers.score(value)}{ends}, is {side} {limit:g}"
        if seen.low is not None and seen.high is not None and seen.low < limit <= seen.high:
            sentence += ", which the interval holds"
        return sentence
    amount = numbers.seconds(value) if kind == "seconds" else f"{value:,.0f} tokens"
    amount = numbers.money(value, "").strip() if kind == "money" else amount
    which = "the median" if kind == "seconds" else "the mean"
    return f"{which} of a question, {amount}, is {'over' if value > limit else 'within'} {limit:g}"


def junit(result: GateResult) -> str:
    """Return JUnit XML for CI servers: a test case a rule and cell.

    A rule that cannot tell, and may not, is skipped.
    """
    suite = Xml.Element("testsuite", name=_clean(f"gate of {result.run}"))
    for verdict in result.verdicts:
        case = _add_case(suite, verdict.cell, verdict.rule)
        message = _clean(describe(verdict))
        if verdict.failed or not verdict.measured:
            kind = "failure" if verdict.failed else "error"
            Xml.SubElement(case, kind, type=verdict.outcome, message=message).text = message
            continue
        if verdict.outcome == "cannot tell":
            Xml.SubElement(case, "skipped", message=f"cannot tell: {message}")
        Xml.SubElement(case, "system-out").text = message
    for fault in result.faults:
        _add_error(suite, "faults", fault)
    if result.notes:
        Xml.SubElement(suite, "system-out").text = _clean("\n".join(result.notes))
    return _serialise(suite)


def junit_not_judged(run: str, error: str) -> str:
    """Return JUnit XML that says why a run could not be judged."""
    suite = Xml.Element("testsuite", name=_clean(f"gate of {run}"))
    _add_error(suite, "not judged", error)
    return _serialise(suite)


def _add_case(suite: Xml.Element, of: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=_clean(of), name=_clean(name), time="0")


def _add_error(suite: Xml.Element, kind: str, text: str) -> None:
    case, first = _add_case(suite, "gate", kind), text.split("\n", 1)[0]
    Xml.SubElement(case, "error", type=kind, message=_clean(first)).text = _clean(text)


def _serialise(suite: Xml.Element) -> str:
    counted = {"tests": "testcase", "failures": ".//failure", "errors": ".//error"}
    counts = {key: str(len(suite.findall(path))) for key, path in counted.items()}
    suite.attrib |= counts | {"skipped": str(len(suite.findall(".//skipped"))), "time": "0"}
    whole = Xml.Element("testsuites", counts | {"name": "harness gate", "time": "0"})
    whole.append(suite)
    Xml.indent(whole)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(whole, "unicode") + "\n"


def _clean(text: str) -> str:
    """Return a text without what no XML may hold."""
    return _NOT_XML.sub("\ufffd", text)
