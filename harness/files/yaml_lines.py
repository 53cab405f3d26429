"""Read YAML with the line number of each value, within bounds, and in data without aliases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness import limits
from harness.errors import ConfigError, Problem
from harness.files import reading


class YamlTooLarge(yaml.MarkedYAMLError):
    """What is YAML, and more than is read."""


class Loader(yaml.SafeLoader):
    """The loader of one document; says where a value is none of its kind, such as 2020-13-45.

    Raises:
        yaml.YAMLError: it is not YAML, or (`YamlTooLarge`) too deep, or holds too many values, or
            aliases where it `is_list`: a list of questions, which is data and may hold more values.
    """

    def __init__(self, text: str, is_list: bool = False) -> None:
        super().__init__(text)
        self._is_list = is_list
        self._max_values = limits.MAX_YAML_LIST_VALUES if is_list else limits.MAX_YAML_VALUES
        self._depth = self._count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; PyYAML calls this for each."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self._is_list and self.check_event(yaml.AliasEvent):
            anchor = event.anchor[: limits.MAX_VALUE_QUOTE_CHARS]
            message = f"the alias *{anchor}: write out what it stands for"
            raise YamlTooLarge(None, None, message, event.start_mark)
        self._count += 1
        if self._count > self._max_values:
            message = f"holds more than {self._max_values:,} values"
            more = ": write it as JSON Lines, which may hold more" if self._is_list else ""
            raise YamlTooLarge(None, None, message + more, event.start_mark)
        self._depth += 1
        if self._depth > limits.MAX_YAML_DEPTH:
            raise YamlTooLarge(None, None, "is nested too deeply", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node; PyYAML calls this for each.

        An alias within what it stands for is refused.
        """
        kind = node.tag.rpartition(":")[2]
        message = f"{str(node.value)[: limits.MAX_VALUE_QUOTE_CHARS]!r} is no {kind}"
        try:
            if kind in ("int", "float") and len(node.value) > limits.MAX_YAML_NUMBER_CHARS:
                raise ValueError
            if isinstance(node.value, str):
                node.value.encode()  # no file takes half of a surrogate pair
            return super().construct_object(node, deep=True)
        except (ValueError, LookupError, AttributeError, OverflowError) as error:
            raise yaml.constructor.ConstructorError(None, None, message, node.start_mark) from error


Place = tuple[str | int, ...]
"""The keys and positions that lead to a value, from the top."""


@dataclass(frozen=True)
class YamlFile:
    """The mapping in one file, and the line of each place in it."""

    data: Mapping[str, Any]
    lines: Mapping[Place, int]

    def where(self, place: Place) -> str:
        """Return how errors name `place`: `line 12, metrics[3]`."""
        dotted = ""
        for step in place:
            dotted += f"[{step}]" if isinstance(step, int) else f".{step}" if dotted else step
        for depth in range(len(place), 0, -1):
            if place[:depth] in self.lines:
                return f"line {self.lines[place[:depth]]}, {dotted}"
        return dotted or "the file"


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which writes out what stands in two places, in place of an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Escaped: PyYAML writes some line breaks so that it reads them back as spaces.
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def read(path: Path, name: str, start: str = "corpus: corpora/insurellm") -> YamlFile:
    """Read a YAML file that holds one mapping; safe loader, no key twice.

    `start` is what such a file may start with, for the message about one that holds no mapping.

    Raises:
        ConfigError: there is no such file, or it is not a mapping in YAML.
    """
    try:
        text = reading.read_whole(path, limits.MAX_YAML_BYTES).decode("utf-8")
    except FileNotFoundError:
        hint = "make one with: python -m harness init DIR"
        raise ConfigError(name, [Problem("the file", "does not exist", hint)]) from None
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        raise ConfigError(name, [Problem("the file", f"cannot be read: {error}", hint)]) from None
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise ConfigError(name, [Problem("the file", message, "look at the path")]) from None
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        lines, problems = _find_lines(node)
        if problems:
            raise ConfigError(name, problems)
        data = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ConfigError(name, [_as_problem(error)]) from None
    if not isinstance(data, dict):
        kind = "nothing" if data is None else type(data).__name__
        hint = f"it starts like this: `{start}`"
        raise ConfigError(name, [Problem("the file", f"must hold keys, holds {kind}", hint)])
    return YamlFile({str(key): value for key, value in data.items()}, lines)


def parse_value(text: str) -> Any:
    """Return what `text` means in YAML.

    Raises:
        ValueError: it means nothing; it is not repeated, as it may hold a secret.
    """
    try:
        return Loader(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" (character {mark.index + 1:,})"
        raise ValueError(f"it is not YAML{place}") from None


def dump(data: Any) -> str:
    """Return plain data as YAML that reads back as the same; keys keep their order."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=64
    )
    return text


def parse_list(text: str) -> list[tuple[int, Any]]:
    """Return the items of the list that `text` holds, each with the line on which it starts.

    Raises:
        ValueError: it is no list in YAML, holds too much, an alias or a key twice.
    """
    if len(text) > limits.MAX_YAML_LIST_CHARS:
        raise ValueError(f"has {len(text):,} characters, more than {limits.MAX_YAML_LIST_CHARS:,}")
    try:
        loader = Loader(text, is_list=True)
        node = loader.get_single_node()
        if not isinstance(node, yaml.SequenceNode):
            raise ValueError("must hold a list, each item starting with a dash")
        for problem in _find_lines(node)[1]:
            raise ValueError(f"{problem.where}: {problem.what}")
        lines = [item.start_mark.line + 1 for item in node.value]
        items = loader.construct_document(node)
    except yaml.YAMLError as error:
        unparsed = _as_problem(error)
        raise ValueError(f"{unparsed.where}: {unparsed.what}") from None
    return list(zip(lines, items, strict=True))


def _find_lines(root: yaml.Node | None) -> tuple[dict[Place, int], list[Problem]]:
    """Return the line of every place, and the keys that a mapping has twice.

    Of those YAML would keep the last. What an alias names is entered once, where it stands.
    """
    lines: dict[Place, int] = {}
    problems: list[Problem] = []
    seen: set[int] = set()

    def visit(node: yaml.Node, place: Place) -> None:
        lines.setdefault(place, node.start_mark.line + 1)
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for index, child in enumerate(node.value):
                visit(child, (*place, index))
        elif isinstance(node, yaml.MappingNode):
            first: dict[str, int] = {}
            for key, child in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if name in first:
                    message = f"the key {name!r} is there already, on line {first[name]}"
                    problems.append(Problem(f"line {line}", message, "keep one of the two"))
                first.setdefault(name, line)
                lines[(*place, name)] = line
                visit(child, (*place, name))

    if root is not None:
        visit(root, ())
    return lines, problems


def _as_problem(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
    message = getattr(error, "problem", None) or str(error).splitlines()[0]
    if isinstance(error, YamlTooLarge):
        return Problem(where, message, "write out less, in fewer levels")
    if isinstance(error, yaml.reader.ReaderError):
        where = f"character {error.position + 1:,}"
    hint = "look at the indentation and the quotes there"
    return Problem(where, f"is not YAML: {message}", hint)
