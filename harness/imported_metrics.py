"""The metrics asked for, where there is less to score than a run has."""

from __future__ import annotations

from collections.abc import Sequence

from harness import scoring
from harness.errors import SpecError
from harness.needs import Need
from harness.records import Label
from harness.scoring import Named, label_of, leaves


def built(
    metrics: Sequence[str],
    given: frozenset[Need],
    what: str,
    labels: Label | None = None,
    level: int = 1,
) -> list[Named]:
    """Return the metrics; raises `SpecError` with all that are unknown or need what is not there.

    `given` is what there is to score, and `what` says so.
    """
    named: list[Named] = []
    wrong: list[SpecError] = []
    for spec in metrics:
        try:
            each = scoring.build(spec, labels, level)
        except SpecError as error:
            wrong.append(error)
            continue
        parts = leaves(each.metric, labels, level)
        needs: set[str] = {need for part in parts for need in part.needs - given}
        needs |= {kind for part in parts if (kind := label_of(part)) and kind != "documents"}
        if needs:
            said = f"metric {each.name!r} needs {', '.join(sorted(needs))}"
            wrong.append(SpecError(said, f"there is only {what}"))
        named.append(each)
    if len(wrong) > 1:
        raise SpecError("\n".join(map(str, wrong)))
    if wrong:
        raise wrong[0]
    return named
