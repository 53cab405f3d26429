"""Injects run-level values (chat models, seed, prompt files) into components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from harness import limits
from harness.corpus import decode
from harness.errors import Problem, SpecError
from harness.files import reading
from harness.metrics.judge import explain_missing_judge
from harness.models.chat import ChatModel, relocate_model
from harness.text.stopwords import Language

T = TypeVar("T")


@dataclass(frozen=True)
class RunContext:
    """The values of fields that `registry.injected` marks, for the components under one key.

    `models` are the chat models that the run names, under `chat` and `judge`, and `declines` the
    patterns of its answers that decline; `find` turns a key and a path that stands under it into a
    path that exists. Nothing is handed to a component that has been given its own.
    """

    key: str
    models: Mapping[str, ChatModel | None]
    seed: int
    declines: tuple[str, ...]
    find: Callable[[str, str], str]
    language: Language

    def inject(self, component: T, family: str) -> T:
        """Return `component` with all that it takes of the run.

        Raises:
            SpecError: it needs a chat model and the run names none, or its prompt cannot be read.
        """
        if (in_language := getattr(component, "in_language", None)) is not None:
            component = in_language(self.language)
        values: dict[str, Any] = {}
        # What is handed to a component may be refused by it: so each error names it.
        name = f"{family} {component.name!r}"  # type: ignore[attr-defined]
        for field in fields(component):  # type: ignore[arg-type]
            if field.metadata.get("injected") and getattr(component, field.name) is None:
                values[field.name] = self._value(component, field.name, name)
        model = getattr(component, "model", None)
        if isinstance(model, str) and hasattr(component, "chat"):
            values["model"] = relocate_model(model, partial(self.find, self.key))
        if not values:
            return component
        try:
            return replace(component, **values)  # type: ignore[type-var]
        except ValueError as error:
            raise SpecError(f"{name}: {error}") from None

    def _value(self, component: Any, key: str, name: str) -> Any:
        if key in ("seed", "declines"):
            return getattr(self, key)
        if key == "language":
            return None if self.language == "english" else self.language
        if key == "template":
            return self._template(component.prompt, name)
        if getattr(component, "model", None) is not None:
            return None  # it names a model of its own
        if self.models[key] is None and key == "judge":
            raise SpecError(*explain_missing_judge(component.name))
        if self.models[key] is None:
            message = f"{name} needs a chat model"
            raise SpecError(message, "name one: `chat: {model: provider:name}`")
        return self.models[key]

    def _template(self, prompt: str | None, name: str) -> str | None:
        """Return the text of the file that `prompt` names; None where it is a text itself."""
        if prompt is None or "{" in prompt:
            return None
        path = Path(self.find(self.key, prompt))
        try:
            text = decode(reading.read_whole(path, limits.MAX_PROMPT_BYTES), prompt)
        except OSError as error:
            raise SpecError(f"{name}: prompt {prompt!r}: {error.strerror}") from None
        if isinstance(text, Problem):
            raise SpecError(f"{name}: prompt {prompt!r} {text.what}")
        return text
