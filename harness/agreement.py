"""Whether the parts of a configuration fit each other, as far as can be told without the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness import scoring
from harness.errors import Problem, suggest
from harness.generators import Generator
from harness.metrics import Asking, Metric
from harness.needs import Need
from harness.rerankers import Reranker
from harness.scoring import Named
from harness.settings import Settings
from harness.sweep import Cell, SystemCell

NO_ANSWER = "add a generator, or take the metric out"
NOT_TOLD = "say where in its reply they are, or take the metric out"


@dataclass(frozen=True)
class Agreement:
    """Holds the components of checked settings against each other; `where` names a place."""

    settings: Settings
    where: Callable[..., str]

    def of_metrics(
        self, metrics: Sequence[Named], built: Sequence[Generator], own: Sequence[SystemCell]
    ) -> Iterator[Problem]:
        """Yield what metrics ask for that nothing is, or nothing gives."""
        names = [each.name for each in metrics]
        # A name that did not build may be the one that is looked for here, and was named already.
        complete = len(names) == len(self.settings.metrics)
        decide_by = self.settings.decide_by
        if complete and decide_by is not None and decide_by not in names:
            what = f"{decide_by!r} is not among the metrics"
            yield self._problem(what, suggest(decide_by, names), "decide_by")
        by = next((each for each in metrics if each.name == decide_by), None)
        if by is not None and by.metric.kind == "descriptive":
            what = f"{by.name!r} is descriptive: it says nothing of quality"
            good = [each.name for each in metrics if each.metric.kind == "quality"]
            yield self._problem(what, f"choose from: {', '.join(good)}", "decide_by")
        for target in self.settings.targets:
            if complete and target not in names:
                what = f"{target!r} is not among the metrics"
                yield self._problem(what, suggest(target, names), "targets", target)
        judged = any(isinstance(each.metric, Asking) for each in metrics)
        for at, each in enumerate(metrics):
            asks = any(isinstance(leaf, Asking) for leaf in self._leaves(each))
            if asks and not judged:
                what = f"{each.name!r} has a part that asks a judge"
                yield self._problem(what, "name that part among the metrics too", "metrics", at)
        if built and not any(generator.answers for generator in built):
            what = "an answer, and no generator gives one"
            yield from self._unmet(metrics, "answer", what, NO_ANSWER)
        if own and not any(each.system.tells_answers for each in own):
            what = "an answer, and no system gives one"
            yield from self._unmet(metrics, "answer", what, NOT_TOLD)
        if own and not any(each.system.tells_contexts for each in own):
            what = "contexts, and no system tells any"
            yield from self._unmet(metrics, "ranking", what, NOT_TOLD)

    def of_sizes(
        self, metrics: Sequence[Named], rerankers: Sequence[Reranker]
    ) -> Iterator[Problem]:
        """Yield what reads more hits than there are."""
        kept = {f"`keep` of {each.name}": getattr(each, "keep", None) for each in rerankers}
        for name, bound in {"`retrieve`": self.settings.retrieve, **kept}.items():
            if bound is None:
                continue
            hint = f"raise {name}, or read fewer"
            for at, each in enumerate(metrics):
                k = max((getattr(leaf, "k", None) or 0 for leaf in self._leaves(each)), default=0)
                if k > bound:
                    what = f"{each.name!r} reads {k} hits, and {name} leaves {bound}"
                    yield self._problem(what, hint, "metrics", at)
            if self.settings.system is None and self.settings.context.chunks > bound:
                what = f"context.chunks ({self.settings.context.chunks}) is more than {name} leaves"
                yield self._problem(f"{what}, {bound}", hint, "context", "chunks")

    def of_names(self, grid: Sequence[Cell]) -> Iterator[Problem]:
        """Yield each name that two cells have."""
        names = [cell.name for cell in grid]
        for name in dict.fromkeys(each for each in names if names.count(each) > 1):
            what = f"two cells have the name {name!r}"
            hint = "two models lie in folders of one name: rename one"
            yield self._problem(what, hint, "embedders")

    def of_oracle(self, built: Sequence[Generator], own: Sequence[SystemCell]) -> Iterator[Problem]:
        """Yield why there is nobody whom the oracle could ask."""
        if self.settings.oracle and own:
            what = "`oracle` asks the generators of a grid, and a system brings its own"
            yield self._problem(what, "take `oracle` out, or run a grid", "oracle")
        elif self.settings.oracle and built and not any(each.answers for each in built):
            what = "`oracle` asks the generators, and none gives answers"
            yield self._problem(what, "add a generator, or take `oracle` out", "oracle")

    def _unmet(
        self, metrics: Sequence[Named], need: Need, what: str, hint: str
    ) -> Iterator[Problem]:
        for at, each in enumerate(metrics):
            if any(need in leaf.needs for leaf in self._leaves(each)):
                yield self._problem(f"{each.name!r} needs {what}", hint, "metrics", at)

    def _leaves(self, named: Named) -> list[Metric]:
        return scoring.leaves(named.metric, self.settings.labels, self.settings.relevance_level)

    def _problem(self, what: str, hint: str, *place: str | int) -> Problem:
        return Problem(self.where(*place), what, hint)
