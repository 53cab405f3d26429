"""Read the requirements of the package, and check which are installed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

NAME = "rag-assay"
"""The name of the distribution; no advice tells people to install it by that name."""


@dataclass(frozen=True)
class Requirements:
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


def read_requirements() -> Requirements | None:
    """Return what is asked for; None where the package is neither installed nor in its checkout.

    In a checkout it is what pyproject.toml says: metadata are as old as the last installation.
    """
    with suppress(OSError, ValueError, KeyError):
        file = Path(__file__).parents[2] / "pyproject.toml"
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        if project["name"] == NAME:
            needed, extras = project["dependencies"], project["optional-dependencies"]
            return Requirements(project["requires-python"], needed, extras)
    return _read_metadata()


def install_command(extra: str) -> str:
    """Return the command that installs what an extra asks for on this machine.

    It names the requirements themselves, so that it is right whatever the package is called.
    """
    requirements = read_requirements()
    texts = [] if requirements is None else requirements.extras.get(extra, [])
    if not texts:
        return f"install the extra [{extra}] of the package"
    return " ".join(["pip install", *(f"'{text}'" for text in _for_this_machine(texts))])


def _for_this_machine(texts: Sequence[str]) -> list[str]:
    """Return requirements whose markers hold here, without the markers."""
    from packaging.requirements import Requirement

    markers = [Requirement(text).marker for text in texts]
    return [
        text.partition(";")[0].strip()
        for text, marker in zip(texts, markers, strict=True)
        if marker is None or marker.evaluate()
    ]


def check_requirements(requirements: Sequence[str]) -> list[Needed]:
    """Return what of `requirements` is there; those for other machines are left out."""
    from packaging.requirements import Requirement

    needed: list[Needed] = []
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        pip = f"{requirement.name}{requirement.specifier}"
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            needed.append(Needed(pip, f"{requirement.name} is not installed", missing=True))
            continue
        fits = requirement.specifier.contains(version, prereleases=True)
        message = (
            f"{requirement.name} {version} is installed, and {requirement.specifier} asked for"
        )
        needed.append(Needed(pip, None if fits else message))
    return needed


def _read_metadata() -> Requirements | None:
    from packaging.requirements import Requirement

    try:
        about, lines = metadata.metadata(NAME), metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        return None
    always: list[str] = []
    extras: dict[str, list[str]] = {name: [] for name in about.get_all("Provides-Extra") or []}
    for line in lines:
        marker = Requirement(line).marker
        of = [] if marker is None else [e for e in extras if marker.evaluate({"extra": e})]
        if marker is None or marker.evaluate({"extra": ""}):
            always.append(line)
        for extra in of if line not in always else []:
            extras[extra].append(line.partition(";")[0])
    return Requirements(about["Requires-Python"] or "", always, extras)
