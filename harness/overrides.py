"""What the environment and the command line put in the place of a file's keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness import yamlfile
from harness.errors import Problem
from harness.settings import Settings
from harness.yamlfile import YamlFile

ENVIRONMENT = "HARNESS_"


def overridden(
    file: YamlFile,
    overrides: Iterable[str],
    environment: Mapping[str, str],
    problems: list[Problem],
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the data with what the environment and the command line put in its place.

    The second value says, for each key that did not come from the file, where it came from.
    """
    data = dict(file.data)
    outside: dict[str, str] = {}
    changes = [(name, key, environment[name]) for name, key in _variables(environment)]
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            hint = "write it like --set retrieve=50"
            problems.append(Problem("--set", f"{override!r} is not of the form key=value", hint))
            continue
        changes.append((f"--set {key.strip()}", key.strip(), text))
    for origin, key, text in changes:
        try:
            _put(data, key.split("."), yamlfile.value(text))
        except ValueError as error:
            problems.append(Problem(origin, str(error), "the value is read as YAML"))
        outside[key.split(".")[0]] = origin
    return data, outside


def values(overrides: Iterable[str], environment: Mapping[str, str]) -> Iterator[Any]:
    """Yield each value that the command line and the environment put into the data."""
    given = [environment[name] for name, _ in _variables(environment)]
    for text in [*given, *(override.partition("=")[2] for override in overrides)]:
        with suppress(ValueError):
            yield yamlfile.value(text)


def _variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each variable that stands for a key, and the key."""
    named = ((f"{ENVIRONMENT}{key.upper()}", key) for key in Settings.model_fields)
    return (each for each in named if each[0] in environment)


def _put(data: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    first, *deeper = steps
    if not deeper:
        data[first] = value
        return
    inner = dict(data[first]) if isinstance(data.get(first), dict) else {}
    _put(inner, deeper, value)
    data[first] = inner
