"""Loads a YAML file as a checked `RunConfig`, and reports all problems at once, with places."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness import limits, user_code
from harness.config.checks import CrossKeyChecks
from harness.config.components import ComponentBuilder
from harness.config.data_checks import find_data_problems
from harness.config.grid import Cell, SystemCell, build_cells
from harness.config.resolved import RunConfig
from harness.config.settings import Settings
from harness.config.source import SourceMap, apply_overrides
from harness.errors import ConfigError, Problem
from harness.files import paths, yaml_lines
from harness.files.yaml_lines import YamlFile
from harness.testset import corpus_reader, testset_reader

_MAX_PROBLEMS = 100
"""Problems of the form of a file that are listed."""


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
        ConfigError: with every problem of it, and then of the corpus and the test set it names.
    """
    shown = paths.display_path(path)
    return _build(yaml_lines.read(path, shown), shown, path.parent, overrides, environment)


def load_mapping(
    config: Mapping[str, Any],
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> RunConfig:
    """Check a configuration that is no file; its paths start at the working directory."""
    file = YamlFile(dict(config), {})
    return _build(file, "the configuration", Path(), overrides, environment)


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
    settings, wrong = _validate(data, places, problems)

    def find(key: str, text: str) -> str:
        return paths.find(text, folder, key in outside, environment)

    with user_code.importing(folder):
        builder = ComponentBuilder(settings, places, find, problems, wrong)
        config = _build_config(builder, shown, folder)
        if problems:
            places_named = {problem.where for problem in problems}
            in_data = find_data_problems(config, wrong)
            problems += [item for item in in_data if item.where not in places_named]
            raise ConfigError(shown, problems)
    return config


def _validate(
    data: Mapping[str, Any], places: SourceMap, problems: list[Problem]
) -> tuple[Settings, set[str]]:
    """Return the settings, and the keys whose values are not valid: those have their defaults."""
    try:
        return Settings.model_validate(data), set()
    except ValidationError as error:
        faults = error.errors()
    listed = [places.to_problem(fault) for fault in faults[:_MAX_PROBLEMS]]
    problems += dict.fromkeys(listed)
    if (more := len(faults) - _MAX_PROBLEMS) > 0:
        problems.append(Problem(f"and {more:,} more places", "with problems of such kinds"))
    wrong = {str(fault["loc"][0]) for fault in faults}
    valid = {key: value for key, value in data.items() if key not in wrong}
    return Settings.model_validate({"corpus": "", "testset": "", **valid}), wrong


def _build_config(builder: ComponentBuilder, shown: str, folder: Path) -> RunConfig:
    """Return what can be built of the settings; `builder` notes the problems."""
    problems, wrong, where = builder.problems, builder.wrong, builder.places.where
    systems = builder.build_systems()
    has_grid = builder.settings.system is None and "system" not in wrong
    families = builder.build_families() if has_grid else {}
    metrics = builder.build_metrics(systems)
    settings = builder.settings
    corpus: Any = builder.build_reader("corpus", corpus_reader)
    testset: Any = builder.build_reader("testset", testset_reader)
    traffic = builder.find_path("traffic")
    several_cells = math.prod(map(len, families.values())) * max(1, len(systems)) > 1
    if has_grid and (count := math.prod(map(len, families.values()))) > limits.MAX_CELLS:
        hint = f"name fewer: {limits.MAX_CELLS:,} at most"
        problems.append(Problem("the file", f"the grid has {count:,} cells", hint))
        families = {}
    cells = tuple(build_cells(**families)) if families else ()
    checks = CrossKeyChecks(settings, where, wrong, metrics, systems, families, cells)
    baseline = checks.find_baseline(builder.build_baseline() if has_grid else None)
    problems += [baseline] if isinstance(baseline, Problem) else []
    problems += checks.find_problems()
    all_cells: list[Cell | SystemCell] = [*cells, *systems]
    gate, names = settings.gate, {cell.name: cell.labels() for cell in all_cells}
    return RunConfig(
        shown=shown,
        given=builder.places.file.data,
        settings=settings.model_copy(update={"gate": gate and gate.with_full_name(names)}),
        corpus=corpus,
        testset=testset,
        cells=cells,
        systems=systems,
        metrics=tuple(metrics),
        baseline=None if isinstance(baseline, Problem) else baseline,
        output=Path(settings.output),
        cache=Path(settings.cache),
        chat=builder.models["chat"],
        judge=builder.models["judge"],
        prices=builder.read_prices(),
        where=where,
        traffic=traffic,
        folder=folder,
        people=builder.read_people(metrics, several_cells),
    )
