"""Inter-rater agreement (kappa, alpha) on what two or more people rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.people.ratings_reader import (
    ASPECTS,
    TOP_GRADE,
    Aspect,
    Person,
    Rated,
    grade,
    group_by_known_raters,
    person,
)
from harness.stats.agreement import alpha, kappa
from harness.stats.estimate import Estimate


@dataclass(frozen=True)
class RaterAgreement:
    """How far raters agree on one aspect.

    `kappa` is that of the two raters who share most; `pairs` counts how many pairs share anything.
    """

    aspect: Aspect
    kappa: Estimate
    pairs: int
    ordinal: Estimate
    interval: Estimate


def agreements(
    answers: Sequence[Rated], clusters: Mapping[str, str] | None = None, seed: int = 0
) -> list[RaterAgreement]:
    """Return the agreement on each aspect that two people rated the same answer for."""
    results = []
    for aspect in ASPECTS:
        units = [(q, by) for q, by in _rated_units(answers, aspect) if len(by) > 1]
        if units:
            groups = [(clusters or {}).get(question, question) for question, _ in units]
            results.append(_agreement(aspect, [by for _, by in units], groups, seed))
    return results


def _agreement(
    aspect: Aspect, units: Sequence[Mapping[Person, int]], groups: Sequence[str], seed: int
) -> RaterAgreement:
    shared = Counter(pair for by in units for pair in combinations(sorted(by), 2))
    one, other = min(shared, key=lambda pair: (-shared[pair], pair))
    both = [index for index, by in enumerate(units) if one in by and other in by]
    pairs = [(units[index][one], units[index][other]) for index in both]
    values = [list(by.values()) for by in units]
    return RaterAgreement(
        aspect,
        kappa(pairs, TOP_GRADE + 1, [groups[index] for index in both], seed),
        len(shared),
        alpha(values, TOP_GRADE + 1, "ordinal", groups, seed),
        alpha(values, TOP_GRADE + 1, "interval", groups, seed),
    )


def _rated_units(
    answers: Sequence[Rated], aspect: Aspect
) -> Iterator[tuple[str, dict[Person, int]]]:
    """Yield the question of each thing that was rated, an answer or a chunk, and who said what.

    Of what one person said twice the later counts.
    """
    for question, lines in (
        (answer.question, group)
        for answer in answers
        for group in group_by_known_raters(answer.lines)
    ):
        if aspect != "chunks":
            grades = ((person(line), grade(line, aspect)) for line in lines)
            yield question, {who: int(value) for who, value in grades if value is not None}
            continue
        chunks: dict[tuple[str, int, int], dict[Person, int]] = {}
        for line in lines:
            for chunk in line.chunks:
                key = (chunk.span.doc, chunk.span.start, chunk.span.end)
                chunks.setdefault(key, {})[person(line)] = chunk.grade
        yield from ((question, by) for by in chunks.values())
