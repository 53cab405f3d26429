"""Loads a YAML file as a checked `RunConfig`, and reports all problems at once, with places."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness import limits, user_code
from harness.chunkers import ChunkerOptions, chunkers
from harness.config import gate_rules, prices
from harness.config.checks import CrossKeyChecks
from harness.config.grid import Cell, SystemCell, build_cells, fit_to_embedder
from harness.config.prices import PriceError, Prices
from harness.config.run_context import RunContext
from harness.config.settings import SYSTEM_METRICS, Settings, as_list
from harness.config.source import SourceMap, apply_overrides
from harness.corpus import CorpusReader
from harness.embedders import embedders
from harness.errors import ConfigError, Problem, SpecError, suggest
from harness.files import paths, yaml_lines
from harness.files.yaml_lines import YamlFile
from harness.generators import generators
from harness.index import AsItStands
from harness.metrics import named_metrics
from harness.metrics.named_metrics import NamedMetric, stored_kind
from harness.metrics.needs import Need
from harness.models.chat import ChatModel, relocate_model
from harness.registry import Registry, label
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.store.cell_labels import AXES
from harness.systems import System, expand_spec, systems
from harness.testset import TestsetReader
from harness.testset.reader_choice import corpus_reader, testset_reader

T = TypeVar("T")

_MAX_PROBLEMS = 100
"""Problems of the form of a file that are listed."""


@dataclass(frozen=True)
class RunConfig:
    """A configuration in which every component is built and agrees with the others."""

    shown: str
    given: Mapping[str, Any]
    settings: Settings
    corpus: CorpusReader
    testset: TestsetReader
    cells: tuple[Cell, ...]
    systems: tuple[SystemCell, ...]
    metrics: tuple[NamedMetric, ...]
    baseline: Cell | SystemCell | None
    output: Path
    cache: Path
    chat: ChatModel | None
    """The model that components ask, and that drafts questions."""
    judge: ChatModel | None
    prices: Prices | None
    """What models cost, where a price file is named."""
    where: Callable[..., str] = field(repr=False, compare=False)
    """Names the place of a key, with its line: `where("metrics", 3)`."""
    traffic: Path | None = None
    """A file of questions people really ask."""
    folder: Path = Path()
    """Where the file lies."""

    @property
    def decide_by(self) -> str:
        """The name of the metric that cells are ranked by."""
        ranking = [
            named.name for named in self.metrics if stored_kind(named.metric) != "descriptive"
        ]
        return self.settings.decide_by or next(iter([*ranking, self.metrics[0].name]))


def load(
    path: Path,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> RunConfig:
    """Read and check a configuration file.

    `overrides` are `key=value`, dots leading deeper; they win over `HARNESS_<KEY>` in the
    environment, which wins over the file. Paths in the file are looked for beside it, then in the
    working directory; those of the environment and the command line the other way round.

    Raises:
        ConfigError: with every problem that can be found without reading the data.
    """
    shown = paths.display_path(path)
    return _build(yaml_lines.read(path, shown), shown, path.parent, overrides, environment)


def load_mapping(
    config: Mapping[str, Any],
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> RunConfig:
    """Check a configuration that is no file; its paths start at the working directory.

    A key whose value is None has its default. The rest is as in `load`.
    """
    given = {key: value for key, value in config.items() if value is not None}
    return _build(YamlFile(given, {}), "the configuration", Path(), overrides, environment)


def _build(
    file: YamlFile,
    shown: str,
    folder: Path,
    overrides: Sequence[str],
    environment: Mapping[str, str] | None,
) -> RunConfig:
    environment = os.environ if environment is None else environment
    problems: list[Problem] = []
    data, outside = apply_overrides(file, overrides, environment, problems)
    places = SourceMap(file, outside)

    def find(key: str, text: str) -> str:
        return paths.find(text, folder, key in outside, environment)

    with user_code.importing(folder):
        settings = _validate_settings(data, places, problems)
        if settings is None:
            for key, reader in _SOURCES.items():
                if isinstance(data.get(key), str | dict):
                    read = partial(reader, data[key], partial(find, key))
                    _try(read, places.where(key), problems)
            raise ConfigError(shown, problems)
        where = places.where("index")
        settings = _find_collection(settings, partial(find, "index"), where, problems)
        built = _Builder(shown, places, settings, find, problems).build()
        return replace(built, folder=folder)


def _validate_settings(
    data: Mapping[str, Any], places: SourceMap, problems: list[Problem]
) -> Settings | None:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        wrong_keys = {problem["loc"][0]: problem for problem in error.errors()}
        listed_problems = [places.to_problem(problem) for problem in error.errors()[:_MAX_PROBLEMS]]
        if (more := error.error_count() - _MAX_PROBLEMS) > 0:
            listed_problems.append(
                Problem(f"and {more:,} more places", "with problems of such kinds")
            )
        problems += dict.fromkeys(listed_problems)
    # What the unaffected keys hold is still looked at, so that all problems come at once.
    rest = {key: value for key, value in data.items() if key not in wrong_keys}
    for key, registry in _FAMILIES.items():
        for index, spec in enumerate(as_list(rest.get(key, []))):
            if isinstance(spec, str | dict):
                _build_all(registry, spec, places.where(key, index), problems)
    for index, spec in enumerate(as_list(rest.get("metrics", []))):
        if isinstance(spec, str | dict):
            _try(
                partial(named_metrics.build_metric, spec), places.where("metrics", index), problems
            )
    return None


def _find_collection(
    settings: Settings, find: Callable[[str], str], where: str, problems: list[Problem]
) -> Settings:
    """Return the settings with the folder of an existing collection found."""
    existing = settings.index.existing
    if existing is None or existing.path is None:
        return settings
    path = _try(partial(find, existing.path), where, problems)
    index = replace(settings.index, existing=replace(existing, path=path or existing.path))
    return settings.model_copy(update={"index": index})


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
    places: SourceMap
    settings: Settings
    find: Callable[[str, str], str]
    """Returns where a path that stands under a key leads, or raises `SpecError`."""
    problems: list[Problem]

    def build(self) -> RunConfig:
        systems = self._systems()
        if not systems or "metrics" in self.settings.model_fields_set:
            return self._check_and_build(systems)
        needs = {need for cell in systems for need in _needs_met_by(cell.system)}
        fit = [
            name for name in SYSTEM_METRICS if named_metrics.build_metric(name).metric.needs & needs
        ]
        return replace(
            self, settings=self.settings.model_copy(update={"metrics": fit})
        )._check_and_build(systems)

    def _check_and_build(self, systems: tuple[SystemCell, ...]) -> RunConfig:
        families = _FAMILIES if self.settings.system is None else {}
        built: dict[str, list[Any]] = {key: self._family(key) for key in families}
        metrics = self._metrics()
        corpus = self._source("corpus", corpus_reader)
        testset = self._source("testset", testset_reader)
        traffic = self._traffic()
        agreement = CrossKeyChecks(self.settings, self._where)
        self.problems.extend(agreement.check_metrics(metrics, built.get("generators", ()), systems))
        self.problems.extend(agreement.check_oracle(built.get("generators", ()), systems))
        count = math.prod(map(len, built.values()))
        if count > limits.MAX_CELLS:
            message = f"the grid has {count:,} cells"
            raise ConfigError(
                self.shown,
                [Problem("the file", message, f"name fewer: {limits.MAX_CELLS:,} at most")],
            )
        grid = tuple(build_cells(*built.values())) if built and all(built.values()) else ()
        baseline = (
            self._find_baseline(grid)
            if self.settings.system is None
            else self._find_system(systems)
        )
        self.problems.extend(agreement.check_names(grid))
        self.problems.extend(agreement.check_sizes(metrics, built.get("rerankers", ())))
        self.problems.extend(self._find_gate_problems(metrics, [*grid, *systems]))
        price_file = self._prices()
        if self.problems:
            raise ConfigError(self.shown, self.problems)
        assert corpus is not None
        assert testset is not None
        return RunConfig(
            shown=self.shown,
            given=self.places.file.data,
            settings=self._settings_with_names([*grid, *systems]),
            corpus=corpus,
            testset=testset,
            cells=grid,
            systems=systems,
            metrics=tuple(metrics),
            baseline=baseline,
            output=Path(self.settings.output),
            cache=Path(self.settings.cache),
            chat=self.models["chat"],
            judge=self.models["judge"],
            prices=price_file,
            where=self._where,
            traffic=traffic,
        )

    def _find_gate_problems(
        self, metrics: Sequence[NamedMetric], grid: Sequence[Cell | SystemCell]
    ) -> Iterator[Problem]:
        if self.settings.gate is None:
            return iter(())
        kinds = {named.name: stored_kind(named.metric) for named in metrics}
        complete = len(metrics) == len(self.settings.metrics)
        cells = {cell.name: cell.labels() for cell in grid}
        return gate_rules.find_rule_problems(
            self.settings.gate, kinds, cells, self._where, complete
        )

    def _settings_with_names(self, grid: Sequence[Cell | SystemCell]) -> Settings:
        """Return the settings with the full name of the cell that the gate judges."""
        gate = self.settings.gate
        cells = {cell.name: cell.labels() for cell in grid}
        return self.settings.model_copy(update={"gate": gate and gate.with_full_name(cells)})

    def _prices(self) -> Prices | None:
        """Return the prices in the file that is named; what is wrong with it is noted."""
        if self.settings.prices is None:
            return None
        find = partial(self.find, "prices")
        path = _try(partial(find, self.settings.prices), self._where("prices"), self.problems)
        if path is None:
            return None
        try:
            return prices.read_prices(Path(path), paths.display_path(Path(path)))
        except PriceError as error:
            self.problems.extend(
                Problem(f"{error.path}, {problem.where}", problem.what, problem.hint)
                for problem in error.problems
            )
            return None

    def _where(self, *place: str | int) -> str:
        return self.places.where(*place)

    def _family(self, key: str) -> list[Any]:
        registry = _FAMILIES[key]
        built: list[Any] = []
        existing = self.settings.index.existing
        if key == "chunkers" and existing is not None:
            if key in self.settings.model_fields_set:
                message = "`chunkers` and `index.existing` exclude each other: a collection is cut"
                self._add_problem(message, "take one of them out", key)
            return [AsItStands(collection=existing.collection)]
        for index, spec in enumerate(getattr(self.settings, key)):
            where = self._where(key, index)
            for bare in _build_all(registry, spec, where, self.problems):
                located = _try(partial(self._with_files, key, bare), where, self.problems)
                if located is None:
                    continue
                inject = partial(self._run_context(key).inject, located, registry.family)
                component = _try(inject, where, self.problems)
                if component is None:
                    continue
                if component in built:
                    message = f"{label(component)!r} is there twice"
                    self.problems.append(Problem(where, message, "take one of them out"))
                built.append(component)
        return built

    def _systems(self) -> tuple[SystemCell, ...]:
        """Return a cell for each system; what it replaces must not be given."""
        if self.settings.system is None:
            return ()
        for key in sorted(self.settings.model_fields_set & {*_FAMILIES, "context", "index"}):
            message = f"`{key}` and `system` exclude each other: a system brings its own"
            self._add_problem(message, "take one of them out", key)
        built: list[SystemCell] = []
        for index, spec in enumerate(self.settings.system):
            where = self._where("system", index)
            full_spec = _try(partial(expand_spec, spec), where, self.problems)
            parts = (
                [] if full_spec is None else _build_all(systems, full_spec, where, self.problems)
            )
            for system in parts:
                found_files = _try(
                    partial(self._with_files, "system", system), where, self.problems
                )
                cell = SystemCell(found_files or system)
                if any(cell.name == other.name for other in built):
                    message = f"two systems have the name {cell.name!r}"
                    self.problems.append(Problem(where, message, "give each a `label` of its own"))
                built.append(cell)
        return tuple(built)

    def _with_files(self, key: str, component: T) -> T:
        """Return a component with the files found that its class names in `files`."""
        paths = {name: getattr(component, name) for name in getattr(component, "files", ())}
        found = {name: self.find(key, path) for name, path in paths.items() if path is not None}
        return replace(component, **found) if found else component  # type: ignore[type-var]

    def _find_system(self, cells: Sequence[SystemCell]) -> SystemCell | None:
        """Return the system that the baseline names."""
        baseline = self.settings.baseline
        if not baseline or not cells:
            return None
        named_cell = next((cell for cell in cells if baseline == {"system": cell.name}), None)
        if named_cell is None:
            message = "no system has this name"
            self._add_problem(message, f"write {{system: {cells[0].name}}}", "baseline")
        return named_cell

    @cached_property
    def models(self) -> Mapping[str, ChatModel | None]:
        """The chat models that the run names, with its seed, and their files found."""
        return {key: self._model(key) for key in ("chat", "judge")}

    def _model(self, key: str) -> ChatModel | None:
        chat: ChatModel | None = getattr(self.settings, key)
        if chat is None:
            return None
        name = _try(
            partial(relocate_model, chat.model, partial(self.find, key)),
            self._where(key),
            self.problems,
        )
        seed = self.settings.seed if chat.seed is None else chat.seed
        # A file that is not there has been named; the components that ask it are not at fault.
        return replace(chat, model=name or chat.model, seed=seed)

    def _run_context(self, key: str) -> RunContext:
        settings = self.settings
        declines = settings.decline_patterns
        return RunContext(key, self.models, settings.seed, declines, self.find, settings.language)

    def _metrics(self) -> list[NamedMetric]:
        built: list[NamedMetric] = []
        level, labels = self.settings.relevance_level, self.settings.labels
        for index, spec in enumerate(self.settings.metrics):
            where = self._where("metrics", index)
            bare = _try(
                partial(named_metrics.build_metric, spec, labels, level), where, self.problems
            )
            if bare is None:
                continue
            inject = partial(self._run_context("metrics").inject, bare.metric, "metric")
            metric = _try(inject, where, self.problems)
            if metric is None:
                continue
            candidate = NamedMetric(bare.name, metric)
            twin = next(
                (
                    other.name
                    for other in built
                    if other.metric == candidate.metric or other.name == candidate.name
                ),
                None,
            )
            if twin is not None:
                message = f"{candidate.name!r} is the same metric as {twin!r}"
                self.problems.append(Problem(where, message, "take one of them out"))
            built.append(candidate)
        return built

    def _traffic(self) -> Path | None:
        spec = self.settings.traffic
        find = partial(self.find, "traffic")
        path = spec and _try(partial(find, spec), self._where("traffic"), self.problems)
        return Path(path) if path else None

    def _source(self, key: str, reader: Callable[[Any, Callable[[str], str]], T]) -> T | None:
        find = partial(self.find, key)
        spec = getattr(self.settings, key)
        return _try(partial(reader, spec, find), self._where(key), self.problems)

    def _find_baseline(self, grid: Sequence[Cell]) -> Cell | None:
        """Return the first cell that has every component the baseline names."""
        parts: dict[str, Any] = {}
        for axis, spec in self.settings.baseline.items():
            where = self._where("baseline", axis)
            if axis not in AXES:
                self._add_problem(f"unknown axis {axis!r}", suggest(axis, AXES), "baseline", axis)
                continue
            registry = _FAMILIES[f"{axis}s"]
            bare = _try(partial(registry.build, spec), where, self.problems)
            context = self._run_context(f"{axis}s")
            parts[axis] = bare and _try(partial(context.inject, bare, axis), where, self.problems)
        if not parts or not grid or None in parts.values():
            return None
        for cell in grid:
            if all(self._is_component(getattr(cell, axis), part) for axis, part in parts.items()):
                return cell
        names = "; ".join(cell.name for cell in grid[:6])
        hint = f"the cells are: {names}; without a baseline: --set baseline={{}}"
        self._add_problem("no cell of the grid has these components", hint, "baseline")
        return None

    def _is_component(self, component: Any, wanted_part: Any) -> bool:
        """Return whether a cell's component is the one named, be it fitted to an embedder."""
        if component == wanted_part:
            return True
        specs = self.settings.embedders if isinstance(wanted_part, ChunkerOptions) else []
        built = [_try(partial(embedders.build, spec), "", []) for spec in specs]
        return any(
            fit_to_embedder(wanted_part, embedder) == component
            for embedder in built
            if embedder is not None
        )

    def _add_problem(self, message: str, hint: str, *place: str | int) -> None:
        self.problems.append(Problem(self._where(*place), message, hint))


def _needs_met_by(system: System) -> set[Need]:
    """Return what metrics can read of what a system tells."""
    answers: set[Need] = {"answer"} if system.tells_answers else set()
    return answers | ({"ranking"} if system.tells_contexts else set())


def _build_all(registry: Registry[T], spec: Any, where: str, problems: list[Problem]) -> list[T]:
    """Return the components that `spec` stands for; a list in a parameter is an axis."""
    specs = _try(partial(registry.expand, spec), where, problems) or []
    built = [_try(partial(registry.build, single), where, problems) for single in specs]
    return [component for component in built if component is not None]


def _try(make: Callable[[], T], where: str, problems: list[Problem]) -> T | None:
    try:
        return make()
    except SpecError as error:
        problems.append(Problem(where, error.what, error.hint))
        return None
