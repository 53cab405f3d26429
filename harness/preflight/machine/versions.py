"""Versions: Python, the harness and what it is built on."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.files.requirements import check_requirements, read_requirements
from harness.fingerprint import __version__
from harness.preflight.machine import Fact, checks


@checks.register
@dataclass(frozen=True)
class Versions:
    """Holds what is installed against what the package asks for."""

    name: ClassVar[str] = "versions"
    order: ClassVar[int] = 10

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact of Python and the harness, and one of each library that does not fit."""
        from packaging.specifiers import SpecifierSet

        text, required = (
            f"Python {platform.python_version()}, harness {__version__}",
            read_requirements(),
        )
        if required is None:
            message = f"{text}, which is not installed: what it asks for is not known"
            yield Fact("warning", message, "install it from its checkout: pip install -e .")
            return
        if SpecifierSet(required.python).contains(platform.python_version(), prereleases=True):
            yield Fact("ok", text)
        else:
            message = f"{text}, which asks for Python {required.python}"
            yield Fact("problem", message, "make an environment with such a Python")
        libraries = check_requirements(required.always)
        for library in libraries:
            if library.problem is not None:
                yield Fact("problem", library.problem, f"pip install '{library.pip}'")
        fit = sum(library.problem is None for library in libraries)
        yield Fact("ok", f"{fit} of {len(libraries)} libraries are there in a version asked for")
