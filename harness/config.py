"""From YAML to a checked `RunConfig`: everything wrong is found at once, with its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness import paths, scoring, yamlfile
from harness.chunkers import chunkers
from harness.corpus import CorpusReader
from harness.embedders import embedders
from harness.errors import ConfigError, Problem, SpecError, suggest
from harness.generators import Generator, generators
from harness.metrics import Metric
from harness.overrides import overridden
from harness.places import Places
from harness.registry import Registry, label
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.scoring import Named
from harness.settings import Settings, listed
from harness.sources import corpus_reader, testset_reader
from harness.sweep import AXES, Cell, cells, fitted
from harness.testset import TestsetReader

T = TypeVar("T")


@dataclass(frozen=True)
class RunConfig:
    """A configuration in which every component is built and agrees with the others."""

    shown: str
    given: Mapping[str, Any]
    settings: Settings
    corpus: CorpusReader
    testset: TestsetReader
    cells: tuple[Cell, ...]
    metrics: tuple[Named, ...]
    baseline: Cell | None
    output: Path
    cache: Path
    where: Callable[..., str] = field(repr=False, compare=False)
    """Names the place of a key, with its line: `where("metrics", 3)`."""

    @property
    def decide_by(self) -> str:
        """The name of the metric that cells are ranked by."""
        ranking = [each.name for each in self.metrics if each.metric.kind != "descriptive"]
        return self.settings.decide_by or next(iter([*ranking, self.metrics[0].name]))


def load(
    path: Path, overrides: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> RunConfig:
    """Read and check a configuration file.

    `overrides` are `key=value`, dots leading deeper; they win over `HARNESS_<KEY>` in the
    environment, which wins over the file. Paths in the file are looked for beside it, then in the
    working directory.

    Raises:
        ConfigError: with every problem that can be found without reading the data.
    """
    environment = os.environ if environment is None else environment
    shown = paths.shown(path)
    file = yamlfile.read(path, shown)
    problems: list[Problem] = []
    data, outside = overridden(file, overrides, environment, problems)
    places = Places(file, outside)
    settings = _settings(data, places, problems)
    if settings is None:
        for key, reader in _SOURCES.items():
            if isinstance(data.get(key), str | dict):
                find = partial(_find, key, path.parent, outside, environment)
                _try(partial(reader, data[key], find), places.where(key), problems)
        raise ConfigError(shown, problems)
    return _Builder(shown, path.parent, places, settings, environment, problems).build()


def _settings(data: Mapping[str, Any], places: Places, problems: list[Problem]) -> Settings | None:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        wrong = {each["loc"][0]: each for each in error.errors()}
        found = [places.misfit(each) for each in error.errors()]
        problems += dict.fromkeys(found)
    # What the unaffected keys hold is still looked at, so that all problems come at once.
    rest = {key: value for key, value in data.items() if key not in wrong}
    for key, registry in _FAMILIES.items():
        for at, spec in enumerate(listed(rest.get(key, []))):
            if isinstance(spec, str | dict):
                _built(registry, spec, places.where(key, at), problems)
    for at, spec in enumerate(listed(rest.get("metrics", []))):
        if isinstance(spec, str | dict):
            _try(partial(scoring.build, spec), places.where("metrics", at), problems)
    return None


_FAMILIES: Mapping[str, Registry[Any]] = {
    "chunkers": chunkers,
    "embedders": embedders,
    "retrievers": retrievers,
    "rerankers": rerankers,
    "generators": generators,
}


_SOURCES: Mapping[str, Callable[..., Any]] = {"corpus": corpus_reader, "testset": testset_reader}


@dataclass(frozen=True)
class _Builder:
    """Builds the components of checked settings, and holds them against each other."""

    shown: str
    folder: Path
    places: Places
    settings: Settings
    environment: Mapping[str, str]
    problems: list[Problem]

    def build(self) -> RunConfig:
        built: dict[str, list[Any]] = {key: self._family(key) for key in _FAMILIES}
        metrics = self._metrics()
        corpus = self._source("corpus", corpus_reader)
        testset = self._source("testset", testset_reader)
        self._check_metrics(metrics, built["generators"])
        grid = tuple(cells(*built.values())) if all(built.values()) else ()
        baseline = self._baseline(grid)
        self._check_names(grid)
        self._check_sizes(metrics)
        if self.problems:
            raise ConfigError(self.shown, self.problems)
        assert corpus is not None
        assert testset is not None
        return RunConfig(
            shown=self.shown,
            given=self.places.file.data,
            settings=self.settings,
            corpus=corpus,
            testset=testset,
            cells=grid,
            metrics=tuple(metrics),
            baseline=baseline,
            output=Path(self.settings.output),
            cache=Path(self.settings.cache),
            where=self._where,
        )

    def _where(self, *place: str | int) -> str:
        return self.places.where(*place)

    def _family(self, key: str) -> list[Any]:
        registry = _FAMILIES[key]
        built: list[Any] = []
        for at, spec in enumerate(getattr(self.settings, key)):
            where = self._where(key, at)
            for component in _built(registry, spec, where, self.problems):
                if component in built:
                    what = f"{label(component)!r} is there twice"
                    self.problems.append(Problem(where, what, "take one of them out"))
                built.append(component)
        return built

    def _metrics(self) -> list[Named]:
        named: list[Named] = []
        level, labels = self.settings.relevance_level, self.settings.labels
        for at, spec in enumerate(self.settings.metrics):
            where = self._where("metrics", at)
            each = _try(partial(scoring.build, spec, labels, level), where, self.problems)
            if each is None:
                continue
            twin = next((known.name for known in named if known.metric == each.metric), None)
            if twin is not None:
                what = f"{each.name!r} is the same metric as {twin!r}"
                self.problems.append(Problem(where, what, "take one of them out"))
            named.append(each)
        return named

    def _source(self, key: str, reader: Callable[[Any, Callable[[str], str]], T]) -> T | None:
        find = partial(_find, key, self.folder, self.places.outside, self.environment)
        given = getattr(self.settings, key)
        return _try(partial(reader, given, find), self._where(key), self.problems)

    def _check_metrics(self, metrics: Sequence[Named], built: Sequence[Generator]) -> None:
        names = [each.name for each in metrics]
        # A name that did not build may be the one that is looked for here, and was named already.
        complete = len(names) == len(self.settings.metrics)
        decide_by = self.settings.decide_by
        if complete and decide_by is not None and decide_by not in names:
            what = f"{decide_by!r} is not among the metrics"
            self._add(what, suggest(decide_by, names), "decide_by")
        by = next((each for each in metrics if each.name == decide_by), None)
        if by is not None and by.metric.kind == "descriptive":
            what = f"{by.name!r} is descriptive: it says nothing of quality"
            good = [each.name for each in metrics if each.metric.kind == "quality"]
            self._add(what, f"choose from: {', '.join(good)}", "decide_by")
        for target in self.settings.targets:
            if complete and target not in names:
                what = f"{target!r} is not among the metrics"
                self._add(what, suggest(target, names), "targets", target)
        if built and not any(generator.answers for generator in built):
            for at, each in enumerate(metrics):
                if any("answer" in leaf.needs for leaf in self._leaves(each)):
                    what = f"{each.name!r} needs an answer, and no generator gives one"
                    self._add(what, "add a generator, or take the metric out", "metrics", at)

    def _check_sizes(self, metrics: Sequence[Named]) -> None:
        retrieve = self.settings.retrieve
        for at, each in enumerate(metrics):
            k = max((getattr(leaf, "k", None) or 0 for leaf in self._leaves(each)), default=0)
            if k > retrieve:
                what = f"{each.name!r} reads {k} hits, and only {retrieve} are retrieved"
                self._add(what, f"set `retrieve: {k}` or more, or a smaller k", "metrics", at)
        if self.settings.context.chunks > retrieve:
            what = f"context.chunks ({self.settings.context.chunks}) is more than `retrieve`"
            self._add(what, f"`retrieve` is {retrieve}: raise it", "context", "chunks")

    def _leaves(self, named: Named) -> list[Metric]:
        return scoring.leaves(named.metric, self.settings.labels, self.settings.relevance_level)

    def _check_names(self, grid: Sequence[Cell]) -> None:
        names = [cell.name for cell in grid]
        for name in dict.fromkeys(each for each in names if names.count(each) > 1):
            what = f"two cells have the name {name!r}"
            self._add(what, "two models lie in folders of one name: rename one", "embedders")

    def _baseline(self, grid: Sequence[Cell]) -> Cell | None:
        """Return the first cell that has every component the baseline names."""
        wanted: dict[str, Any] = {}
        for axis, spec in self.settings.baseline.items():
            where = self._where("baseline", axis)
            if axis not in AXES:
                self._add(f"unknown axis {axis!r}", suggest(axis, AXES), "baseline", axis)
                continue
            registry = _FAMILIES[f"{axis}s"]
            wanted[axis] = _try(partial(registry.build, spec), where, self.problems)
        if not wanted or not grid or None in wanted.values():
            return None
        for cell in grid:
            if all(self._is(getattr(cell, axis), part) for axis, part in wanted.items()):
                return cell
        names = "; ".join(cell.name for cell in grid[:6])
        hint = f"the cells are: {names}; without a baseline: --set baseline={{}}"
        self._add("no cell of the grid has these components", hint, "baseline")
        return None

    def _is(self, found: Any, wanted: Any) -> bool:
        """Return whether a cell's component is the one named, be it fitted to an embedder."""
        if found == wanted:
            return True
        specs = self.settings.embedders if isinstance(found, type(wanted)) else []
        built = [_try(partial(embedders.build, spec), "", []) for spec in specs]
        return any(fitted(wanted, each) == found for each in built if each is not None)

    def _add(self, what: str, hint: str, *place: str | int) -> None:
        self.problems.append(Problem(self._where(*place), what, hint))


def _find(
    key: str, folder: Path, outside: Mapping[str, str], environment: Mapping[str, str], path: str
) -> str:
    return paths.found(path, folder, key in outside, environment)


def _built(registry: Registry[T], spec: Any, where: str, problems: list[Problem]) -> list[T]:
    """Return the components that `spec` stands for; a list in a parameter is an axis."""
    specs = _try(partial(registry.expand, spec), where, problems) or []
    built = [_try(partial(registry.build, each), where, problems) for each in specs]
    return [component for component in built if component is not None]


def _try(make: Callable[[], T], where: str, problems: list[Problem]) -> T | None:
    try:
        return make()
    except SpecError as error:
        problems.append(Problem(where, error.what, error.hint))
        return None
