"""What the checks of the machine saw, for the terminal and for other programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from harness.doctor import Fact
from harness.numbers import count
from harness.printable import printable


def as_text(found: Sequence[tuple[str, Fact]]) -> str:
    """Return a line a fact, with its remedy under it, and the number of problems."""
    lines: list[str] = []
    for check, facts in groupby(found, key=lambda each: each[0]):
        lines.append(check)
        for _, fact in facts:
            lines.append(f"  {fact.status:<8} {printable(fact.text)}")
            if fact.remedy:
                lines.append(f"  {'':<8}   {printable(fact.remedy)}")
    number = Counter(fact.status for _, fact in found)
    said = [count(number["problem"], "problem")] if number["problem"] else ["no problem"]
    said += [count(number["warning"], "warning")] if number["warning"] else []
    return "\n".join([*lines, "", ", ".join(said)])


def as_json(found: Sequence[tuple[str, Fact]]) -> str:
    """Return the facts as JSON: `facts`, each with its check, and `problems`, their number."""
    facts = [{"check": check, **asdict(fact)} for check, fact in found]
    problems = sum(fact.status == "problem" for _, fact in found)
    return json.dumps({"problems": problems, "facts": facts}, indent=1, ensure_ascii=False)
