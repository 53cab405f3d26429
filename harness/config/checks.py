"""Checks that the keys of a configuration fit each other, as far as possible without the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from harness.config import gate_rules
from harness.config.grid import Cell, SystemCell, fit_to_embedder
from harness.config.settings import Settings
from harness.errors import Problem, suggest
from harness.generators import Generator
from harness.metrics import Metric, asks_judge
from harness.metrics.named_metrics import NamedMetric, leaf_metrics, stored_kind
from harness.metrics.needs import Need
from harness.rerankers import Reranker
from harness.store.cell_labels import find_cells

NO_ANSWER = "add a generator, or take the metric out"
NOT_IN_REPLY = "say where in its reply they are, or take the metric out"


@dataclass(frozen=True)
class CrossKeyChecks:
    """Holds the components of settings against each other; `where` names a place.

    `wrong` are the keys that hold something that is not valid: what depends on them is not checked.
    """

    settings: Settings
    where: Callable[..., str]
    wrong: AbstractSet[str]
    metrics: Sequence[NamedMetric]
    systems: Sequence[SystemCell]
    families: Mapping[str, Sequence[Any]]
    """The components of each axis of the grid; none where there are systems."""
    cells: Sequence[Cell]

    def find_problems(self) -> Iterator[Problem]:
        """Yield everything that does not fit."""
        names = [named.name for named in self.metrics]
        if not self._depends_on("metrics"):
            yield from self._check_decide_by(names)
            for target in self.settings.targets:
                if target not in names:
                    message = f"{target!r} is not among the metrics"
                    yield self._problem(message, suggest(target, names), "targets", target)
            if not any(asks_judge(named.metric) for named in self.metrics):
                for index, named in enumerate(self.metrics):
                    if any(map(asks_judge, self._leaves(named))):
                        message = f"{named.name!r} has a part that asks a judge"
                        hint = "name that part among the metrics too"
                        yield self._problem(message, hint, "metrics", index)
        if not self._depends_on("generators", "system"):
            yield from self._check_needs(self.families.get("generators", ()))
        yield from self._check_sizes(self.families.get("rerankers", ()))
        names = [cell.name for cell in self.cells]
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            hint = "two models lie in folders of one name: rename one"
            yield self._problem(f"two cells have the name {name!r}", hint, "embedders")
        if self.settings.gate is not None:
            kinds = {named.name: stored_kind(named.metric) for named in self.metrics}
            cells: list[Cell | SystemCell] = [*self.cells, *self.systems]
            complete = not self._depends_on("metrics")
            yield from gate_rules.find_rule_problems(
                self.settings.gate,
                kinds,
                {cell.name: cell.labels() for cell in cells},
                self.where,
                complete,
            )

    def find_baseline(self, parts: Mapping[str, Any] | None) -> Cell | SystemCell | Problem | None:
        """Return the first cell that has these components, or the system that the baseline names.

        `parts` are those of a grid, by axis. A problem: there is none.
        """
        named = self.settings.baseline
        if set(named) == {"cell"}:
            return self._find_named_baseline(str(named["cell"]))
        if self.systems and named:
            for system in self.systems:
                if named == {"system": system.name}:
                    return system
            hint = f"write {{system: {self.systems[0].name}}}"
            return self._problem("no system has this name", hint, "baseline")
        if not parts or not self.cells or self._depends_on(*self.families):
            return None
        for cell in self.cells:
            if all(_has_component(cell, axis, part) for axis, part in parts.items()):
                return cell
        names = "; ".join(cell.name for cell in self.cells[:6])
        hint = f"the cells are: {names}; without a baseline: --set baseline={{}}"
        return self._problem("no cell of the grid has these components", hint, "baseline")

    def _find_named_baseline(self, text: str) -> Cell | SystemCell | Problem | None:
        """Return the one cell that has this name or label, or else some of these components."""
        cells: list[Cell | SystemCell] = [*self.cells, *self.systems]
        if not cells or self._depends_on(*self.families):
            return None
        found = find_cells(text, {cell.name: cell.labels() for cell in cells})
        if len(found) == 1:
            return next(cell for cell in cells if cell.name == found[0])
        message = f"{text!r} may be any of {len(found)} cells" if found else f"no cell is {text!r}"
        names = "; ".join((found or [cell.name for cell in cells])[:6])
        return self._problem(message, f"the cells are: {names}", "baseline")

    def _check_decide_by(self, names: Sequence[str]) -> Iterator[Problem]:
        decide_by = self.settings.decide_by
        if decide_by is not None and decide_by not in names:
            message = f"{decide_by!r} is not among the metrics"
            yield self._problem(message, suggest(decide_by, names), "decide_by")
        for named in self.metrics:
            descriptive = stored_kind(named.metric) == "descriptive"
            if named.name == decide_by and descriptive:
                message = f"{named.name!r} is descriptive: it says nothing of quality"
                suitable = [other.name for other in self.metrics if other.metric.kind == "quality"]
                yield self._problem(message, f"choose from: {', '.join(suitable)}", "decide_by")

    def _check_needs(self, generators: Sequence[Generator]) -> Iterator[Problem]:
        """Yield what needs an answer or contexts that nothing gives."""
        answers = any(generator.answers for generator in generators)
        if generators and not answers:
            message = "an answer, and no generator gives one"
            yield from self._unmet("answer", message, NO_ANSWER)
        if self.systems and not any(cell.system.tells_answers for cell in self.systems):
            message = "an answer, and no system gives one"
            yield from self._unmet("answer", message, NOT_IN_REPLY)
        if self.systems and not any(cell.system.tells_contexts for cell in self.systems):
            message = "contexts, and no system tells any"
            yield from self._unmet("ranking", message, NOT_IN_REPLY)
        if self.settings.oracle and self.systems:
            message = "`oracle` asks the generators of a grid, and a system brings its own"
            yield self._problem(message, "take `oracle` out, or run a grid", "oracle")
        elif self.settings.oracle and generators and not answers:
            message = "`oracle` asks the generators, and none gives answers"
            yield self._problem(message, "add a generator, or take `oracle` out", "oracle")

    def _unmet(self, need: Need, message: str, hint: str) -> Iterator[Problem]:
        for index, named in enumerate(self.metrics):
            if any(need in leaf.needs for leaf in self._leaves(named)):
                yield self._problem(f"{named.name!r} needs {message}", hint, "metrics", index)

    def _check_sizes(self, rerankers: Sequence[Reranker]) -> Iterator[Problem]:
        """Yield what reads more hits than there are."""
        bounds = {f"`keep` of {part.name}": getattr(part, "keep", None) for part in rerankers}
        if not self._depends_on("retrieve"):
            bounds["`retrieve`"] = self.settings.retrieve
        for name, bound in bounds.items():
            if bound is None:
                continue
            hint = f"raise {name}, or read fewer"
            for index, named in enumerate(self.metrics):
                k = max((getattr(leaf, "k", None) or 0 for leaf in self._leaves(named)), default=0)
                if k > bound:
                    message = f"{named.name!r} reads {k} hits, and {name} leaves {bound}"
                    yield self._problem(message, hint, "metrics", index)
            chunks = self.settings.context.chunks
            if not self.systems and not self._depends_on("context", "system") and chunks > bound:
                message = f"context.chunks ({chunks}) is more than {name} leaves, {bound}"
                yield self._problem(message, hint, "context", "chunks")

    def _depends_on(self, *keys: str) -> bool:
        """Return whether one of these keys holds something that is not valid."""
        return not self.wrong.isdisjoint(keys)

    def _leaves(self, named: NamedMetric) -> list[Metric]:
        return leaf_metrics(named.metric, self.settings.labels, self.settings.relevance_level)

    def _problem(self, message: str, hint: str, *place: str | int) -> Problem:
        return Problem(self.where(*place), message, hint)


def _has_component(cell: Cell, axis: str, wanted: Any) -> bool:
    """Return whether a cell has a component, which may have been fitted to its embedder."""
    component = getattr(cell, axis)
    if axis == "chunker" and component != wanted and cell.embedder is not None:
        wanted = fit_to_embedder(wanted, cell.embedder)
    return bool(component == wanted)
