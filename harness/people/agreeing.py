"""How far the raters of a run agree, on what two or more of them rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.people.reading import ASPECTS, TOP, Aspect, Person, Rated, apart, grade, person
from harness.statistics.agreement import alpha, kappa
from harness.statistics.estimate import Estimate


@dataclass(frozen=True)
class Agreement:
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
) -> list[Agreement]:
    """Return the agreement on each aspect that two people rated the same answer for."""
    found = []
    for aspect in ASPECTS:
        units = [(q, by) for q, by in _units(answers, aspect) if len(by) > 1]
        if units:
            groups = [(clusters or {}).get(question, question) for question, _ in units]
            found.append(_agreement(aspect, [by for _, by in units], groups, seed))
    return found


def _agreement(
    aspect: Aspect, units: Sequence[Mapping[Person, int]], groups: Sequence[str], seed: int
) -> Agreement:
    shared = Counter(pair for by in units for pair in combinations(sorted(by), 2))
    one, other = min(shared, key=lambda pair: (-shared[pair], pair))
    both = [at for at, by in enumerate(units) if one in by and other in by]
    pairs = [(units[at][one], units[at][other]) for at in both]
    values = [list(by.values()) for by in units]
    return Agreement(
        aspect,
        kappa(pairs, TOP + 1, [groups[at] for at in both], seed),
        len(shared),
        alpha(values, TOP + 1, "ordinal", groups, seed),
        alpha(values, TOP + 1, "interval", groups, seed),
    )


def _units(answers: Sequence[Rated], aspect: Aspect) -> Iterator[tuple[str, dict[Person, int]]]:
    """Yield the question of each thing that was rated, an answer or a chunk, and who said what.

    Of what one person said twice the later counts.
    """
    for question, lines in ((each.question, x) for each in answers for x in apart(each.lines)):
        if aspect != "chunks":
            said = ((person(line), grade(line, aspect)) for line in lines)
            yield question, {who: int(value) for who, value in said if value is not None}
            continue
        chunks: dict[tuple[str, int, int], dict[Person, int]] = {}
        for line in lines:
            for chunk in line.chunks:
                key = (chunk.span.doc, chunk.span.start, chunk.span.end)
                chunks.setdefault(key, {})[person(line)] = chunk.grade
        yield from ((question, by) for by in chunks.values())
