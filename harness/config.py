"""From YAML to a checked `RunConfig`: everything wrong is found at once, with its place."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness import overrides as typed
from harness import paths, prices, reach, rules, scoring, usercode, yamlfile
from harness.agreement import Agreement
from harness.chat import ChatModel, located
from harness.chunkers import Cut, chunkers
from harness.corpus import CorpusReader
from harness.embedders import embedders
from harness.errors import ConfigError, Problem, SpecError, suggest
from harness.generators import generators
from harness.handed import Handed
from harness.index import AsItStands
from harness.needs import Need
from harness.places import Places
from harness.prices import PriceError, Prices
from harness.reach import Reach
from harness.registry import Registry, label
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.scoring import Named
from harness.settings import SYSTEM_METRICS, Settings, listed
from harness.sources import corpus_reader, testset_reader
from harness.sweep import AXES, Cell, SystemCell, cells, fitted
from harness.systems import System, in_full, systems
from harness.testset import TestsetReader

T = TypeVar("T")

_SHOWN = 100
"""Problems of the form of a file that are listed."""
_MOST_CELLS = 10_000


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
    metrics: tuple[Named, ...]
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

    @property
    def decide_by(self) -> str:
        """The name of the metric that cells are ranked by."""
        ranking = [each.name for each in self.metrics if each.metric.kind != "descriptive"]
        return self.settings.decide_by or next(iter([*ranking, self.metrics[0].name]))


def load(
    path: Path,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    allow_outside: bool = False,
) -> RunConfig:
    """Read and check a configuration file.

    `overrides` are `key=value`, dots leading deeper; they win over `HARNESS_<KEY>` in the
    environment, which wins over the file. Paths in the file are looked for beside it, then in the
    working directory; none may lead out of these two, unless `allow_outside`, or the environment's
    HARNESS_ALLOW_OUTSIDE, says so.

    Raises:
        ConfigError: with every problem that can be found without reading the data.
    """
    environment = os.environ if environment is None else environment
    shown = paths.shown(path)
    file = yamlfile.read(path, shown)
    problems: list[Problem] = []
    data, outside = typed.overridden(file, overrides, environment, problems)
    places = Places(file, outside)
    own = reach.typed(typed.values(overrides, environment))
    anywhere = allow_outside or reach.allowed(environment)
    within = Reach(path.parent, environment, outside, own, anywhere)
    settings = _settings(data, places, problems)
    if settings is None:
        for key, reader in _SOURCES.items():
            if isinstance(data.get(key), str | dict):
                find = partial(within.find, key)
                _try(partial(reader, data[key], find), places.where(key), problems)
        raise ConfigError(shown, problems)
    find = partial(within.find, "index")
    settings = _with_collection(settings, find, places.where("index"), problems)
    return _Builder(shown, path.parent, places, settings, within, problems).build()


def _settings(data: Mapping[str, Any], places: Places, problems: list[Problem]) -> Settings | None:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        wrong = {each["loc"][0]: each for each in error.errors()}
        found = [places.misfit(each) for each in error.errors()[:_SHOWN]]
        if (more := error.error_count() - _SHOWN) > 0:
            found.append(Problem(f"and {more:,} more places", "with problems of such kinds"))
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


def _with_collection(
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
    folder: Path
    places: Places
    settings: Settings
    reach: Reach
    problems: list[Problem]

    def build(self) -> RunConfig:
        own = self._systems()
        if not own or "metrics" in self.settings.model_fields_set:
            return self._complete(own)
        needs = {need for each in own for need in _told(each.system)}
        fit = [name for name in SYSTEM_METRICS if scoring.build(name).metric.needs & needs]
        return replace(self, settings=self.settings.model_copy(update={"metrics": fit}))._complete(
            own
        )

    def _complete(self, own: tuple[SystemCell, ...]) -> RunConfig:
        families = _FAMILIES if self.settings.system is None else {}
        built: dict[str, list[Any]] = {key: self._family(key) for key in families}
        metrics = self._metrics()
        corpus = self._source("corpus", corpus_reader)
        testset = self._source("testset", testset_reader)
        traffic = self._traffic()
        agreement = Agreement(self.settings, self._where)
        self.problems.extend(agreement.of_metrics(metrics, built.get("generators", ()), own))
        self.problems.extend(agreement.of_oracle(built.get("generators", ()), own))
        many = math.prod(map(len, built.values()))
        if many > _MOST_CELLS:
            what = f"the grid has {many:,} cells"
            raise ConfigError(
                self.shown, [Problem("the file", what, f"name fewer: {_MOST_CELLS:,} at most")]
            )
        grid = tuple(cells(*built.values())) if built and all(built.values()) else ()
        baseline = self._baseline(grid) if self.settings.system is None else self._own(own)
        self.problems.extend(agreement.of_names(grid))
        self.problems.extend(agreement.of_sizes(metrics, built.get("rerankers", ())))
        self.problems.extend(self._gate(metrics, [*grid, *own]))
        priced = self._prices()
        self._check_reach()
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
            systems=own,
            metrics=tuple(metrics),
            baseline=baseline,
            output=Path(self.settings.output),
            cache=Path(self.settings.cache),
            chat=self.models["chat"],
            judge=self.models["judge"],
            prices=priced,
            where=self._where,
            traffic=traffic,
        )

    def _gate(
        self, metrics: Sequence[Named], grid: Sequence[Cell | SystemCell]
    ) -> Iterator[Problem]:
        if self.settings.gate is None:
            return iter(())
        if rules.is_path(named := self.settings.gate.baseline):
            _try(partial(self.reach.check, named), self._where("gate", "baseline"), self.problems)
        kinds = {each.name: each.metric.kind for each in metrics}
        complete = len(metrics) == len(self.settings.metrics)
        names = [cell.name for cell in grid]
        return rules.misfits(self.settings.gate, kinds, names, self._where, complete)

    def _prices(self) -> Prices | None:
        """Return the prices in the file that is named; what is wrong with it is noted."""
        if self.settings.prices is None:
            return None
        find = partial(self.reach.find, "prices")
        path = _try(partial(find, self.settings.prices), self._where("prices"), self.problems)
        if path is None:
            return None
        try:
            return prices.read(Path(path), paths.shown(Path(path)))
        except PriceError as error:
            self.problems.extend(
                Problem(f"{error.path}, {each.where}", each.what, each.hint)
                for each in error.problems
            )
            return None

    def _check_reach(self) -> None:
        """Note each folder that leads out of the project and that no reader has looked for."""
        for key in ("output", "cache"):
            check = partial(self.reach.check, getattr(self.settings, key))
            _try(check, self._where(key), self.problems)

    def _where(self, *place: str | int) -> str:
        return self.places.where(*place)

    def _family(self, key: str) -> list[Any]:
        registry = _FAMILIES[key]
        built: list[Any] = []
        existing = self.settings.index.existing
        if key == "chunkers" and existing is not None:
            if key in self.settings.model_fields_set:
                what = "`chunkers` and `index.existing` exclude each other: a collection is cut"
                self._add(what, "take one of them out", key)
            return [AsItStands(collection=existing.collection)]
        for at, spec in enumerate(getattr(self.settings, key)):
            where = self._where(key, at)
            for bare in _built(registry, spec, where, self.problems):
                usercode.importable(self.folder, bare)
                _try(partial(self.reach.check_models, bare), where, self.problems)
                handed = partial(self._handed(key).to, bare, registry.family)
                component = _try(handed, where, self.problems)
                if component is None:
                    continue
                if component in built:
                    what = f"{label(component)!r} is there twice"
                    self.problems.append(Problem(where, what, "take one of them out"))
                built.append(component)
        return built

    def _systems(self) -> tuple[SystemCell, ...]:
        """Return a cell for each system; what it replaces must not be given."""
        if self.settings.system is None:
            return ()
        for key in sorted(self.settings.model_fields_set & {*_FAMILIES, "context", "index"}):
            what = f"`{key}` and `system` exclude each other: a system brings its own"
            self._add(what, "take one of them out", key)
        built: list[SystemCell] = []
        for at, spec in enumerate(self.settings.system):
            where = self._where("system", at)
            whole = _try(partial(in_full, spec), where, self.problems)
            found = [] if whole is None else _built(systems, whole, where, self.problems)
            for system in found:
                usercode.importable(self.folder, system)
                found_files = _try(partial(self._with_files, system), where, self.problems)
                cell = SystemCell(found_files or system)
                if any(cell.name == each.name for each in built):
                    what = f"two systems have the name {cell.name!r}"
                    self.problems.append(Problem(where, what, "give each a `label` of its own"))
                built.append(cell)
        return tuple(built)

    def _with_files(self, system: System) -> System:
        """Return a system with its files found."""
        find = partial(self.reach.find, "system")
        given = {key: getattr(system, key) for key in system.files}
        found = {key: find(path) for key, path in given.items() if path is not None}
        return replace(system, **found)  # type: ignore[type-var]

    def _own(self, own: Sequence[SystemCell]) -> SystemCell | None:
        """Return the system that the baseline names."""
        wanted = self.settings.baseline
        if not wanted or not own:
            return None
        found = next((each for each in own if wanted == {"system": each.name}), None)
        if found is None:
            what = "no system has this name"
            self._add(what, f"write {{system: {own[0].name}}}", "baseline")
        return found

    @cached_property
    def models(self) -> Mapping[str, ChatModel | None]:
        """The chat models that the run names, with its seed, and their files found."""
        return {key: self._model(key) for key in ("chat", "judge")}

    def _model(self, key: str) -> ChatModel | None:
        chat: ChatModel | None = getattr(self.settings, key)
        if chat is None:
            return None
        name = _try(
            partial(located, chat.model, partial(self.reach.find, key)),
            self._where(key),
            self.problems,
        )
        seed = self.settings.seed if chat.seed is None else chat.seed
        # A file that is not there has been named; the components that ask it are not at fault.
        return replace(chat, model=name or chat.model, seed=seed)

    def _handed(self, key: str) -> Handed:
        return Handed(
            key, self.models, self.settings.seed, self.settings.decline_patterns, self.reach.find
        )

    def _metrics(self) -> list[Named]:
        named: list[Named] = []
        level, labels = self.settings.relevance_level, self.settings.labels
        for at, spec in enumerate(self.settings.metrics):
            where = self._where("metrics", at)
            bare = _try(partial(scoring.build, spec, labels, level), where, self.problems)
            if bare is None:
                continue
            _try(partial(self.reach.check_models, bare.metric), where, self.problems)
            handed = partial(self._handed("metrics").to, bare.metric, "metric")
            metric = _try(handed, where, self.problems)
            if metric is None:
                continue
            each = Named(bare.name, metric)
            twin = next((known.name for known in named if known.metric == each.metric), None)
            if twin is not None:
                what = f"{each.name!r} is the same metric as {twin!r}"
                self.problems.append(Problem(where, what, "take one of them out"))
            named.append(each)
        return named

    def _traffic(self) -> Path | None:
        given = self.settings.traffic
        find = partial(self.reach.find, "traffic")
        path = given and _try(partial(find, given), self._where("traffic"), self.problems)
        return Path(path) if path else None

    def _source(self, key: str, reader: Callable[[Any, Callable[[str], str]], T]) -> T | None:
        find = partial(self.reach.find, key)
        given = getattr(self.settings, key)
        return _try(partial(reader, given, find), self._where(key), self.problems)

    def _baseline(self, grid: Sequence[Cell]) -> Cell | None:
        """Return the first cell that has every component the baseline names."""
        wanted: dict[str, Any] = {}
        for axis, spec in self.settings.baseline.items():
            where = self._where("baseline", axis)
            if axis not in AXES:
                self._add(f"unknown axis {axis!r}", suggest(axis, AXES), "baseline", axis)
                continue
            registry = _FAMILIES[f"{axis}s"]
            bare = _try(partial(registry.build, spec), where, self.problems)
            handed = self._handed(f"{axis}s")
            wanted[axis] = bare and _try(partial(handed.to, bare, axis), where, self.problems)
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
        specs = self.settings.embedders if isinstance(wanted, Cut) else []
        built = [_try(partial(embedders.build, spec), "", []) for spec in specs]
        return any(fitted(wanted, each) == found for each in built if each is not None)

    def _add(self, what: str, hint: str, *place: str | int) -> None:
        self.problems.append(Problem(self._where(*place), what, hint))


def _told(system: System) -> set[Need]:
    """Return what metrics can read of what a system tells."""
    answers: set[Need] = {"answer"} if system.tells_answers else set()
    return answers | ({"ranking"} if system.tells_contexts else set())


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
