"""Where each key's value comes from: the file, the environment or the command line.

Maps each key to its place in the file, and names errors by that place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from harness.config.settings import Settings
from harness.errors import Problem, suggest
from harness.files import yaml_lines
from harness.files.yaml_lines import Place, YamlFile

ENVIRONMENT_PREFIX = "HARNESS_"
_EXAMPLES = {
    "model": "provider:name",
    "url": "http://127.0.0.1:8000",
    "collection": "NAME",
    "address": "local",
    "ray": "{address: local}",
    "metric": "recall@5",
    "drop_more_than": "0.02",
    "currency": "USD",
    "models": '{"provider:model": {input: 0.1, output: 0.4}}',
    "input": "0.1",
    "output": "0.4",
}
"""What the value of a missing key may look like; others are paths."""
_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


def apply_overrides(
    file: YamlFile,
    overrides: Iterable[str],
    environment: Mapping[str, str],
    problems: list[Problem],
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the data with what the environment and the command line put in its place.

    A key whose value is null has its default. The second value says, for each key that did not come
    from the file, where it came from.
    """
    data = {key: value for key, value in file.data.items() if value is not None}
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


def _set_value(data: dict[str, Any], place: Sequence[str], value: Any, depth: int = 0) -> None:
    """Put a value where `place` leads; null takes out what is there, or has a default."""
    key = place[depth]
    if depth < len(place) - 1:
        inner = dict(data[key]) if isinstance(data.get(key), dict) else {}
        _set_value(inner, place, value, depth + 1)
        data[key] = inner
    elif value is None and (
        key in data or key in _keys_beside(Settings.model_json_schema(), tuple(place))
    ):
        data.pop(key, None)
    else:
        data[key] = value


@dataclass(frozen=True)
class SourceMap:
    """A file of keys of `model`, and for each that came from elsewhere what it came from."""

    file: YamlFile
    outside: Mapping[str, str]
    model: type[BaseModel] = Settings

    def where(self, *place: str | int) -> str:
        """Return how errors name a place: its line, or the option that put it there."""
        key = str(place[0])
        return self.outside[key] if key in self.outside else self.file.where(place)

    def to_problem(self, error: Any) -> Problem:
        """Return what one of pydantic's errors means."""
        place: Place = tuple(error["loc"])
        known_place = place
        while len(known_place) > 1 and known_place not in self.file.lines:
            known_place = known_place[:-1]
        where = self.where(*known_place)
        if error["type"] == "missing":
            description = f"the key {str(place[-1])!r} is missing"
            example = _EXAMPLES.get(str(place[-1]), "PATH")
            hint = f"for example `{place[-1]}: {example}`"
            return Problem("the file" if len(place) == 1 else where, description, hint)
        if error["type"] in _UNKNOWN_KEY:
            keys = _keys_beside(self.model.model_json_schema(), place)
            return Problem(where, f"unknown key {place[-1]!r}", suggest(str(place[-1]), keys))
        message = error["msg"].removeprefix("Value error, ")
        if error["type"] == "value_error":
            # The value is a mapping, and may hold a secret.
            what, _, hint = message.partition("\n")
            return Problem(where, what, hint)
        if place[-1] in ("str", "dict[str,any]"):
            message = "Input should be a text or a mapping"
        if error["type"] in ("model_type", "dataclass_type"):
            message = "Input should be a mapping"
        return Problem(where, f"{message}, not {error['input']!r}")


def _keys_beside(schema: Mapping[str, Any], place: Place) -> list[str]:
    """Return the keys that a JSON schema knows in the mapping that `place` is in."""
    parts = _alternatives(schema, schema)
    for step in place[:-1]:
        inner = [
            found
            for part in parts
            for found in (
                part.get("items") if isinstance(step, int) else None,
                part.get("properties", {}).get(step),
                part.get("additionalProperties"),
            )
            if isinstance(found, Mapping)
        ]
        # A step that leads nowhere is the name of a type, which pydantic puts into the place.
        parts = [found for part in inner for found in _alternatives(schema, part)] or parts
    return [key for part in parts for key in part.get("properties", ())]


def _alternatives(schema: Mapping[str, Any], part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a part of a schema with its references and its alternatives resolved."""
    if "$ref" in part:
        return _alternatives(schema, schema["$defs"][part["$ref"].rpartition("/")[2]])
    if "anyOf" in part:
        return [found for choice in part["anyOf"] for found in _alternatives(schema, choice)]
    return [part]
