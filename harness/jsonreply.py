"""A reply in JSON to what it tells, by JSON paths (RFC 9535)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

from pydantic import AfterValidator, ConfigDict

from harness import told
from harness.errors import StageError
from harness.told import Told

if TYPE_CHECKING:
    from jsonpath import JSONPath

_SHOWN = 10


def _checked(path: str) -> str:
    from jsonpath import JSONPathError

    try:
        _compiled(path)
    except (JSONPathError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        shown = path if len(path) <= 100 else f"{path[:97]}..."
        raise ValueError(f"{shown!r} is no JSON path ({said}): write it like $.answer") from None
    return path


Path = Annotated[str, AfterValidator(_checked)]


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


def read(body: str, paths: Paths, hidden: Callable[[str], str] = str) -> Told:
    """Return what a reply tells, each text as `hidden` returns it.

    Raises:
        StageError: it is not JSON, or what a path leads to is not there or makes no sense.
    """
    try:
        reply = _each_text(json.loads(body, parse_constant=_refuse), hidden)
    except json.JSONDecodeError as error:
        said = f"{error.msg} at character {error.pos}"
        raise StageError(f"the reply is not JSON: {said}: {hidden(body)[:60]!a}") from None
    except (ValueError, RecursionError) as error:
        raise StageError(f"the reply is no usable JSON: {str(error)[:100]}") from None
    found: dict[str, Any] = {}
    for key in ("answer", "declined", "context", "tokens_in", "tokens_out", "model"):
        path = getattr(paths, key)
        if path is not None:
            found[key] = _one(reply, path)
    if paths.ranked:
        found["contexts"] = _contexts(reply, paths)
    return told.read(found)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(each, change) for each in value]
    if isinstance(value, dict):
        return {change(key): _each_text(each, change) for key, each in value.items()}
    return value


def _contexts(reply: Any, paths: Paths) -> list[dict[str, Any]]:
    columns = {"text": paths.contexts, "id": paths.ids, "score": paths.scores}
    values = {key: _several(reply, path) for key, path in columns.items() if path is not None}
    if len({len(each) for each in values.values()}) > 1:
        counts = ", ".join(f"{len(each)} at {columns[key]}" for key, each in values.items())
        raise StageError(f"the reply has not one of each for every context: {counts}")
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _one(reply: Any, path: str) -> Any:
    found = _found(reply, path)
    if len(found) != 1:
        raise StageError(f"the reply has {len(found) or 'nothing'} at {path}{_keys(reply)}")
    return found[0]


def _several(reply: Any, path: str) -> list[Any]:
    """Return the values at `path`, or the items of the list that it leads to."""
    found, single = _found(reply, path), _compiled(path).singular_query()
    if found and single and isinstance(found[0], list):
        return list(found[0])
    if not found and (single or not _is_empty(reply, path)):
        raise StageError(f"the reply has nothing at {path}{_keys(reply)}")
    return found


def _found(reply: Any, path: str) -> list[Any]:
    if isinstance(reply, str):  # which the library would read as JSON once more
        return [reply] if _compiled(path).empty() else []
    return list(_compiled(path).findall(reply))


def _is_empty(reply: Any, path: str) -> bool:
    """Return whether what the first wildcard of `path` stands for is there, and empty."""
    before = path.partition("[*]")[0]
    if before == path or not _compiled(before).singular_query():
        return bool(_found(reply, path.partition("[?")[0].partition("..")[0]))
    return _found(reply, before) in ([[]], [{}])


def _keys(reply: Any) -> str:
    if not isinstance(reply, dict):
        return f": it is of type {type(reply).__name__}"
    return f": it holds {', '.join(ascii(key)[:40] for key in list(reply)[:_SHOWN]) or 'nothing'}"


@lru_cache(maxsize=64)
def _compiled(path: str) -> JSONPath:
    from jsonpath import JSONPathEnvironment

    compiled: JSONPath = JSONPathEnvironment(strict=True).compile(path)  # type: ignore[assignment]
    return compiled


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
