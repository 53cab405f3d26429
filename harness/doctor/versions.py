"""Versions: Python, the harness and what it is built on."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import __version__
from harness.config import RunConfig
from harness.doctor import Fact, checks
from harness.doctor.requirements import asked, held


@checks.register
@dataclass(frozen=True)
class Versions:
    """Holds what is installed against what the package asks for."""

    name: ClassVar[str] = "versions"
    order: ClassVar[int] = 10

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact of Python and the harness, and one of each library that does not fit."""
        from packaging.specifiers import SpecifierSet

        shown, wanted = f"Python {platform.python_version()}, harness {__version__}", asked()
        if wanted is None:
            what = f"{shown}, which is not installed: what it asks for is not known"
            yield Fact("warning", what, "pip install rag-eval-harness")
            return
        if SpecifierSet(wanted.python).contains(platform.python_version(), prereleases=True):
            yield Fact("ok", shown)
        else:
            what = f"{shown}, which asks for Python {wanted.python}"
            yield Fact("problem", what, "make an environment with such a Python")
        found = held(wanted.always)
        for each in found:
            if each.problem is not None:
                yield Fact("problem", each.problem, f"pip install '{each.pip}'")
        fit = sum(each.problem is None for each in found)
        yield Fact("ok", f"{fit} of {len(found)} libraries are there in a version asked for")
