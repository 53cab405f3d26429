"""Short labels of cells: what all cells of a run share is left out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from harness.errors import HarnessError, suggest
from harness.registry import split_options

AXES = ("chunker", "embedder", "retriever", "reranker", "generator")
Parts = Mapping[str, str | None]
"""The component of a cell on each axis; None or "none": there is none."""

_COMPONENT = re.compile(r"([\w.:/-]+)\((.*)\)", re.DOTALL)
_SEPARATOR = re.compile(r"\s+[×x]\s+")


def parts_of(cell: Any) -> Parts:
    """Return the component of a cell on each axis."""
    return {axis: getattr(cell, axis) for axis in AXES}


def short_labels(cells: Mapping[str, Parts]) -> dict[str, str]:
    """Return a label for each cell, by its name.

    It has the components in which the cells differ, and of their parameters those in which
    components of one name differ; for a single cell, all components without parameters. Where that
    does not tell a cell from the others, or is no shorter, its label is its name.
    """
    present = {axis: {parts[axis] for parts in cells.values()} - {None} for axis in AXES}
    axes = [axis for axis in AXES if len(present[axis]) > 1] or AXES
    short = {axis: _shorten({part for part in present[axis] if part}) for axis in axes}
    labels = {}
    for name, parts in cells.items():
        components = [part for axis in axes if (part := short[axis].get(parts[axis] or ""))]
        labels[name] = " × ".join(part for part in components if part != "none") or "none"
    counts = Counter(labels.values())
    return {
        name: label if counts[label] == 1 and len(label) < len(name) else name
        for name, label in labels.items()
    }


def find_cells(text: str, cells: Mapping[str, Parts]) -> list[str]:
    """Return the names of the cells that `text` may mean.

    It is the name of one, or its label, or else components that a cell has, with as many of their
    parameters as one likes.
    """
    if text in cells:
        return [text]
    labelled = [name for name, label in short_labels(cells).items() if label == text]
    wanted = [_parse(part) for part in _SEPARATOR.split(text.strip())]
    return labelled or [
        name
        for name, parts in cells.items()
        if all(any(_fits(part, component) for component in parts.values()) for part in wanted)
    ]


def find_cell(text: str, cells: Mapping[str, Parts], place: str) -> str:
    """Return the name of the one cell that `text` means, for the option or run `place`.

    Raises:
        HarnessError: there is none, or more than one.
    """
    names = find_cells(text, cells)
    if len(names) == 1:
        return names[0]
    if names:
        raise HarnessError(
            f"{place}: {text!r} may be any of {len(names)} cells\n  say which: {'; '.join(names)}"
        )
    raise HarnessError(f"{place}: no cell has the name {text!r}\n  {suggest(text, cells)}")


def _shorten(components: Collection[str]) -> dict[str, str]:
    """Return each component without the parameters that all of its name share."""
    parsed = {component: _parse(component) for component in components}
    groups = defaultdict(list)
    for base, options in parsed.values():
        groups[base].append(frozenset(options))
    shared = {base: frozenset.intersection(*group) for base, group in groups.items()}
    short = {}
    for component, (base, options) in parsed.items():
        own = ", ".join(option for option in options if option not in shared[base])
        short[component] = f"{base}({own})" if own else base
    return short


def _parse(component: str) -> tuple[str, tuple[str, ...]]:
    """Return what a component is called, and its parameters as they are written."""
    match = _COMPONENT.fullmatch(component)
    if match is None:
        return component, ()
    return match[1], tuple(option.strip() for option in split_options(match[2]))


def _fits(wanted: tuple[str, tuple[str, ...]], component: str | None) -> bool:
    base, options = _parse(component or "none")
    return wanted[0] == base and set(wanted[1]) <= set(options)
