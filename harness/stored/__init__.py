"""The stored run: what `run.json` and the `.jsonl` files beside it hold. Version 1.

These models are the contract: reports, comparisons and re-scoring read nothing else.
"""

from harness.stored.cells import (
    AggregateLine,
    CellLine,
    IndexRecallLine,
    LengthsLine,
    LossesLine,
    MatchedLine,
    ShareLine,
    SpentLine,
    SpreadLine,
)
from harness.stored.oracle import CeilingLine, Given, OracleLine, OracleRecordLine
from harness.stored.questions import PassageLine, QuestionLine, TextLine
from harness.stored.ratings import (
    FormFile,
    FormItemLine,
    Overall,
    RatedChunkLine,
    RatingLine,
    Source,
)
from harness.stored.records import (
    ArrivalLine,
    FactsLine,
    FailureLine,
    HitLine,
    JudgedLine,
    MissedLine,
    RecordLine,
    SampleLine,
    ScoreLine,
    SpanLine,
    UsageLine,
    VerdictLine,
)
from harness.stored.run import (
    MetricLine,
    PriceLine,
    PricesLine,
    Provenance,
    RanLine,
    RunFile,
    SampledLine,
)

__all__ = [
    "AggregateLine",
    "ArrivalLine",
    "CeilingLine",
    "CellLine",
    "FactsLine",
    "FailureLine",
    "FormFile",
    "FormItemLine",
    "Given",
    "HitLine",
    "IndexRecallLine",
    "JudgedLine",
    "LengthsLine",
    "LossesLine",
    "MatchedLine",
    "MetricLine",
    "MissedLine",
    "OracleLine",
    "OracleRecordLine",
    "Overall",
    "PassageLine",
    "PriceLine",
    "PricesLine",
    "Provenance",
    "QuestionLine",
    "RanLine",
    "RatedChunkLine",
    "RatingLine",
    "RecordLine",
    "RunFile",
    "SampleLine",
    "SampledLine",
    "ScoreLine",
    "ShareLine",
    "Source",
    "SpanLine",
    "SpentLine",
    "SpreadLine",
    "TextLine",
    "UsageLine",
    "VerdictLine",
]
