"""Which cells of two sides stand against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.comparing.sides import Incomparable, Side, SideCell
from harness.errors import HarnessError

_BETWEEN = re.compile(r"\s+[×x]\s+")


@dataclass(frozen=True)
class Pairing:
    """A cell of the baseline and the cell of the run that is held against it, by their names."""

    baseline: str
    run: str


def pairings(baseline: Side, run: Side, wanted: Sequence[str] = ()) -> tuple[Pairing, ...]:
    """Return which cells stand against which.

    Those that are `wanted`, each as "A=B", A of the baseline and B of the run; else those of one
    name; else the only one on each side. Within one run: each cell against its baseline cell.

    Raises:
        HarnessError: a pair that is wanted names no cell, or more than one.
        Incomparable: nothing says which cells belong together.
    """
    if wanted:
        return tuple(dict.fromkeys(_wanted(text, baseline, run) for text in wanted))
    if baseline is run:
        return _within(run)
    same = tuple(Pairing(name, name) for name in run.cells if name in baseline.cells)
    if same:
        return same
    if len(baseline.cells) == len(run.cells) == 1:
        return (Pairing(*baseline.cells, *run.cells),)
    raise Incomparable(
        f"no cell of {run.id} has the name of one of {baseline.id}\n  say which belong together: "
        f'--pair "A=B"\n{_names(baseline)}\n{_names(run)}'
    )


def _within(run: Side) -> tuple[Pairing, ...]:
    against = run.baseline
    if against not in run.cells or len(run.cells) < 2 or against is None:
        raise HarnessError(
            f"{run.id} alone: name another run to compare it with, or two of its cells: "
            f'--pair "A=B"\n{_names(run)}'
        )
    return tuple(Pairing(against, name) for name in run.cells if name != against)


def _wanted(text: str, baseline: Side, run: Side) -> Pairing:
    """Return the cells that "A=B" names; a cell's own name may hold "=" too."""
    readings = [
        (text[: at.start()].strip(), text[at.end() :].strip()) for at in re.finditer("=", text)
    ]
    found = {
        Pairing(left, right)
        for one, other in readings
        for left in _meant(one, baseline.cells)
        for right in _meant(other, run.cells)
    }
    if len(found) == 1:
        return found.pop()
    what = "names several cells" if found else "does not name a cell on each side"
    raise HarnessError(
        f"--pair {text!r} {what}\n"
        f"  write it as A=B, each a cell's name or enough of its components\n"
        f"{_names(baseline)}\n{_names(run)}"
    )


def _meant(name: str, cells: Mapping[str, SideCell]) -> Iterator[str]:
    """Yield the cell of that name, or else all that have each of the components it names."""
    if name in cells:
        yield name
        return
    parts = set(_BETWEEN.split(name))
    yield from (key for key, cell in cells.items() if parts <= set(cell.parts.values()))


def _names(side: Side) -> str:
    return "\n".join([f"  cells of {side.id}:", *_indented(side.cells)])


def _indented(names: Iterable[str]) -> Iterator[str]:
    yield from (f"    {name}" for name in names)
