"""Dotted names: what a configuration names of any installed package."""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from importlib import metadata
from types import ModuleType
from typing import Annotated, Any

from pydantic import AfterValidator

from harness.arguments import Arguments, said
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
    except SystemExit as error:
        ends = f"{name!r}: its module ends the process ({said(error).partition(': ')[2]})"
        hint = 'it runs as it is imported: put that behind if __name__ == "__main__"'
        raise SpecError(ends, hint) from None
    except Exception as error:  # noqa: BLE001  a module may raise anything while it is imported
        what = f"{name!r}: module {module!r} cannot be imported: {said(error)}"
        hint = "correct the name, or install the package that holds it"
        raise SpecError(what, hint) from None
    if loaded is None:
        raise SpecError(f"{name!r}: {module!r} has no {attribute!r}", _hint(attribute, found))
    if wanted is not None and not (isinstance(loaded, type) and issubclass(loaded, wanted)):
        full = f"{wanted.__module__}.{wanted.__qualname__}"
        raise SpecError(f"{name!r} is not derived from {full}", "name a class that is")
    return loaded


def _hint(attribute: str, module: ModuleType) -> str:
    """Name what can be called; what a module imports only when asked for it is not looked at."""
    there = vars(module)
    public = [each for each in dir(module) if not each.startswith("_")]
    known = [each for each in public if each not in there or callable(there[each])]
    return suggest(attribute, known) if known else "nothing in it can be called"


def make(name: str, arguments: tuple[str, ...], wanted: type) -> Any:
    """Return a new instance of the class `name`.

    Raises:
        SpecError: there is no such class, or it is not derived from `wanted`.
        ModelError: it cannot be made with these arguments, texts as of `Arguments`.
    """
    cls = load(name, wanted)
    try:
        return cls(**Arguments(arguments).identity())
    except (Exception, SystemExit) as error:  # noqa: BLE001  every class has errors of its own
        raise ModelError(
            f"{name!r} cannot be made: {said(error)}\n"
            "  correct its arguments; a key belongs in the environment variable that it reads"
        ) from None


@lru_cache
def library(name: str) -> str:
    """Return the distributions that the package of `name` is of, with versions; empty for none."""
    package = re.split(r"[.:]", name)[0]
    found = metadata.packages_distributions().get(package, [])
    return " ".join(f"{each} {metadata.version(each)}" for each in sorted(set(found)))
