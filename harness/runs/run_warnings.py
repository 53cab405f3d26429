"""Warnings that only a run can find, stored with it.

What is known before anything is spent is said by `preflight`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.config.grid import RunPlan
from harness.metrics.named_metrics import label_of
from harness.records import Outcome
from harness.store.cell_results import CellResult
from harness.text.align import MatchCounts

_MAX_UNMATCHED_SHARE = 0.05
"""The share of a system's contexts that may be nowhere in the corpus before a run warns."""
_MAX_NAMED = 10
"""Missing questions that a warning names."""
_MIN_INDEX_RECALL = 0.99
"""Index recall under which a run warns."""


def index_warnings(cells: Iterable[CellResult]) -> Iterator[str]:
    """Yield where an index loses so much that it may change the order of cells."""
    for cell in cells:
        recall = cell.index_recall
        if recall is not None and recall.mean < _MIN_INDEX_RECALL:
            raised = "raise index.ef_search and index.ef_construction, or "
            yield (
                f"{cell.name}: the index finds {100 * recall.mean:.1f} % of the {recall.k} nearest "
                f"chunks (over {recall.questions} questions): "
                f"{raised if cell.matched is None else ''}set index.exact: true"
            )


def matching_warnings(cell: str, counts: MatchCounts) -> Iterator[str]:
    """Yield how many of a system's contexts are nowhere in the corpus, where that is many."""
    if counts.unmatched > _MAX_UNMATCHED_SHARE * counts.contexts:
        share = 100 * counts.unmatched / counts.contexts
        yield (
            f"{cell}: {counts.unmatched} of {counts.contexts} contexts ({share:.1f} %) are nowhere "
            f"in the corpus, so no evidence is seen in them: the first is {counts.example}"
        )


def missing_warnings(cell: str, missing: Sequence[str], asked: int) -> Iterator[str]:
    """Yield which questions the files of a system lack, if any."""
    if missing:
        names = ", ".join(map(repr, missing[:_MAX_NAMED]))
        rest = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        yield (
            f"{cell}: {len(missing)} of {asked} questions are missing, and count 0 where "
            f"they are: {names}{rest}"
        )


class ShortRankings:
    """Counts rankings that hold fewer distinct documents than the deepest metric reads.

    Several chunks of one document count as one under `documents`; a ranking that was short to
    begin with is the retriever's affair.
    """

    def __init__(self, plan: RunPlan) -> None:
        depths = [
            getattr(named.metric, "k", None)
            for named in plan.metrics
            if label_of(named.metric) == "documents"
        ]
        self._deepest = max((k for k in depths if k is not None), default=0)
        self._rankings = self._few = 0

    def add(self, record: Outcome) -> None:
        """Look at one more ranking."""
        self._rankings += 1
        documents = {hit.doc for hit in record.hits}
        self._few += len(documents) < min(self._deepest, len(record.hits))

    def warnings(self) -> Iterator[str]:
        """Yield the warning, if there is cause for one."""
        if self._few:
            yield (
                f"{self._few:,} of {self._rankings:,} rankings hold fewer than {self._deepest} "
                "distinct documents, as several chunks of one count as one: raise `retrieve`"
            )
