"""PyYAML's safe loader with bounds: a short file can stand for more than fits into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

_DEEPEST = 50
"""Levels; a list of questions needs four, and what walks them has no more room than Python's."""
_MOST, _MOST_LISTED = 100_000, 500_000
"""Values of a document, with each alias written out, and of a list; 100,000 take some seconds."""
_LONGEST_NUMBER = 1_000
"""Characters; the time to read one grows with their square."""


class TooMuch(yaml.MarkedYAMLError):
    """What is YAML, and stands for more than is read."""


class Loader(yaml.SafeLoader):
    """The loader of one document; says where a value is none of its kind, such as 2020-13-45.

    Raises:
        yaml.YAMLError: it is not YAML, or (`TooMuch`) too deep, or holds too many values, or
            aliases where it is `listed`: a list of questions, which may hold more values.
    """

    def __init__(self, text: str, listed: bool = False) -> None:
        super().__init__(text)
        self._listed = listed
        self._most = _MOST_LISTED if listed else _MOST
        self._depth = self._count = 0

    def node(self) -> yaml.Node | None:
        """Return the document, unread; what its aliases stand for is bounded in number and depth.

        Raises:
            yaml.YAMLError: as above.
        """
        node: yaml.Node | None = self.get_single_node()
        if node is not None and not self._listed:
            _measured(node, {})
        return node

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; PyYAML calls this for each."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self._listed and self.check_event(yaml.AliasEvent):
            what = f"the alias *{event.anchor[:40]}: write out what it stands for"
            raise TooMuch(None, None, what, event.start_mark)
        self._count += 1
        if self._count > self._most:
            what = f"holds more than {self._most:,} values"
            more = ": write it as JSON Lines, which may hold more" if self._listed else ""
            raise TooMuch(None, None, what + more, event.start_mark)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooMuch(None, None, "is nested too deeply", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node; PyYAML calls this for each."""
        kind = node.tag.rpartition(":")[2]
        what = f"{str(node.value)[:40]!r} is no {kind}"
        if kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, OverflowError) as error:
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from error


def _measured(node: yaml.Node, known: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return how many values a node holds and how many levels, with each alias written out."""
    if id(node) in known:
        found = known[id(node)]
        if found is None:
            raise _refused("an alias stands for what it is a part of: write it out", node)
        return found
    known[id(node)] = None
    many, deep = 1, 1
    for child in _children(node):
        more, deeper = _measured(child, known)
        many, deep = many + more, max(deep, deeper + 1)
    if many > _MOST:
        raise _refused(f"holds more than {_MOST:,} values, aliases written out", node)
    if deep > _DEEPEST:
        raise _refused("is nested too deeply, aliases written out", node)
    known[id(node)] = many, deep
    return many, deep


def _refused(what: str, node: yaml.Node) -> TooMuch:
    return TooMuch(None, None, what, node.start_mark)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            yield from (key, child)
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value
