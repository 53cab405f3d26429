"""Chat: any chat model, and a prompt template."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le, Len

from harness.errors import SpecError
from harness.generators import Generator, generators
from harness.models.chat import ChatModel
from harness.models.prompts import check_places, fill_template, load_prompt
from harness.records import Answer
from harness.registry import injected
from harness.text.decline_patterns import DECLINES, check_patterns, is_decline

_OWN_SETTINGS = tuple(
    field.name for field in fields(ChatModel) if field.name not in ("model", "seed")
)
_PLACES = ("context", "question")


@generators.register
@dataclass(frozen=True)
class Chat(Generator):
    """A chat model, hosted or a local file, and a prompt template.

    The model is `model`, or where that is None the run's `chat:`; each setting of it that is None
    is that of the run's `chat:`, or where `model` is named the usual one. `prompt` is the name of
    a file beside the configuration, or the template itself, with the places {context} and
    {question}. Each question is asked `repeat` times, with the seeds seed, seed + 1 and so on. An
    answer that is empty or matches one of `decline_patterns` (regular expressions, letter case
    ignored) is a decline; where that is None, they are the run's.
    """

    model: str | None = None
    prompt: str | None = None
    repeat: Annotated[int, Ge(1)] = 1
    temperature: Annotated[float, Ge(0)] | None = None
    max_tokens: Annotated[int, Gt(0)] | None = None
    base_url: str | None = None
    timeout: Annotated[float, Gt(0)] | None = None
    retries: Annotated[int, Ge(0)] | None = None
    per_minute: Annotated[int, Ge(0)] | None = None
    concurrent: Annotated[int, Ge(1)] | None = None
    window: Annotated[int, Gt(0), Le(1 << 20)] | None = None
    decline_patterns: Annotated[tuple[str, ...], Len(1)] | None = None
    chat: ChatModel | None = injected()
    seed: int | None = injected()
    template: str | None = injected()
    declines: tuple[str, ...] | None = injected()

    name: ClassVar[str] = "chat"
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.template is not None or "{" in (self.prompt or ""):
            check_places(self._template, _PLACES)
        if self.decline_patterns is not None:
            try:
                check_patterns(self.decline_patterns)
            except ValueError as error:
                raise ValueError(f"decline_patterns: {error}") from None
        model = None if self.model is None and self.chat is None else self._model
        if self.repeat > 1 and model is not None and model.temperature == 0:
            raise ValueError(
                f"repeat: at temperature 0 all {self.repeat} answers would be the same; "
                "set a `temperature` above 0"
            )

    @property
    def at_once(self) -> int:
        """How many questions it may be asked at once."""
        return self._model.at_once

    def check(self) -> None:
        """Start the model, which finds a missing library, name, file or key."""
        self._model.check()

    def answer(self, question: str, context: str, sample: int = 0) -> Answer:
        """Ask the model once; `sample` is added to the seed."""
        prompt = self.filled(question, context)
        reply = self._model.ask(prompt, sample)
        return Answer(
            reply.text,
            declined=is_decline(reply.text, self._declines),
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            model=reply.model,
            finish=reply.finish,
            prompt=prompt,
        )

    def filled(self, question: str, context: str) -> str:
        """Return what the model is sent: a line that looks like one of its labels is quoted."""
        return fill_template(self._template, context=context, question=question)

    def asked_model(self) -> ChatModel:
        """Return the chat model, with this generator's own settings."""
        return self._model

    def identity(self) -> dict[str, Any]:
        """Return all that shapes one answer: not how many, nor the pace, nor the file's name."""
        prompt_settings = {"prompt": self._template, "decline_patterns": self._declines}
        return {
            "name": self.name,
            "version": self.version,
            **self._model.identity(),
            **prompt_settings,
        }

    @property
    def _model(self) -> ChatModel:
        settings = {
            key: getattr(self, key) for key in _OWN_SETTINGS if getattr(self, key) is not None
        }
        if self.model is not None:
            return ChatModel(self.model, seed=self.seed, **settings)
        if self.chat is None:
            hint = "name one: `chat: {model: provider:name}`, or its own `model`"
            raise SpecError("generator 'chat' needs a chat model", hint)
        return replace(self.chat, **settings)

    @property
    def _declines(self) -> tuple[str, ...]:
        return self.decline_patterns or self.declines or DECLINES

    @property
    def _template(self) -> str:
        if self.template is not None:
            return self.template.removesuffix("\n")
        if self.prompt is None:
            return load_prompt("answer")
        if "{" not in self.prompt:
            hint = "a run reads it; without one, give the template itself"
            raise SpecError(f"generator 'chat': prompt {self.prompt!r} names a file", hint)
        return self.prompt
