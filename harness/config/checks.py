"""Checks that the keys of a configuration fit each other, as far as possible without the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.config.grid import Cell, SystemCell
from harness.config.settings import Settings
from harness.errors import Problem, suggest
from harness.generators import Generator
from harness.metrics import Metric, asks_judge, named_metrics
from harness.metrics.named_metrics import NamedMetric
from harness.metrics.needs import Need
from harness.rerankers import Reranker

NO_ANSWER = "add a generator, or take the metric out"
NOT_IN_REPLY = "say where in its reply they are, or take the metric out"


@dataclass(frozen=True)
class CrossKeyChecks:
    """Holds the components of checked settings against each other; `where` names a place."""

    settings: Settings
    where: Callable[..., str]

    def check_metrics(
        self,
        metrics: Sequence[NamedMetric],
        generators: Sequence[Generator],
        systems: Sequence[SystemCell],
    ) -> Iterator[Problem]:
        """Yield what metrics ask for that nothing is, or nothing gives."""
        names = [named.name for named in metrics]
        # A name that did not build may be the one that is looked for here, and was named already.
        complete = len(names) == len(self.settings.metrics)
        decide_by = self.settings.decide_by
        if complete and decide_by is not None and decide_by not in names:
            message = f"{decide_by!r} is not among the metrics"
            yield self._problem(message, suggest(decide_by, names), "decide_by")
        decider = next((named for named in metrics if named.name == decide_by), None)
        if decider is not None and named_metrics.stored_kind(decider.metric) == "descriptive":
            message = f"{decider.name!r} is descriptive: it says nothing of quality"
            suitable = [named.name for named in metrics if named.metric.kind == "quality"]
            yield self._problem(message, f"choose from: {', '.join(suitable)}", "decide_by")
        for target in self.settings.targets:
            if complete and target not in names:
                message = f"{target!r} is not among the metrics"
                yield self._problem(message, suggest(target, names), "targets", target)
        judged = any(asks_judge(named.metric) for named in metrics)
        for index, named in enumerate(metrics):
            asks = any(map(asks_judge, self._leaves(named)))
            if asks and not judged:
                message = f"{named.name!r} has a part that asks a judge"
                yield self._problem(
                    message, "name that part among the metrics too", "metrics", index
                )
        if generators and not any(generator.answers for generator in generators):
            message = "an answer, and no generator gives one"
            yield from self._unmet(metrics, "answer", message, NO_ANSWER)
        if systems and not any(cell.system.tells_answers for cell in systems):
            message = "an answer, and no system gives one"
            yield from self._unmet(metrics, "answer", message, NOT_IN_REPLY)
        if systems and not any(cell.system.tells_contexts for cell in systems):
            message = "contexts, and no system tells any"
            yield from self._unmet(metrics, "ranking", message, NOT_IN_REPLY)

    def check_sizes(
        self, metrics: Sequence[NamedMetric], rerankers: Sequence[Reranker]
    ) -> Iterator[Problem]:
        """Yield what reads more hits than there are."""
        limits = {
            f"`keep` of {reranker.name}": getattr(reranker, "keep", None) for reranker in rerankers
        }
        for name, bound in {"`retrieve`": self.settings.retrieve, **limits}.items():
            if bound is None:
                continue
            hint = f"raise {name}, or read fewer"
            for index, named in enumerate(metrics):
                k = max((getattr(leaf, "k", None) or 0 for leaf in self._leaves(named)), default=0)
                if k > bound:
                    message = f"{named.name!r} reads {k} hits, and {name} leaves {bound}"
                    yield self._problem(message, hint, "metrics", index)
            if self.settings.system is None and self.settings.context.chunks > bound:
                message = (
                    f"context.chunks ({self.settings.context.chunks}) is more than {name} leaves"
                )
                yield self._problem(f"{message}, {bound}", hint, "context", "chunks")

    def check_names(self, grid: Sequence[Cell]) -> Iterator[Problem]:
        """Yield each name that two cells have."""
        names = [cell.name for cell in grid]
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            message = f"two cells have the name {name!r}"
            hint = "two models lie in folders of one name: rename one"
            yield self._problem(message, hint, "embedders")

    def check_oracle(
        self, generators: Sequence[Generator], systems: Sequence[SystemCell]
    ) -> Iterator[Problem]:
        """Yield why there is nobody whom the oracle could ask."""
        if self.settings.oracle and systems:
            message = "`oracle` asks the generators of a grid, and a system brings its own"
            yield self._problem(message, "take `oracle` out, or run a grid", "oracle")
        elif (
            self.settings.oracle
            and generators
            and not any(generator.answers for generator in generators)
        ):
            message = "`oracle` asks the generators, and none gives answers"
            yield self._problem(message, "add a generator, or take `oracle` out", "oracle")

    def _unmet(
        self, metrics: Sequence[NamedMetric], need: Need, message: str, hint: str
    ) -> Iterator[Problem]:
        for index, named in enumerate(metrics):
            if any(need in leaf.needs for leaf in self._leaves(named)):
                yield self._problem(f"{named.name!r} needs {message}", hint, "metrics", index)

    def _leaves(self, named: NamedMetric) -> list[Metric]:
        return named_metrics.leaf_metrics(
            named.metric, self.settings.labels, self.settings.relevance_level
        )

    def _problem(self, message: str, hint: str, *place: str | int) -> Problem:
        return Problem(self.where(*place), message, hint)
