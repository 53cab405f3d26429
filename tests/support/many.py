"""A stored run made larger: its cells and questions over again, by other names."""

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

from harness.store.reader import StoredRun


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
        lines[called] = replace(cell, name=called, chunker=name(at), floor=False, asked=questions)
        renamed.setdefault(cell.name, []).append(called)
    for at, line in enumerate(islice(cycle(stored.questions.values()), questions)):
        id_ = f"{line.id}-{at}"
        asked[id_] = (line.id, replace(line, id=id_, **texts))
    of = {(record.cell, record.question): record for record in stored.records}
    records = tuple(
        replace(of[old, first], cell=new, question=id_)
        for old, names in renamed.items()
        for new in names
        for id_, (first, _) in asked.items()
    )
    larger = replace(run, cells=list(lines.values()), baseline=list(lines)[-1], targets={})
    found = {id_: line for id_, (_, line) in asked.items()}
    return replace(stored, run=larger, records=records, questions=found)
