"""Extracts a system's reply from JSON by JSON paths (RFC 9535)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

from pydantic import AfterValidator, ConfigDict

from harness import limits
from harness.errors import StageError
from harness.systems import reply as system_reply
from harness.systems.reply import SystemReply

if TYPE_CHECKING:
    from jsonpath import JSONPath

_MAX_KEYS_SHOWN = 10


def _check_path(path: str) -> str:
    from jsonpath import JSONPathError

    try:
        _compile(path)
    except (JSONPathError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        shown = path if len(path) <= 100 else f"{path[:97]}..."
        raise ValueError(f"{shown!r} is no JSON path ({reason}): write it like $.answer") from None
    return path


Path = Annotated[str, AfterValidator(_check_path)]


@dataclass(frozen=True)
class Paths:
    """Where in a reply everything is; `contexts`, `ids` and `scores` are as many as each other.

    `context` is the text that the system's model was sent, where that is not the contexts.
    """

    answer: Path | None = None
    contexts: Path | None = None
    ids: Path | None = None
    scores: Path | None = None
    declined: Path | None = None
    context: Path | None = None
    tokens_in: Path | None = None
    tokens_out: Path | None = None
    model: Path | None = None

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        if self.answer is None and not self.ranked:
            raise ValueError("name a path of the answer or of the contexts: answer: $.answer")

    @property
    def ranked(self) -> bool:
        """Whether a reply tells contexts, be it by their ids alone."""
        return self.contexts is not None or self.ids is not None


def read(body: str, paths: Paths, hidden: Callable[[str], str] = str) -> SystemReply:
    """Return what a reply tells, each text as `hidden` returns it.

    Raises:
        StageError: it is not JSON, or what a path leads to is not there or makes no sense.
    """
    try:
        reply = _map_texts(json.loads(body, parse_constant=_refuse), hidden)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at character {error.pos}"
        raise StageError(f"the reply is not JSON: {reason}: {hidden(body)[:60]!a}") from None
    except (ValueError, RecursionError) as error:
        raise StageError(f"the reply is no usable JSON: {str(error)[:100]}") from None
    fields: dict[str, Any] = {}
    for key in ("answer", "declined", "context", "tokens_in", "tokens_out", "model"):
        path = getattr(paths, key)
        if path is not None:
            fields[key] = _find_one(reply, path)
    if paths.ranked:
        fields["contexts"] = _read_contexts(reply, paths)
    return system_reply.parse_reply(fields)


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): _map_texts(item, change) for key, item in value.items()}
    return value


def _read_contexts(reply: Any, paths: Paths) -> list[dict[str, Any]]:
    columns = {"text": paths.contexts, "id": paths.ids, "score": paths.scores}
    values = {key: _find_several(reply, path) for key, path in columns.items() if path is not None}
    if len({len(column) for column in values.values()}) > 1:
        counts = ", ".join(f"{len(column)} at {columns[key]}" for key, column in values.items())
        raise StageError(f"the reply has not one of each for every context: {counts}")
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _find_one(reply: Any, path: str) -> Any:
    matches = _find_all(reply, path)
    if len(matches) != 1:
        raise StageError(
            f"the reply has {len(matches) or 'nothing'} at {path}{_describe_keys(reply)}"
        )
    return matches[0]


def _find_several(reply: Any, path: str) -> list[Any]:
    """Return the values at `path`, or the items of the list that it leads to."""
    matches, single = _find_all(reply, path), _compile(path).singular_query()
    if matches and single and isinstance(matches[0], list):
        return list(matches[0])
    if not matches and (single or not _is_empty(reply, path)):
        raise StageError(f"the reply has nothing at {path}{_describe_keys(reply)}")
    return matches


def _find_all(reply: Any, path: str) -> list[Any]:
    if isinstance(reply, str):  # which the library would read as JSON once more
        return [reply] if _compile(path).empty() else []
    return list(_compile(path).findall(reply))


def _is_empty(reply: Any, path: str) -> bool:
    """Return whether what the first wildcard of `path` stands for is there, and empty."""
    before = path.partition("[*]")[0]
    if before == path or not _compile(before).singular_query():
        return bool(_find_all(reply, path.partition("[?")[0].partition("..")[0]))
    return _find_all(reply, before) in ([[]], [{}])


def _describe_keys(reply: Any) -> str:
    if not isinstance(reply, dict):
        return f": it is of type {type(reply).__name__}"
    keys = ", ".join(
        ascii(key)[: limits.MAX_VALUE_QUOTE_CHARS] for key in list(reply)[:_MAX_KEYS_SHOWN]
    )
    return f": it holds {keys or 'nothing'}"


@lru_cache(maxsize=64)
def _compile(path: str) -> JSONPath:
    from jsonpath import JSONPathEnvironment

    compiled: JSONPath = JSONPathEnvironment(strict=True).compile(path)  # type: ignore[assignment]
    return compiled


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
