"""What nobody judged in a run, and what its scores could be: read by its section and the summary.

All cells are judged by one set of labels, so that one guess must hold for all: the documents that
a scenario takes for relevant are those that any cell has in its top k, and they join the inventory
of every cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from harness import incomplete
from harness.incomplete import Listed, Weighed
from harness.lines import judged_of
from harness.metrics import Metric, metrics
from harness.report.view import View
from harness.stored import CellLine

SAME = 1e-9
"""Means that differ by less are equal: they are sums of the same fractions in another order."""


@dataclass(frozen=True)
class Ends:
    """A mean over n questions: with all that nobody judged irrelevant, and with all relevant."""

    irrelevant: float
    relevant: float
    n: int


@dataclass(frozen=True)
class Lead:
    """By how much the best cell's mean lies above another's: as scored, at least, at most.

    `least` and `most` are over every way to judge, the same one for both cells.
    """

    other: CellLine
    scored: float
    least: float
    most: float

    @property
    def open(self) -> bool:
        """Whether either of the two could be ahead, as the rest is judged."""
        return self.least < -SAME and self.most > SAME

    @property
    def said(self) -> str:
        """How the best stands to the other, in words."""
        if self.open:
            return "open"
        if max(abs(self.least), abs(self.most)) <= SAME:
            return "equal under every judgement"
        if self.least >= -SAME:
            return f"ahead{'' if self.least > SAME else ' or equal'} under every judgement"
        return f"behind{'' if self.most < -SAME else ' or equal'} under every judgement"


class Unjudged:
    """What the metrics of judged documents could be in each cell of a run."""

    def __init__(self, view: View) -> None:
        self._view = view
        about = view.run.provenance.metrics
        built = {
            name: metrics.build(about[name].spec)
            for name in view.metrics
            if about[name].labels == "documents"
        }
        self.metrics: Mapping[str, Metric] = {
            name: metric for name, metric in built.items() if incomplete.form(metric)
        }
        self._worlds: dict[int | None, dict[str, set[str]]] = {}

    @cached_property
    def open(self) -> list[str]:
        """The metrics that read something nobody judged, in any cell."""
        return [name for name, metric in self.metrics.items() if any(self._world(metric).values())]

    def of_form(self, wanted: str) -> list[str]:
        """Return those of the open metrics that have bounds, or scenarios."""
        return [name for name in self.open if incomplete.form(self.metrics[name]) == wanted]

    @cached_property
    def relevant_only(self) -> bool:
        """Whether no label says that a document is irrelevant: then judged is what is relevant."""
        found = [line.documents or {} for line in self._view.stored.questions.values()]
        return all(grade > 0 for grades in found for grade in grades.values())

    @property
    def depths(self) -> list[int]:
        """Every k of the open metrics, ascending; of those without @k, how many are retrieved."""
        retrieved = int(self._view.run.config["resolved"]["retrieve"])
        found = {incomplete.depth(self.metrics[name]) or retrieved for name in self.open}
        return sorted(found)

    def judged(self, cell: CellLine, k: int) -> float | None:
        """Return the mean judged@k of a cell, over questions that found something; None if none."""
        tops = [listed.judged.grades[:k] for listed in self._listed[cell.name].values()]
        shares = [sum(grade is not None for grade in top) / len(top) for top in tops if top]
        return fmean(shares) if shares else None

    def ends(self, cell: CellLine, name: str) -> Ends | None:
        """Return a metric's mean in a cell at both ends; None where nothing is scored there.

        Of a metric with bounds each question's own are taken, which no judgement can exceed.
        """
        metric = self.metrics[name]
        world, depth = self._world(metric), incomplete.depth(metric)
        bounded = incomplete.form(metric) == "bounds"
        low = high = 0.0
        n = 0
        for id_, value, listed in self._scored(cell, name):
            n += 1
            if value is None or listed is None:
                continue  # it failed, and counts 0 however documents are judged
            relevant: Collection[str] = world.get(id_, ())
            if bounded and relevant:
                relevant = listed.unjudged(depth)
            low += value
            high += incomplete.supposed(metric, listed, relevant) if relevant else value
        return Ends(low / n, high / n, n) if n else None

    @cached_property
    def leads(self) -> list[Lead]:
        """How far the best cell lies above each other one by the deciding metric, if it has bounds.

        Empty where it has none, or reads nothing that nobody judged.
        """
        name, best = self._view.by, self._view.best
        if best is None or name not in self.of_form("bounds"):
            return []
        metric = self.metrics[name]
        sides = {cell.name: self._weighed(cell, name) for cell in self._view.cells}
        return [
            self._lead(metric, best, sides[best.name], cell, sides[cell.name])
            for cell in self._view.cells
            if cell is not best and sides[cell.name] and sides[best.name]
        ]

    @cached_property
    def contenders(self) -> list[CellLine]:
        """The cells that could be ahead of the best by the deciding metric, floors left out.

        By a metric with bounds, under any judgement; by another, in the second scenario.
        """
        view, best = self._view, self._view.best
        if best is None or view.by not in self.metrics or view.by not in self.open:
            return []
        others = [cell for cell in view.cells if cell is not best and not cell.floor]
        if incomplete.form(self.metrics[view.by]) == "bounds":
            ahead = {lead.other.name for lead in self.leads if lead.least < -SAME}
            return [cell for cell in others if cell.name in ahead]
        ends = {cell.name: self.ends(cell, view.by) for cell in [best, *others]}
        top = ends[best.name]
        return [
            cell
            for cell in others
            if top and (own := ends[cell.name]) and own.relevant > top.relevant + SAME
        ]

    def _lead(
        self,
        metric: Metric,
        best: CellLine,
        one: Mapping[str, Weighed],
        cell: CellLine,
        other: Mapping[str, Weighed],
    ) -> Lead:
        none = Weighed()
        pairs = [(one.get(id_, none), other.get(id_, none)) for id_ in {**one, **other}]
        name = self._view.by
        scored = (self._view.score(best, name).mean or 0) - (self._view.score(cell, name).mean or 0)
        least = -sum(incomplete.greatest(metric, right, left) for left, right in pairs)
        most = sum(incomplete.greatest(metric, left, right) for left, right in pairs)
        return Lead(cell, scored, least, most)

    def _weighed(self, cell: CellLine, name: str) -> dict[str, Weighed]:
        metric = self.metrics[name]
        found = {id_: listed for id_, _, listed in self._scored(cell, name)}
        return {
            id_: Weighed() if listed is None else incomplete.weighed(metric, listed, 1 / len(found))
            for id_, listed in found.items()
        }

    def _scored(
        self, cell: CellLine, name: str
    ) -> Iterator[tuple[str, float | None, Listed | None]]:
        """Yield each question that a mean is over, its value and ranking; None where it failed."""
        lists = self._listed[cell.name]
        scores = self._view.stored.columns.scores(name, self._view.places(cell))
        for id_, score in zip(self._view.asked(cell), scores, strict=True):
            if score.state == "scored":
                yield id_, score.value, lists.get(id_)
            elif score.state == "failed":
                yield id_, None, None

    def _world(self, metric: Metric) -> Mapping[str, set[str]]:
        """Return the documents of each question that nobody judged in the top k of any cell."""
        depth = incomplete.depth(metric)
        if depth not in self._worlds:
            found: dict[str, set[str]] = {}
            for lists in self._listed.values():
                for id_, listed in lists.items():
                    found.setdefault(id_, set()).update(listed.unjudged(depth))
            self._worlds[depth] = found
        return self._worlds[depth]

    @cached_property
    def _listed(self) -> dict[str, dict[str, Listed]]:
        """The ranking of each question that has a documents label, by cell."""
        found: dict[str, dict[str, Listed]] = {cell.name: {} for cell in self._view.cells}
        if not self.metrics:
            return found
        for cell in self._view.cells:
            for record in self._view.records(cell):
                line = record.judged.get("documents")
                if line is not None:
                    documents = tuple(dict.fromkeys([hit.doc for hit in record.hits]))
                    found[cell.name][record.question] = Listed(documents, judged_of(line))
        return found
