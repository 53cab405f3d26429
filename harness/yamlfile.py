"""YAML with places: plain data, and the line on which each part of it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness import openfile
from harness.boundedyaml import Loader, TooMuch
from harness.errors import ConfigError, Problem

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value, from the top."""

_LARGEST, _LARGEST_LIST = 1 << 20, 1 << 25
"""Bytes of a file of keys, and of a list."""
_SHOWN = 200
_HALF = "half of a surrogate pair is no character"


@dataclass(frozen=True)
class YamlFile:
    """The mapping in one file, and the line of each place in it."""

    data: Mapping[str, Any]
    lines: Mapping[Place, int]

    def where(self, place: Place) -> str:
        """Return how errors name `place`: `line 12, metrics[3]`."""
        named = ""
        for step in place:
            named += f"[{step}]" if isinstance(step, int) else f".{step}" if named else step
        for depth in range(len(place), 0, -1):
            if place[:depth] in self.lines:
                return f"line {self.lines[place[:depth]]}, {named}"
        return named or "the file"


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which writes out what stands in two places, in place of an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Escaped: PyYAML writes some line breaks so that it reads them back as spaces.
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def read(path: Path, shown: str) -> YamlFile:
    """Read a YAML file that holds one mapping; safe loader, no key twice.

    Raises:
        ConfigError: there is no such file, or it is not a mapping in YAML.
    """
    try:
        text = openfile.whole(path, _LARGEST).decode("utf-8")
    except FileNotFoundError:
        hint = "make one with: python -m harness init DIR"
        raise ConfigError(shown, [Problem("the file", "does not exist", hint)]) from None
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        raise ConfigError(shown, [Problem("the file", f"cannot be read: {error}", hint)]) from None
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise ConfigError(shown, [Problem("the file", what, "look at the path")]) from None
    try:
        loader = Loader(text)
        node = loader.node()
        problems = list(_twice(node, set()))
        if problems:
            raise ConfigError(shown, problems)
        lines = {} if node is None else dict(_lines(node, (), set()))
        data = None if node is None else loader.construct_document(node)
        _check_text(data)
    except yaml.YAMLError as error:
        raise ConfigError(shown, [_unparsed(error)]) from None
    except UnicodeEncodeError:
        raise ConfigError(shown, [Problem("the file", _HALF)]) from None
    if not isinstance(data, dict):
        found = "nothing" if data is None else type(data).__name__
        hint = "it starts like this: `corpus: corpora/insurellm`"
        raise ConfigError(shown, [Problem("the file", f"must hold keys, holds {found}", hint)])
    return YamlFile({str(key): value for key, value in data.items()}, lines)


def value(text: str) -> Any:
    """Return what `text` means in YAML; raises `ValueError` where it means nothing."""
    said = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    try:
        loader = Loader(text)
        node = loader.node()
        found = None if node is None else loader.construct_document(node)
        _check_text(found)
    except yaml.YAMLError as error:
        raise ValueError(f"{said!r} is not YAML: {_said(error)}") from None
    except UnicodeEncodeError:
        raise ValueError(f"{said!r}: {_HALF}") from None
    return found


def dump(data: Any) -> str:
    """Return plain data as YAML that reads back as the same; keys keep their order."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=64
    )
    return text


def listed(text: str) -> list[tuple[int, Any]]:
    """Return the items of the list that `text` holds, each with the line on which it starts.

    Raises:
        ValueError: it is no list in YAML, holds too much, an alias, a key twice, half a character.
    """
    if len(text) > _LARGEST_LIST:
        raise ValueError(f"has {len(text):,} characters, more than {_LARGEST_LIST:,}")
    try:
        loader = Loader(text, listed=True)
        node = loader.node()
        if not isinstance(node, yaml.SequenceNode):
            raise ValueError("must hold a list, each item starting with a dash")
        for problem in _twice(node, set()):
            raise ValueError(f"{problem.where}: {problem.what}")
        lines = [each.start_mark.line + 1 for each in node.value]
        items = loader.construct_document(node)
        _check_text(items)
    except yaml.YAMLError as error:
        found = _unparsed(error)
        raise ValueError(f"{found.where}: {found.what}") from None
    except UnicodeEncodeError:
        raise ValueError(_HALF) from None
    return list(zip(lines, items, strict=True))


def _check_text(value: Any) -> None:
    """Raise `UnicodeEncodeError` for escapes that make no character: no file takes them."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        _check_text([*value, *value.values()])
    elif isinstance(value, list | tuple | set):
        for each in value:
            _check_text(each)


def _lines(node: yaml.Node, place: Place, seen: set[int]) -> Iterator[tuple[Place, int]]:
    """Yield every place and its line; what an alias names is entered once, where it stands."""
    yield place, node.start_mark.line + 1
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            step = (*place, str(key.value))
            yield step, key.start_mark.line + 1
            for deeper, line in _lines(child, step, seen):
                if deeper != step:
                    yield deeper, line
    elif isinstance(node, yaml.SequenceNode):
        for at, child in enumerate(node.value):
            yield from _lines(child, (*place, at), seen)


def _twice(node: yaml.Node | None, seen: set[int]) -> Iterator[Problem]:
    """Yield a problem for every key that a mapping has twice; YAML would keep the last."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            name = str(key.value)
            if name in first:
                what = f"the key {name!r} is there already, on line {first[name]}"
                yield Problem(f"line {line}", what, "keep one of the two")
            first.setdefault(name, line)
            yield from _twice(child, seen)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _twice(child, seen)


def _said(error: yaml.YAMLError) -> str:
    return getattr(error, "problem", None) or str(error).splitlines()[0]


def _unparsed(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
    if isinstance(error, TooMuch):
        return Problem(where, _said(error), "write out less, in fewer levels")
    if isinstance(error, yaml.reader.ReaderError):
        where = f"character {error.position + 1:,}"
    return Problem(
        where, f"is not YAML: {_said(error)}", "look at the indentation and the quotes there"
    )
