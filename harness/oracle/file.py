"""`oracle.jsonl`: the oracle's records beside those of the run."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import DataError, Problem
from harness.store import ORACLE, StoredRun
from harness.stored import OracleRecordLine


def text(records: Iterable[OracleRecordLine]) -> str:
    """Return records as the file holds them."""
    return "".join(f"{line.model_dump_json()}\n" for line in records)


def read(stored: StoredRun) -> list[OracleRecordLine]:
    """Return the oracle's records of a stored run; none where it was not asked.

    Raises:
        DataError: the file is damaged, or about questions that the run has not.
    """
    if not stored.run.oracle:
        return []
    records = list(stored.lines(ORACLE, OracleRecordLine))
    for number, record in enumerate(records, start=1):
        if record.question not in stored.questions:
            what = f"the run has no question {record.question!r}"
            problem = Problem(f"{ORACLE}, line {number}", what, "run it again")
            raise DataError(str(stored.folder), [problem])
    return records
