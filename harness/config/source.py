"""Where each key's value comes from: the file, the environment or the command line.

Maps each key to its place in the file, and names errors by that place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from harness.config.execution import Execution, OnRay
from harness.config.gate_rules import Drop, Gate, Limits, QuestionSegment
from harness.config.settings import AnswerTest, ContextLimits, Settings
from harness.errors import Problem, suggest
from harness.files import yaml_lines
from harness.files.yaml_lines import Place, YamlFile
from harness.index import IndexSettings
from harness.index.index_settings import ChromaServer, Cloud, Existing
from harness.models.chat import ChatModel

ENVIRONMENT_PREFIX = "HARNESS_"


def apply_overrides(
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
    changes = list(_set_variables(environment, problems))
    for number, override in enumerate(overrides, start=1):
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            # It is not repeated: like any value, it may be a secret.
            message = f"number {number} of them is not of the form key=value"
            problems.append(Problem("--set", message, "write it like --set retrieve=50"))
            continue
        changes.append((f"--set {key.strip()}", key.strip(), text))
    for origin, key, text in changes:
        try:
            _set_value(data, key.split("."), yaml_lines.parse_value(text))
        except ValueError as error:
            problems.append(Problem(origin, str(error), "the value is read as YAML"))
        outside[key.split(".")[0]] = origin
    return data, outside


def _set_variables(
    environment: Mapping[str, str], problems: list[Problem]
) -> Iterator[tuple[str, str, str]]:
    """Yield each variable that stands for a key, the key and its value, in the order of the keys.

    A name that is nearly that of a key is noted as a problem; others are of other programs.
    """
    variables = {f"{ENVIRONMENT_PREFIX}{key.upper()}": key for key in Settings.model_fields}
    for name, key in variables.items():
        if name in environment:
            yield name, key, environment[name]
    for name in environment:
        if name.startswith(ENVIRONMENT_PREFIX) and name not in variables:
            close = difflib.get_close_matches(name, variables, n=1, cutoff=0.9)
            if close:
                message = "no key of a configuration has this variable"
                problems.append(Problem(name, message, f"did you mean {close[0]}?"))


def _set_value(data: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    """Put a value where the steps lead; null takes out what is there, or has a default."""
    first, *deeper = steps
    if not deeper and value is None and (first in data or first in Settings.model_fields):
        data.pop(first, None)
        return
    if not deeper:
        data[first] = value
        return
    inner = dict(data[first]) if isinstance(data.get(first), dict) else {}
    _set_value(inner, deeper, value)
    data[first] = inner


_EXAMPLES = {
    "model": "provider:name",
    "url": "http://127.0.0.1:8000",
    "collection": "NAME",
    "address": "local",
    "ray": "{address: local}",
    "metric": "recall@5",
    "drop_more_than": "0.02",
}
_NESTED_TYPES: Mapping[str, type[Any]] = {
    "index": IndexSettings,
    "server": ChromaServer,
    "cloud": Cloud,
    "existing": Existing,
    "chat": ChatModel,
    "judge": ChatModel,
    "answer_test": AnswerTest,
    "gate": Gate,
    "fail_if": Drop,
    "segment": QuestionSegment,
    "max": Limits,
    "execution": Execution,
    "ray": OnRay,
}


@dataclass(frozen=True)
class SourceMap:
    """A file, and for each key that came from elsewhere (`outside`) what it came from."""

    file: YamlFile
    outside: Mapping[str, str]

    def where(self, *place: str | int) -> str:
        """Return how errors name a place: its line, or the option that put it there."""
        key = str(place[0])
        return self.outside[key] if key in self.outside else self.file.where(place)

    def to_problem(self, error: Any) -> Problem:
        """Return what one of pydantic's errors means."""
        place: Place = tuple(error["loc"])
        while len(place) > 1 and place not in self.file.lines and error["type"] != "missing":
            place = place[:-1]
        where = self.where(*place) if error["type"] != "missing" else "the file"
        message = error["msg"].removeprefix("Value error, ")
        if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            key = str(error["loc"][-1])
            return Problem(where, f"unknown key {key!r}", suggest(key, _known_keys(error["loc"])))
        if error["type"] == "missing":
            description = f"the key {'.'.join(map(str, place))!r} is missing"
            example = _EXAMPLES.get(str(place[-1]), "PATH")
            return Problem(where, description, f"for example `{place[-1]}: {example}`")
        if error["type"] == "value_error":
            return Problem(where, message)  # the value is a mapping, and may hold a secret
        if error["loc"][-1] in ("str", "dict[str,any]"):
            message = "Input should be a text or a mapping"
        return Problem(where, f"{message}, not {error['input']!r}")


def _known_keys(place: Sequence[str | int]) -> Iterable[str]:
    """Return the keys there are beside the one at `place`."""
    if place[0] == "context" and len(place) > 1:
        return ContextLimits.model_fields
    for depth in range(len(place) - 1, 0, -1):
        if place[depth - 1] in _NESTED_TYPES:
            return [field.name for field in fields(_NESTED_TYPES[str(place[depth - 1])])]
    return Settings.model_fields
