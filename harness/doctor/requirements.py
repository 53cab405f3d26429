"""What the package asks for, and what of it is there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import harness

NAME = "rag-eval-harness"


@dataclass(frozen=True)
class Asked:
    """What the package asks for: a Python, libraries, and those of each of its extras."""

    python: str
    always: Sequence[str]
    extras: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Needed:
    """A library that is asked for; `problem` says how what is there does not fit."""

    pip: str
    problem: str | None = None
    missing: bool = False


def asked() -> Asked | None:
    """Return what is asked for; None where the package is neither installed nor in its checkout.

    In a checkout it is what pyproject.toml says: metadata are as old as the last installation.
    """
    with suppress(OSError, ValueError, KeyError):
        file = Path(str(harness.__file__)).parent.parent / "pyproject.toml"
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        if project["name"] == NAME:
            needed, extras = project["dependencies"], project["optional-dependencies"]
            return Asked(project["requires-python"], needed, extras)
    return _installed()


def held(requirements: Sequence[str]) -> list[Needed]:
    """Return what of `requirements` is there; those for other machines are left out."""
    from packaging.requirements import Requirement

    found: list[Needed] = []
    for each in map(Requirement, requirements):
        if each.marker is not None and not each.marker.evaluate():
            continue
        pip = f"{each.name}{each.specifier}"
        try:
            there = metadata.version(each.name)
        except metadata.PackageNotFoundError:
            found.append(Needed(pip, f"{each.name} is not installed", missing=True))
            continue
        fits = each.specifier.contains(there, prereleases=True)
        what = f"{each.name} {there} is installed, and {each.specifier} asked for"
        found.append(Needed(pip, None if fits else what))
    return found


def _installed() -> Asked | None:
    from packaging.requirements import Requirement

    try:
        about, lines = metadata.metadata(NAME), metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        return None
    always: list[str] = []
    extras: dict[str, list[str]] = {each: [] for each in about.get_all("Provides-Extra") or []}
    for line in lines:
        marker = Requirement(line).marker
        of = [] if marker is None else [e for e in extras if marker.evaluate({"extra": e})]
        if marker is None or marker.evaluate({"extra": ""}):
            always.append(line)
        for extra in of if line not in always else []:
            extras[extra].append(line.partition(";")[0])
    return Asked(about["Requires-Python"] or "", always, extras)
