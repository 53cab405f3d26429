"""Python: a function that answers questions."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from harness import user_code
from harness.errors import HarnessError, StageError
from harness.systems import System, reply, systems
from harness.systems.reply import SystemReply
from harness.text import secrets


@systems.register
@dataclass(frozen=True)
class PythonFunction(System):
    """A Python function, called with each question; returns documents and answer.

    `function` is `package.module:name`, where modules beside the configuration count too. It
    returns (documents, answer) as `harness.evaluate` has it, or a mapping with any of `contexts`,
    `answer`, `declined`, `tokens_in`, `tokens_out`, `model` and `context`, the text that its model
    was sent. An exception is the failure of its question, and so is an answer of None, in either
    form, where it answers other questions. Every run asks again. Replies are cached only so that an
    interrupted run continues; `cache: false` caches none.
    """

    function: user_code.Name
    concurrent: Annotated[int, Ge(1)] = 1
    cache: bool = True
    label: str | None = None

    name: ClassVar[str] = "python"
    version: ClassVar[int] = 1

    @property
    def shown(self) -> str:
        """What reports call it."""
        return self.label or f"python({self.function})"

    def check(self) -> None:
        """Import the function."""
        function = user_code.load(self.function)
        if not callable(function):
            raise HarnessError(f"system {self.shown}: {self.function!r} cannot be called")
        if inspect.iscoroutinefunction(function):
            raise HarnessError(
                f"system {self.shown}: {self.function!r} is async, and is called from plain code\n"
                "  wrap it: def ask(question): return asyncio.run(it(question))"
            )

    def ask(self, id_: str, question: str) -> SystemReply:
        """Call the function."""
        function = user_code.load(self.function)
        try:
            # It may have no answers at all; what it tells of other questions shows whether it has.
            return replace(reply.parse_reply(function(question)), lacking=None)
        except StageError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  any failure of it is its own
            raise StageError(f"the system raised {secrets.describe_error(error)}") from None

    def identity(self) -> dict[str, Any]:
        """Return the function's name and the content of its file."""
        about = {"name": self.name, "version": self.version, "function": self.function}
        return {**about, "code": user_code.code_id(self.function)}
