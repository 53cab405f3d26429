"""Reads and writes `oracle.jsonl`, the oracle's records of a run."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import DataError, Problem
from harness.store.reader import ORACLE, StoredRun
from harness.store.record_format import RecordFormat
from harness.store.run_file import OracleOutcome

_FORMAT = RecordFormat(OracleOutcome)


def to_jsonl(records: Iterable[OracleOutcome]) -> str:
    """Return records as the file holds them."""
    return "".join(map(_FORMAT.line, records))


def read_records(stored: StoredRun) -> list[OracleOutcome]:
    """Return the oracle's records of a stored run; none where it was not asked.

    Raises:
        DataError: the file is damaged, or about questions that the run has not.
    """
    if not stored.run.oracle:
        return []
    records = list(stored.lines(ORACLE, _FORMAT))
    for number, record in enumerate(records, start=1):
        if record.question not in stored.questions:
            message = f"the run has no question {record.question!r}"
            problem = Problem(f"{ORACLE}, line {number}", message, "run it again")
            raise DataError(str(stored.folder), [problem])
    return records
