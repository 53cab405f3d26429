"""Which answers people are asked to rate, and who rates which: the key to a form.

Pure: the same run, wishes and seed give the same key on every machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness import numbers
from harness.columns import Codes
from harness.errors import HarnessError, suggest
from harness.fingerprint import fingerprint
from harness.lines import SpanKey
from harness.report.data.prompts import context
from harness.store import StoredRun
from harness.stored import FormFile, FormItemLine, RecordLine, SpanLine

_FEW = 10
"""Items of a cell under which the form says that they are few."""


@dataclass(frozen=True)
class Wishes:
    """What a form is to have: `n` items, dealt out to `raters`, a share of them to two each.

    No `cells`: all. No `seed`: the run's.
    """

    n: int = 50
    raters: int = 1
    shared: float = 0.2
    cells: Sequence[str] = ()
    seed: int | None = None


@dataclass(frozen=True)
class Chosen:
    """The key to a form, and what a reader of it should know."""

    key: FormFile
    cells: Mapping[str, int]
    """How many items each cell has; those that gave the same share an item."""
    wished: int
    failed: int
    """Records that were left out because they failed."""
    unanswered: int
    """Records that were left out because they have no answer."""

    def account(self) -> str:
        """Return what the form has, in a line."""
        items, raters = self.key.items, range(1, self.key.raters + 1)
        asked = len({line.question for line in items})
        said = f"{numbers.count(len(items), 'item')}, {numbers.count(asked, 'question')} in "
        said += numbers.count(sum(map(bool, self.cells.values())), "cell")
        if len(raters) == 1:
            return said
        each = ", ".join(str(sum(rater in line.raters for line in items)) for rater in raters)
        twice = sum(len(line.raters) > 1 for line in items)
        return f"{said}; raters 1 to {len(raters)} have {each}, two people rate {twice} of them"

    def notes(self) -> Iterator[str]:
        """Yield what a reader should know about the items."""
        if self.failed or self.unanswered:
            left = [(self.failed, "failed"), (self.unanswered, "have no answer")]
            said = ", ".join(f"{count} {why}" for count, why in left if count)
            yield f"left out of what could be drawn: {said}"
        if len(self.key.items) < self.wished:
            yield f"there is no more to rate than {numbers.count(len(self.key.items), 'item')}"
        fewest = min(self.cells.values())
        if fewest < _FEW:
            cells = len(self.cells)
            yield (
                f"the cell with the fewest has {numbers.count(fewest, 'item')}, too few to tell "
                f"{numbers.count(cells, 'cell')} apart: raise --n"
                + (", or name fewer cells: --cell" if cells > 2 else "")
            )


@dataclass(frozen=True)
class _Given:
    """One answer to a question from the same chunks, and the cells that gave it."""

    question: str
    answer: str
    chunks: frozenset[SpanKey]
    cells: tuple[str, ...]


def choose(stored: StoredRun, wishes: Wishes) -> Chosen:
    """Return the items of a form about a run.

    Whole questions are drawn, so that cells are compared over the same ones: first those that all
    cells answered. Of the last, as many items as there is room for. A question's items go to the
    same rater, and what is shared to one more.

    Raises:
        HarnessError: no such cell, nothing to rate, or too little for so many raters.
    """
    names = _cells(stored, wishes.cells)
    seed = stored.run.provenance.seed if wishes.seed is None else wishes.seed
    columns = stored.columns
    wanted = [number for number, cell in enumerate(stored.run.cells) if cell.name in names]
    places = np.flatnonzero(np.isin(columns.cell, wanted))
    answered = places[~columns.failed[places] & columns.answered[places]]
    if not len(answered):
        raise HarnessError(
            f"run {stored.run.id!r} has no answer to rate\n"
            "  a run with a generator has them: add generators to its configuration"
        )
    drawn = _drawn(stored, answered, len(names), wishes.n, seed)
    items = _items(stored.run.id, drawn, seed)
    raters = _dealt(items, wishes, seed)
    shown = sorted(items, key=lambda item: fingerprint("shown", seed, item.item))
    lines = [item.model_copy(update={"raters": raters[item.item]}) for item in shown]
    about = [line.model_dump() for line in lines]
    key = FormFile(
        id=fingerprint("form", stored.run.id, about, wishes.raters)[:10],
        run=stored.run.id,
        seed=seed,
        raters=wishes.raters,
        items=lines,
    )
    failed = int(columns.failed[places].sum())
    return Chosen(
        key,
        {name: sum(name in line.cells for line in lines) for name in names},
        wishes.n,
        failed,
        len(places) - len(answered) - failed,
    )


def in_context(stored: StoredRun, record: RecordLine) -> tuple[SpanKey, ...]:
    """Return the chunks that the context has, each once, best rank first.

    Where its text cannot be told by the chunks, as a system's, those are taken that would fit.
    """
    made = context(record, stored.texts)
    if isinstance(made, tuple):
        count = made[0] if record.context else 0
    else:
        count = stored.run.config.get("resolved", {}).get("context", {}).get("chunks")
    return tuple(dict.fromkeys((hit.doc, hit.start, hit.end) for hit in record.hits[:count]))


def _cells(stored: StoredRun, wanted: Sequence[str]) -> list[str]:
    known = [cell.name for cell in stored.run.cells]
    for name in wanted:
        if name not in known:
            hint = suggest(name, known)
            raise HarnessError(f"{stored.folder}: no cell has the name {name!r}\n  {hint}")
    return [name for name in known if not wanted or name in wanted]


def _drawn(stored: StoredRun, answered: Codes, cells: int, n: int, seed: int) -> list[_Given]:
    ids = list(stored.questions)
    by_question: dict[str, list[int]] = defaultdict(list)
    for place, number in zip(
        answered.tolist(), stored.columns.question[answered].tolist(), strict=True
    ):
        by_question[ids[number]].append(place)
    order = sorted(
        by_question,
        key=lambda id_: (len(by_question[id_]) < cells, fingerprint("rate", seed, id_)),
    )
    drawn: list[_Given] = []
    had: Counter[str] = Counter()
    for id_ in order:
        if (room := n - len(drawn)) <= 0:
            break
        given = _distinct(stored, stored.some(np.array(by_question[id_])))
        fewest = {each: min(had[cell] for cell in each.cells) for each in given}
        given.sort(key=lambda each: (fewest[each], fingerprint("of", seed, id_, each.cells)))
        for each in given[:room]:
            drawn.append(each)
            had.update(each.cells)
    return drawn


def _distinct(stored: StoredRun, records: Iterable[RecordLine]) -> list[_Given]:
    cells: dict[tuple[str, str, frozenset[SpanKey]], list[str]] = defaultdict(list)
    for record in records:
        chunks = frozenset(in_context(stored, record))
        cells[record.question, record.answer or "", chunks].append(record.cell)
    return [_Given(*same, tuple(gave)) for same, gave in cells.items()]


def _items(run: str, drawn: Iterable[_Given], seed: int) -> list[FormItemLine]:
    items = []
    for given in drawn:
        id_ = fingerprint("item", run, seed, given.question, given.cells)[:10]
        shown = sorted(given.chunks, key=lambda span: fingerprint("chunk", seed, id_, span))
        items.append(
            FormItemLine(
                item=id_,
                cells=list(given.cells),
                question=given.question,
                chunks=[SpanLine(doc=doc, start=start, end=end) for doc, start, end in shown],
                raters=[],
            )
        )
    return items


def _dealt(items: Sequence[FormItemLine], wishes: Wishes, seed: int) -> dict[str, list[int]]:
    """Return who rates each item: by whole questions, so that a rater compares its cells."""
    by_question: dict[str, list[str]] = defaultdict(list)
    for item in items:
        by_question[item.question].append(item.item)
    if len(by_question) < wishes.raters:
        raise HarnessError(
            f"{numbers.count(len(items), 'item')} of {numbers.count(len(by_question), 'question')} "
            f"are too few for {wishes.raters} raters\n  ask for more items: --n"
        )
    load = dict.fromkeys(range(1, wishes.raters + 1), 0)
    dealt: dict[str, list[int]] = {}
    for ids in by_question.values():
        rater = min(load, key=load.__getitem__)
        load[rater] += len(ids)
        dealt |= {id_: [rater] for id_ in ids}
    if wishes.raters > 1:
        for id_ in _shared(dealt, wishes.shared, seed):
            others = [rater for rater in load if rater not in dealt[id_]]
            second = min(others, key=load.__getitem__)
            load[second] += 1
            dealt[id_] = sorted([*dealt[id_], second])
    return dealt


def _shared(ids: Iterable[str], share: float, seed: int) -> list[str]:
    permuted = sorted(ids, key=lambda id_: fingerprint("shared", seed, id_))
    return permuted[: int(share * len(permuted) + 0.5)]
