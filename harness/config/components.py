"""Builds the components that settings name, and gives each what it takes of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from harness import limits
from harness.chunkers import chunkers
from harness.config import prices
from harness.config.grid import SystemCell
from harness.config.prices import PriceError, Prices
from harness.config.settings import SYSTEM_METRICS, Settings
from harness.config.source import SourceMap
from harness.corpus import decode
from harness.embedders import embedders
from harness.errors import DataError, Problem, SpecError, suggest
from harness.files import paths, reading
from harness.generators import generators
from harness.index import AsItStands
from harness.metrics import asks_judge, named_metrics
from harness.metrics.judge import explain_missing_judge
from harness.metrics.named_metrics import NamedMetric
from harness.metrics.needs import Need
from harness.models.chat import ChatModel
from harness.models.chat.settings import relocate_model
from harness.registry import Registry, label
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.store.cell_labels import AXES
from harness.systems import System, expand_spec, systems
from harness.testset import label_file
from harness.testset.label_file import LabelFile

T = TypeVar("T")

FAMILIES: Mapping[str, Registry[Any]] = {
    "chunkers": chunkers,
    "embedders": embedders,
    "retrievers": retrievers,
    "rerankers": rerankers,
    "generators": generators,
}


@dataclass
class ComponentBuilder:
    """Builds what settings name; what cannot be built becomes a problem, at its place.

    `wrong` are the keys whose value, or part of it, is none: they may lack what other keys look
    for, which is no second problem.
    """

    settings: Settings
    places: SourceMap
    find: Callable[[str, str], str]
    """Returns where a path that stands under a key leads, or raises `SpecError`."""
    problems: list[Problem]
    wrong: set[str]

    def __post_init__(self) -> None:
        """Find the folder of an existing collection."""
        index = self.settings.index
        if index.existing is not None and index.existing.path is not None:
            path = self.attempt(partial(self.find, "index", index.existing.path), "index")
            existing = replace(index.existing, path=path or index.existing.path)
            changes = {"index": replace(index, existing=existing)}
            self.settings = self.settings.model_copy(update=changes)

    def attempt(self, make: Callable[[], T], *place: str | int) -> T | None:
        """Return what `make` makes; None where it raises `SpecError`, which becomes a problem."""
        try:
            return make()
        except SpecError as error:
            self.add_problem(error.what, error.hint, *place)
            self.wrong.add(str(place[0]))
            return None

    def add_problem(self, message: str, hint: str, *place: str | int) -> None:
        """Note a problem at a place."""
        self.problems.append(Problem(self.places.where(*place), message, hint))

    def find_path(self, key: str) -> Path | None:
        """Return the path of a file that a key names, if it names one that is there."""
        path = getattr(self.settings, key)
        found = None if path is None else self.attempt(partial(self.find, key, path), key)
        return None if found is None else Path(found)

    def build_reader(self, key: str, make: Callable[[Any, Callable[[str], str]], T]) -> T | None:
        """Return the reader of the data that a key names."""
        if key in self.wrong:
            return None
        return self.attempt(
            partial(make, getattr(self.settings, key), partial(self.find, key)), key
        )

    def build_families(self) -> dict[str, list[Any]]:
        """Return the components of each axis of the grid."""
        return {key: self._build_family(key) for key in FAMILIES}

    def _build_family(self, key: str) -> list[Any]:
        existing = self.settings.index.existing
        if key == "chunkers" and existing is not None:
            if key in self.settings.model_fields_set:
                message = "`chunkers` and `index.existing` exclude each other: a collection is cut"
                self.add_problem(message, "take one of them out", key)
            return [AsItStands(collection=name) for name in existing.collections]
        built: list[Any] = []
        for index, spec in enumerate(() if key in self.wrong else getattr(self.settings, key)):
            for component in self._build_spec(FAMILIES[key], spec, key, index):
                if component in built:
                    message = f"{label(component)!r} is there twice"
                    self.add_problem(message, "take one of them out", key, index)
                built.append(component)
        return built

    def _build_spec(self, registry: Registry[T], spec: Any, key: str, index: int) -> Iterator[T]:
        """Yield the components that `spec` stands for; a list in a parameter is an axis."""
        for single in self.attempt(partial(registry.expand, spec), key, index) or ():
            component = self.attempt(partial(self._build, registry, single, key), key, index)
            if component is not None:
                yield component

    def _build(self, registry: Registry[T], spec: Any, key: str) -> T:
        """Return a component with its files found, and with what it takes of the run."""
        component: Any = registry.build(spec)
        files = {name: getattr(component, name) for name in getattr(component, "files", ())}
        found = {name: self.find(key, path) for name, path in files.items() if path is not None}
        component = replace(component, **found) if found else component
        built: T = self._inject(component, key, registry.family)
        return built

    def build_systems(self) -> tuple[SystemCell, ...]:
        """Return a cell for each system; what it replaces must not be given."""
        if self.settings.system is None:
            return ()
        given = self.settings.model_fields_set | self.wrong
        for key in sorted(given & {*FAMILIES, "context", "index"}):
            message = f"`{key}` and `system` exclude each other: a system brings its own"
            self.add_problem(message, "take one of them out", key)
        built: dict[str, SystemCell] = {}
        for index, spec in enumerate(self.settings.system):
            full_spec = self.attempt(partial(expand_spec, spec), "system", index)
            parts = (
                () if full_spec is None else self._build_spec(systems, full_spec, "system", index)
            )
            for cell in map(SystemCell, parts):
                if cell.name in built:
                    message = f"two systems have the name {cell.name!r}"
                    self.add_problem(message, "give each a `label` of its own", "system", index)
                built[cell.name] = cell
        return tuple(built.values())

    def build_metrics(self, cells: Sequence[SystemCell]) -> list[NamedMetric]:
        """Return the metrics by the names they were asked for; each system is a cell.

        Where the settings name none, systems have those of the default ones that fit.
        """
        if cells and "metrics" not in self.settings.model_fields_set | self.wrong:
            met = {need for cell in cells for need in _needs_met_by(cell.system)}
            default = {name: named_metrics.build_metric(name).metric for name in SYSTEM_METRICS}
            fitting = [name for name, metric in default.items() if metric.needs & met]
            self.settings = self.settings.model_copy(update={"metrics": fitting})
        built: list[NamedMetric] = []
        for index, spec in enumerate(() if "metrics" in self.wrong else self.settings.metrics):
            named = self.attempt(partial(self._build_metric, spec), "metrics", index)
            if named is None:
                continue
            same = (
                other for other in built if named.metric == other.metric or named.name == other.name
            )
            if (twin := next(same, None)) is not None:
                message = f"{named.name!r} is the same metric as {twin.name!r}"
                self.add_problem(message, "take one of them out", "metrics", index)
            built.append(named)
        return built

    def _build_metric(self, spec: Any) -> NamedMetric:
        settings = self.settings
        named = named_metrics.build_metric(spec, settings.labels, settings.relevance_level)
        return NamedMetric(named.name, self._inject(named.metric, "metrics", "metric"))

    def build_baseline(self) -> dict[str, Any] | None:
        """Return the components that the baseline names, by axis; None where one is wrong."""
        parts: dict[str, Any] = {}
        if set(self.settings.baseline) == {"cell"}:
            return parts  # found by its name, when all cells are built
        for axis, spec in self.settings.baseline.items():
            if axis not in AXES:
                hint = suggest(axis, AXES)
                self.add_problem(f"unknown axis {axis!r}", hint, "baseline", axis)
                parts[axis] = None
                continue
            family = FAMILIES[f"{axis}s"]
            parts[axis] = self.attempt(
                partial(self._build, family, spec, f"{axis}s"), "baseline", axis
            )
        return None if None in parts.values() else parts

    def read_prices(self) -> Prices | None:
        """Return the prices in the file that is named, if one is."""
        path = self.find_path("prices")
        try:
            return None if path is None else prices.read_prices(path, paths.display_path(path))
        except PriceError as error:
            self.problems += error.named_problems()
            return None

    def read_people(self, metrics: Sequence[NamedMetric], several_cells: bool) -> LabelFile | None:
        """Return the labels of people in the file that is named, if one is."""
        people = self.settings.people
        find = None if people is None else partial(self.find, "people", people.labels)
        path = None if find is None else self.attempt(find, "people", "labels")
        if path is None:
            return None
        try:
            file = label_file.read_labels(Path(path))
        except DataError as error:
            self.problems += error.problems
            return None
        judged = {named.name: named.metric for named in metrics if asks_judge(named.metric)}
        if "metrics" not in self.wrong:
            self.problems += label_file.find_run_problems(file, judged, several_cells)
        return file

    @cached_property
    def models(self) -> Mapping[str, ChatModel | None]:
        """The chat models that the run names, with its seed, and their files found."""
        return {key: self._find_model(key) for key in ("chat", "judge")}

    def _find_model(self, key: str) -> ChatModel | None:
        chat: ChatModel | None = getattr(self.settings, key)
        if chat is None:
            return None
        name = self.attempt(partial(relocate_model, chat.model, partial(self.find, key)), key)
        seed = self.settings.seed if chat.seed is None else chat.seed
        # A file that is not there has been named; the components that ask it are not at fault.
        return replace(chat, model=name or chat.model, seed=seed)

    def _inject(self, component: Any, key: str, family: str) -> Any:
        """Return a component with all that it takes of the run, and has not been given.

        Raises:
            SpecError: it needs a chat model and the run names none, or its prompt cannot be read.
        """
        if (in_language := getattr(component, "in_language", None)) is not None:
            component = in_language(self.settings.language)
        values: dict[str, Any] = {}
        # A component may refuse its arguments: so each error names it.
        name = f"{family} {component.name!r}"
        for field in fields(component):
            if field.metadata.get("injected") and getattr(component, field.name) is None:
                values[field.name] = self._value(component, field.name, key, name)
        model = getattr(component, "model", None)
        if isinstance(model, str) and hasattr(component, "chat"):
            values["model"] = relocate_model(model, partial(self.find, key))
        try:
            return replace(component, **values) if values else component
        except ValueError as error:
            raise SpecError(f"{name}: {error}") from None

    def _value(self, component: Any, field: str, key: str, name: str) -> Any:
        settings = self.settings
        match field:
            case "seed":
                return settings.seed
            case "declines":
                return settings.decline_patterns
            case "language":
                return None if settings.language == "english" else settings.language
            case "template":
                return self._read_template(component.prompt, key, name)
        own_model = getattr(component, "model", None) is not None
        if own_model or self.models[field] is not None or field in self.wrong:
            return None if own_model else self.models[field]
        if field == "judge":
            raise SpecError(*explain_missing_judge(component.name))
        message = f"{name} needs a chat model"
        raise SpecError(message, "name one: `chat: {model: provider:name}`")

    def _read_template(self, prompt: str | None, key: str, name: str) -> str | None:
        """Return the text of the file that `prompt` names; None where it is a text itself."""
        if prompt is None or "{" in prompt:
            return None
        try:
            content = reading.read_whole(Path(self.find(key, prompt)), limits.MAX_PROMPT_BYTES)
        except OSError as error:
            raise SpecError(f"{name}: prompt {prompt!r}: {error.strerror}") from None
        text = decode(content, prompt)
        if isinstance(text, Problem):
            raise SpecError(f"{name}: prompt {prompt!r} {text.what}")
        return text


def _needs_met_by(system: System) -> set[Need]:
    """Return what metrics can read of what a system tells."""
    answers: set[Need] = {"answer"} if system.tells_answers else set()
    return answers | ({"ranking"} if system.tells_contexts else set())
