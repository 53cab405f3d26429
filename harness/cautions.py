"""What a reader of scores should know that only the run can tell: the warnings it is stored with.

What is known before anything is spent is said by `findings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.matching import Counts
from harness.plan import Plan
from harness.scoring import label_of
from harness.stored import CellLine, RecordLine

_LOST = 0.05
"""The share of a system's contexts that may be nowhere in the corpus before a run warns."""
_NAMED = 10
"""Missing questions that a warning names."""
_LOSSY = 0.99
"""Index recall under which a run warns."""


def of_indexes(cells: Iterable[CellLine]) -> Iterator[str]:
    """Yield where an index loses so much that it may change the order of cells."""
    for cell in cells:
        found = cell.index_recall
        if found is not None and found.mean < _LOSSY:
            raised = "raise index.ef_search and index.ef_construction, or "
            yield (
                f"{cell.name}: the index finds {100 * found.mean:.1f} % of the {found.k} nearest "
                f"chunks (over {found.questions} questions): "
                f"{raised if cell.matched is None else ''}set index.exact: true"
            )


def of_matching(cell: str, found: Counts) -> Iterator[str]:
    """Yield how many of a system's contexts are nowhere in the corpus, where that is many."""
    if found.unmatched > _LOST * found.contexts:
        share = 100 * found.unmatched / found.contexts
        yield (
            f"{cell}: {found.unmatched} of {found.contexts} contexts ({share:.1f} %) are nowhere "
            f"in the corpus, so no evidence is seen in them: the first is {found.example}"
        )


def of_missing(cell: str, records: Sequence[RecordLine]) -> Iterator[str]:
    """Yield which questions the files of a system lack, if any."""
    missing = [each.question for each in records if each.error is not None]
    if missing:
        named = ", ".join(map(repr, missing[:_NAMED]))
        rest = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        yield (
            f"{cell}: {len(missing)} of {len(records)} questions are missing, and count 0 where "
            f"they are: {named}{rest}"
        )


class Shallow:
    """Counts rankings that hold fewer distinct documents than the deepest metric reads.

    Several chunks of one document count as one under `documents`; a ranking that was short to
    begin with is the retriever's affair.
    """

    def __init__(self, plan: Plan) -> None:
        depths = [
            getattr(named.metric, "k", None)
            for named in plan.metrics
            if label_of(named.metric) == "documents"
        ]
        self._deepest = max((k for k in depths if k is not None), default=0)
        self._rankings = self._few = 0

    def add(self, record: RecordLine) -> None:
        """Look at one more ranking."""
        self._rankings += 1
        documents = {hit.doc for hit in record.hits}
        self._few += len(documents) < min(self._deepest, len(record.hits))

    def said(self) -> Iterator[str]:
        """Yield the warning, if there is cause for one."""
        if self._few:
            yield (
                f"{self._few:,} of {self._rankings:,} rankings hold fewer than {self._deepest} "
                "distinct documents, as several chunks of one count as one: raise `retrieve`"
            )
