"""Runnable: a LangChain chain, agent or retriever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from harness import limits, user_code
from harness.errors import HarnessError, StageError
from harness.systems import System, systems
from harness.systems import reply as system_reply
from harness.systems.reply import SystemReply
from harness.text import secrets


@systems.register
@dataclass(frozen=True)
class Runnable(System):
    """A LangChain runnable or retriever, invoked with each question.

    `object` is `package.module:name`, where modules beside the configuration count too. It is
    invoked with the question, or with {`input`: question}. Of a mapping that it returns, `answer`
    and `contexts` are the keys (dots lead deeper) of its answer and its documents: by default what
    `create_retrieval_chain` returns; none for what it does not tell. A list is of documents, and a
    text or a message an answer. Every run asks again, as of `python`.
    """

    object: user_code.Name
    input: str | None = None
    answer: str | None = "answer"
    contexts: str | None = "context"
    concurrent: Annotated[int, Ge(1)] = 1
    cache: bool = True
    label: str | None = None

    name: ClassVar[str] = "runnable"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.answer is None and self.contexts is None:
            raise ValueError("answer and contexts are both none: it would tell nothing")

    @property
    def shown(self) -> str:
        """What reports call it."""
        return self.label or f"runnable({self.object})"

    @property
    def tells_answers(self) -> bool:
        """Whether it may give answers."""
        return self.answer is not None

    @property
    def tells_contexts(self) -> bool:
        """Whether it may tell its contexts."""
        return self.contexts is not None

    def check(self) -> None:
        """Import the object."""
        if not callable(getattr(user_code.load(self.object), "invoke", None)):
            raise HarnessError(
                f"system {self.shown}: {self.object!r} has no `invoke`: it is no runnable\n"
                "  for a function, use system: {python: ...}"
            )

    def ask(self, id_: str, question: str) -> SystemReply:
        """Invoke the object."""
        runnable = user_code.load(self.object)
        try:
            output = runnable.invoke(question if self.input is None else {self.input: question})
            return system_reply.parse_reply(
                self._picked(output) if isinstance(output, Mapping) else output
            )
        except StageError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  any failure of it is its own
            raise StageError(f"the system raised {secrets.describe_error(error)}") from None

    def identity(self) -> dict[str, Any]:
        """Return the object's name, what is read of its reply, and the content of its file."""
        keys = {key: getattr(self, key) for key in ("object", "input", "answer", "contexts")}
        code = user_code.code_id(self.object)
        return {"name": self.name, "version": self.version, **keys, "code": code}

    def _picked(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if self.answer is not None:
            value = _follow_path(reply, self.answer, "answer")
            parsed = system_reply.parse_reply(value) if value is not None else SystemReply()
            fields |= {"answer": parsed.answer}
            fields |= {key: getattr(parsed, key) for key in ("tokens_in", "tokens_out")}
        if self.contexts is not None:
            value = _follow_path(reply, self.contexts, "contexts")
            fields["contexts"] = [value] if isinstance(value, str) else value
        return fields


def _follow_path(reply: Mapping[str, Any], path: str, parameter: str) -> Any:
    """Return what a path leads to, by the keys of mappings and the places in lists."""
    value: Any = reply
    for key in path.split("."):
        try:
            value = value[int(key) if isinstance(value, list | tuple) else key]
        except (LookupError, TypeError, ValueError):
            keys = ", ".join(map(repr, list(reply)[:10])) or "nothing"
            message = f"the reply has no {path!r} (it holds {keys}): set {parameter}: KEY, or none"
            raise StageError(message[: limits.MAX_ERROR_CHARS]) from None
    return value
