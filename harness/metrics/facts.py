"""Documentation of a metric as data: its formula, an example to check by hand, what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.records import Answer, Case, Chunk, Hit, Judged, Passage, Question, Span


@dataclass(frozen=True)
class Example:
    """Cases so small that their score can be worked out by hand, and the working in words.

    `value` is what the metric `spec` comes to over `cases`: the mean, or for a metric of the whole
    set its total. A model gives it to `within`. `verdicts` is what a judge says of them, in order.
    """

    text: str
    spec: str
    cases: Sequence[Case]
    value: float
    within: float = 1e-4
    verdicts: Sequence[str] = ()


@dataclass(frozen=True)
class MetricFacts:
    """What there is to know of a metric beside the first sentence of its docstring.

    `use` goes on from "Use it", `blind` from "It cannot see". `order` is "order-aware" or "not
    order-aware", with what must be added to that. `higher_k` is what reading further down buys and
    costs; "" where nothing is cut.
    """

    formula: str
    example: Example
    use: str
    blind: str
    family: Literal["binary", "graded"] = "graded"
    order: str = "not order-aware"
    higher_k: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """Return what is said beside formula and example, each with its heading."""
        table = [
            ("Use it", self.use),
            ("It cannot see", self.blind),
            ("Family", f"{self.family}, {self.order}"),
        ]
        return [*table, ("A higher k", self.higher_k)] if self.higher_k else table


def ranking_case(*grades: int | None, inventory: Sequence[int] | None = None) -> Case:
    """Return a case whose ranking has `grades`, best rank first; None is an item nobody judged.

    `inventory` holds the grades of all relevant items there are; by default those retrieved.
    """
    judged = _judged_ranking(*grades, inventory=inventory)
    return Case(Question("example", "?"), judged={"documents": judged})


def _judged_ranking(*grades: int | None, inventory: Sequence[int] | None = None) -> Judged:
    """Return the ranking alone; arguments as of `ranking_case`."""
    judged_grades = [grade for grade in grades if grade is not None]
    relevant = judged_grades if inventory is None else inventory
    pool = tuple(sorted((grade for grade in relevant if grade > 0), reverse=True))
    return Judged(grades, pool, irrelevant=judged_grades.count(0))


def keyword_case(*ranks: int | None) -> Case:
    """Return a case with a keyword for each rank, in the chunk there alone; None: nowhere."""
    judged = [
        _judged_ranking(*([0] * ((rank or 1) - 1)), int(rank is not None), inventory=[1])
        for rank in ranks
    ]
    return Case(Question("example", "?"), keywords=tuple(judged))


def answer_case(
    answer: str,
    *references: str,
    context: str | None = None,
    declined: bool = False,
    answerable: bool = True,
) -> Case:
    """Return a case in which a question with `references` was answered by `answer`."""
    question = Question("example", "?", answers=references, answerable=answerable)
    return Case(question, context=context, answer=Answer(answer, declined))


def overlap_case(gold: Sequence[tuple[int, int]], chunks: Sequence[tuple[int, int]]) -> Case:
    """Return a case with `gold` passages and retrieved `chunks`, each from start to end.

    All lie in one document without white space, and the chunks touch the passages.
    """
    passages = tuple(
        Passage(Span("document", start, end), "x" * (end - start), f"#{number}")
        for number, (start, end) in enumerate(gold)
    )
    spans = [Span("document", start, end) for start, end in chunks]
    hits = tuple(
        Hit(Chunk(number, span, "x" * (span.end - span.start)), score=-float(number))
        for number, span in enumerate(spans)
    )
    return Case(Question("example", "?", passages=passages), hits, touching=tuple(spans))


PYTHON_CASE = answer_case(
    "Python is a high-level programming language known for its simplicity.",
    "Python is a high-level interpreted language.",
    "Python is a programming language emphasizing readability.",
    context="Python is a language. It is popular. Used for data science.",
)
"""The example of METRICS.md, section 2, that several metrics share."""
