"""Classes of LangChain packages as components: named by a dotted name, made with arguments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator

from harness import fingerprint, user_code
from harness.text.arguments import Arguments, format_arguments


@dataclass(frozen=True)
class LangChainClass:
    """What components share that are made of a class of LangChain's: its name and its arguments.

    In YAML such a class may also stand in the place of a component, with its arguments as
    parameters: `{"package.module:Class": {option: value}}`.
    """

    cls: user_code.Name
    arguments: Annotated[
        tuple[str, ...], BeforeValidator(format_arguments), AfterValidator(Arguments)
    ] = ()

    base: ClassVar[str]
    """The dotted name of the class that `cls` is derived from."""

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters, the class's code and its library.

        Raises:
            SpecError: there is no such class.
        """
        code, library = user_code.code_id(self.cls), user_code.distributions_of(self.cls)
        return {**fingerprint.identity(self), "code": code, "library": library}

    def made(self) -> Any:
        """Return the class's object, made once with these arguments.

        Raises:
            SpecError: there is no such class, or it is derived from something else.
            ModelError: it cannot be made with these arguments.
        """
        return _make(self.cls, self.arguments, self.base)


@lru_cache
def _make(name: str, arguments: tuple[str, ...], base: str) -> Any:
    return user_code.make(name, arguments, user_code.load(base))
