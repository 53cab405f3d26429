"""What a generator makes of perfect retrieval and of none: the lines of `oracle.jsonl`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.stored.cells import AggregateLine, SpentLine
from harness.stored.records import FailureLine, ScoreLine, UsageLine
from harness.stored.strict import Stored, Whole

Given = Literal["evidence", "nothing"]
"""What stands in the place of a context: the gold passages, or nothing at all."""


class OracleRecordLine(Stored):
    """A line of `oracle.jsonl`: one question, answered from its gold passages or from nothing."""

    generator: str
    given: Given
    question: str
    context: str | None = Field(description="null: the question has no passages, nothing was asked")
    answer: str | None
    declined: bool | None
    answered: bool | None = Field(description="by the run's answer test; null: it cannot say")
    usage: UsageLine | None
    seconds: float
    scores: dict[str, ScoreLine] = Field(description="of the metrics that look at answers alone")
    error: FailureLine | None = None


class OracleLine(Stored):
    """What one generator came to with one of the two."""

    generator: str
    given: Given
    asked: Whole
    answered: Whole = Field(description="gave an answer")
    declined: Whole
    failed: Whole
    right: Whole | None = Field(description="passed the answer test; null: it can say of none")
    tested: Whole = Field(description="questions of which the answer test can say something")
    scores: dict[str, AggregateLine]
    spent: SpentLine | None = None


class CeilingLine(Stored):
    """What a chunker allows, whatever is retrieved."""

    chunker: str
    k: Whole
    evidence_recall: AggregateLine = Field(
        description="the largest evidence_recall@k that any k chunks could give"
    )
    chunk_ceiling: AggregateLine
