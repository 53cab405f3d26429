"""Dotted names: what a configuration names of any installed package."""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator

from harness.arguments import Arguments, scrubbed
from harness.errors import ModelError, SpecError, suggest

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*[.:][^\W\d]\w*")


def _checked_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is no dotted name: write package.module:Name")
    return value


Name = Annotated[str, AfterValidator(_checked_name)]
"""`package.module:Name` or `package.module.Name`; only its form is checked."""


def load(name: str, wanted: type | None = None) -> Any:
    """Import and return what `name` stands for.

    Args:
        name: `package.module:Name` or `package.module.Name`.
        wanted: the class that it must be, or be derived from.

    Raises:
        SpecError: it cannot be imported, is not there or is something else.
    """
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        found = importlib.import_module(module)
        loaded = getattr(found, attribute, None)
    except Exception as error:  # noqa: BLE001  a module may raise anything while it is imported
        said = f"{type(error).__name__}: {error}"
        hint = "correct the name, or install the package that holds it"
        raise SpecError(f"{name!r}: module {module!r} cannot be imported: {said}", hint) from None
    if loaded is None:
        classes = [each for each in dir(found) if each[:1].isupper()]
        raise SpecError(f"{name!r}: {module!r} has no {attribute!r}", suggest(attribute, classes))
    if wanted is not None and not (isinstance(loaded, type) and issubclass(loaded, wanted)):
        full = f"{wanted.__module__}.{wanted.__qualname__}"
        raise SpecError(f"{name!r} is not derived from {full}", "name a class that is")
    return loaded


@lru_cache
def make(name: str, arguments: tuple[str, ...], wanted: type) -> Any:
    """Return an instance of the class `name`; it is made once a process.

    Raises:
        SpecError: there is no such class, or it is not derived from `wanted`.
        ModelError: it cannot be made with these arguments, texts as of `Arguments`.
    """
    cls = load(name, wanted)
    try:
        return cls(**Arguments(arguments).identity())
    except Exception as error:  # noqa: BLE001  every class has errors of its own
        lines = str(error).strip().splitlines()
        said = f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
        raise ModelError(
            f"{name!r} cannot be made: {scrubbed(said)}\n"
            "  correct its arguments; a key belongs in the environment variable that it reads"
        ) from None
