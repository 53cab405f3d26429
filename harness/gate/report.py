"""What a gate came to, as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from harness import numbers
from harness.gate.verdicts import Judged, Verdict
from harness.printable import printable
from harness.report.escaping import escaped

_WIDTH = 100
_WORDS = 12
_NAME, _SAID = 120, 600
"""Characters of a name and of a sentence in Markdown."""
_ROWS = 200


def text(judged: Judged) -> str:
    """Return it for the terminal, 100 columns wide."""
    lines = [judged.headline, *(line for said in _against(judged) for line in _wrapped(said))]
    cells = _cells(judged)
    for cell in cells:
        lines += ["", *(_wrapped(cell) if len(cells) > 1 else [])]
        for each in judged.verdicts:
            if each.cell != cell:
                continue
            further = " " * (_WORDS + 3)
            lines += _wrapped(each.rule, f"  {_word(each):<{_WORDS}} ", further)
            lines += _wrapped(each.said, further, further)
    lines += [line for said in judged.faults for line in _wrapped(said, "  ", "  ")]
    lines += [line for said in judged.notes for line in _wrapped(f"note: {said}", "  ", "  ")]
    return "\n".join(printable(line) for line in lines)


def markdown(judged: Judged) -> str:
    """Return it as Markdown; names of somebody else's stay text."""
    lines = [f"### {escaped(judged.headline)}", "", escaped(f"Run {judged.run}.", _SAID)]
    lines += [escaped(each, _SAID) for each in _against(judged)]
    if judged.verdicts:
        lines += ["", "| Outcome | Rule | Cell | What was seen |", "|---|---|---|---|"]
    for each in sorted(judged.verdicts, key=lambda each: not each.failed)[:_ROWS]:
        mark = "❌ " if each.failed else ""
        named = f"{escaped(each.rule, _NAME)} | {escaped(each.cell, _NAME)}"
        lines.append(f"| {mark}{escaped(_word(each))} | {named} | {escaped(each.said, _SAID)} |")
    if len(judged.verdicts) > _ROWS:
        lines += ["", f"and {numbers.count(len(judged.verdicts) - _ROWS, 'more check')}"]
    said = [*judged.faults, *judged.notes]
    lines += ["", *(f"- {escaped(each, _SAID)}" for each in said[:_ROWS])] if said else []
    return "\n".join(lines) + "\n"


def not_judged(run: str, error: str) -> str:
    """Return as Markdown that a run could not be judged, and why."""
    lines = error.split("\n")[:_ROWS]
    said = "\n".join(f"- {escaped(line.strip(), _SAID)}" for line in lines if line.strip())
    return f"### The gate was not judged.\n\n{escaped(f'Run {run}.', _SAID)}\n\n{said}\n"


def as_data(judged: Judged) -> dict[str, Any]:
    """Return it as data for JSON."""
    return {"status": judged.status, "headline": judged.headline, **asdict(judged)}


def as_json(judged: Judged) -> str:
    """Return it as JSON."""
    return json.dumps(as_data(judged), indent=1, ensure_ascii=False)


def _against(judged: Judged) -> Iterator[str]:
    if judged.baseline is not None and not judged.faults:
        tests = numbers.count(judged.family, "one-sided test")
        yield f"Against {judged.baseline}: {tests}, corrected together by Holm."


def _cells(judged: Judged) -> list[str]:
    """Return the cells, those first that fail by a rule."""
    failing = {each.cell for each in judged.verdicts if each.failed}
    return sorted(
        dict.fromkeys(each.cell for each in judged.verdicts), key=lambda c: c not in failing
    )


def _word(verdict: Verdict) -> str:
    return (
        "FAIL"
        if verdict.outcome == "missed"
        else {
            "regression": "REGRESSION",
            "cannot tell": "CANNOT TELL" if verdict.failed else "cannot tell",
        }.get(verdict.outcome, verdict.outcome)
    )


def _wrapped(said: str, first: str = "", further: str = "") -> list[str]:
    return textwrap.wrap(said, _WIDTH, initial_indent=first, subsequent_indent=further)
