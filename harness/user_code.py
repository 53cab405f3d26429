"""Imports what the user names by dotted names, in a configuration or on the command line.

A stored file may hold such names too, and nothing that it alone names is imported: a component of
the user's own is found only inside `importing`, or where it was found before.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import AfterValidator

from harness.errors import ModelError, SpecError, suggest
from harness.fingerprint import code_of
from harness.text import variables
from harness.text.arguments import Arguments
from harness.text.secrets import describe_error

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*[.:][^\W\d]\w*")
_FOLDER: ContextVar[Path | None] = ContextVar("folder of the user's modules", default=None)


@contextmanager
def importing(folder: Path) -> Iterator[None]:
    """Take what is named inside for the user's own words: modules of `folder` can be imported.

    So can those of the working directory; installed ones win. Where no name is of a module that
    lies there, nothing there is importable: not even as a library that is not installed.
    """
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def may_import() -> bool:
    """Return whether what is named here and now is the user's own words."""
    return _FOLDER.get() is not None


def _checked_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is no dotted name: write package.module:Name")
    folder, root = _FOLDER.get(), re.split("[.:]", value)[0]
    for place in () if folder is None else (folder, Path()):
        path = str(place.resolve())
        if path not in sys.path and ((place / f"{root}.py").is_file() or (place / root).is_dir()):
            sys.path.append(path)
    return value


Name = Annotated[str, AfterValidator(_checked_name)]
"""`package.module:Name` or `package.module.Name`; only its form is checked."""


def import_named(name: str) -> Any:
    """Import what the user names `name`, from beside the configuration too; else as `load`."""
    try:
        return load(_checked_name(name))
    except ValueError as error:
        raise SpecError(str(error)) from None


def load(name: str, base: type | None = None) -> Any:
    """Import and return what `name` stands for.

    Args:
        name: `package.module:Name` or `package.module.Name`.
        base: the class that it must be, or be derived from.

    Raises:
        SpecError: it cannot be imported, is not there or is something else.
    """
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        imported = importlib.import_module(module)
        loaded = getattr(imported, attribute, None)
    except SystemExit as error:
        ends = f"{name!r}: its module ends the process ({describe_error(error).partition(': ')[2]})"
        hint = 'it runs as it is imported: put that behind if __name__ == "__main__"'
        raise SpecError(ends, hint) from None
    except Exception as error:  # noqa: BLE001  a module may raise anything while it is imported
        message = f"{name!r}: module {module!r} cannot be imported: {describe_error(error)}"
        hint = "correct the name, or install the package that holds it"
        raise SpecError(message, hint) from None
    if loaded is None:
        raise SpecError(f"{name!r}: {module!r} has no {attribute!r}", _hint(attribute, imported))
    if base is not None and not (isinstance(loaded, type) and issubclass(loaded, base)):
        full = f"{base.__module__}.{base.__qualname__}"
        raise SpecError(f"{name!r} is not derived from {full}", "name a class that is")
    return loaded


def _hint(attribute: str, module: ModuleType) -> str:
    """Name what can be called; what a module imports only when asked for it is not looked at."""
    loaded = vars(module)
    public = [name for name in dir(module) if not name.startswith("_")]
    callables = [name for name in public if name not in loaded or callable(loaded[name])]
    return suggest(attribute, callables) if callables else "nothing in it can be called"


def make(name: str, arguments: tuple[str, ...], base: type) -> Any:
    """Return a new instance of the class `name`.

    Raises:
        SpecError: there is no such class, or it is not derived from `base`.
        HarnessError: an environment variable that its arguments name as `${NAME}` is not set.
        ModelError: it cannot be made with these arguments, texts as of `Arguments`.
    """
    cls = load(name, base)
    variables.check_variables(" ".join(arguments), repr(name))
    try:
        return cls(**variables.fill_variables(Arguments(arguments).identity()))
    except (Exception, SystemExit) as error:  # noqa: BLE001  every class has errors of its own
        raise ModelError(
            f"{name!r} cannot be made: {describe_error(error)}\n"
            "  correct its arguments; a key belongs in the environment variable that it reads"
        ) from None


@lru_cache
def distributions_of(name: str) -> str:
    """Return the distributions that the package of `name` is of, with versions; empty for none."""
    package = re.split(r"[.:]", name)[0]
    distributions = metadata.packages_distributions().get(package, [])
    return " ".join(
        f"{distribution} {metadata.version(distribution)}"
        for distribution in sorted(set(distributions))
    )


def code_id(name: str) -> str | None:
    """Return what the files of `package.module:name` hold, as a hash; None where it has none.

    They are that of the module, and that of the one which the function, or the object's class, is
    defined in: a package may only name it.

    Raises:
        SpecError: it cannot be imported.
    """
    target = load(name)
    while isinstance(target, partial):
        target = target.func
    with suppress(ValueError):  # it is wrapped in itself
        target = inspect.unwrap(target)
    module = name.replace(":", ".").rpartition(".")[0]
    return code_of(module, str(getattr(target, "__module__", "")))
