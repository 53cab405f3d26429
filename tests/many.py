"""A stored run made larger: its cells and questions over again, by other names."""

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

from harness.store import StoredRun


def many(
    stored: StoredRun,
    cells: int,
    questions: int,
    name: Callable[[int], str] = "number {}".format,
    **texts: str,
) -> StoredRun:
    """Return a run of so many cells and questions; `texts` replace fields of the questions."""
    run = stored.run
    lines, asked = {}, {}
    renamed: dict[str, list[str]] = {}
    for at, cell in enumerate(islice(cycle(run.cells), cells)):
        called = f"{name(at)} × {cell.retriever}"
        lines[called] = cell.model_copy(
            update={"name": called, "chunker": name(at), "floor": False, "asked": questions}
        )
        renamed.setdefault(cell.name, []).append(called)
    for at, line in enumerate(islice(cycle(stored.questions.values()), questions)):
        id_ = f"{line.id}-{at}"
        asked[id_] = (line.id, line.model_copy(update={"id": id_, **texts}))
    of = {(record.cell, record.question): record for record in stored.records}
    records = tuple(
        of[old, first].model_copy(update={"cell": new, "question": id_})
        for old, names in renamed.items()
        for new in names
        for id_, (first, _) in asked.items()
    )
    larger = run.model_copy(
        update={"cells": list(lines.values()), "baseline": list(lines)[-1], "targets": {}}
    )
    found = {id_: line for id_, (_, line) in asked.items()}
    return replace(stored, run=larger, records=records, questions=found)
