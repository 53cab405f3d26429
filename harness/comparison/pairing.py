"""Decides which cell of the baseline is compared with which cell of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.comparison.operand import Incomparable, Operand
from harness.errors import HarnessError
from harness.store.cell_labels import find_cells


@dataclass(frozen=True)
class Pairing:
    """A cell of the baseline and the cell of the run that is held against it, by their names."""

    baseline: str
    run: str


def pairings(baseline: Operand, run: Operand, requested: Sequence[str] = ()) -> tuple[Pairing, ...]:
    """Return which cells stand against which.

    Those that are `requested`, each as "A=B", A of the baseline and B of the run; else those of one
    name; else the only one on each side. Within one run: each cell against its baseline cell.

    Raises:
        HarnessError: a pair that is wanted names no cell, or more than one.
        Incomparable: nothing says which cells belong together.
    """
    if requested:
        return tuple(dict.fromkeys(_parse_pair(text, baseline, run) for text in requested))
    if baseline is run:
        return _pair_with_baseline_cell(run)
    same = tuple(Pairing(name, name) for name in run.cells if name in baseline.cells)
    if same:
        return same
    if len(baseline.cells) == len(run.cells) == 1:
        return (Pairing(*baseline.cells, *run.cells),)
    raise Incomparable(
        f"no cell of {run.id} has the name of one of {baseline.id}\n  say which belong together: "
        f'--pair "A=B"\n{_list_cells(baseline)}\n{_list_cells(run)}'
    )


def _pair_with_baseline_cell(run: Operand) -> tuple[Pairing, ...]:
    against = run.baseline
    if against not in run.cells or len(run.cells) < 2 or against is None:
        raise HarnessError(
            f"{run.id} alone: name another run to compare it with, or two of its cells: "
            f'--pair "A=B"\n{_list_cells(run)}'
        )
    return tuple(Pairing(against, name) for name in run.cells if name != against)


def _parse_pair(text: str, baseline: Operand, run: Operand) -> Pairing:
    """Return the cells that "A=B" names; a cell's own name may hold "=" too."""
    readings = [
        (text[: separator.start()].strip(), text[separator.end() :].strip())
        for separator in re.finditer("=", text)
    ]
    matches = {
        Pairing(left, right)
        for one, other in readings
        for left in find_cells(one, {name: cell.parts for name, cell in baseline.cells.items()})
        for right in find_cells(other, {name: cell.parts for name, cell in run.cells.items()})
    }
    if len(matches) == 1:
        return matches.pop()
    problem = "names several cells" if matches else "does not name a cell on each side"
    raise HarnessError(
        f"--pair {text!r} {problem}\n"
        f"  write it as A=B, each a cell's name, its label or enough of its components\n"
        f"{_list_cells(baseline)}\n{_list_cells(run)}"
    )


def _list_cells(side: Operand) -> str:
    return "\n".join([f"  cells of {side.id}:", *_indent(side.cells)])


def _indent(names: Iterable[str]) -> Iterator[str]:
    yield from (f"    {name}" for name in names)
