"""Where each key of a configuration stands, and what is wrong there in its author's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from harness.answertest import AnswerTest
from harness.chat import ChatModel
from harness.errors import Problem, suggest
from harness.execution import Execution, OnRay
from harness.index import IndexSettings
from harness.index.settings import Cloud, Existing, Server
from harness.rules import Drop, Gate, Limits, Segment
from harness.settings import Context, Settings
from harness.yamlfile import Place, YamlFile

_EXAMPLES = {
    "model": "provider:name",
    "url": "http://127.0.0.1:8000",
    "collection": "NAME",
    "address": "local",
    "ray": "{address: local}",
    "metric": "recall@5",
    "drop_more_than": "0.02",
}
_NESTED: Mapping[str, type[Any]] = {
    "index": IndexSettings,
    "server": Server,
    "cloud": Cloud,
    "existing": Existing,
    "chat": ChatModel,
    "judge": ChatModel,
    "answer_test": AnswerTest,
    "gate": Gate,
    "fail_if": Drop,
    "segment": Segment,
    "max": Limits,
    "execution": Execution,
    "ray": OnRay,
}


@dataclass(frozen=True)
class Places:
    """A file, and for each key that came from elsewhere (`outside`) what it came from."""

    file: YamlFile
    outside: Mapping[str, str]

    def where(self, *place: str | int) -> str:
        """Return how errors name a place: its line, or the option that put it there."""
        key = str(place[0])
        return self.outside[key] if key in self.outside else self.file.where(place)

    def misfit(self, error: Any) -> Problem:
        """Return what one of pydantic's errors means."""
        place: Place = tuple(error["loc"])
        while len(place) > 1 and place not in self.file.lines and error["type"] != "missing":
            place = place[:-1]
        where = self.where(*place) if error["type"] != "missing" else "the file"
        message = error["msg"].removeprefix("Value error, ")
        if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            key = str(error["loc"][-1])
            return Problem(where, f"unknown key {key!r}", suggest(key, _known(error["loc"])))
        if error["type"] == "missing":
            what = f"the key {'.'.join(map(str, place))!r} is missing"
            example = _EXAMPLES.get(str(place[-1]), "PATH")
            return Problem(where, what, f"for example `{place[-1]}: {example}`")
        if error["type"] == "value_error":
            return Problem(where, message)  # the value is a mapping, and may hold a secret
        if error["loc"][-1] in ("str", "dict[str,any]"):
            message = "Input should be a text or a mapping"
        return Problem(where, f"{message}, not {error['input']!r}")


def _known(place: Sequence[str | int]) -> Iterable[str]:
    """Return the keys there are beside the one at `place`."""
    if place[0] == "context" and len(place) > 1:
        return Context.model_fields
    for depth in range(len(place) - 1, 0, -1):
        if place[depth - 1] in _NESTED:
            return [each.name for each in fields(_NESTED[str(place[depth - 1])])]
    return Settings.model_fields
