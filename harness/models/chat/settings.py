"""Settings of a chat model, and its reply: what every way of asking one shares."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from harness.text import secrets

_LOCAL_PREFIX = "gguf:"
_URL = re.compile(r"https?://[^/\s]")


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a chat model said, and what that took."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    finish: str | None = None


@dataclass(frozen=True)
class ChatSettings:
    """A chat model: `provider:model` as LangChain's `init_chat_model` has it, or `gguf:FILE`.

    A provider's key comes from the environment, by the provider's own variable, and so does its
    server's URL where `base_url` is None; a server of OpenAI's kind that is named needs no key. At
    most `concurrent` prompts are under way at one server at once, and at most `per_minute` are
    started in a minute (0: any number). `timeout`, in seconds, is for each of the 1 + `retries`
    requests of a prompt: the provider's library waits and repeats. A setting that a provider's
    library does not take, such as `max_tokens`, is refused where it is not the default.
    A GGUF file runs in this process, one prompt at a time, without timeout; `window` is how many
    tokens the prompt and the reply may have there together. `seed` None is the run's own; it is
    sent where the provider takes one.
    """

    model: str
    base_url: str | None = None
    temperature: Annotated[float, Ge(0)] = 0.0
    max_tokens: Annotated[int, Gt(0)] = 256
    seed: int | None = None
    timeout: Annotated[float, Gt(0)] = 60.0
    retries: Annotated[int, Ge(0)] = 3
    per_minute: Annotated[int, Ge(0)] = 0
    concurrent: Annotated[int, Ge(1)] = 4
    window: Annotated[int, Gt(0), Le(1 << 20)] = 4096

    def __post_init__(self) -> None:
        if self.model.find(":") < 1:
            raise ValueError(
                f"model: {self.model!r} names no provider: write provider:name, for example "
                f"openai:{self.model.strip(':') or 'gpt-4o'}"
            )
        if self.base_url is not None and not _URL.match(self.base_url):
            raise ValueError("base_url: it must be of the form http://... or https://...")
        secrets.refuse_secret_in_query(self.base_url or "", "base_url", secrets.KEY_REMEDY)

    @property
    def file(self) -> str | None:
        """The path of the model's file; None where it is not in this process."""
        return (
            self.model.removeprefix(_LOCAL_PREFIX) if self.model.startswith(_LOCAL_PREFIX) else None
        )

    @property
    def kind(self) -> Literal["file", "model"]:
        """A file, which its hash names, or a hosted model, which may change behind its name."""
        return "model" if self.file is None else "file"

    @property
    def shown(self) -> str:
        """The model's name for messages and records: a file's without its folder."""
        return self.model if self.file is None else _LOCAL_PREFIX + PurePath(self.file).name

    @property
    def at_once(self) -> int:
        """How many prompts it is worth asking at once."""
        return self.concurrent if self.file is None else 1


def relocate_model(model: str, find: Callable[[str], str]) -> str:
    """Return a model's name with the path of its file, if it has one, as `find` gives it."""
    path = model.removeprefix(_LOCAL_PREFIX)
    return model if path == model else _LOCAL_PREFIX + find(path)


def replace_unencodable(text: str) -> str:
    """Return `text` with a question mark for all that cannot be encoded in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
